"""`ensue test`: run rule tests, and show what is missing and what is too much."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensue.cli.terminal import (
    BAD_INPUT,
    UsageError,
    count,
    exit_codes,
    is_coloured,
    output,
    say,
)

if TYPE_CHECKING:
    from ensue.cli.testing.judge import Verdict

_COLOURS = {"-": "31", "+": "32", "FAILED": "1;31", "ok": "32", "updated": "33"}


def run_tests(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER",
            help="Folders (all .ceql.toml and .ceql.json files below them), or such files.",
            show_default=False,
        ),
    ],
    update: Annotated[
        bool, typer.Option("--update", help="Write the matches that were found into the files.")
    ] = False,
) -> None:
    """Test rules: run queries on events and compare the matches with those expected.

    A line with - is a match that is missing, one with + a match that is too much.

    Exit code: 0 when all tests pass, 1 when one fails, 2 when there are none.

    Examples:
      echo 'SELECT * FROM S WHERE SELL ; BUY' > rule.ceql
      echo 'events = \\[{type = "SELL"}, {type = "BUY"}]' > rule.ceql.toml
      ensue test . --update
      ensue test .
    """
    failures = 0
    with exit_codes():
        files = _files(paths)
        colour = is_coloured(output())
        numbers = Counter[str]()
        for file in files:
            lines, own = _run(file, update)
            numbers.update(own)
            for line in lines:
                say(_painted(line) if colour else line)
        failures = numbers["failed"]
        numbered = ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number)
        say(f"{count(numbers.total(), 'test')} in {count(len(files), 'file')}: {numbered}")
    if failures:
        raise typer.Exit(BAD_INPUT)


def _files(paths: list[Path]) -> list[Path]:
    from ensue.cli.testing.files import ENDS, find_rule_tests, is_rule_test

    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: there is no such file or folder")
        if not path.is_dir() and not is_rule_test(path):
            raise UsageError(f"{path}: the names of rule tests end in {' or '.join(ENDS)}")
        found = find_rule_tests(path) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"{path}: there is no {' or '.join(ENDS)} file in this folder")
        files.update(dict.fromkeys(found))
    return list(files)


def _run(file: Path, update: bool) -> tuple[list[str], dict[str, int]]:
    """Run the tests of a file; return what to say, and how many passed, failed, were updated."""
    from ensue.cli.testing.files import read_rule_tests
    from ensue.cli.testing.judge import judge
    from ensue.cli.testing.update import update as write
    from ensue.errors import EnsueError

    try:
        verdicts = [judge(test, update=update) for test in read_rule_tests(file)]
        updated = write(file, verdicts) if update else 0
    except EnsueError as error:
        first, *rest = str(error).splitlines()
        return [f"FAILED  {first}", *(f"  {line}" for line in rest)], {"failed": 1}
    failed = [each for each in verdicts if (each.problem if update else not each.passed)]
    lines = [f"{'FAILED' if failed else 'updated' if updated else 'ok'}  {file}"]
    for verdict in failed:
        lines += _report(verdict)
    passed = len(verdicts) - len(failed) - updated
    return lines, {"passed": passed, "failed": len(failed), "updated": updated}


def _report(verdict: Verdict) -> list[str]:
    from ensue.cli.testing.judge import report

    return [f"  {verdict.test.name}", *(f"    {line}" for line in report(verdict))]


def _painted(line: str) -> str:
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    code = _COLOURS.get(word)
    return line if code is None else f"\x1b[{code}m{line}\x1b[0m"
