"""The compaction kernel: copies what is alive below some roots into a new, smaller graph.

Children stand before parents, so one pass backwards marks and one pass forwards copies. What lies
before the edge of its root's window, or was consumed, is left out, and a union of which one side
is left is that side. It serves the evaluation (roots: the configurations) and the matches
(roots: the hits), which so own what they need.
"""

from __future__ import annotations

import numpy as np

from ensue.runtime.jit import kernel
from ensue.runtime.layout import NOTHING, UNION, Array, Graph


@kernel
def extract(
    graph: Graph, nodes: int, starts: int, roots: Array, edges: Array, floors: Array
) -> tuple[Graph, int, Array, Array]:
    """Return the graph below the roots, and the roots' new numbers."""
    marked = np.zeros(nodes, np.bool_)
    edge = np.zeros(nodes, np.int64)
    floor = np.zeros(nodes, np.int32)
    used = np.zeros(starts, np.bool_)
    for i in range(roots.shape[0]):
        root = roots[i]
        if not marked[root]:
            marked[root] = True
            edge[root] = edges[i]
            floor[root] = floors[i]
        else:
            edge[root] = min(edge[root], edges[i])
            floor[root] = min(floor[root], floors[i])
    kept = 0
    for node in range(nodes - 1, -1, -1):
        if not marked[node]:
            continue
        kept += 1
        for side in range(2):
            child = graph.left[node] if side == 0 else graph.right[node]
            if child == NOTHING:
                continue
            start = graph.start[child]
            if start < floor[node] or graph.start_clock[start] < edge[node]:
                continue
            if not marked[child]:
                marked[child] = True
                edge[child] = edge[node]
                floor[child] = floor[node]
            else:
                edge[child] = min(edge[child], edge[node])
                floor[child] = min(floor[child], floor[node])
        used[graph.start[node]] = True

    new_start = np.zeros(starts, np.int32)
    starts_kept = 0
    for start in range(starts):
        new_start[start] = starts_kept
        if used[start]:
            starts_kept += 1
    copy = Graph(
        np.empty(kept, np.int32),
        np.empty(kept, np.int32),
        np.empty(kept, np.int32),
        np.empty(kept, np.int64),
        np.empty(kept, np.int32),
        np.empty(starts_kept, np.int64),
        np.empty(starts_kept, np.int64),
    )
    for start in range(starts):
        if used[start]:
            copy.start_position[new_start[start]] = graph.start_position[start]
            copy.start_clock[new_start[start]] = graph.start_clock[start]

    forward = np.full(nodes, NOTHING, np.int32)
    count = 0
    for node in range(nodes):
        if not marked[node]:
            continue
        left = graph.left[node]
        right = graph.right[node]
        new_left = forward[left] if left != NOTHING else NOTHING
        new_right = forward[right] if right != NOTHING else NOTHING
        if graph.label[node] == UNION and (new_left == NOTHING or new_right == NOTHING):
            forward[node] = new_right if new_left == NOTHING else new_left
            continue
        copy.label[count] = graph.label[node]
        copy.left[count] = new_left
        copy.right[count] = new_right
        copy.position[count] = graph.position[node]
        copy.start[count] = new_start[graph.start[node]]
        forward[node] = count
        count += 1
    new_roots = np.empty(roots.shape[0], np.int32)
    for i in range(roots.shape[0]):
        new_roots[i] = forward[roots[i]]
    new_floors = np.empty(roots.shape[0], np.int32)
    for i in range(roots.shape[0]):
        new_floors[i] = new_start[floors[i]] if floors[i] < starts else starts_kept
    return copy, count, new_roots, new_floors
