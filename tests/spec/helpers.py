"""What the tests of the language share: streams written as words, matches as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import ensue

Event = dict[str, Any]
Plain = tuple[int, int, dict[str, list[int]]]

_WORD = re.compile(r"([A-Za-z]+)(-?[0-9]+)?")

NINE = datetime(2026, 1, 31, 9, 0, 0)
"""A Saturday morning."""


def stream(words: str) -> list[Event]:
    """Spell a stream: stream("A B7") is an A without attributes and a B whose v is 7."""
    events: list[Event] = []
    for word in words.split():
        found = _WORD.fullmatch(word)
        assert found is not None, word
        value = {} if found[2] is None else {"v": int(found[2])}
        events.append({"type": found[1], **value})
    return events


def timed(words: str, times: Iterable[int]) -> list[Event]:
    """Spell a stream with the times of its events in the column t."""
    return [{**event, "t": t} for event, t in zip(stream(words), times, strict=True)]


def clocked(words: str, seconds: Iterable[float]) -> list[Event]:
    """Spell a stream with timestamps in the column ts, in seconds after NINE."""
    return [
        {**event, "ts": NINE + timedelta(seconds=late)}
        for event, late in zip(stream(words), seconds, strict=True)
    ]


def run(pattern: str, events: object, *, select: str = "*", **options: Any) -> ensue.Matches:
    """Run what follows WHERE."""
    return ensue.run(f"SELECT {select} FROM S WHERE {pattern}", events, **options)


def plain(matches: Iterable[ensue.Match]) -> list[Plain]:
    """Give matches as (start, end, bindings), in order; each must come once."""
    found = [(m.start, m.end, {x: at for x, at in m.bindings.items() if at}) for m in matches]
    told = [repr((start, end, sorted(at.items()))) for start, end, at in found]
    assert len(told) == len(set(told)), "a match was reported more than once"
    return sorted(found, key=lambda each: (each[1], each[0], sorted(each[2].items())))


def found(pattern: str, events: object, **options: Any) -> list[Plain]:
    """Run what follows WHERE and give its matches, sorted by end, start and bindings."""
    return plain(run(pattern, events, **options))


def spans(pattern: str, events: object, **options: Any) -> list[tuple[int, int]]:
    """Give start and end of every match, in the order of the report."""
    return [(m.start, m.end) for m in run(pattern, events, **options)]


def supports(pattern: str, events: object, **options: Any) -> set[tuple[int, ...]]:
    """Give the positions bound in every match."""
    bound = (m.bindings.values() for m in run(pattern, events, **options))
    return {tuple(sorted({position for each in many for position in each})) for many in bound}


def rows(pattern: str, events: object, **options: Any) -> list[dict[str, Any]]:
    """Run a query that counts and give its rows."""
    told: list[dict[str, Any]] = run(pattern, events, **options).to_arrow().to_pylist()
    return told


def valued(values: Iterable[Any]) -> list[Event]:
    """Make one A of each value of v; of a dict, an A with these attributes."""
    return [{"type": "A", **(each if isinstance(each, dict) else {"v": each})} for each in values]


def kept(predicate: str, values: Iterable[Any], **options: Any) -> list[int]:
    """Tell which of these values (or attributes) satisfy a predicate about one event."""
    return [m.start for m in run(f"A FILTER A[{predicate}]", valued(values), **options)]
