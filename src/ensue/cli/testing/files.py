"""Read rule tests from files: a query, events, and the matches or the count to expect.

A file has one test, or tests in an array `test`; what stands at the top of the file holds for all
of them. Everything is checked here, so that a slip of the pen gets a sentence and not an odd match.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn

from ensue.analysis.context import nearest
from ensue.cli.inputs import read_rule_file
from ensue.cli.terminal import UsageError
from ensue.errors import EnsueError, Source
from ensue.messages import message_of, spelled
from ensue.options import Group, Limits, ReadOptions, ResultOptions, argument_name, chosen
from ensue.rules.files import RuleFile, split_rule
from ensue.rules.settings import as_setting

ENDS = (".ceql.toml", ".ceql.json")
"""How the names of rule tests end."""

_QUERY_END = ".ceql"
_TESTS = "test"
_GROUPS: tuple[Group, ...] = (ReadOptions, ResultOptions, Limits)
_OPTIONS = {argument_name(group, each): each.default for group in _GROUPS for each in fields(group)}
"""The options of a run, and their defaults."""
_GIVEN = ("params", "schema")
_EXPECTED = ("matches", "count")
_KEYS = ("name", "query", "events", *_OPTIONS, *_GIVEN, *_EXPECTED)
_TABLE, _TABLES = "a table of names and values", "a list of tables"
_OF_DEFAULT: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    tuple: ((list,), "a list of strings"),
}
"""What an option may be, by the type of its default; others are strings."""

_STRING: tuple[tuple[type, ...], str] = ((str,), "a string")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("name", "query"), _STRING),
    **{name: _OF_DEFAULT.get(type(default), _STRING) for name, default in _OPTIONS.items()},
    "lateness": ((int, str), "a number or a duration such as '10 seconds'"),
    "events": ((str, list, dict), "a list of events, a file's name, or one of these per stream"),
    **dict.fromkeys(_GIVEN, ((dict,), _TABLE)),
    "matches": ((list,), _TABLES),
    "count": ((int,), "a whole number"),
}


class RuleFileError(EnsueError, ValueError):
    """A file that is no rule test; the sentence names the place and the way out."""


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One test: what to run, and what is expected."""

    file: Path
    index: int | None
    """The number of the test in the file's array, from 0; None: the file has no array."""
    name: str
    query: Source
    events: object
    options: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    matches: list[dict[str, Any]] | None = None
    count: int | None = None


def is_rule_test(path: Path) -> bool:
    """Return whether a file is a rule test, by its name."""
    return path.name.endswith(ENDS)


def find_rule_tests(folder: Path) -> list[Path]:
    """List the rule tests under a folder by name, without hidden ones."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if is_rule_test(path)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def read_rule_tests(path: Path) -> list[RuleTest]:
    """Read all tests of a file."""
    return rule_tests(parse(path, _text(path)), path)


def rule_tests(data: Mapping[str, Any], path: Path) -> list[RuleTest]:
    """Turn what a file says into tests."""
    shared = dict(data)
    listed = shared.pop(_TESTS, None)
    if listed is None:
        return [_test(shared, path, None)]
    if not isinstance(listed, list) or not listed:
        raise RuleFileError(f"{path}: 'test' must be a list of tests: write [[test]] before each")
    for key in ("name", *_EXPECTED):
        if key in shared:
            raise RuleFileError(f"{path}: '{key}' stands above the tests; move it into one of them")
    _check(shared, str(path))
    tests = []
    for index, own in enumerate(listed):
        where = f"{path}, test {index + 1}"
        if not isinstance(own, dict):
            raise RuleFileError(f"{where}: a test is a table, not a {_kind(own)}")
        _check(own, where)
        merged = {**shared, **own}
        for key in _GIVEN:
            if key in shared and key in own:
                merged[key] = {**shared[key], **own[key]}
        tests.append(_test(merged, path, index))
    return tests


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{path}: not UTF-8; save the file as UTF-8") from error
    except OSError as error:
        raise RuleFileError(f"{path}: cannot be read: {error.strerror}") from error


def parse(path: Path, text: str) -> dict[str, Any]:
    """Parse TOML or JSON, by the name of the file."""
    if path.name.endswith(".toml"):
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise RuleFileError(f"{path}: not TOML: {error}") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleFileError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise RuleFileError(f"{path}: a rule test is an object, not a {_kind(data)}")
    return data


# One test


def _test(data: Mapping[str, Any], path: Path, index: int | None) -> RuleTest:
    where = str(path) if index is None else f"{path}, test {index + 1}"
    _check(data, where)
    if "events" not in data:
        raise RuleFileError(
            f"{where}: there are no events; write events = [{{type = 'A', ...}}] or the name of "
            "a file"
        )
    number = "the test" if index is None else f"test {index + 1}"
    rule = _query(data.get("query"), path, where)
    # The keys of a test take precedence over the settings of its rule.
    settings = {**rule.settings, **data}
    return RuleTest(
        path,
        index,
        data.get("name", number),
        rule.source,
        _events(data["events"], path, where),
        {key: settings[key] for key in _OPTIONS if key in settings},
        {**rule.settings.get("params", {}), **data.get("params", {})},
        settings.get("schema"),
        data.get("matches"),
        data.get("count"),
    )


def _check(data: Mapping[str, Any], where: str) -> None:
    """Stop at keys that mean nothing and at values of the wrong kind."""
    for key, value in data.items():
        if key not in _KINDS:
            near = nearest(key, [*_KEYS, _TESTS])
            advice = f"did you mean '{near}'?" if near else f"the keys are {', '.join(_KEYS)}"
            raise RuleFileError(f"{where}: '{key}' means nothing here; {advice}")
        if not _is_of_kind(value, key):
            _refuse(where, key, _KINDS[key][1], value)
        if key == "count" and value < 0:
            _refuse(where, key, "0 or more", value)
        if key == "matches":
            for number, match in enumerate(value, 1):
                if not isinstance(match, dict):
                    _refuse(f"{where}, match {number}", key, _TABLES, match)
    for group in _GROUPS:
        try:
            chosen(group, data)
        except ValueError as error:
            sentence = spelled(message_of(error), as_setting)
            raise RuleFileError(f"{where}: {sentence}") from error


def _is_of_kind(value: object, key: str) -> bool:
    kinds = _KINDS[key][0]
    return isinstance(value, kinds) and isinstance(value, bool) == (kinds == (bool,))


def _refuse(where: str, key: str, wanted: str, value: object) -> NoReturn:
    text = repr(value)
    shown = text if len(text) <= 40 else f"a {_kind(value)}"
    raise RuleFileError(f"{where}: '{key}' must be {wanted}, not {shown}")


def _kind(value: object) -> str:
    name = type(value).__name__
    return {"dict": "table", "str": "string"}.get(name, name)


def _query(given: str | None, path: Path, where: str) -> RuleFile:
    """Read the query: a text, a file, or the file that the test's name names."""
    if given is None:
        beside = path.with_name(path.name.rpartition(".")[0])
        if not beside.is_file():
            raise RuleFileError(
                f"{where}: there is no query; write query = '...', or put it into {beside.name} "
                "beside this file"
            )
        return read_rule_file(str(beside))
    if not given.endswith(_QUERY_END) and any(char.isspace() for char in given):
        return split_rule(Source(given, f"{where}, query"))
    file = path.parent / given
    if not file.is_file():
        raise RuleFileError(f"{where}: 'query' names {given}, and there is no such file")
    try:
        return read_rule_file(str(file))
    except UsageError as error:
        raise RuleFileError(f"{where}: {error}") from error


def _events(given: object, path: Path, where: str) -> object:
    """Return events as a query takes them; names of files are seen from the test's folder."""
    if isinstance(given, dict):
        return {stream: _events(each, path, where) for stream, each in given.items()}
    if isinstance(given, str):
        file = path.parent / given
        if not file.exists():
            raise RuleFileError(f"{where}: 'events' names {given}, and there is no such file")
        return file
    if not isinstance(given, list):
        _refuse(where, "events", _KINDS["events"][1], given)
    for number, event in enumerate(given):
        if not isinstance(event, dict):
            _refuse(f"{where}, event {number}", "events", _TABLES, event)
    return given
