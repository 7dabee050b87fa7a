"""SELECT count(*), … where matches can only be told by listing them: exact, with a budget.

So it is with filters on aggregates, with conditions that are checked on listing, with strategies
over conditions, and where totals are of computed events.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from ensue.engine.aggregating import Aggregating
from ensue.engine.block import below, part
from ensue.engine.definition import caller_depth, load_groups, save_groups
from ensue.engine.fast import Fast
from ensue.engine.findings import TooManyError
from ensue.engine.recogniser import NOTHING, Outcome, StoppedError
from ensue.engine.refine import Refined, Rows
from ensue.engine.store import Store
from ensue.engine.stream import Stream
from ensue.errors import CeqlWarning
from ensue.logic.reference import Found, Gathering, Plan, Reference, Row

_MANY = 10_000
"""So many matches that are listed to be counted deserve a warning."""


@dataclass(slots=True)
class ListCounting:
    """The state of a query that lists matches and counts them."""

    fast: Fast
    plan: Plan
    warns: bool = True
    store: Store = field(default_factory=Store)
    """The events that matches to come may ask for."""
    gathering: Gathering = field(init=False)
    listed: int = 0
    _counted: int = -1
    """The last event whose matches were counted."""

    def __post_init__(self) -> None:
        assert self.plan.totals is not None
        self.gathering = Gathering(self.plan, self.plan.totals)
        self.fast.most_listed = self.fast.budgets.matches

    def check(self, stream: Stream) -> None:
        """Raise UnsupportedError for values that no register can hold."""
        self.fast.check(stream)

    def push(self, stream: Stream) -> Outcome:
        """Read a stretch of the stream and return the rows that are complete."""
        before = self.fast.save()
        rows: list[Row] = []
        try:
            self._gather(self.fast.push(stream), stream, rows)
        except StoppedError as stopped:
            read = stream.slice(0, stopped.position - stream.first)
            self._gather(stopped.outcome, read, rows)
            outcome = Outcome(NOTHING.findings, rows)
            raise StoppedError(stopped, outcome, stopped.position) from stopped
        except TooManyError as error:
            # It is as if the stretch had ended before the event that completes too many.
            self.fast = replace(self.fast, _newest=None, _consumed={})
            self.store.add(stream.slice(0, 0))
            self.fast.load(before, self.store.view()())
            read = stream.slice(0, error.position - stream.first)
            self._gather(self.fast.push(read), read, rows)
            outcome = Outcome(NOTHING.findings, rows)
            raise StoppedError(error, outcome, error.position) from error
        return Outcome(NOTHING.findings, rows)

    def _gather(self, outcome: Outcome, stream: Stream, rows: list[Row]) -> None:
        """Count the matches of one event after the other, except where that was done before."""
        if not len(stream.times):
            return
        found = outcome.findings
        store = self.store.copy()
        store.add(stream)
        if isinstance(found, Refined | Aggregating):
            found.events = store.view()
        events: Any = Rows(store.view(), None)
        reference = Reference(events, self.fast.tally)
        for end, group in groupby(found, key=lambda each: each.match.end):
            key = tuple(map(events[end].value, self.plan.partition))
            listed = [Found(key, each.match) for each in group]
            if end > self._counted:
                self._counted = end
                self.listed += len(listed)
                self.gathering.add(listed, reference)
                rows += self.gathering.take(events[end].time)
        rows += self.gathering.take(int(stream.times[-1]))
        self._warn()
        self.store = store
        if store.has_grown:
            store.forget_before(self.fast.first_needed(stream.first + len(stream.times)))

    def _warn(self) -> None:
        if self.warns and self.listed > _MANY:
            self.warns = False
            warnings.warn(
                f"this query lists its matches to count them, {self.listed:,} so far; explain() "
                "says why",
                CeqlWarning,
                stacklevel=caller_depth(),
            )

    def advance(self, time: int) -> Outcome:
        """Let time pass: intervals are over, partial matches leave the window."""
        self.fast.advance(time)
        return Outcome(NOTHING.findings, self.gathering.take(time))

    def finish(self) -> Outcome:
        """Hand out the intervals that are not over yet."""
        return Outcome(NOTHING.findings, self.gathering.take(None))

    def first_needed(self, next_position: int) -> int:
        """Return the first position that a row of totals names."""
        return min([*(each.event for each in self.gathering.groups.values()), next_position])

    def needed(self) -> np.ndarray:
        """Return the positions that rows of totals name."""
        return np.array([each.event for each in self.gathering.groups.values()], np.int64)

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.fast.begin_at(position)

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes the match graph has, and how many bytes are allocated."""
        nodes, size = self.fast.live
        return nodes, size + self.store.nbytes

    def save(self) -> dict[str, Any]:
        """Write down the partial matches, their events, and what waits for its interval."""
        return {
            **below("fast", self.fast.save()),
            **below("store", self.store.save()),
            "groups": save_groups(self.gathering),
            "listed": self.listed,
        }

    def load(self, saved: Mapping[str, Any], kept: Stream) -> None:
        """Go on from what was saved."""
        self.store.load(part(saved, "store"), self.fast.bound.clock.column)
        self.fast.load(part(saved, "fast"), kept)
        self.listed = saved["listed"]
        load_groups(self.gathering, saved["groups"])
