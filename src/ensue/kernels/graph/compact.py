"""The compaction kernels: what is alive below some roots, gathered in as few nodes as it takes.

Children stand before parents, so one pass backwards marks and one pass forwards gathers. What lies
before the edge of its root's window, or was consumed, is left out, and a union of which one side
is left is that side. They serve the evaluation (roots: the configurations), whose graph is
gathered where it is or into new arrays, and matches (roots: the hits), which so own what they need.

Both passes run through all of the graph that is alive, which for a long window is larger than any
cache. So a node has one number: while marking the first start that some root needs below it, then
its new place, both plus one. 0 is for all others, whose pages are mostly never touched then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import kernel
from ensue.kernels.layout import (
    FOREVER,
    NIL,
    PRODUCT,
    UNION,
    Array,
    Graph,
    Hits,
    Int32,
    Int64,
    Roots,
)
from ensue.kernels.minmax import larger, smaller


class Marks(NamedTuple):
    """What marking writes down; all of it is 0 before."""

    places: Int32
    """[node]: one more than the first start needed below it."""
    node_edges: Int64
    """[node]: the same for edges; empty where starts are in the order of their clocks."""
    new_starts: Int32
    """[start], and one more: its new number."""


class Alive(NamedTuple):
    """Between which nodes and starts all lies that was marked, and where it is copied to."""

    begin: int
    end: int
    start_begin: int
    start_end: int
    to_node: int
    to_start: int


@kernel
def mark(
    graph: Graph, roots: Roots, marks: Marks, factors: bool
) -> tuple[int, int, int, int, int, int]:
    """Mark what lies below the roots, with `factors` also what is on the right of products.

    Return how many nodes and starts are alive, the first node and the one after the last, the
    first start and the one after the last. What lies outside of these is not looked at. The edges
    of the roots do not decrease, unless clocks are numbers within keys.
    """
    places = marks.places
    node_edges = marks.node_edges
    new_starts = marks.new_starts
    edges = roots.edge
    by_edge = node_edges.shape[0] > 0
    passed = 0
    pending = 0
    node = 0
    for i in range(edges.shape[0]):
        root = roots.node[i]
        if by_edge:
            unknown = places[root] == 0
            node_edges[root] = edges[i] if unknown else smaller(node_edges[root], edges[i])
        else:
            while passed < new_starts.shape[0] - 1 and graph.start_clock[passed] < edges[i]:
                passed += 1
        first = larger(passed, roots.floor[i]) + 1
        pending += places[root] == 0
        node = larger(node, root + 1)
        if places[root] == 0 or first < places[root]:
            places[root] = first
    kept = 0
    end = node
    start_begin = new_starts.shape[0] - 1
    start_end = 0
    while pending > 0:
        node -= 1
        first = places[node]
        if first == 0:
            continue
        pending -= 1
        kept += 1
        for side in range(2):
            child = graph.left[node] if side == 0 else graph.right[node]
            if child == NIL:
                continue
            needed = first
            factor = side == 1 and graph.label[node] == PRODUCT
            if factor:
                if not factors:
                    continue
                needed = graph.position[node] + 1
            start = graph.start[child]
            if start + 1 < needed:
                continue
            if by_edge:
                edge = FOREVER if factor else node_edges[node]
                if graph.start_clock[start] < edge:
                    continue
                if places[child] == 0 or edge < node_edges[child]:
                    node_edges[child] = edge
            pending += places[child] == 0
            if places[child] == 0 or needed < places[child]:
                places[child] = needed
        own = graph.start[node]
        new_starts[own] = 1
        start_begin = smaller(start_begin, own)
        start_end = larger(start_end, own + 1)
    count = 0
    for start in range(start_begin, start_end):
        used = new_starts[start]
        new_starts[start] = count
        count += used
    new_starts[start_end] = count
    return kept, count, node, end, start_begin, start_end


@kernel
def gather(graph: Graph, alive: Alive, places: Array, new_starts: Array, into: Graph) -> int:
    """Copy what was marked, to the same graph or to another; return where the nodes end there."""
    for start in range(alive.start_begin, alive.start_end):
        place = new_starts[start]
        if new_starts[start + 1] > place:
            into.start_position[alive.to_start + place] = graph.start_position[start]
            into.start_clock[alive.to_start + place] = graph.start_clock[start]
    count = alive.to_node
    for node in range(alive.begin, alive.end):
        if places[node] == 0:
            continue
        left = graph.left[node]
        right = graph.right[node]
        new_left = places[left] - 1 if left != NIL else NIL
        new_right = places[right] - 1 if right != NIL else NIL
        if graph.label[node] == UNION and (new_left == NIL or new_right == NIL):
            places[node] = larger(new_left, new_right) + 1
            continue
        into.label[count] = graph.label[node]
        into.left[count] = new_left
        into.right[count] = new_right
        position = graph.position[node]
        if graph.label[node] == PRODUCT:
            position = alive.to_start + new_starts[position]
        into.position[count] = position
        into.start[count] = alive.to_start + new_starts[graph.start[node]]
        count += 1
        places[node] = count
    return count


class Marked(NamedTuple):
    """What is alive below some roots."""

    places: Int32
    """[node]: 0, or something else for those alive; once gathered one more than its place."""
    new_starts: Int32
    """[start]: its new number, from 0 on."""
    nodes: int
    starts: int
    """How many there are; fewer nodes are left where one side of a union is."""
    begin: int
    end: int
    start_begin: int
    start_end: int
    """Between which nodes and starts they are."""

    def gathered(self, graph: Graph, into: Graph) -> Graph:
        """Copy what is alive, to the same graph or to another that has room; return that part."""
        return cut(into, self.append(graph, into, 0, 0), self.starts)

    def append(self, graph: Graph, into: Graph, to_node: int, to_start: int) -> int:
        """Copy what is alive behind what is there already; return where its nodes end."""
        alive = Alive(self.begin, self.end, self.start_begin, self.start_end, to_node, to_start)
        return gather(graph, alive, self.places, self.new_starts, into)

    def moved(self, hits: Hits, to_start: int = 0) -> Hits:
        """Return hits with their roots and floors as they are once gathered."""
        floor = self.new_starts[hits.floor] + np.int32(to_start)
        return hits._replace(root=self.place_of(hits.root), floor=floor)

    def starts_at(self, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers that starts, or the next ones that are kept, have once gathered."""
        found: np.ndarray = self.new_starts[np.minimum(numbers, self.start_end)]
        return found

    def place_of(self, nodes: np.ndarray) -> np.ndarray:
        """Return where nodes that are alive stand once gathered."""
        places: np.ndarray = self.places[nodes] - 1
        return places


def cut(graph: Graph, nodes: int, starts: int) -> Graph:
    """Return the first nodes and starts of a graph."""
    return Graph(*(each[:nodes] for each in graph[:5]), *(each[:starts] for each in graph[5:]))


def mark_below(graph: Graph, roots: Roots, *, within_keys: bool, factors: bool = True) -> Marked:
    """Find what is alive below some roots; `within_keys`: clocks are numbers within keys.

    Without `factors`, what is on the right of products is left out.
    """
    nodes, starts = len(graph.label), len(graph.start_clock)
    marks = Marks(
        np.zeros(nodes, np.int32),
        np.zeros(nodes if within_keys else 0, np.int64),
        np.zeros(starts + 1, np.int32),
    )
    return Marked(marks.places, marks.new_starts, *mark(graph, roots, marks, factors))
