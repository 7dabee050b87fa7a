"""A query with its events as a program: Python, a command, a Spark job, a rule test."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from ensue.errors import Source
from ensue.insight.evaluation import KeptEvents
from ensue.messages import Option
from ensue.options import ReadOptions
from ensue.play.asking import Asked, Loaded, as_lines, found, loaded
from ensue.rules.files import split_rule
from ensue.rules.toml import toml_key, toml_value

Answer = dict[str, Any]

_MOST_INLINE = 40
"""So many events are written into a Python program."""

_OF_TEXT = ("time_format", "nulls", "delimiter")
"""Options of text, which events that were read do not need."""

_TIMES = ("start_time", "end_time")
"""These follow from the positions of a match."""

_MOST_TESTED = 500
"""So many events, and matches, are written into a rule test."""


def export(request: Answer) -> Answer:
    """Write the query and its events in all ways."""
    asked = Asked.of(request)
    ready = loaded(asked)
    name = _file_name(request.get("name"), asked.events)
    return {
        "python": _python(asked, ready, name),
        "command": _command(asked, ready, name),
        "spark": _spark(asked, ready, name),
        "test": _rule_test(asked, ready),
        "events": name,
        "text": as_lines(asked.events),
    }


def _file_name(given: object, text: str) -> str:
    """Return what the file with the events is called."""
    name = PurePath(given).name if isinstance(given, str) else ""
    is_json = text.lstrip().startswith(("{", "["))
    known = (".jsonl", ".ndjson", ".json") if is_json else (".csv", ".tsv")
    return name if name.endswith(known) else f"events{known[0]}"


def _settings(asked: Asked, ready: Loaded) -> dict[str, Any]:
    """Return the read options that differ from their defaults, also those of a header."""
    read = asked.read
    given = {
        each.name: getattr(read, each.name)
        for each in fields(ReadOptions)
        if getattr(read, each.name) != each.default
    }
    return {**dict(ready.query.settings), **given}


def _compiled_with(asked: Asked, ready: Loaded) -> dict[str, Any]:
    """Return parameters and types, as far as there are any."""
    header = split_rule(Source(asked.query)).settings
    schema = asked.given.get("schema", header.get("schema"))
    given = {"schema": schema, "params": dict(ready.query.params)}
    return {name: value for name, value in given.items() if value}


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """Write options as keyword arguments."""
    return [str(Option(name, value)) for name, value in options.items()]


def _body(ready: Loaded) -> str:
    """Return the query without the header of a rule."""
    return ready.query.text.strip()


def _literal(text: str) -> str:
    """Write a query as a Python string."""
    if '"""' in text or "\\" in text:
        return repr(text)
    return f'"""\n{text}\n"""'


def _python(asked: Asked, ready: Loaded, name: str) -> str:
    streams = _rows(ready.events)
    settings = _settings(asked, ready)
    if sum(map(len, streams.values())) <= _MOST_INLINE:
        events = _python_events(streams)
        settings = {key: value for key, value in settings.items() if key not in _OF_TEXT}
    elif "" in streams:
        events = [f"events = {name!r}"]
    else:
        events = [_divided(asked, name), f"events = {_files(streams, name)!r}"]
    if ready.until is not None:
        settings["until"] = ready.until
    compiled = [_literal(_body(ready)), *_arguments(_compiled_with(asked, ready))]
    lines = [
        "import ensue",
        "",
        *events,
        f"query = ensue.compile({', '.join(compiled)})",
        f"matches = query.run({', '.join(['events', *_arguments(settings)])})",
        "print(matches.count)",
        "for match in matches.head(10):",
        "    print(match)",
    ]
    text = "\n".join(lines) + "\n"
    return "import datetime\n\n" + text if "datetime." in text else text


def _python_events(streams: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Write the events of a table, or those of each stream."""
    if "" in streams:
        return ["events = [", *(f"    {row!r}," for row in streams[""]), "]"]
    lines = ["events = {"]
    for stream, rows in streams.items():
        lines += [f"    {stream!r}: [", *(f"        {row!r}," for row in rows), "    ],"]
    return [*lines, "}"]


def _files(streams: Mapping[str, object], name: str) -> dict[str, str]:
    """Return the name of a file for the events of each stream."""
    return {stream: f"{stream}{PurePath(name).suffix}" for stream in streams}


def _divided(asked: Asked, name: str) -> str:
    return f"# The events of {name} in a file for each value of the column {asked.given['stream']}."


def _command(asked: Asked, ready: Loaded, name: str) -> str:
    words, note = ["ensue", "run", _body(ready), name], ""
    if isinstance(ready.events.source, dict):
        files = _files(ready.events.source, name)
        words[3:] = [f"{stream}={file}" for stream, file in files.items()]
        note = f"{_divided(asked, name)}\n"
    for key, value in _settings(asked, ready).items():
        for each in value if isinstance(value, tuple) else [value]:
            flag = "--null" if key == "nulls" else f"--{key.replace('_', '-')}"
            words += [flag, "\\t" if each == "\t" else str(each)]
    for key, value in ready.query.params.items():
        words += ["--param", f"{key}={json.dumps(value, default=str)}"]
    types = _compiled_with(asked, ready).get("schema")
    note += f"# --schema takes a file with {json.dumps(types)}\n" if types else ""
    return note + shlex.join(words) + "\n"


def _spark(asked: Asked, ready: Loaded, name: str) -> str:
    if isinstance(ready.events.source, dict):
        return (
            "# On Spark a query reads one DataFrame, whose events are those of all its streams.\n"
        )
    options = {**_settings(asked, ready), **_compiled_with(asked, ready)}
    given = _arguments({key: value for key, value in options.items() if key not in _OF_TEXT})
    source = f"spark.read.json({name!r})"
    if name.endswith((".csv", ".tsv")):
        separated = f", sep={asked.read.delimiter!r}" if asked.read.delimiter else ""
        source = f"spark.read.csv({name!r}, header=True, inferSchema=True{separated})"
    return (
        "from ensue.spark import recognize, session\n\n"
        f"query = {_literal(_body(ready))}\n"
        "spark = session()  # or any session of yours\n"
        f"events = {source}\n"
        f"found = recognize({', '.join(['events', 'query', *given])})\n"
        "found.show(truncate=False)\n"
    )


def _rule_test(asked: Asked, ready: Loaded) -> str:
    """Write what the query finds now as what it has to find."""
    streams = _rows(ready.events)
    if sum(map(len, streams.values())) > _MOST_TESTED:
        return f"# A rule test is small: at most {_MOST_TESTED} events are written into one.\n"
    body = _body(ready).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = ["# Written by the playground: `ensue test FOLDER` runs it."]
    if ready.until is not None:
        lines.append("# What waits for a deadline after the last event is not found in a test.")
    lines += ['query = """', body, '"""']
    settings = {key: value for key, value in _settings(asked, ready).items() if key not in _OF_TEXT}
    settings |= _compiled_with(asked, ready)
    lines += [f"{key} = {_toml(value)}" for key, value in settings.items()]
    expected = _expected(asked, ready)
    if "" in streams:
        lines += ["events = [", *(f"    {_toml(row)}," for row in streams[""]), "]", expected]
        return "\n".join([*lines, ""])
    # A table of TOML ends what stands above it.
    lines += [expected, "", "[events]"]
    for stream, rows in streams.items():
        lines += [f"{toml_key(stream)} = [", *(f"    {_toml(row)}," for row in rows), "]"]
    return "\n".join([*lines, ""])


def _expected(asked: Asked, ready: Loaded) -> str:
    """Write the matches that the events have without a time to come."""
    plain = asked
    if ready.until is not None:
        plain = Asked(
            asked.query, asked.events, json.dumps({**asked.given, "until": None}), asked.limits
        )
    everything = found(plain).matches
    if everything.count > _MOST_TESTED:
        return f"count = {everything.count}"
    table = everything.to_arrow(ids=False)
    left_out = {"query"} if everything.schema.totals is not None else {"query", *_TIMES}
    names = [name for name in table.column_names if name not in left_out]
    rows = table.select(names).to_pylist()
    if not rows:
        return "matches = []"
    return "\n".join(["matches = [", *(f"    {_toml(row)}," for row in rows), "]"])


def _toml(value: Any) -> str:
    """Write a value; TOML has no NULL, so attributes without a value are left out."""
    match value:
        case dict():
            kept = {name: each for name, each in value.items() if each is not None}
            inner = (f"{toml_key(name)} = {_toml(each)}" for name, each in kept.items())
            return f"{{{', '.join(inner)}}}"
        case list() | tuple():
            return f"[{', '.join(_toml(each) for each in value if each is not None)}]"
        case _:
            return toml_value(value)


def _rows(events: KeptEvents) -> dict[str, list[dict[str, Any]]]:
    """Return the events as dicts, by stream; those of a table by an empty name."""
    sources = events.source if isinstance(events.source, dict) else {"": events.source}
    found = {}
    for stream, source in sources.items():
        table = pa.Table.from_batches(source.batches, source.schema)
        found[stream] = [
            {name: value for name, value in row.items() if value is not None}
            for row in table.slice(0, _MOST_TESTED + 1).to_pylist()
        ]
    return found
