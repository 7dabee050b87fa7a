"""SELECT count(*), … where matches can only be told by listing them: exact, with a budget.

So it is with filters on aggregates, with conditions that are checked on listing, with strategies
over conditions, and where totals are of computed events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from ensue.engine.adding import Adding
from ensue.engine.aggregating import Aggregating
from ensue.engine.block import part
from ensue.engine.definition import load_groups, save_groups
from ensue.engine.findings import Findings, TooManyError
from ensue.engine.recogniser import NOTHING, Outcome, StoppedError
from ensue.engine.refine import Refined, Rows
from ensue.engine.stream import Stream
from ensue.engine.way_back import WayBack
from ensue.errors import CeqlWarning, warn
from ensue.logic.reference import Found, Gathering, Plan, Reference, Row

_MANY = 10_000
"""So many matches that are listed to be counted deserve a warning."""


@dataclass(slots=True)
class ListCounting(Adding):
    """The state of a query that lists matches and counts them."""

    tag: ClassVar[str] = "count by listing"
    plan: Plan
    warns: bool = True
    gathering: Gathering = field(init=False)
    listed: int = 0
    _back: WayBack = field(default_factory=WayBack)
    _counted: int = -1
    """The last event whose matches were counted."""

    def __post_init__(self) -> None:
        assert self.plan.totals is not None
        self.gathering = Gathering(self.plan, self.plan.totals)
        self.fast.most_listed = self.fast.limits.matches

    def _add(self, found: Findings, stream: Stream) -> list[Row]:
        rows: list[Row] = []
        try:
            self._count(found, stream, rows)
        except TooManyError as error:
            # It is as if the stretch had ended before the event that completes too many.
            nulls = self.fast.tally.nulls
            self.store.add(stream.slice(0, 0))
            self.fast = self._back.returned(self.fast, self.store)
            read = stream.slice(0, error.position - stream.first)
            if len(read.times):
                self._count(self.fast.push(read).findings, read, rows)
            self.fast.tally.nulls = nulls
            outcome = Outcome(NOTHING.findings, rows)
            raise StoppedError(error, outcome, error.position) from error
        return rows

    def _count(self, found: Findings, stream: Stream, rows: list[Row]) -> None:
        """Count the matches of one event after the other, except where that was done before."""
        view = self.store.view(stream)
        if isinstance(found, Refined | Aggregating):
            found.events = view
        events: Any = Rows(view, None)
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
        self.store.add(stream)
        self._back.note(self.fast, stream)
        if self.store.has_grown:
            needed = self.fast.first_needed(stream.first + len(stream.times))
            self.store.forget_before(min(needed, self._back.oldest))
        if self.store.is_large:
            self._thin(stream.first + len(stream.times))

    def _thin(self, following: int) -> None:
        """Keep what the way back needs, and what partial matches need by now."""
        now, then = self.fast.needed(), self._back.needed(following)
        if now is not None and then is not None:
            self.store.keep_only(np.union1d(now, then))

    def _warn(self) -> None:
        if self.warns and self.listed > _MANY:
            self.warns = False
            warn(
                f"this query lists its matches to count them, {self.listed:,} so far; explain() "
                "says why",
                CeqlWarning,
            )

    def _over(self, time: int | None) -> list[Row]:
        return self.gathering.take(time)

    def first_needed(self, next_position: int) -> int:
        """Return the first position that a row of totals names."""
        return min([*(each.event for each in self.gathering.groups.values()), next_position])

    def needed(self) -> np.ndarray:
        """Return the positions that rows of totals name."""
        return np.array([each.event for each in self.gathering.groups.values()], np.int64)

    @property
    def _bytes(self) -> int:
        return self.store.nbytes + self._back.nbytes

    def save(self) -> dict[str, Any]:
        """Write down the partial matches, their events, and what waits for its interval."""
        return {
            **Adding.save(self),
            "groups": save_groups(self.gathering),
            "listed": self.listed,
        }

    def load(self, saved: Mapping[str, Any], kept: Stream) -> None:
        """Go on from what was saved."""
        Adding.load(self, saved, kept)
        self._back.mark(part(saved, "fast"))
        self.listed = saved["listed"]
        load_groups(self.gathering, saved["groups"])
