"""Snapshots: the state of a session as one block of bytes, and back.

What is written depends on the query and the events alone, never on the order in which a process
happened to work something out, so that any process can go on from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa

from ensue.analysis.schema import Schema
from ensue.engine.pipeline import Pipeline
from ensue.engine.query import Query
from ensue.errors import EnsueError, SnapshotError
from ensue.options import Limits, OnError, ReadOptions, ThreadOptions
from ensue.plan.mode import ExecutionMode
from ensue.state.container import below, pack, part, unpack


def describe_options(options: ReadOptions) -> dict[str, Any]:
    """Write options as plain values."""
    lateness: Any = options.lateness
    if isinstance(lateness, timedelta):
        lateness = ("microseconds", lateness // timedelta(microseconds=1))
    return {
        "type": options.type,
        "time": options.time,
        "time_unit": options.time_unit,
        "tiebreak": options.tiebreak,
        "lateness": lateness,
        "time_format": options.time_format,
        "nulls": tuple(options.nulls),
        "delimiter": options.delimiter,
    }


def options_of(described: Mapping[str, Any]) -> ReadOptions:
    """Read options that were written as plain values."""
    lateness = described["lateness"]
    if isinstance(lateness, tuple):
        lateness = timedelta(microseconds=lateness[1])
    return ReadOptions(**{**described, "lateness": lateness})


def identity(query: Query) -> str:
    """Return a hash of all that decides what a query's state means: its text and its schema."""
    described = f"{query.fingerprint}\n{_schema(query.schema)}"
    if query.settings:
        described += f"\n{sorted(query.settings.items())!r}"
    return hashlib.sha256(described.encode()).hexdigest()


def _schema(schema: Schema) -> str:
    def attributes(each: Mapping[tuple[str, ...], Any]) -> str:
        return repr(sorted((path, kind.name) for path, kind in each.items()))

    events = None
    if schema.events is not None:
        events = {name: attributes(each) for name, each in sorted(schema.events.items())}
    return f"{attributes(schema.common)} {events} {schema.closed}"


def write(header: Mapping[str, Any], pipelines: Sequence[Pipeline]) -> bytes:
    """Write a session."""
    sections: dict[str, Any] = {"header": dict(header)}
    for number, pipeline in enumerate(pipelines):
        sections |= below(f"lane {number}", pipeline.save())
    return pack(sections)


def read(block: bytes, queries: Mapping[str, Query]) -> dict[str, Any]:
    """Read what `write` wrote; SnapshotError where it is of other queries."""
    sections = unpack(block)
    if not isinstance(sections.get("header"), dict):
        raise damaged("it does not say what it is of")
    refuse_others(queries, sections["header"]["queries"])
    return sections


def settings_of(
    sections: Mapping[str, Any], on_error: OnError | None, limits: Mapping[str, int]
) -> tuple[ReadOptions, ExecutionMode, OnError]:
    """Return how a session was opened, with another `on_error` and limits where they are given."""
    header = sections["header"]
    mode = mode_of(header["manner"], limits)
    return options_of(header["options"]), mode, on_error or header["on_error"]


def damaged(problem: object) -> SnapshotError:
    """Say that a snapshot is not what it should be."""
    return SnapshotError(f"this snapshot is damaged: {problem}")


def restore(pipeline: Pipeline, sections: Mapping[str, Any], number: int) -> None:
    """Put a fresh pipeline into the state that was written."""
    try:
        pipeline.load(part(sections, f"lane {number}"))
    except EnsueError:
        raise
    except _DAMAGES as error:
        raise damaged(error) from error


_DAMAGES = (ValueError, KeyError, TypeError, IndexError, AttributeError, pa.ArrowException)


def refuse_others(queries: Mapping[str, Query], described: Mapping[str, Any]) -> None:
    """Stop at the snapshot of other queries."""
    if len(queries) == 1 and len(described) > 1:
        raise SnapshotError("this is a snapshot of many queries; resume it with ensue.resume()")
    if queries.keys() != described.keys():
        raise SnapshotError(
            f"this snapshot is of the queries {_listed(described)}, not of {_listed(queries)}; "
            "resume it with those, then add, replace and remove"
        )
    for name, query in queries.items():
        written = described[name]
        called = f" '{name}'" if name else ""
        before = written.get("functions", {})
        for function, version in query.versions.items():
            if function in before and before[function] != version:
                raise SnapshotError(
                    f"this snapshot of the query{called} was taken with version "
                    f"{before[function]} of the function '{function}', and this is version "
                    f"{version}: resume it with that one, or open a new session"
                )
        if written["fingerprint"] != query.fingerprint:
            raise SnapshotError(
                f"this snapshot is of another query{called}; partial matches of one query mean "
                f"nothing to another. It was: {written['text']}"
            )
        choice = _choice(query)
        if choice is not None and written.get("choice") != choice:
            raise SnapshotError(
                f"this snapshot of the query{called} was taken when SELECT {choice} compared "
                "matches of one start only; its partial matches have another meaning now: open a "
                "new session"
            )
        if written["identity"] != identity(query):
            raise SnapshotError(
                f"this snapshot of the query{called} was taken under another schema; compile it "
                "with the schema it had then"
            )


def _listed(queries: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in queries) or "none"


def describe(query: Query) -> dict[str, Any]:
    """Name a query, so that another one is noticed."""
    described: dict[str, Any] = {
        "fingerprint": query.fingerprint,
        "identity": identity(query),
        "text": str(query),
    }
    if query.versions:
        described["functions"] = query.versions
    choice = _choice(query)
    return described if choice is None else {**described, "choice": choice}


def _choice(query: Query) -> str | None:
    """Return the strategy of SELECT, where it chooses among matches."""
    strategy = query.tree.select.strategy
    return None if strategy is None or strategy.text == "STRICT" else strategy.text


def describe_mode(mode: ExecutionMode) -> dict[str, Any]:
    """Write as plain values how queries are evaluated."""
    return {
        "positions_only": mode.positions_only,
        "budgets": {
            "states": mode.limits.states,
            "bytes": mode.limits.bytes,
            "configurations": mode.limits.configurations,
            "matches": mode.limits.matches,
        },
        "exact": mode.exact,
    }


def mode_of(described: Mapping[str, Any], limits: Mapping[str, int]) -> ExecutionMode:
    """Return how queries were evaluated, with other limits where they are given."""
    kept = Limits(**{**described["budgets"], **limits})
    threads = ThreadOptions().number
    return ExecutionMode(
        described["positions_only"], kept, exact=described["exact"], threads=threads
    )
