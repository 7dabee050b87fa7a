"""What commands are given: queries, schemas, parameters, and files of events."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensue.cli.terminal import UsageError, count
from ensue.errors import Source
from ensue.rules.files import RuleFile, decoded, read_rule, split_rule

if TYPE_CHECKING:
    from ensue.analysis.schema import Schema

STDIN = "-"
_QUERY_END = ".ceql"

# Queries


def query_files(arguments: Iterable[str]) -> list[str]:
    """List the files to check: a folder stands for all .ceql files below it."""
    files: dict[str, None] = {}
    for argument in arguments:
        path = Path(argument)
        if not argument:
            raise UsageError("the name of a file is empty; write . for all .ceql files below here")
        if argument == STDIN:
            files[STDIN] = None
        elif not _exists(path):
            is_text = any(char.isspace() for char in argument)
            advice = "; to check a text, pipe it in: ensue check -" if is_text else ""
            raise UsageError(f"{_shortened(argument)}: there is no such file{advice}")
        elif path.is_dir():
            below = sorted(each for each in path.rglob("*.ceql") if each.is_file())
            if not below:
                raise UsageError(f"{argument}: there is no .ceql file in this folder")
            files.update(dict.fromkeys(map(str, below)))
        else:
            files[argument] = None
    return list(files)


def rule_arguments(query: str, events: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Separate rules from events: a folder, several .ceql files, or one that has settings.

    The list of rules is empty where there is a single query without settings.
    """
    files, rest = [Path(query)], list(events)
    if query == STDIN or not query.strip() or not _exists(files[0]):
        return [], rest
    while len(rest) > 1 and rest[0].endswith(_QUERY_END) and Path(rest[0]).is_file():
        files.append(Path(rest.pop(0)))
    several = len(files) > 1 or files[0].is_dir()
    return (files if several or read_rule_file(query).has_settings else []), rest


def query_source(argument: str) -> Source:
    """Read a query: from a file, from standard input, or else the argument is its text."""
    if argument == STDIN:
        return read_query(STDIN)
    if not argument.strip():
        return Source(argument)
    path = Path(argument)
    if _exists(path):
        if path.is_dir():
            raise UsageError(f"{argument}: this is a folder, and one query is asked for")
        return read_query(argument)
    if any(char.isspace() for char in argument) and not re.fullmatch(r".*\.ceql", argument):
        return Source(argument)
    raise UsageError(f"{argument}: there is no such file")


def read_query(file: str) -> Source:
    """Read a query from a file or, for `-`, from standard input; a header is left out."""
    return read_rule_file(file).source


def read_rule_file(file: str) -> RuleFile:
    """Read a query and its settings from a file or, for `-`, from standard input."""
    try:
        if file == STDIN:
            return split_rule(decoded(sys.stdin.buffer.read(), "<stdin>"))
        return read_rule(Path(file))
    except OSError as error:
        name = "<stdin>" if file == STDIN else file
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a text that is too long for a file's name
        return False


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"


# What is given beside a query


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON file with {attribute: type} or {event: {attribute: type}}."""
    try:
        schema = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(
            f"{path}: a schema is an object {{attribute: type}} or {{event: {{attribute: type}}}}"
        )
    return schema


def schema_of_file(path: Path | None, *, partial: bool = False) -> Schema | None:
    """Read a schema; `partial` where events may have other attributes too."""
    from ensue.analysis.schema import from_python

    if path is None:
        return None
    try:
        return from_python(read_schema(path), partial=partial)
    except TypeError as error:
        raise UsageError(f"--schema {path}: {error}") from error


def read_parameters(given: Iterable[str]) -> dict[str, Any]:
    """Read NAME=VALUE: a value is JSON where it can be, else a string.

    >>> read_parameters(["low=1.5", "name=MSFT", "names=[\\"MSFT\\", \\"IBM\\"]"])
    {'low': 1.5, 'name': 'MSFT', 'names': ['MSFT', 'IBM']}
    """
    values: dict[str, Any] = {}
    for each in given:
        name, sign, text = each.partition("=")
        name = name.strip().removeprefix("$")
        if not sign or not name:
            raise UsageError(f"--param {each}: write NAME=VALUE, such as --param low=1.5")
        if name in values:
            raise UsageError(f"--param {name} is given twice")
        try:
            values[name] = json.loads(text)
        except (ValueError, RecursionError):
            values[name] = text
    return values


def refuse_unknown_parameters(source: Source, values: Mapping[str, Any]) -> None:
    """Stop when a value is given for a parameter that the query does not have."""
    from ensue.language.tokens import tokenize

    known = {str(token.value) for token in tokenize(source) if token.kind == "PARAMETER"}
    for name in values:
        if name not in known:
            has = ", ".join(f"${each}" for each in sorted(known)) or "none"
            raise UsageError(f"--param {name}: the query has no such parameter; it has {has}")


# Events


def event_paths(arguments: Sequence[str], streams: Sequence[str]) -> dict[str, list[str]]:
    """Sort the files by stream; under '' those that belong to whatever FROM names."""
    paths: dict[str, list[str]] = {}
    for argument in arguments:
        stream, path = _pair(argument)
        if not path:
            raise UsageError(f"'{argument}' names no file; - stands for standard input")
        if path != STDIN and not _exists(Path(path)) and not has_magic(path):
            raise UsageError(f"{path}: there is no such file")
        paths.setdefault(stream, []).append(path)
    if len(arguments) > 1 and any(STDIN in files for files in paths.values()):
        raise UsageError("events come from standard input or from files, not from both")
    pairs = " ".join(f"{name}=FILE" for name in streams)
    if "" in paths and len(paths) > 1:
        raise UsageError(f"say of every file which stream it holds: {pairs}")
    if len(paths.get("", ())) > 1 and len(streams) > 1:
        raise UsageError(
            f"FROM names {count(len(streams), 'stream')}; say which file holds which: {pairs}"
        )
    return paths


def event_files(paths: Mapping[str, Sequence[str]]) -> list[str]:
    """List the files, folders and standard input that paths and patterns stand for."""
    listed: list[str] = []
    for path in (each for of_stream in paths.values() for each in of_stream):
        is_pattern = path != STDIN and not _exists(Path(path))
        listed += glob(path, recursive=True) if is_pattern else [path]  # noqa: PTH207
    return listed


def _pair(argument: str) -> tuple[str, str]:
    """Split STREAM=FILE, unless the whole is the name of a file."""
    stream, sign, path = argument.partition("=")
    if not sign or _exists(Path(argument)) or not re.fullmatch(r"\w+", stream):
        return "", argument
    return stream, path
