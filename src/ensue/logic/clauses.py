"""The clauses of a query in the reference semantics, in their order.

Matches are found in each substream of PARTITION BY, kept within the window, sorted, consumed,
chosen by the strategy of SELECT, limited, and aggregated. What was consumed is forgotten, so it
beats nothing. FIRST chooses before anything is consumed, which makes no difference: all that a
start comes to is consumed with the event that completed it first. Positions inside a substream are
translated to those of the whole stream.

Where something must not follow, a match is decided when time has passed its deadline, or so many
events have come. Those that are decided are sorted by that. NEXT, LAST and MAX choose among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, NamedTuple

from ensue.analysis.bound import Interval, Totals, Window
from ensue.analysis.expressions import Value
from ensue.logic import formula as f
from ensue.logic.aggregates import aggregated, derived
from ensue.logic.complex_event import ComplexEvent, Event
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Reference, choose, fits


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
    choice: f.Choice | None = None
    """The strategy of SELECT, where it chooses among matches."""
    absence: f.NotFollowed | None = None


class Deadline(NamedTuple):
    """Until when something must not follow a match."""

    time: int
    order: int
    """What deadlines are sorted by: the time, or the position of the event that was the last."""


@dataclass(frozen=True, slots=True)
class Found:
    """A match with positions of the whole stream, and the key of its partition."""

    key: tuple[Value, ...]
    match: ComplexEvent
    deadline: Deadline | None = field(default=None, compare=False)


class Progress(NamedTuple):
    """How far a substream has come."""

    events: int
    """How many events it has."""
    time: int | None
    """The time that has come in the whole stream; None: none yet."""

    def has_passed(self, end: int, window: Window, stream: Sequence[Event]) -> bool:
        """Return whether nothing can follow the event number `end` in time any more."""
        if window.kind == "events":
            return end + window.size < self.events
        return self.time is not None and stream[end].time + window.size < self.time


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


def answer(clauses: Clauses, stream: Sequence[Event], until: int | None = None) -> Answer:
    """Evaluate a query on a whole stream; time comes to its last event, or to `until`."""
    tally = Tally()
    found: list[Found] = []
    times = [*(event.time for event in stream[-1:]), *(() if until is None else (until,))]
    now = max(times, default=None)
    for key, positions in partition(clauses, stream).items():
        reference = Reference([stream[i] for i in positions], tally)
        if clauses.absence is None:
            found += found_in(clauses, key, positions, reference)
        else:
            reached = Progress(len(positions), now)
            found += decided_in(clauses, clauses.absence, key, positions, reference, reached)
    found = apply_consume(in_order(found), clauses.consume, nothing_consumed())
    found = chosen(found, clauses.choice)
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
    inside = [c for c in complex_events if fits(c, clauses.window, reference.stream)]
    if clauses.choice == "FIRST":
        inside = list(choose(inside, "FIRST"))
    return [Found(key, _translated(c, positions)) for c in inside if c.end >= since]


def decided_in(
    clauses: Clauses,
    absence: f.NotFollowed,
    key: tuple[Value, ...],
    positions: Sequence[int],
    reference: Reference,
    reached: Progress,
    before: Progress | None = None,
) -> list[Found]:
    """Return the matches in a substream that nothing follows, and that are decided since before."""
    window, stream = absence.window, reference.stream
    kept: Iterable[ComplexEvent] = reference.not_followed(absence)
    if clauses.positions_only:
        kept = {support_only(c) for c in kept}
    alone = {_translated(c, positions) for c in kept}
    found: list[Found] = []
    number = {position: place for place, position in enumerate(positions)}
    for each in found_in(clauses, key, positions, reference):
        end = number[each.match.end]
        if each.match not in alone or not reached.has_passed(end, window, stream):
            continue
        if before is not None and before.has_passed(end, window, stream):
            continue
        if window.kind == "events":
            last = end + window.size
            deadline = Deadline(stream[last].time, positions[last])
        else:
            time = stream[end].time + window.size
            deadline = Deadline(time, time)
        found.append(Found(key, each.match, deadline))
    return found


def in_order(found: Iterable[Found]) -> list[Found]:
    """Sort matches by their deadlines, if any, then by their ends, the latest start first."""

    def order(each: Found) -> tuple[Any, ...]:
        deadline = 0 if each.deadline is None else each.deadline.order
        return deadline, each.match.end, -each.match.start, _order(each.match)

    return sorted(found, key=order)


def support_only(c: ComplexEvent) -> ComplexEvent:
    """Drop the names of variables, and computed events."""
    return ComplexEvent(c.start, c.end, frozenset(("", i) for i in c.support))


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
            consumed[key] = max(end, consumed[key])
            kept += alive
    return kept


def chosen(found: list[Found], choice: f.Choice | None) -> list[Found]:
    """Keep what NEXT, LAST or MAX of SELECT choose of the matches of each completing event."""
    if choice is None or choice == "FIRST":
        return found
    kept: list[Found] = []
    for _, group in groupby(found, key=lambda each: each.match.end):
        completed = list(group)
        best = choose((each.match for each in completed), choice)
        kept += [each for each in completed if each.match in best]
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
            result[column.name] = aggregated(column, group.values.get(column.name, []))
        for each in self.totals.derived:
            result[each.name] = derived(each, result)
        return {name: result[name] for name in self.totals.order}
