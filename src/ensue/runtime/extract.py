"""The compaction kernels: what is alive below some roots, gathered in as few nodes as it takes.

Children stand before parents, so one pass backwards marks and one pass forwards gathers. What lies
before the edge of its root's window, or was consumed, is left out, and a union of which one side
is left is that side. They serve the evaluation (roots: the configurations), whose graph is
gathered where it is, and the matches (roots: the hits), which so own what they need.

Both passes run through the whole graph, which for a long window is larger than any cache. So a node
has one number: while marking the first start that some root needs below it, then its new place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.runtime.jit import borrowing_kernel
from ensue.runtime.layout import NOTHING, UNION, Array, Graph


@borrowing_kernel
def mark(
    graph: Graph,
    nodes: int,
    roots: Array,
    edges: Array,
    floors: Array,
    by_edge: bool,
    places: Array,
    node_edges: Array,
    new_starts: Array,
) -> tuple[int, int]:
    """Mark what lies below the roots; return how many nodes and starts that are.

    Args:
        edges: for each root the least clock of a start that it needs; they do not decrease.
        floors: for each root the first start that was not consumed.
        by_edge: starts are not in the order of their clocks, which are numbers within keys.
        places: for each node NOTHING, and in the end the first start that is needed below it.
        node_edges: the same for edges, where they matter.
        new_starts: for each start, and one more, 0, and in the end its new number.
    """
    passed = 0
    for i in range(roots.shape[0]):
        root = roots[i]
        if by_edge:
            unknown = places[root] == NOTHING
            node_edges[root] = edges[i] if unknown else min(node_edges[root], edges[i])
        else:
            while passed < new_starts.shape[0] - 1 and graph.start_clock[passed] < edges[i]:
                passed += 1
        first = max(passed, floors[i])
        if places[root] == NOTHING or first < places[root]:
            places[root] = first
    kept = 0
    for node in range(nodes - 1, -1, -1):
        first = places[node]
        if first == NOTHING:
            continue
        kept += 1
        for side in range(2):
            child = graph.left[node] if side == 0 else graph.right[node]
            if child == NOTHING:
                continue
            start = graph.start[child]
            if start < first:
                continue
            if by_edge:
                if graph.start_clock[start] < node_edges[node]:
                    continue
                if places[child] == NOTHING or node_edges[node] < node_edges[child]:
                    node_edges[child] = node_edges[node]
            if places[child] == NOTHING or first < places[child]:
                places[child] = first
        new_starts[graph.start[node]] = 1
    count = 0
    for start in range(new_starts.shape[0]):
        used = new_starts[start]
        new_starts[start] = count
        count += used
    return kept, count


@borrowing_kernel
def gather(graph: Graph, nodes: int, places: Array, new_starts: Array, into: Graph) -> int:
    """Copy what was marked, to the same graph or to another; return how many nodes there are."""
    for start in range(new_starts.shape[0] - 1):
        place = new_starts[start]
        if new_starts[start + 1] > place:
            into.start_position[place] = graph.start_position[start]
            into.start_clock[place] = graph.start_clock[start]
    count = 0
    for node in range(nodes):
        if places[node] == NOTHING:
            continue
        left = graph.left[node]
        right = graph.right[node]
        new_left = places[left] if left != NOTHING else NOTHING
        new_right = places[right] if right != NOTHING else NOTHING
        if graph.label[node] == UNION and (new_left == NOTHING or new_right == NOTHING):
            places[node] = new_right if new_left == NOTHING else new_left
            continue
        into.label[count] = graph.label[node]
        into.left[count] = new_left
        into.right[count] = new_right
        into.position[count] = graph.position[node]
        into.start[count] = new_starts[graph.start[node]]
        places[node] = count
        count += 1
    return count


class Marked(NamedTuple):
    """What is alive below some roots."""

    places: np.ndarray
    """[node]: NOTHING, and once gathered its new place."""
    new_starts: np.ndarray
    """[start]: its new number."""
    nodes: int
    starts: int

    def gathered(self, graph: Graph, into: Graph) -> Graph:
        """Copy what is alive, to the same graph or to another that has room."""
        count = gather(graph, len(self.places), self.places, self.new_starts, into)
        nodes, starts = slice(count), slice(self.starts)
        return Graph(*(each[nodes] for each in into[:5]), *(each[starts] for each in into[5:]))


def mark_below(
    graph: Graph,
    nodes: int,
    starts: int,
    roots: np.ndarray,
    edges: np.ndarray,
    floors: np.ndarray,
    *,
    within_keys: bool,
) -> Marked:
    """Find what is alive below some roots; `within_keys`: clocks are numbers within keys."""
    places = np.full(nodes, NOTHING, np.int32)
    new_starts = np.zeros(starts + 1, np.int32)
    node_edges = np.zeros(nodes if within_keys else 0, np.int64)
    needed = (roots, edges, floors, within_keys)
    kept = mark(graph, nodes, *needed, places, node_edges, new_starts)
    return Marked(places, new_starts, *kept)
