"""AGGREGATE on enumeration, many matches at a time.

Where only aggregates of stream events, filters on them and projections are left to be applied,
everything is done on columns: the kernels of kernels/aggregate.py go over the events of each match
once. Matches that become equal by a projection are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ensue.analysis.bound import Column
from ensue.analysis.conditions import Each
from ensue.analysis.expressions import Expression
from ensue.logic import formula as f
from ensue.logic.clauses import Found
from ensue.logic.evaluate import Tally
from ensue.plan.residual import Residual
from ensue.predicates.evaluate import Batch
from ensue.results.aggregate_columns import (
    AggregatedColumns,
    AggregateValues,
    ComputedEvents,
    joined,
    merged,
)
from ensue.results.bounds import bounds_of
from ensue.results.deadlines import Deadlines
from ensue.results.duplicates import first_of_equal
from ensue.results.folding import fold, sizes_of
from ensue.results.intervals import Barrier, Undisturbed
from ensue.results.match_set import UNKNOWN, GraphMatches, MatchColumns
from ensue.results.nested import NestedEvaluation, computed_batch, derived_values
from ensue.stream.attributes import AttributeColumn, value_column
from ensue.stream.batch import EventBatch

_LISTED_AT_ONCE = 1 << 10
"""So many matches are made Python's objects at once."""


@dataclass(slots=True)
class AggregatedMatches:
    """Matches to which aggregates are added, and which are filtered by them, as they are listed."""

    found: GraphMatches
    residual: Residual
    tally: Tally = field(default_factory=Tally)
    barriers: tuple[Barrier, ...] = ()
    """What must not have happened."""
    deadlines: Deadlines | None = None
    """Until when something must not have followed the matches."""
    merges: bool = False
    """Whether several runs may be one match."""
    events: Callable[[], EventBatch] | None = None
    """The events of the matches, once they are kept somewhere."""
    _sources: dict[Expression, AttributeColumn] = field(default_factory=dict)
    _stream: EventBatch | None = None
    _count: int | None = None

    @property
    def _keeps_all(self) -> bool:
        """Whether every match of the automaton is one match in the end."""
        plain = not (self.residual.refuses or self.merges)
        return plain and all(isinstance(each, f.Aggregate) for each in self.residual.operators)

    @property
    def count(self) -> int:
        if self._count is None:
            if self._keeps_all:
                self._count = self.found.count
            else:
                self.found.refuse_if_exhausted()
                self._count = sum(len(chunk.start) for chunk in self._chunks(self._variables))
        return self._count

    @property
    def least(self) -> int:
        return self.found.least if self._keeps_all else self._count or 0

    def at_least(self, most: int) -> int:
        """Count them, on the match graph where every match of it is one in the end."""
        if self._keeps_all:
            return self.found.at_least(most)
        return self.count

    @property
    def effort(self) -> int:
        """Tell that counting takes as long as listing, where some matches may be none."""
        if self._keeps_all:
            return self.found.effort
        return UNKNOWN if self._count is None and self.found else 0

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def __bool__(self) -> bool:
        """Tell whether there are any; as long as their events are unknown, whether it may be."""
        if not self.residual.refuses or self.events is None:
            return bool(self.found)
        found = map(self._applied, self._listed(self._variables))
        return any(len(chunk.start) for chunk in found)

    def __iter__(self) -> Iterator[Found]:
        names = self._variables
        for chunk in self._chunks(names):
            for begin in range(0, len(chunk.start), _LISTED_AT_ONCE):
                end = min(begin + _LISTED_AT_ONCE, len(chunk.start))
                yield from chunk.sliced(begin, end).found(names)

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        every = list(dict.fromkeys([*variables, *([] if self._keeps_all else self._variables)]))
        names = self._variables
        for chunk in self._chunks(every):

            def listed(chunk: AggregatedColumns = chunk) -> list[Found]:
                return chunk.found([name for name in names if name in chunk.bound])

            yield MatchColumns(chunk.start, chunk.end, chunk.bound, chunk.computed, listed)

    @property
    def _variables(self) -> list[str]:
        """The variables that matches have in the end."""
        names = set(self.found.variables)
        for operator in self.residual.operators:
            if isinstance(operator, f.Project):
                names &= operator.variables
        return [name for name in self.found.variables if name in names]

    # chunks

    def _chunks(self, variables: list[str]) -> Iterator[AggregatedColumns]:
        """List matches and apply the operators, those of one completing event together."""
        if self._keeps_all:
            yield from map(self._applied, self._listed(variables))
            return
        waiting: list[AggregatedColumns] = []
        for chunk in map(self._applied, self._listed(variables)):
            if not len(chunk.start):
                continue
            opens = int(np.searchsorted(chunk.end, chunk.end[-1]))
            if opens or (waiting and waiting[-1].end[-1] != chunk.end[0]):
                done = [*waiting, chunk.sliced(0, opens)] if opens else waiting
                yield self._settled(joined(done))
                waiting = []
                chunk = chunk.sliced(opens, len(chunk.start)) if opens else chunk
            waiting.append(chunk)
            left = (
                None
                if self.residual.limit is None
                else self.found.cursor.latest_left(int(chunk.end[-1]))
            )
            if left is not None:
                waiting = [self._settled(joined(waiting))]
                enough = len(waiting[0].start) == self.residual.limit
                if enough and waiting[0].start[0] >= left:
                    self.found.cursor.skip()
        if waiting:
            yield self._settled(joined(waiting))

    def _listed(self, variables: list[str]) -> Iterator[AggregatedColumns]:
        wanted = [
            column.variable
            for operator in self.residual.operators
            if isinstance(operator, f.Aggregate)
            for column in operator.columns
        ]
        if self.residual.intervals:
            labels = self.found.labels
            self.found.keeps = Undisturbed(
                self.residual.intervals, self.barriers, labels, self._events, self.deadlines
            )
        if self.residual.bounds:
            self.found.bounds = bounds_of(self.residual.bounds, self.found.labels, self._events())
        names = list(dict.fromkeys([*variables, *wanted]))
        nested = self._nested()
        for listing in self.found.listings():
            computed: dict[str, ComputedEvents] = {}
            if nested is not None:
                evaluated = nested.read(listing)
                computed = evaluated.shown()
                if not evaluated.kept.all():
                    rows = np.flatnonzero(evaluated.kept)
                    listing = listing.taken(evaluated.kept)
                    computed = {name: each.taken(rows) for name, each in computed.items()}
            columns = self.found.split(listing, names)
            yield AggregatedColumns(columns.start, columns.end, dict(columns.bound), computed)

    def _nested(self) -> NestedEvaluation | None:
        """Return what decides about matches by their labels; None: nothing is left to decide."""
        residual = self.residual
        if not (residual.deferred or residual.inner_aggregates):
            return None
        return NestedEvaluation(residual, self.found.labels, self._events, self.tally)

    def _applied(self, chunk: AggregatedColumns) -> AggregatedColumns:
        for operator in self.residual.operators:
            match operator:
                case f.Aggregate(variable=name, columns=columns, place=place):
                    results = {each.name: self._result(each, chunk) for each in columns}
                    results = derived_values(operator, results, len(chunk.start), self.tally)
                    events = ComputedEvents.one_each(place, chunk.end, results)
                    before = [chunk.computed[name]] if name in chunk.computed else []
                    chunk.computed[name] = merged([*before, events])
                case f.Filter(conditions=conditions):
                    kept = np.ones(len(chunk.start), bool)
                    for condition in conditions:
                        assert isinstance(condition, Each)
                        events = chunk.computed[condition.variable]
                        batch = computed_batch(events.columns, len(events.end), self.tally)
                        kept[events.owner[~batch.holds(condition.predicate)]] = False
                    if not kept.all():
                        chunk = chunk.taken(np.flatnonzero(kept))
                case f.Project(variables=names):
                    chunk.computed = {n: each for n, each in chunk.computed.items() if n in names}
                case f.Select():
                    raise AssertionError(operator)
        return chunk

    def _settled(self, chunk: AggregatedColumns) -> AggregatedColumns:
        """Let equal matches be one, the latest start of each end come first, and LIMIT cut."""
        order = _in_order(chunk)
        if self._may_have_equals:
            order = order[first_of_equal(chunk, order, self._variables)]
        if self.residual.limit is not None:
            ends = chunk.end[order]
            rank = np.arange(len(order)) - np.searchsorted(ends, ends)
            order = order[rank < self.residual.limit]
        count = len(chunk.start)
        same = len(order) == count and bool((order == np.arange(count)).all())
        return chunk if same else chunk.taken(order)

    @property
    def _may_have_equals(self) -> bool:
        """Whether two runs may be one match in the end.

        They are different matches if they differ in what events are bound to, or in where events
        are computed that belong to the match. What else labels have tells runs apart, not matches,
        unless it follows from these.
        """
        if any(isinstance(each, f.Project) for each in self.residual.operators):
            return True
        if not self.merges:
            return False
        known = (1 << len(self.found.variables)) - 1
        shown = [self.residual.inner_aggregates[number] for number in self.residual.shown]
        if len({each.formula.place for each in shown}) == len(shown):
            known |= sum(each.end for each in shown)
        every = {0, *self.found.labels}
        return len({bits & known for bits in every}) < len(every)

    # aggregates

    def _result(self, column: Column, chunk: AggregatedColumns) -> AggregateValues:
        computed = chunk.computed.get(column.variable)
        if computed is not None:
            if column.argument is None:
                return sizes_of(computed.offsets)
            count = len(computed.end)
            batch = computed_batch(computed.columns, count, Tally())
            source = value_column(batch, column.argument)
            return fold(column, source, computed.offsets, np.arange(count), self.tally)
        lists = chunk.bound[column.variable]
        offsets = lists.offsets.to_numpy()
        if column.argument is None:
            return sizes_of(offsets)
        stream = self._events()
        rows = stream.rows_at(lists.values.to_numpy())
        return fold(column, self._source(stream, column.argument), offsets, rows, self.tally)

    def _events(self) -> EventBatch:
        if self._stream is None:
            assert self.events is not None, "matches are looked at before their events are kept"
            self._stream = self.events()
        return self._stream

    def _source(self, stream: EventBatch, argument: Expression) -> AttributeColumn:
        """Return the values of an attribute."""
        known = self._sources.get(argument)
        if known is None:
            batch = Batch(stream.table, stream.types)
            known = self._sources[argument] = value_column(batch, argument)
        return known


def _in_order(chunk: AggregatedColumns) -> np.ndarray:
    """Return an order of ends in which the latest start of each comes first."""
    start, end = chunk.start, chunk.end
    opens = np.flatnonzero(np.concatenate([[True], end[1:] != end[:-1]])[: len(end)])
    if (end[1:] >= end[:-1]).all() and (np.maximum.reduceat(start, opens) == start[opens]).all():
        return np.arange(len(start))
    return np.lexsort((-start, end))
