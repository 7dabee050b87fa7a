"""SELECT count(*), … where matches have to be listed to be counted: exact, with a budget.

So it is with filters on aggregates, with conditions that are checked on listing, with strategies
over conditions, and where totals are of computed events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from ensue.errors import CeqlWarning, warn
from ensue.kernels.sets import union
from ensue.logic.clauses import Clauses, Found, GroupedTotals, Row
from ensue.logic.reference import Reference
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.late_progress import load_matches, save_matches
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.operators.reference import load_groups, save_groups
from ensue.operators.replay_point import ReplayPoint
from ensue.results.aggregates import AggregatedMatches
from ensue.results.match_set import MatchSet, TooManyError
from ensue.results.residual_filter import ResidualFilter, Rows
from ensue.results.totals import TotalRows
from ensue.state.container import below, part
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
    _uncounted: ResidualFilter | AggregatedMatches | None = None
    """Matches that were decided by their deadline and are too many to be listed."""
    _groups_counted: int = 0
    """How many completing events of these were counted before."""

    def __post_init__(self) -> None:
        assert self.plan.totals is not None
        self.gathering = GroupedTotals(self.plan, self.plan.totals)
        if self.matching.pending is None:
            self.matching.most_listed = self.matching.limits.matches

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch, after what was decided before it is counted."""
        try:
            before = self._count_rest()
        except TooManyError as error:
            raise StoppedError(error, NO_OUTPUT, stream.first) from error
        return self._with(before, AggregatingOperator.push(self, stream))

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass, after what was decided before is counted."""
        before = self._count_rest()
        return self._with(before, AggregatingOperator.advance(self, time))

    @staticmethod
    def _with(before: list[Row], output: OperatorOutput) -> OperatorOutput:
        """Put rows before those of an output."""
        if not before:
            return output
        assert not isinstance(output.totals, TotalRows)
        return OperatorOutput(output.matches, [*before, *output.totals])

    def _count_rest(self) -> list[Row]:
        """Count what was decided before, should the budget be larger by now."""
        rest = self._uncounted
        if rest is None or rest.events is None:
            return []
        self._count_decided(rest, rest.events)
        return self.gathering.take(None) if self.plan.every is None else []

    def _add(self, found: MatchSet, stream: EventBatch) -> list[Row]:
        rows: list[Row] = []
        try:
            self._count(found, stream, rows)
        except TooManyError as error:
            if self.matching.pending is not None:
                # All of the batch is read; what it has decided waits to be counted.
                after = stream.first + len(stream.times)
                done = self.gathering.take(None) if self.plan.every is None else []
                output = OperatorOutput(NO_OUTPUT.matches, [*rows, *done])
                raise StoppedError(error, output, after) from error
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
        if self.matching.pending is not None:
            self.store.add(stream)
            rows += self._add_decided(found, int(stream.times[-1]))
            self._warn()
            self._trim(stream.first + len(stream.times))
            return
        events, reference = self._looked_at(found, self.store.view(stream))
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
        self._trim(stream.first + len(stream.times))

    def _looked_at(self, found: MatchSet, view: Callable[[], EventBatch]) -> tuple[Any, Reference]:
        """Let matches see their events, and return these, and what aggregates them."""
        if isinstance(found, ResidualFilter | AggregatedMatches):
            found.events = view
        events: Any = Rows(view, None)
        return events, Reference(events, self.matching.tally)

    def _add_decided(self, found: MatchSet, time: int) -> list[Row]:
        """Count the matches that are decided, in the order of their deadlines."""
        self._count_decided(found, self.store.view())
        return self.gathering.take(self._settled(time))

    def _count_decided(self, found: MatchSet, view: Callable[[], EventBatch]) -> None:
        """Count matches that ended before, or keep those that are too many to be listed.

        The state before they were completed is gone, so what is not counted is kept.
        """
        events, reference = self._looked_at(found, view)
        if isinstance(found, ResidualFilter | AggregatedMatches):
            self._uncounted = found
        groups = groupby(found, key=lambda each: each.match.end)
        for number, (end, group) in enumerate(groups):
            key = tuple(map(events[end].value, self.plan.partition))
            listed = [Found(key, each.match) for each in group]
            if number >= self._groups_counted:
                self.listed += len(listed)
                self.gathering.add(listed, reference)
                self._groups_counted = number + 1
        self._uncounted, self._groups_counted = None, 0

    def _trim(self, following: int) -> None:
        """Keep what the replay point needs, if there is one, and what matches to come need."""
        replays = self.matching.pending is None
        if self.store.has_grown:
            needed = self.matching.first_needed(following)
            self.store.forget_before(min(needed, self._replay.oldest) if replays else needed)
        if self.store.is_large:
            now = self.matching.needed()
            then = self._replay.needed(following) if replays else now
            if now is not None and then is not None:
                self.store.keep_only(union(now, then))

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
        """Return the first position that a row of totals names, or may come to name."""
        return int(min([*self.needed().tolist(), next_position]))

    def needed(self) -> np.ndarray:
        """Return the positions that rows of totals name, or may come to name."""
        named = np.array([each.event for each in self.gathering.groups.values()], np.int64)
        pending, uncounted = self.matching.pending, self._uncounted
        if uncounted is not None:
            ends = [segment.hits.end for segment in uncounted.found.segments]
            named = np.concatenate([named, *ends])
        return named if pending is None else np.concatenate([named, pending.ends()])

    @property
    def _bytes(self) -> int:
        return self.store.nbytes + self._replay.nbytes

    def save(self) -> dict[str, Any]:
        """Save the partial matches, their events, and what waits for its interval."""
        saved = {
            **AggregatingOperator.save(self),
            "groups": save_groups(self.gathering),
            "listed": self.listed,
        }
        if self._uncounted is not None:
            saved["counted"] = self._groups_counted
            table = self.matching.evaluator.table
            saved |= below("uncounted", save_matches(self._uncounted, table))
        return saved

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was saved."""
        AggregatingOperator.load(self, saved, kept)
        self._replay.mark(part(saved, "fast"))
        self.listed = saved["listed"]
        load_groups(self.gathering, saved["groups"])
        uncounted, fresh = part(saved, "uncounted"), self.matching.match_set([], None)
        if uncounted and isinstance(fresh, ResidualFilter | AggregatedMatches):
            table, path = self.matching.evaluator.table, self.matching.bound.clock.column
            load_matches(fresh, uncounted, table, path)
            self._uncounted, self._groups_counted = fresh, saved["counted"]
