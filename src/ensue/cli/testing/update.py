"""Write what came out of rule tests into their files, and leave the rest of them as it is.

TOML is edited as text, so that comments and layout stay. The result is parsed and compared with
what it must say before it is written: a file that is laid out in an unforeseen way is refused,
never spoilt. JSON has no comments, and is laid out anew.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ensue.cli.testing.files import RuleFileError, parse
from ensue.cli.testing.judge import Verdict
from ensue.rules.toml import toml_value

_MANY = 100
"""Of a test that said nothing yet, so many matches are written down; of more, their count."""

_WIDTH = 100


def update(path: Path, verdicts: Iterable[Verdict]) -> int:
    """Write down what was found where it was not expected; return the number of tests changed."""
    changes = [(each.test.index, _findings(each)) for each in verdicts if _is_news(each)]
    if not changes:
        return 0
    text = path.read_bytes().decode("utf-8-sig")
    data = parse(path, text)
    wanted = copy.deepcopy(data)
    for index, findings in changes:
        (wanted if index is None else wanted["test"][index]).update(findings)
    if path.name.endswith(".toml"):
        for index, findings in changes:
            for key, value in findings.items():
                text = _with_value(text, index, key, _toml(key, value))
        if not _says(text, wanted, path):
            raise RuleFileError(
                f"{path}: its layout cannot be kept; write each test under a line [[test]], and "
                "keys without dots"
            )
    else:
        text = _json(wanted) + "\n"
    path.write_text(text, encoding="utf-8", newline="")
    return len(changes)


def _is_news(verdict: Verdict) -> bool:
    test = verdict.test
    silent = test.matches is None and test.count is None
    return verdict.problem is None and (silent or not verdict.passed)


def _findings(verdict: Verdict) -> dict[str, Any]:
    test = verdict.test
    findings: dict[str, Any] = {}
    if test.matches is not None or (test.count is None and verdict.count <= _MANY):
        findings["matches"] = [_in_writing(row, test.file) for row in verdict.found]
    if test.count is not None or not findings:
        findings["count"] = verdict.count
    return findings


def _in_writing(value: Any, path: Path) -> Any:
    """Leave out NULLs, for TOML has none, and write dates as text in JSON."""
    if isinstance(value, dict):
        return {name: _in_writing(each, path) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_in_writing(each, path) for each in value]
    if isinstance(value, date) and path.name.endswith(".json"):
        return value.isoformat()
    return value


def _says(text: str, wanted: Mapping[str, Any], path: Path) -> bool:
    try:
        return repr(_sorted(parse(path, text))) == repr(_sorted(wanted))
    except RuleFileError:
        return False


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in sorted(value.items())}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


# TOML


_PIECES = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|'''
    r"""\#[^\n]*|\n|[\[{]|[\]}]|=|[^\#\n"'\[\]{}=]+|.""",
    re.DOTALL,
)
_TEST = re.compile(r"\[\[\s*test\s*\]\]")
_INDENT = "    "


@dataclass(slots=True)
class _Statement:
    """A statement of TOML: a header or a key and its value, without a comment behind it."""

    start: int
    end: int = 0
    equals: int | None = None


def _statements(text: str) -> Iterator[_Statement]:
    """Cut a text into statements.

    >>> text = 'a = 1 # one\\n[[test]]\\nb = [\\n  2, # two\\n]\\n'
    >>> [text[each.start : each.end] for each in _statements(text)]
    ['a = 1', '[[test]]', 'b = [\\n  2, # two\\n]']
    """
    depth = 0
    now: _Statement | None = None
    for found in _PIECES.finditer(text):
        piece = found[0]
        if piece == "\n" and depth == 0:
            if now is not None:
                yield now
            now = None
            continue
        if piece.startswith("#") or piece.isspace():
            continue
        if now is None:
            now = _Statement(found.end() - len(piece.lstrip()))
        depth += (piece in "[{") - (piece in "]}")
        if piece == "=" and depth == 0 and now.equals is None:
            now.equals = found.end()
        now.end = found.end() - len(piece) + len(piece.rstrip())
    if now is not None:
        yield now


def _with_value(text: str, index: int | None, key: str, value: str) -> str:
    """Put a value in place of a key's old one, or after all other keys of its test."""
    tests = -1
    inside = index is None
    last: _Statement | None = None
    for each in _statements(text):
        if text[each.start] == "[" and each.equals is None:
            opens_test = bool(_TEST.fullmatch(text[each.start : each.end]))
            tests += opens_test
            inside = index is not None and opens_test and tests == index
            if inside:
                last = each
        elif inside:
            last = each
            assert each.equals is not None
            if text[each.start : each.equals - 1].strip().strip("\"'") == key:
                return f"{text[: each.equals]} {value}{text[each.end :]}"
    if last is None:
        return text
    line = text.find("\n", last.end)
    at = len(text) if line < 0 else line
    return f"{text[:at]}\n{key} = {value}{text[at:]}"


def _toml(key: str, value: Any) -> str:
    """Write a value; a list of matches has one match a line."""
    if key != "matches" or not value:
        return toml_value(value)
    lines = "".join(f"{_INDENT}{toml_value(each)},\n" for each in value)
    return f"[\n{lines}]"


# JSON


def _json(value: Any, indent: str = "") -> str:
    """Write JSON so that what fits on a line stands on a line."""
    whole = json.dumps(value, ensure_ascii=False, default=str)
    if len(indent) + len(whole) <= _WIDTH or not isinstance(value, dict | list):
        return whole
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_json(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _json(each, inner) for each in value) + f"\n{indent}]"
