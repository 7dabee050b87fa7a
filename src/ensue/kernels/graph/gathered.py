"""A match graph that is gathered from parts: what hits of many batches need, and no more.

Nodes are appended and never changed, so matches may read the very arrays that more is appended to.
Starts are in order within a part only, so what lies before a window's edge is decided one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.kernels.graph.compact import Marked, cut, mark_below
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import FOREVER, Graph, Hits, new_graph
from ensue.kernels.memory import doubled

_FIRST_NODES = 64

_NODES_A_HIT = 4
"""Hits that are fewer than one for so many nodes get a copy of what they need."""

_ROOM, _SPARE = 2, 8
"""New arrays have so many times the room that is needed, and are left when they have so many."""


@dataclass(slots=True)
class GatheredGraph:
    """The graph below hits that came in segments."""

    graph: Graph = field(default_factory=lambda: new_graph(_FIRST_NODES, _FIRST_NODES))
    nodes: int = 0
    starts: int = 0
    first: int | None = None
    """The first position where a match starts."""
    lent: bool = False
    """Whether matches read these arrays, so that nothing in them may be overwritten."""

    @property
    def used(self) -> Graph:
        """The part of the arrays that is in use."""
        return cut(self.graph, self.nodes, self.starts)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.graph)

    def add(self, segment: Segment) -> Hits:
        """Append what the matches of a segment need, and return its hits as they are here."""
        every = [self._append(part) for part in segment.parts()]
        return every[0] if len(every) == 1 else Hits(*map(np.concatenate, zip(*every, strict=True)))

    def _append(self, segment: Segment) -> Hits:
        marked = _marked(segment.graph, segment.hits)
        nodes, starts = self.nodes, self.starts
        self._reserve(nodes + marked.nodes, starts + marked.starts)
        self.nodes = marked.append(segment.graph, self.graph, nodes, starts)
        self.starts += marked.starts
        if marked.starts:
            first = int(self.graph.start_position[starts : self.starts].min())
            self.first = first if self.first is None else min(first, self.first)
        return marked.moved(segment.hits, starts)

    def _reserve(self, nodes: int, starts: int) -> None:
        if nodes <= len(self.graph.label) and starts <= len(self.graph.start_clock):
            return
        grown = new_graph(
            doubled(len(self.graph.label), nodes), doubled(len(self.graph.start_clock), starts)
        )
        for old, new in zip(self.used, grown, strict=True):
            new[: len(old)] = old
        self.graph, self.lent = grown, False

    def segment(self, hits: Hits, limit: int) -> Segment:
        """Return hits with a graph that outlives what comes: these arrays, or a copy."""
        top = int(hits.root.max()) + 1
        whole = Segment(cut(self.graph, top, self.starts), hits, limit, lent=True)
        if len(hits.end) * _NODES_A_HIT < top:
            return whole.trimmed()
        self.lent = True
        return whole

    def keep(self, hits: Hits) -> Hits:
        """Keep what some hits need, and return the hits as they are then.

        What is kept moves to new arrays where matches read these, or where they are too large.
        """
        marked = _marked(self.used, hits)
        nodes, starts = len(self.graph.label), len(self.graph.start_clock)
        into = self.graph
        if self.lent or _SPARE * marked.nodes < nodes or _SPARE * marked.starts < starts:
            into = new_graph(
                doubled(_FIRST_NODES, _ROOM * marked.nodes),
                doubled(_FIRST_NODES, _ROOM * marked.starts),
            )
        self.nodes = marked.append(self.graph, into, 0, 0)
        self.graph, self.starts, self.lent = into, marked.starts, False
        positions = into.start_position[: self.starts]
        self.first = int(positions.min()) if self.starts else None
        return marked.moved(hits)

    def positions(self) -> np.ndarray:
        """Return where matches start, and what they bind."""
        used = self.used
        return np.concatenate([used.position[used.label > 0], used.start_position])

    def save(self) -> dict[str, np.ndarray]:
        """Return the arrays."""
        return {f"graph/{name}": each for name, each in self.used._asdict().items()}

    def load(self, saved: Mapping[str, Any], label: np.ndarray) -> None:
        """Go on with arrays that were saved, under other numbers of labels."""
        graph = Graph(*(saved[f"graph/{name}"] for name in Graph._fields))._replace(label=label)
        self._reserve(len(graph.label), len(graph.start_clock))
        for mine, given in zip(self.graph, graph, strict=True):
            mine[: len(given)] = given
        self.nodes, self.starts = len(graph.label), len(graph.start_clock)
        self.first = int(graph.start_position.min()) if self.starts else None


def _marked(graph: Graph, hits: Hits) -> Marked:
    """Find what is alive below hits; without windows, clocks of starts need not be looked at."""
    return mark_below(graph, hits.roots, within_keys=bool((hits.edge != FOREVER).any()))
