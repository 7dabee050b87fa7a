"""The arrays of the match graph: how they grow, are compacted, and are lent to matches.

Nodes are appended and never changed. So matches that need a large part of the graph read the very
arrays that the evaluation goes on appending to. From then on nothing in these is overwritten:
compaction moves what is alive to new ones, and the old ones are left to the matches. A few matches
get a copy of what they need instead, so that they do not keep everything else alive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensue.errors import BudgetError
from ensue.kernels.graph.compact import Marked, cut, mark_below
from ensue.kernels.graph.expand import FactoredSegment
from ensue.kernels.graph.first_paths import first_paths
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import NODES, STARTS, Graph, Hits, Roots, new_graph
from ensue.kernels.memory import doubled
from ensue.messages import Message, Option

_GUESSES = 7
"""So often in a row hits are taken to need as much as those before: it takes time to find out."""

_NODES_A_HIT = 64
"""But only where there are not more nodes than that for each."""


@dataclass(slots=True)
class Arena:
    """The match graph of an evaluation, whose counters say how much of it is in use."""

    graph: Graph
    counters: np.ndarray
    most_bytes: int
    within_keys: bool
    """Whether clocks are numbers within a key, so that starts do not come in their order."""
    factored: bool = False
    """Whether there may be products."""
    lent: bool = False
    """Whether matches read these arrays."""
    _need: float = 0.0
    """How many nodes a hit needed when that was looked at last."""
    _guesses: int = 0
    """How often that may be taken for granted."""

    def reserve(self, more: int, keys: int, *, sparing: bool) -> int:
        """Make room for so many more nodes and a start, and for those of so many keys.

        At most half of the room is taken then; if it need not be used sparingly and the budget
        allows it, a quarter. Return how many nodes there is room for.
        """
        nodes, starts = doubled(len(self.graph.label), keys), len(self.graph.start_clock)
        starts, begun = doubled(starts, keys), int(self.counters[STARTS]) + 1
        wanted = int(self.counters[NODES]) + more
        ample = doubled(nodes, 4 * wanted)
        if wanted > nodes // 2 or not (sparing or _size(ample, starts) > self.most_bytes):
            nodes = ample
        if begun > starts // 2:
            starts = doubled(starts, 4 * begun)
        self.resize(nodes, starts)
        return nodes

    def resize(self, nodes: int, starts: int) -> None:
        """Make room for so many nodes and starts; BudgetError where that is too much."""
        if nodes == len(self.graph.label) and starts == len(self.graph.start_clock):
            return
        size = _size(nodes, starts)
        if size > self.most_bytes:
            raise BudgetError(
                Message(
                    f"the partial matches need {size:,} bytes, more than the budget of "
                    f"{self.most_bytes:,}; a shorter WITHIN or a PARTITION BY makes them fewer, "
                    "and ",
                    Option("max_bytes"),
                    " raises the budget",
                )
            )
        grown = new_graph(nodes, starts)
        for old, new in zip(self.used, grown, strict=True):
            new[: len(old)] = old
        self._move(grown)

    def hand_out(self, hits: Hits, limit: int) -> Segment:
        """Give hits a graph that outlives what comes: these arrays, or a copy of their part."""
        count = len(hits.end)
        first = first_paths(self.used, hits) if limit == 1 and not self.factored else None
        if first is not None:
            return self._segment(*first, limit, lent=False)
        many = _NODES_A_HIT * count >= len(self.graph.label)
        if self._guesses and many and self._is_worth_lending(count * self._need):
            self._guesses -= 1
            return self._lend(hits, limit)
        marked = self._mark(hits.roots)
        self._need, self._guesses = marked.nodes / count, 0
        if self._is_worth_lending(marked.nodes):
            self._guesses = _GUESSES
            return self._lend(hits, limit)
        graph = marked.gathered(self.graph, new_graph(marked.nodes, marked.starts))
        return self._segment(graph, marked.moved(hits), limit, lent=False)

    def _is_worth_lending(self, nodes: float) -> bool:
        """Tell whether so many nodes are most of those that are there, and many of the room."""
        return bool(2 * nodes >= self.counters[NODES] and 4 * nodes >= len(self.graph.label))

    def _lend(self, hits: Hits, limit: int) -> Segment:
        self.lent = True
        return self.segment(hits, limit)

    def segment(self, hits: Hits, limit: int) -> Segment:
        """Give hits the graph as it is now."""
        return self._segment(self.used, hits, limit, lent=True)

    def _segment(self, graph: Graph, hits: Hits, limit: int, *, lent: bool) -> Segment:
        made = FactoredSegment if self.factored else Segment
        return made(graph, hits, limit, lent)

    def compact(self, roots: Roots, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keep only what lies below some roots; return where these, and some starts, are then."""
        marked = self._mark(roots)
        into = self._successor(marked) if self.lent else self.graph
        kept = marked.gathered(self.graph, into)
        self.counters[NODES] = len(kept.label)
        self.counters[STARTS] = len(kept.start_clock)
        if self.lent:
            self._move(into)
        return marked.place_of(roots.node), marked.starts_at(starts)

    def _successor(self, marked: Marked) -> Graph:
        """Allocate the arrays that follow on lent ones.

        What is alive stands in both, so the larger they are the less is kept twice.
        """
        nodes, starts = len(self.graph.label), len(self.graph.start_clock)
        larger = doubled(nodes, 4 * marked.nodes), doubled(starts, 4 * marked.starts)
        if _size(*larger) <= self.most_bytes:
            nodes, starts = larger
        return new_graph(nodes, starts)

    def _move(self, to: Graph) -> None:
        self.graph = to
        self.lent = False

    def _mark(self, roots: Roots) -> Marked:
        return mark_below(self.used, roots, within_keys=self.within_keys)

    @property
    def used(self) -> Graph:
        """The nodes and starts that there are."""
        return cut(self.graph, int(self.counters[NODES]), int(self.counters[STARTS]))


def _size(nodes: int, starts: int) -> int:
    return nodes * 24 + starts * 16
