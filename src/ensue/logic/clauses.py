"""The clauses of a query in the reference semantics, in their order.

Matches are found in each substream of PARTITION BY, kept within the window, sorted, consumed,
limited, and aggregated. Positions inside a substream are translated to those of the whole stream.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from ensue.analysis.bound import Interval, Totals, Window
from ensue.analysis.expressions import Value
from ensue.logic import formula as f
from ensue.logic.aggregates import aggregate
from ensue.logic.complex_event import ComplexEvent, Event
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Reference


@dataclass(frozen=True, slots=True)
class Clauses:
    """A query: its formula, and its clauses."""

    formula: f.Formula
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: str = "NONE"
    limit: int | None = None
    totals: Totals | None = None
    every: Interval | None = None
    positions_only: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A match with positions of the whole stream, and the key of its partition."""

    key: tuple[Value, ...]
    match: ComplexEvent


@dataclass(frozen=True, slots=True)
class Row:
    """A row of count(*): the completing event or the interval, and the aggregates by name."""

    event: int
    """The position of an event that completed one of the matches."""
    time: int
    totals: Mapping[str, Value]


@dataclass(slots=True)
class Answer:
    """The result of a query on a stream."""

    matches: list[Found]
    rows: list[Row]
    tally: Tally


def answer(clauses: Clauses, stream: Sequence[Event]) -> Answer:
    """Evaluate a query on a whole stream."""
    tally = Tally()
    found: list[Found] = []
    for key, positions in partition(clauses, stream).items():
        found += found_in(clauses, key, positions, Reference([stream[i] for i in positions], tally))
    found = apply_consume(in_order(found), clauses.consume, nothing_consumed())
    if clauses.totals is None:
        return Answer(limited(found, clauses.limit), [], tally)
    totals = GroupedTotals(clauses, clauses.totals)
    totals.add(found, Reference(stream, tally))
    return Answer([], totals.take(None), tally)


def partition(clauses: Clauses, stream: Sequence[Event]) -> dict[tuple[Value, ...], list[int]]:
    """Split a stream by its partition attributes; events with a NULL there are left out."""
    substreams: dict[tuple[Value, ...], list[int]] = defaultdict(list)
    for i, event in enumerate(stream):
        key = tuple(event.value(path) for path in clauses.partition)
        if None not in key:
            substreams[key].append(i)
    return substreams


def found_in(
    clauses: Clauses,
    key: tuple[Value, ...],
    positions: Sequence[int],
    reference: Reference,
    since: int = 0,
) -> list[Found]:
    """Return the matches in a substream that end at its event number `since` or later."""
    complex_events: Iterable[ComplexEvent] = reference.meaning(clauses.formula)
    if clauses.positions_only:
        complex_events = {support_only(c) for c in complex_events}
    return [
        Found(key, _translated(c, positions))
        for c in complex_events
        if c.end >= since and _within(c, clauses.window, reference.stream)
    ]


def in_order(found: Iterable[Found]) -> list[Found]:
    """Sort matches by their ends, the latest start first."""
    return sorted(found, key=lambda each: (each.match.end, -each.match.start, _order(each.match)))


def support_only(c: ComplexEvent) -> ComplexEvent:
    """Drop the names of variables, and computed events."""
    return ComplexEvent(c.start, c.end, frozenset(("", i) for i in c.support))


def _within(c: ComplexEvent, window: Window | None, stream: Sequence[Event]) -> bool:
    if window is None:
        return True
    if window.kind == "events":
        return c.end - c.start <= window.size
    return stream[c.end].time - stream[c.start].time <= window.size


def _translated(c: ComplexEvent, positions: Sequence[int]) -> ComplexEvent:
    """Give positions of a substream as those of the whole stream."""
    return ComplexEvent(
        positions[c.start],
        positions[c.end],
        frozenset((name, positions[i]) for name, i in c.bindings),
        frozenset((name, y._replace(end=positions[y.end])) for name, y in c.computed),
    )


def _order(c: ComplexEvent) -> tuple[Any, ...]:
    """Return a key for a fixed order, so that results do not depend on hashing."""
    return sorted(c.bindings), sorted((name, y.place, y.end, repr(y)) for name, y in c.computed)


Consumed = dict[tuple[Value, ...], int]
"""The last consumed position, by key."""


def nothing_consumed() -> Consumed:
    """Return the state before anything is consumed."""
    return defaultdict(lambda: -1)


def apply_consume(found: list[Found], consume: str, consumed: Consumed) -> list[Found]:
    """Apply CONSUME BY: an event that completes a match consumes all events up to it."""
    if consume == "NONE":
        return found
    kept: list[Found] = []
    for end, group in groupby(found, key=lambda each: each.match.end):
        completed = list(group)
        key = completed[0].key if consume == "PARTITION" else ()
        alive = [each for each in completed if each.match.start > consumed[key]]
        if alive:
            consumed[key] = end
            kept += alive
    return kept


def limited(found: list[Found], limit: int | None) -> list[Found]:
    """Keep the first matches of each completing event."""
    if limit is None:
        return found
    return [
        each
        for _, group in groupby(found, key=lambda each: each.match.end)
        for each in islice(group, limit)
    ]


@dataclass(slots=True)
class Group:
    """The matches of one completing event or interval: their number, and the values they bind."""

    event: int
    time: int
    number: int
    """The number of the interval, or the position of the event."""
    count: int = 0
    values: dict[str, list[Value]] = field(default_factory=dict)


@dataclass(slots=True)
class GroupedTotals:
    """Aggregates of matches, grouped by completing event or interval, and by key."""

    clauses: Clauses
    totals: Totals
    groups: dict[tuple[Any, ...], Group] = field(default_factory=dict)

    def add(self, found: Iterable[Found], whole: Reference) -> None:
        """Add matches to their groups."""
        every = self.clauses.every
        for each in found:
            end = each.match.end
            number, time = end, whole.stream[end].time
            if every is not None:
                number = time * every.unit // every.length
                time = number * every.length // every.unit
            group = self.groups.setdefault((number, each.key), Group(end, time, number))
            group.count += 1
            for column in self.totals.columns:
                values = group.values.setdefault(column.name, [])
                values += whole.column_values(each.match, column)

    def take(self, before: int | None) -> list[Row]:
        """Remove and return the rows that are complete at time `before` (None: all rows)."""
        every = self.clauses.every
        ready = list(self.groups.items())
        if every is not None and before is not None:
            now = before * every.unit // every.length
            ready = [(key, group) for key, group in ready if group.number < now]
        for key, _ in ready:
            del self.groups[key]
        return [Row(group.event, group.time, self._totals(group)) for _, group in ready]

    def _totals(self, group: Group) -> dict[str, Value]:
        result: dict[str, Value] = {self.totals.count: group.count}
        for column in self.totals.columns:
            result[column.name] = aggregate(column.function, group.values.get(column.name, []))
        return {name: result[name] for name in self.totals.order}
