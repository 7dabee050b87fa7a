"""SELECT count(*), sum(x.a), … over conditions between events: added up on the match graph.

Configurations with equal registers share their nodes, so the graph is small where the matches are
many. For each completing event the paths below its node are added up, window's edge included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ensue.kernels.count.driver import CountDriver, Terms
from ensue.kernels.count.runs import Counted
from ensue.kernels.count.weights import Values, binds_of
from ensue.kernels.graph.path_totals import weigh
from ensue.kernels.graph.segment import Segment
from ensue.operators.aggregating import AggregatingOperator
from ensue.plan.physical import attribute_types
from ensue.predicates.evaluate import Batch
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
        if self._adds:
            self.store.add(stream)
        rows = self.gathering.add(self._counted(found), stream)
        if self.store.has_grown:
            self.store.forget_before(self.matching.first_needed(stream.first + len(stream.times)))
        if self.store.is_large:
            needed = self.matching.needed()
            if needed is not None:
                self.store.keep_only(needed)
        return rows

    @property
    def _adds(self) -> bool:
        """Whether something besides the number of matches is asked for."""
        return bool(self.adder.totals.columns)

    def _counted(self, found: GraphMatches) -> list[Counted]:
        if not found.segments:
            return []
        terms = self.adder.bits(found.variables)
        binds = binds_of(found.labels, terms)
        segments = [each.trimmed() for each in found.segments]
        positions, values = self._values(segments, terms)
        counted = []
        for segment in segments:
            rows = np.zeros(len(segment.graph.label), np.int64)
            if self._adds:
                outputs = segment.graph.label > 0
                rows[outputs] = np.searchsorted(positions, segment.graph.position[outputs])
            hits = segment.hits
            weights = weigh(segment.graph, hits, rows, binds, values, exact=self.exact)
            counted.append(Counted(hits.end, hits.key, weights))
        return counted

    def _values(self, segments: list[Segment], terms: Terms) -> tuple[np.ndarray, Values]:
        """Return the events in some graphs, and what they add to the totals."""
        if not self._adds:
            return np.zeros(1, np.int64), terms.nothing(1, exact=self.exact)
        every = [each.graph.position[each.graph.label > 0] for each in segments]
        positions = np.unique(np.concatenate(every))
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
