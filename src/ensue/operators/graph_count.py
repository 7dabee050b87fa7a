"""SELECT count(*), sum(x.a), … over conditions between events: added up on the match graph.

Configurations with equal registers share their nodes, so the graph is small where the matches are
many. For each completing event the paths below its node are added up, window's edge included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ensue.kernels.count.driver import CountDriver, Terms
from ensue.kernels.count.runs import Counted
from ensue.kernels.count.weights import Values, Weights, binds_of
from ensue.kernels.graph.path_totals import weigh
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import Hits
from ensue.kernels.sets import union
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.operator import OperatorOutput
from ensue.plan.physical import attribute_types
from ensue.predicates.evaluate import Batch
from ensue.results.folded_totals import elements_of, folded_totals
from ensue.results.match_set import GraphMatches, MatchSet
from ensue.results.total_terms import Adder
from ensue.results.totals import TotalRows, TotalsAccumulator
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch


@dataclass(slots=True)
class GraphCountOperator(AggregatingOperator):
    """The state of a query that adds up what an evaluation finds, on its graph."""

    tag: ClassVar[str] = "count on the graph"
    exact: bool = False
    adder: Adder = field(init=False)
    gathering: TotalsAccumulator = field(init=False)

    def __post_init__(self) -> None:
        bound = self.matching.bound
        assert bound.totals is not None
        self.adder = Adder(
            bound.totals, dict(bound.selected_types), attribute_types(bound), self.exact
        )
        self.gathering = TotalsAccumulator(self.adder, bound.partition, bound.every)
        self.matching.held_keys = lambda: self.gathering.keys.astype(np.int64)

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that cannot be kept or added up."""
        AggregatingOperator.check(self, stream)
        self.adder.check(Batch(stream.table, stream.types))

    def _add(self, found: MatchSet, stream: EventBatch) -> TotalRows:
        assert isinstance(found, GraphMatches)
        if self._keeps_events:
            self.store.add(stream)
        waited = self.matching.pending is not None and bool(found.segments)
        events = self.store.view()() if waited else stream
        now = self._settled(int(stream.times[-1]))
        rows = self.gathering.add(self._counted(found), events, now, self._folded(found))
        if self.store.has_grown:
            self.store.forget_before(self.matching.first_needed(stream.first + len(stream.times)))
        if self.store.is_large:
            needed = self.matching.needed()
            if needed is not None:
                self.store.keep_only(needed)
        return rows

    def _add_decided(self, found: MatchSet, time: int) -> TotalRows:
        assert isinstance(found, GraphMatches)
        counted, now = self._counted(found), self._settled(time)
        return self.gathering.add(counted, self.store.view()(), now, self._folded(found))

    @property
    def _adds(self) -> bool:
        """Whether something besides the number of matches is asked for."""
        return bool(self.adder.totals.columns)

    @property
    def _keeps_events(self) -> bool:
        """Whether events are added up, waited for, or needed should integers become doubles."""
        if self._adds or self.matching.pending is not None:
            return True
        return any(each.integers_only for each in self.matching.compiled.plan.instances)

    def _counted(self, found: GraphMatches) -> list[Counted]:
        if not found.segments:
            return []
        terms = self.adder.bits(found.variables)
        binds = binds_of(found.labels, terms)
        positions, values = self._values(found.segments, terms)
        counted: list[Counted] = []
        for segment in _parts(found.segments):
            rows = np.zeros(len(segment.graph.label), np.int64)
            if self._adds:
                outputs = segment.graph.label > 0
                rows[outputs] = np.searchsorted(positions, segment.graph.position[outputs])
            hits = segment.hits
            weights = weigh(segment.graph, hits, rows, binds, values, exact=self.exact)
            if counted and counted[-1].end[-1] == hits.end[0]:
                _add_first(counted[-1].weight, weights)
                hits = Hits(*(each[1:] for each in hits))
                weights = Weights(*(each[1:] for each in weights))
            if len(hits.end):
                counted.append(Counted(hits.end, hits.key, weights))
        return counted

    def _folded(self, found: GraphMatches) -> dict[str, Any]:
        """Return the columns of the user's aggregates, a row for each completing event."""
        assert self.matching.bound.totals is not None
        columns = [each for each in self.matching.bound.totals.columns if each.user is not None]
        if not columns or not found.segments:
            return {}
        parts = list(_parts(found.segments))
        return folded_totals(columns, parts, found.variables, found.labels, self.store.view()())

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch; values that an aggregate of the user cannot take are refused before."""
        assert self.matching.bound.totals is not None
        for column in self.matching.bound.totals.columns:
            if column.user is not None:
                elements_of(column, stream)
        return AggregatingOperator.push(self, stream)

    def _values(self, segments: list[Segment], terms: Terms) -> tuple[np.ndarray, Values]:
        """Return the events in some graphs, and what they add to the totals."""
        if not self._adds:
            return np.zeros(1, np.int64), terms.nothing(1, exact=self.exact)
        positions = np.zeros(0, np.int64)
        for each in _parts(segments):
            positions = union(positions, each.graph.position[each.graph.label > 0])
        kept = self.store.view()()
        bound = kept.take(kept.rows_at(positions))
        return positions, self.adder.values(Batch(bound.table, bound.types), self._remap)

    def _remap(self, term: int, ranks: np.ndarray) -> None:
        """Give values that are known by their rank their new ranks, where rows wait."""
        if self.gathering.weights is not None:
            CountDriver.remap_weights(self.gathering.weights, term, ranks)

    def _over(self, time: int | None) -> TotalRows:
        return self.gathering.finish() if time is None else self.gathering.advance(time)

    def save(self) -> dict[str, Any]:
        """Save the partial matches, their events, and what waits for its interval."""
        return {
            **AggregatingOperator.save(self),
            **below("gathering", self.gathering.save()),
            "ranks": tuple((term, tuple(values)) for term, values in self.adder.ranks.items()),
        }

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was saved."""
        AggregatingOperator.load(self, saved, kept)
        self.gathering.load(part(saved, "gathering"))
        self.adder.ranks = {term: list(values) for term, values in saved.get("ranks", ())}


def _add_first(before: Weights, more: Weights) -> None:
    """Add the weights of an event to its weights in the part before."""
    before.whole[-1] += more.whole[0]
    before.real[-1] += more.real[0]
    before.least[-1] = np.minimum(before.least[-1], more.least[0])


def _parts(segments: list[Segment]) -> Iterator[Segment]:
    """Give the graphs of some segments, of which matches need every node."""
    for segment in segments:
        yield from (part.trimmed() for part in segment.parts())
