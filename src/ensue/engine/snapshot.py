"""Snapshots: the state of a session as one block of bytes, and back.

What is written depends on the query and the events alone, never on the order in which a process
happened to work something out, so that any process can go on from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from ensue.analysis.schema import Schema
from ensue.engine.block import below, pack, part, unpack
from ensue.engine.fast import Budgets
from ensue.engine.lane import Lane, Manner
from ensue.engine.query import Query
from ensue.engine.stream import Options
from ensue.errors import EnsueError, SnapshotError


def describe_options(options: Options) -> dict[str, Any]:
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
    }


def options_of(described: Mapping[str, Any]) -> Options:
    """Read options that were written as plain values."""
    lateness = described["lateness"]
    if isinstance(lateness, tuple):
        lateness = timedelta(microseconds=lateness[1])
    return Options(**{**described, "lateness": lateness})


def identity(query: Query) -> str:
    """Return a hash of all that decides what a query's state means: its text and its schema."""
    told = f"{query.fingerprint}\n{_schema(query.schema)}"
    return hashlib.sha256(told.encode()).hexdigest()


def _schema(schema: Schema) -> str:
    def attributes(each: Mapping[tuple[str, ...], Any]) -> str:
        return repr(sorted((path, kind.name) for path, kind in each.items()))

    events = None
    if schema.events is not None:
        events = {name: attributes(each) for name, each in sorted(schema.events.items())}
    return f"{attributes(schema.common)} {events} {schema.closed}"


def write(kind: str, header: Mapping[str, Any], lanes: Mapping[str, Lane]) -> bytes:
    """Write a session of one or of many queries."""
    sections: dict[str, Any] = {"kind": kind, "header": dict(header)}
    for name, lane in lanes.items():
        sections |= below(f"lane/{name}", lane.save())
    return pack(sections)


def read(kind: str, block: bytes) -> dict[str, Any]:
    """Read what `write` wrote of such a session."""
    sections = unpack(block)
    if sections.get("kind") != kind:
        raise SnapshotError(
            f"this is a snapshot of {_KINDS.get(str(sections.get('kind')), 'something else')}, "
            f"not of {_KINDS[kind]}"
        )
    return sections


_KINDS = {"session": "a session of one query", "many": "a session of many queries"}


def restore(lane: Lane, sections: Mapping[str, Any], name: str) -> None:
    """Put a fresh lane into the state that was written."""
    try:
        lane.load(part(sections, f"lane/{name}"))
    except EnsueError:
        raise
    except _DAMAGES as error:
        raise SnapshotError(f"this snapshot is damaged: {error}") from error


_DAMAGES = (ValueError, KeyError, TypeError, IndexError, AttributeError, pa.ArrowException)


def refuse_other(query: Query, header: Mapping[str, Any]) -> None:
    """Stop at the snapshot of another query."""
    if header["fingerprint"] != query.fingerprint:
        raise SnapshotError(
            "this snapshot is of another query; partial matches of one query mean nothing to "
            f"another. It was: {header['text']}"
        )
    if header["identity"] != identity(query):
        raise SnapshotError(
            "this snapshot was taken under another schema; compile the query with the schema it "
            "had then"
        )


def describe(query: Query) -> dict[str, Any]:
    """Name a query, so that another one is noticed."""
    return {"fingerprint": query.fingerprint, "identity": identity(query), "text": str(query)}


def manner_of(header: Mapping[str, Any], states: int | None, size: int | None) -> Manner:
    """Return how queries were evaluated, with other budgets where they are given."""
    kept = Budgets(header["states"], header["bytes"])
    budgets = replace(
        kept,
        states=kept.states if states is None else states,
        bytes=kept.bytes if size is None else size,
    )
    return Manner(header["positions_only"], budgets, exact=header.get("exact", False))
