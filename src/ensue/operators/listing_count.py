"""SELECT count(*), … where matches have to be listed to be counted: exact, with a budget.

So it is with filters on aggregates, with conditions that are checked on listing, with strategies
over conditions, and where totals are of computed events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from ensue.errors import CeqlWarning, warn
from ensue.logic.clauses import Clauses, Found, GroupedTotals, Row
from ensue.logic.reference import Reference
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.operators.reference import load_groups, save_groups
from ensue.operators.replay_point import ReplayPoint
from ensue.results.aggregates import AggregatedMatches
from ensue.results.match_set import MatchSet, TooManyError
from ensue.results.residual_filter import ResidualFilter, Rows
from ensue.state.container import part
from ensue.stream.batch import EventBatch

_WARNS_FROM_MATCHES = 10_000
"""So many matches that are listed to be counted deserve a warning."""


@dataclass(slots=True)
class ListingCountOperator(AggregatingOperator):
    """The state of a query that lists matches and counts them."""

    tag: ClassVar[str] = "count by listing"
    plan: Clauses
    warns: bool = True
    gathering: GroupedTotals = field(init=False)
    listed: int = 0
    _replay: ReplayPoint = field(default_factory=ReplayPoint)
    _counted: int = -1
    """The last event whose matches were counted."""

    def __post_init__(self) -> None:
        assert self.plan.totals is not None
        self.gathering = GroupedTotals(self.plan, self.plan.totals)
        self.matching.most_listed = self.matching.limits.matches

    def _add(self, found: MatchSet, stream: EventBatch) -> list[Row]:
        rows: list[Row] = []
        try:
            self._count(found, stream, rows)
        except TooManyError as error:
            # It is as if the batch had ended before the event that completes too many.
            nulls = self.matching.tally.nulls
            self.store.add(stream.slice(0, 0))
            self.matching = self._replay.returned(self.matching, self.store)
            read = stream.slice(0, error.position - stream.first)
            if len(read.times):
                self._count(self.matching.push(read).matches, read, rows)
            self.matching.tally.nulls = nulls
            output = OperatorOutput(NO_OUTPUT.matches, rows)
            raise StoppedError(error, output, error.position) from error
        return rows

    def _count(self, found: MatchSet, stream: EventBatch, rows: list[Row]) -> None:
        """Count the matches of one event after the other, except where that was done before."""
        view = self.store.view(stream)
        if isinstance(found, ResidualFilter | AggregatedMatches):
            found.events = view
        events: Any = Rows(view, None)
        reference = Reference(events, self.matching.tally)
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
        self._replay.note(self.matching, stream)
        if self.store.has_grown:
            needed = self.matching.first_needed(stream.first + len(stream.times))
            self.store.forget_before(min(needed, self._replay.oldest))
        if self.store.is_large:
            self._thin(stream.first + len(stream.times))

    def _thin(self, following: int) -> None:
        """Keep what the replay point needs, and what partial matches need by now."""
        now, then = self.matching.needed(), self._replay.needed(following)
        if now is not None and then is not None:
            self.store.keep_only(np.union1d(now, then))

    def _warn(self) -> None:
        if self.warns and self.listed > _WARNS_FROM_MATCHES:
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
        return self.store.nbytes + self._replay.nbytes

    def save(self) -> dict[str, Any]:
        """Save the partial matches, their events, and what waits for its interval."""
        return {
            **AggregatingOperator.save(self),
            "groups": save_groups(self.gathering),
            "listed": self.listed,
        }

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was saved."""
        AggregatingOperator.load(self, saved, kept)
        self._replay.mark(part(saved, "fast"))
        self.listed = saved["listed"]
        load_groups(self.gathering, saved["groups"])
