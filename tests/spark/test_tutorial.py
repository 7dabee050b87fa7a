"""The tutorial does what it says, from top to bottom, in an empty folder.

Blocks with a title are files that the reader saves. In blocks marked `console` the lines after a
`$` are commands, and what is below them is what they print. Blocks marked `python` print what
stands in the block marked `output` below them.
"""

from __future__ import annotations

import re
import shlex
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.cli.command import ensue
from tests.docs.test_docs import ROOT, Block, blocks

PAGE = ROOT / "docs" / "tutorial.md"
# Paths that Spark gets: its Java works in the folder where the first test started it.
_FILES = re.compile(r'"(payments\.csv|incoming|state|alerts)"')
_TITLE = re.compile(r'\w+ title="([^"]+)"')


def console(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints.

    >>> console(Block("console", 1, False, ["$ ensue --version", "ensue 1", "$ ensue warm"]))
    [('ensue --version', 'ensue 1'), ('ensue warm', '')]
    """
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    found = (part.replace("\\\n", " ").partition("\n") for part in parts)
    return [(command, shown.rstrip()) for command, _, shown in found]


def trimmed(text: str) -> str:
    """Drop spaces at the ends of lines, and the time that a run took."""
    lines = (re.sub(r", [\d.]+ s$", "", line.rstrip()) for line in text.splitlines())
    return "\n".join(lines).rstrip()


def told(block: Block, names: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Do what a block says; return what was run, what it printed, and what the page shows."""
    if block.kind == "console":
        found = []
        for command, shown in console(block):
            outcome = ensue(*shlex.split(command)[1:])
            found.append((command, outcome.stdout + outcome.stderr, shown))
        return found
    code = _FILES.sub(lambda found: repr(str(Path(found[1]).absolute())), block.text)
    with redirect_stdout(StringIO()) as out:
        exec(compile("\n" * block.line + code, PAGE.name, "exec"), names)
    return [(f"line {block.line}", out.getvalue(), "")]


@pytest.mark.pipelines
def test_the_tutorial_does_what_it_says(tmp_path: Path, spark: SparkSession) -> None:
    found = blocks(PAGE.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    kinds = set()
    with chdir(tmp_path):
        for block, below in zip(found, [*found[1:], None], strict=True):
            titled = _TITLE.fullmatch(block.kind)
            kinds.add("file" if titled else block.kind)
            if titled:
                file = Path(titled[1])
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.kind == "console":
                for command, printed, shown in told(block, names):
                    assert trimmed(printed) == trimmed(shown), command
            elif block.kind == "python":
                shown = below.text if below and below.follows and below.kind == "output" else ""
                for place, printed, _ in told(block, names):
                    assert trimmed(printed) == trimmed(shown), place
    assert kinds >= {"file", "console", "python", "output"}


@pytest.mark.parametrize("block", blocks(PAGE.read_text("utf-8")), ids=lambda each: str(each.line))
def test_blocks_of_the_tutorial_are_of_known_kinds(block: Block) -> None:
    known = ("console", "output", "python", "bash")
    assert _TITLE.fullmatch(block.kind) or block.kind in known
