"""Counting the matches of many completing events on one graph.

The paths below every node are counted once, bottom up. A node all of whose starts are inside a
window has all of its paths there; only the nodes that the window's edge cuts in two are looked
at for a single event, each once.
"""

from __future__ import annotations

import numpy as np

from ensue.runtime.jit import kernel
from ensue.runtime.layout import NOTHING, Array, Graph


@kernel
def count_paths(
    graph: Graph, roots: Array, edges: Array, floors: Array, counts: Array, sizes: Array
) -> None:
    """Count the matches of every hit, modulo 2^64 and as doubles."""
    nodes = graph.label.shape[0]
    paths = np.zeros(nodes, np.int64)
    size = np.zeros(nodes, np.float64)
    earliest = np.zeros(nodes, np.int32)
    for node in range(nodes):
        earliest[node] = graph.start[node]
        if graph.label[node] == 0:
            paths[node] = 1
            size[node] = 1.0
            continue
        for side in range(2):
            child = graph.left[node] if side == 0 else graph.right[node]
            if child != NOTHING:
                paths[node] += paths[child]
                size[node] += size[child]
                earliest[node] = min(earliest[node], earliest[child])
    seen = np.full(nodes, NOTHING, np.int64)
    cut = np.zeros(nodes, np.int64)
    cut_size = np.zeros(nodes, np.float64)
    stack = np.zeros(2 * nodes + 2, np.int64)
    for hit in range(roots.shape[0]):
        edge = edges[hit]
        floor = floors[hit]
        stack[0] = roots[hit]
        depth = 1
        while depth > 0:
            depth -= 1
            top = stack[depth]
            node = top if top >= 0 else -top - 1
            if top >= 0 and seen[node] == hit:
                continue
            seen[node] = hit
            first = earliest[node]
            last = graph.start[node]
            if first >= floor and graph.start_clock[first] >= edge:
                cut[node] = paths[node]
                cut_size[node] = size[node]
            elif last < floor or graph.start_clock[last] < edge:
                cut[node] = 0
                cut_size[node] = 0.0
            elif top >= 0:
                stack[depth] = -node - 1
                depth += 1
                for side in range(2):
                    child = graph.left[node] if side == 0 else graph.right[node]
                    if child != NOTHING:
                        stack[depth] = child
                        depth += 1
            else:
                cut[node] = 0
                cut_size[node] = 0.0
                for side in range(2):
                    child = graph.left[node] if side == 0 else graph.right[node]
                    if child != NOTHING:
                        cut[node] += cut[child]
                        cut_size[node] += cut_size[child]
        counts[hit] = cut[roots[hit]]
        sizes[hit] = cut_size[roots[hit]]
