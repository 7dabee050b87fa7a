"""The pages of the documentation say what is true.

Blocks marked `python` run from top to bottom, all of a page in one namespace; those about the
language begin with the helpers of docs/language/index.md. What a block prints stands right below
it, in a block marked `output` or indented by four spaces; a block with nothing below prints
nothing. Blocks marked `ceql` are queries that compile.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.cli.testing.files import rule_tests
from ensue.cli.testing.judge import judge, report

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "api.md",
    ROOT / "docs" / "operations.md",
    ROOT / "docs" / "cookbook.md",
    *sorted((ROOT / "docs" / "language").glob("*.md")),
    ROOT / "docs" / "running.md",
    ROOT / "docs" / "seeing.md",
    ROOT / "docs" / "sessions.md",
    ROOT / "docs" / "rules.md",
    ROOT / "docs" / "aggregation.md",
    ROOT / "docs" / "functions.md",
    ROOT / "docs" / "editors.md",
]
LANGUAGE = ROOT / "docs" / "language"
ERRORS = ROOT / "docs" / "errors.md"


def label(page: Path) -> str:
    """Name a page in the list of tests."""
    return page.relative_to(ROOT).as_posix()


@dataclass(slots=True)
class Block:
    """A block of code on a page."""

    kind: str
    line: int
    follows: bool
    """Whether it stands right below a fenced block."""
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])


def blocks(page: str) -> list[Block]:
    """Find the blocks of a page.

    >>> [(each.kind, each.text) for each in blocks("Say\\n\\n```python\\n1\\n```\\n\\n    one\\n")]
    [('python', '1\\n'), ('output', 'one\\n')]
    """
    found: list[Block] = []
    fence: Block | None = None
    indented: Block | None = None
    follows = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            follows = fence is not None or follows
            if fence is None:
                fence = Block(line.removeprefix("```"), number, follows)
                found.append(fence)
            else:
                fence = None
            indented = None
        elif fence is not None:
            fence.lines.append(line)
        elif line.startswith("    "):
            if indented is None:
                indented = Block("output", number, follows)
                found.append(indented)
            indented.lines.append(line.removeprefix("    "))
        elif line.strip():
            indented, follows = None, False
    return found


def printed(code: str, page: Path, line: int, names: dict[str, Any]) -> str:
    """Run a block and return what it prints; errors name the line on the page."""
    compiled = compile("\n" * line + code, page.name, "exec")
    with chdir(ROOT), redirect_stdout(StringIO()) as out:
        exec(compiled, names)
    return out.getvalue()


def helpers() -> dict[str, Any]:
    """Return the functions that the examples about the language use."""
    page = LANGUAGE / "index.md"
    block = next(each for each in blocks(page.read_text("utf-8")) if each.kind == "python")
    names: dict[str, Any] = {}
    assert printed(block.text, page, block.line, names) == ""
    return names


def in_any_order(text: str) -> str:
    """Sort lines that are all matches: in which order some of them come is not specified."""
    lines = text.splitlines()
    return "\n".join(sorted(lines) if all(line.startswith("Match(") for line in lines) else lines)


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_python_blocks_print_what_the_page_shows(page: Path) -> None:
    found = blocks(page.read_text(encoding="utf-8"))
    assert any(block.kind == "python" for block in found)
    names = helpers() if page.parent == LANGUAGE else {}
    wrong: list[str] = []
    for block, below in zip(found, [*found[1:], None], strict=True):
        if block.kind != "python":
            continue
        shown = below.text if below and below.follows and below.kind == "output" else ""
        told = printed(block.text, page, block.line, names)
        if in_any_order(told) != in_any_order(shown):
            wrong.append(f"{page.name}:{block.line} prints\n{told}\nbut shows\n{shown}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_ceql_blocks_compile(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "ceql":
            ensue.compile(block.text, name=f"{page.name}:{block.line}")


def test_rule_tests_of_the_page_pass() -> None:
    page = ROOT / "docs" / "testing.md"
    found = [each for each in blocks(page.read_text(encoding="utf-8")) if each.kind == "toml"]
    assert len(found) >= 2
    for block in found:
        for test in rule_tests(tomllib.loads(block.text), page.with_name("page.ceql.toml")):
            verdict = judge(test)
            assert verdict.passed, f"{page.name}:{block.line}: {report(verdict)}"


def rows(page: Path) -> list[list[str]]:
    """Return the cells of all tables of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def code_of(cell: str) -> str | None:
    """Return what a cell has in backquotes, if it has nothing else."""
    found = re.fullmatch(r"(`+)(.*?)\1", cell.strip())
    return None if found is None else found[2].strip()


def precedence() -> list[tuple[str, str]]:
    """Return the examples of the tables of precedence: as written, and with parentheses."""
    page = (LANGUAGE / "scopes.md").read_text(encoding="utf-8")
    section = page.split("\n## Precedence\n")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    found = [(code_of(row[2]), code_of(row[3])) for row in cells if len(row) == 4]
    return [(written, read) for written, read in found if written and read]


@pytest.mark.parametrize(("written", "read"), precedence())
def test_precedence_is_as_in_the_tables(written: str, read: str) -> None:
    start = "SELECT * FROM S WHERE "
    if re.search(r"\b[a-c]\b", written):
        texts = [f"{start}E FILTER E[{each}]" for each in (written, read)]
    else:
        texts = [start + each for each in (written, read)]
    assert str(ensue.compile(texts[0])) == str(ensue.compile(texts[1]))


# --- errors ----------------------------------------------------------------------------------

_CODE = re.compile(r"\b[EW]\d{3}\b")


def listed() -> list[list[str]]:
    """Return the rows of the table of codes."""
    return [row for row in rows(ERRORS) if _CODE.fullmatch(row[0])]


def test_exactly_the_codes_of_the_source_are_listed() -> None:
    files = (ROOT / "src" / "ensue").rglob("*.py")
    used = {code for file in files for code in _CODE.findall(file.read_text(encoding="utf-8"))}
    codes = [row[0] for row in listed()]
    assert codes == sorted(used)
    assert all(len(row) == 4 and all(row) for row in listed())


TRADES = pa.table(
    {
        "type": ["SELL", "BUY"],
        "name": ["MSFT", "MSFT"],
        "price": [101.0, 99.0],
        "volume": [10, 20],
        "ts": pa.array([datetime(2026, 1, 31, 9, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
        "halted": [False, True],
        "process": [{"name": "sh", "pid": 1}, {"name": "sh", "pid": 2}],
        "tags": [["tech"], ["tech", "us"]],
    }
)
GIVEN = {"symbol": "MSFT", "list": ["MSFT", "IBM"], "odd": object()}


def causes() -> list[Any]:
    """Return the typical causes that are written as code, with their codes."""
    found = [(row[0], code_of(row[2])) for row in listed()]
    return [pytest.param(code, cause, id=code) for code, cause in found if cause is not None]


@pytest.mark.parametrize(("code", "cause"), causes())
def test_a_typical_cause_has_this_code(code: str, cause: str) -> None:
    whole = cause.startswith(("SELECT", "SELCT", "CREATE"))
    text = cause if whole else f"SELECT * FROM Stocks WHERE {cause}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ensue.CeqlWarning)
        try:
            query = ensue.compile(text, TRADES.schema, GIVEN)
            told = [each.code for each in query.warnings]
            query.run(TRADES)
        except ensue.CeqlError as error:
            told = [each.code for each in error.diagnostics]
    assert code in told
