"""A match graph that is gathered from parts: what hits of many batches need, and no more.

Nodes are appended and never changed, so matches may read the very arrays that more is appended to.
Starts are in order within a part only, so what lies before a window's edge is told start by start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.kernels.graph.compact import cut
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import NIL, Graph, Hits, new_graph
from ensue.kernels.memory import doubled

_FIRST_NODES = 64

_NODES_A_HIT = 4
"""Hits that are fewer than one for so many nodes get a copy of what they need."""


@dataclass(slots=True)
class GatheredGraph:
    """The graph below hits that came in segments."""

    graph: Graph = field(default_factory=lambda: new_graph(_FIRST_NODES, _FIRST_NODES))
    nodes: int = 0
    starts: int = 0
    first: int | None = None
    """The first position where a match starts."""

    @property
    def used(self) -> Graph:
        """The part of the arrays that is in use."""
        return cut(self.graph, self.nodes, self.starts)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.graph)

    def add(self, segment: Segment) -> Hits:
        """Append what the hits of a segment need, and return the hits as they are here."""
        own = segment.trimmed()
        self._reserve(self.nodes + len(own.graph.label), self.starts + len(own.graph.start_clock))
        nodes, starts = self.nodes, self.starts
        self.nodes += len(own.graph.label)
        self.starts += len(own.graph.start_clock)
        here = self.used
        for name in ("label", "position", "start_position", "start_clock"):
            array = getattr(own.graph, name)
            getattr(here, name)[len(getattr(here, name)) - len(array) :] = array
        for mine, theirs in ((here.left, own.graph.left), (here.right, own.graph.right)):
            mine[nodes:] = np.where(theirs == NIL, NIL, theirs + nodes)
        here.start[nodes:] = own.graph.start + starts
        if len(own.graph.start_position):
            first = int(own.graph.start_position.min())
            self.first = first if self.first is None else min(first, self.first)
        return own.hits._replace(root=own.hits.root + nodes, floor=own.hits.floor + starts)

    def _reserve(self, nodes: int, starts: int) -> None:
        if nodes <= len(self.graph.label) and starts <= len(self.graph.start_clock):
            return
        grown = new_graph(
            doubled(len(self.graph.label), nodes), doubled(len(self.graph.start_clock), starts)
        )
        for old, new in zip(self.used, grown, strict=True):
            new[: len(old)] = old
        self.graph = grown

    def segment(self, hits: Hits, limit: int) -> Segment:
        """Return hits with a graph that outlives what comes: these arrays, or a copy."""
        top = int(hits.root.max()) + 1
        starts = int(self.graph.start[:top].max()) + 1
        whole = Segment(cut(self.graph, top, starts), hits, limit, lent=True)
        return whole.trimmed() if len(hits.end) * _NODES_A_HIT < top else whole

    def keep(self, hits: Hits) -> Hits:
        """Keep what some hits need in new arrays, and return the hits as they are there."""
        kept = GatheredGraph()
        moved = kept.add(Segment(self.used, hits, -1, lent=True)) if len(hits.end) else hits
        self.graph, self.nodes, self.starts = kept.graph, kept.nodes, kept.starts
        self.first = kept.first
        return moved

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
