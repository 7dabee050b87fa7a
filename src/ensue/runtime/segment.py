"""Matches found in a stretch of the stream: a graph of their own, listed or counted on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ensue.runtime.enumerate import (
    CURSORS,
    HIT,
    Found,
    count_bound,
    count_matches,
    list_matches,
    new_found,
    new_walk,
    pick_bound,
)
from ensue.runtime.layout import Graph, Hits

_PATIENCE = 1 << 14
_MATCHES_AT_ONCE = 1 << 16

assert CURSORS > HIT


@dataclass(frozen=True, slots=True)
class Listing:
    """Some matches, in order: where they start and end, and what is bound in each."""

    start: np.ndarray
    end: np.ndarray
    key: np.ndarray
    offset: np.ndarray
    position: np.ndarray
    label: np.ndarray

    def bound_to(self, bit: int, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets and positions of the events bound to a variable, match by match."""
        lengths = np.empty(len(self.start), np.int64)
        count_bound(self.label, self.offset, masks, bit, lengths)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        picked = np.empty(int(offsets[-1]), np.int64)
        pick_bound(self.label, self.position, masks, bit, picked)
        return offsets, picked


@dataclass(frozen=True, slots=True)
class Segment:
    """A graph whose roots are the hits of a stretch of the stream."""

    graph: Graph
    hits: Hits
    limit: int
    """At most so many matches a hit; -1: all."""

    def count(self) -> int:
        """Count the matches without listing them."""
        hits = self.hits
        counts = np.zeros(len(hits.end), np.int64)
        sizes = np.zeros(len(hits.end), np.float64)
        count_matches(self.graph, hits.root, hits.edge, hits.floor, _PATIENCE, counts, sizes)
        total = 0
        for hit in np.flatnonzero(sizes > 9.0e18):
            counts[hit] = 0
            exact = self._count_exactly(int(hit))
            total += exact if self.limit < 0 else min(exact, self.limit)
        if self.limit >= 0:
            counts = np.minimum(counts, self.limit)
        return total + sum(counts.tolist())

    def _count_exactly(self, hit: int) -> int:
        """Count the paths below a hit in whole numbers of any size."""
        graph, root = self.graph, int(self.hits.root[hit])
        edge, floor = int(self.hits.edge[hit]), int(self.hits.floor[hit])
        ways: dict[int, int] = {root: 1}
        total = 0
        for node in range(root, -1, -1):
            number = ways.pop(node, 0)
            if not number:
                continue
            if graph.label[node] == 0:
                total += number
                continue
            for child in (int(graph.left[node]), int(graph.right[node])):
                if child < 0:
                    continue
                start = graph.start[child]
                if start >= floor and graph.start_clock[start] >= edge:
                    ways[child] = ways.get(child, 0) + number
        return total

    def listings(self, at_once: int = _MATCHES_AT_ONCE) -> Iterator[Listing]:
        """List the matches, some at a time; memory does not grow with their number."""
        hits, nodes = self.hits, len(self.graph.label)
        walk = new_walk(nodes)
        found = new_found(at_once, max(4 * at_once, nodes + 2))
        while walk.cursor[HIT] < len(hits.end):
            count = list_matches(
                self.graph, hits.root, hits.edge, hits.floor, self.limit, walk, found
            )
            if count:
                yield _listing(hits, found, count)


def _listing(hits: Hits, found: Found, count: int) -> Listing:
    filled = int(found.offset[count])
    of = found.hit[:count]
    return Listing(
        found.start[:count].copy(),
        hits.end[of],
        hits.key[of],
        found.offset[: count + 1].copy(),
        found.position[:filled].copy(),
        found.label[:filled].copy(),
    )
