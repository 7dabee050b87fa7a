"""The evaluation by definition, batch by batch: exact for every query, and slow.

It keeps the events that a match which ends later may need: those of the window. Whatever ends at
a new event is found anew among them by the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ensue.analysis.expressions import Value
from ensue.errors import CeqlWarning, warn
from ensue.logic import formula as f
from ensue.logic.clauses import (
    Clauses,
    Consumed,
    Found,
    Group,
    GroupedTotals,
    Progress,
    Row,
    apply_consume,
    chosen,
    decided_in,
    found_in,
    in_order,
    limited,
    nothing_consumed,
    partition,
)
from ensue.logic.complex_event import Event
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Reference
from ensue.operators.operator import NO_OUTPUT, OperatorOutput
from ensue.results.deadlines import Deadlines
from ensue.results.match_set import ListedMatches
from ensue.stream.batch import EventBatch
from ensue.stream.reference_events import to_events

_WARNS_FROM_EVENTS = 1_000
"""On so many events, an evaluation by definition deserves a warning."""

_LEAST_PART_EVENTS = 16
"""Pieces of a batch have so many events at least."""

_BYTES_AN_EVENT = 400
"""About what an event takes here."""


@dataclass(slots=True)
class ReferenceOperator:
    """The state of a query that is evaluated by definition."""

    tag: ClassVar[str] = "reference"
    plan: Clauses
    tally: Tally = field(default_factory=Tally)
    warns: bool = True
    why: str = ""
    """What keeps the query from the kernels."""
    forgotten: Consumed = field(default_factory=nothing_consumed)
    begun: set[tuple[Value, ...]] = field(default_factory=set)
    """The keys whose first event is not kept any more, where START asks for it."""
    gathering: GroupedTotals | None = field(init=False)
    _positions: list[int] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _now: int | None = None
    _read: int = 0

    def __post_init__(self) -> None:
        totals = self.plan.totals
        self.gathering = None if totals is None else GroupedTotals(self.plan, totals)

    def begin_at(self, position: int) -> None:
        """Take the first event that comes for the first of the stream."""

    def check(self, stream: EventBatch) -> None:
        """Take all values."""

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Find what ends at the events of a batch.

        It is read in chunks as long as the window, so that the reference sees two of these at a
        time. Without a window everything is kept, and a chunk more would only be seen once more.
        """
        self._warn(len(stream.times))
        found: list[Found] = []
        rows: list[Row] = []
        begin = 0
        while begin < len(stream.times):
            size = len(stream.times) if self.plan.window is None else len(self._events)
            end = min(begin + max(size, _LEAST_PART_EVENTS), len(stream.times))
            found += self._read_part(stream.slice(begin, end))
            rows += self._rows_over()
            begin = end
        return self._output(found, rows)

    def _output(self, found: list[Found], rows: list[Row]) -> OperatorOutput:
        """Hand out matches with their deadlines, if they have any."""
        if self.plan.absence is None:
            return OperatorOutput(ListedMatches(found), rows)
        decided = [(each.match.end, each.deadline.time) for each in found if each.deadline]
        table = np.array(decided, np.int64).reshape(-1, 2)
        deadlines = Deadlines.of(table[:, 0], table[:, 1], table[:, 0])
        return OperatorOutput(ListedMatches(found), rows, deadlines)

    def _rows_over(self) -> list[Row]:
        """Return the rows of intervals in which no more match can end, or be decided."""
        if self.gathering is None or self._now is None:
            return []
        return self.gathering.take(min([self._now, *self._open_times()]))

    def _open_times(self) -> list[int]:
        """Return the time of the first event of each key that something may still follow."""
        if self.plan.absence is None or self.plan.every is None:
            return []
        substreams = partition(self.plan, self._events).values()
        places = [(own, self._first_open(own)) for own in substreams]
        return [self._events[own[place]].time for own, place in places if place < len(own)]

    def _first_open(self, own: list[int]) -> int:
        """Return the number of the first event of a substream that something may still follow."""
        absence = self.plan.absence
        if absence is None:
            return len(own)
        events, reached = [self._events[i] for i in own], Progress(len(own), self._now)
        numbers = range(len(own))
        return next(
            (n for n in numbers if not reached.has_passed(n, absence.window, events)), len(own)
        )

    def _read_part(self, stream: EventBatch) -> list[Found]:
        """Read a chunk, and return what it completes or decides."""
        since, before = len(self._events), self._now
        self._positions += range(stream.first, stream.first + len(stream.times))
        self._events += to_events(stream)
        self._now = int(stream.times[-1])
        return self._found(since, before)

    def _found(self, since: int, before: int | None) -> list[Found]:
        """Return what ends at the events from a number on, or was decided since a time.

        Where totals are gathered, they get it, and nothing is returned.
        """
        found: list[Found] = []
        absence = self.plan.absence
        for key, own in partition(self.plan, self._events).items():
            first_new = next((number for number, i in enumerate(own) if i >= since), len(own))
            if absence is None and first_new == len(own):
                continue
            events = [self._events[i] for i in own]
            reference = Reference(events, self.tally, key not in self.begun)
            positions = [self._positions[i] for i in own]
            if absence is None:
                found += found_in(self.plan, key, positions, reference, first_new)
            else:
                now, then = Progress(len(own), self._now), Progress(first_new, before)
                found += decided_in(self.plan, absence, key, positions, reference, now, then)
        found = apply_consume(in_order(found), self.plan.consume, self.forgotten)
        found = chosen(found, self.plan.choice)
        if self.gathering is not None:
            kept: Any = dict(zip(self._positions, self._events, strict=True))
            self.gathering.add(found, Reference(kept, self.tally))
            found = []
        self._trim()
        return limited(found, self.plan.limit)

    def _warn(self, events: int) -> None:
        before, self._read = self._read, self._read + events
        if self.warns and before <= _WARNS_FROM_EVENTS < self._read:
            warn(
                f"this query is evaluated by definition, which is slow on {self._read:,} events, "
                f"because of {self.why}",
                CeqlWarning,
            )

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass: intervals are over, events leave the window."""
        before = self._now
        self._now = time if before is None else max(time, before)
        found = [] if self.plan.absence is None else self._found(len(self._events), before)
        self._trim()
        return self._output(found, self._rows_over())

    def finish(self) -> OperatorOutput:
        """Hand out the intervals that are not over yet."""
        if self.gathering is None:
            return NO_OUTPUT
        return OperatorOutput(NO_OUTPUT.matches, self.gathering.take(None))

    def first_needed(self, next_position: int) -> int:
        """Return the first position that is kept, or that a row of totals names."""
        groups = [] if self.gathering is None else self.gathering.groups.values()
        return min([*self._positions[:1], *(group.event for group in groups), next_position])

    def needed(self) -> np.ndarray | None:
        """Return all positions whose events may still be asked for."""
        groups = [] if self.gathering is None else self.gathering.groups.values()
        return np.array([*self._positions, *(group.event for group in groups)], np.int64)

    @property
    def live(self) -> tuple[int, int]:
        """How many events are kept, and about how many bytes they take."""
        return len(self._events), len(self._events) * _BYTES_AN_EVENT

    def save(self) -> dict[str, Any]:
        """Save what is kept besides the events themselves."""
        return {
            "positions": np.array(self._positions, np.int64),
            "now": self._now,
            "read": self._read,
            "forgotten": dict(self.forgotten),
            "begun": tuple(self.begun),
            "groups": {} if self.gathering is None else save_groups(self.gathering),
        }

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was saved, with the events that the store kept."""
        positions = saved["positions"]
        if not np.isin(positions, kept.all_positions()).all():
            raise ValueError("events are missing")
        self._positions = positions.tolist()
        self._events = to_events(kept.take(kept.rows_at(positions)))
        self._now, self._read = saved["now"], saved["read"]
        self.forgotten.update(saved["forgotten"])
        self.begun = set(saved["begun"])
        if self.gathering is not None:
            load_groups(self.gathering, saved["groups"])

    def _trim(self) -> None:
        """Drop events that no match to come can start at."""
        window = self.plan.window
        if window is None or self._now is None:
            return
        substreams = partition(self.plan, self._events)
        kept: set[int] = set()
        for key, own in substreams.items():
            opened = self._first_open(own)
            if window.kind == "events":
                first = max(opened - window.size, 0)
            else:
                time = self._events[own[opened]].time if opened < len(own) else self._now
                edge = time - window.size
                first = next(
                    (n for n, i in enumerate(own) if self._events[i].time >= edge), len(own)
                )
            if first and self._asks_start:
                self.begun.add(key)
            kept.update(own[first:])
        self._positions = [p for i, p in enumerate(self._positions) if i in kept]
        self._events = [event for i, event in enumerate(self._events) if i in kept]
        earliest = self._positions[0] if self._positions else self._read
        for key, end in list(self.forgotten.items()):
            if end < earliest:
                del self.forgotten[key]

    @property
    def _asks_start(self) -> bool:
        every = f.subformulas(self.plan.formula)
        return any(isinstance(each, f.Select) and each.strategy == "START" for each in every)


def save_groups(gathering: GroupedTotals) -> dict[Any, Any]:
    """Save rows of totals in the making."""
    return {
        key: (g.event, g.time, g.number, g.count, g.values) for key, g in gathering.groups.items()
    }


def load_groups(gathering: GroupedTotals, saved: Mapping[Any, Any]) -> None:
    """Go on with rows of totals that were written down."""
    gathering.groups = {
        key: Group(event, time, number, count, {n: list(v) for n, v in values.items()})
        for key, (event, time, number, count, values) in saved.items()
    }
