"""The first match of each hit, as a graph of its own: all that LIMIT 1 ever shows.

A walk goes left before right, and the left side of a union has the later start. So the first match
is what lies left all the way down, and is alive if the root is. All hits are followed at once, one
node at a step; unions and what they have on the right are left out.
"""

from __future__ import annotations

import numpy as np

from ensue.kernels.layout import NIL, UNION, Graph, Hits

_NODES_A_STEP, _NODES_A_VISIT = 64, 4
"""Marking so many nodes takes about as long as a step of all hits, or as one of a single hit."""


def first_paths(graph: Graph, hits: Hits) -> tuple[Graph, Hits] | None:
    """Return the first match of each hit in a new graph; None: copying all costs less."""
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    rows, nodes = np.arange(len(hits.root)), hits.root
    visited, taken, room = 0, 0, len(graph.label)
    while len(nodes):
        visited, taken = visited + len(nodes), taken + 1
        if taken * _NODES_A_STEP > room or visited * _NODES_A_VISIT > room:
            return None
        labels = graph.label[nodes]
        told = labels != UNION
        steps.append((rows[told], nodes[told]))
        goes_on = labels != 0
        rows, nodes = rows[goes_on], graph.left[nodes[goes_on]]
    # Children stand before parents.
    steps.reverse()
    old = np.concatenate([each for _, each in steps])
    left = np.full(len(old), NIL, np.int32)
    places = np.full(len(hits.root), NIL, np.int32)
    at = 0
    for own, each in steps:
        left[at : at + len(each)] = places[own]
        places[own] = np.arange(at, at + len(each), dtype=np.int32)
        at += len(each)
    starts, start = np.unique(graph.start[old], return_inverse=True)
    copied = Graph(
        graph.label[old],
        left,
        np.full(len(old), NIL, np.int32),
        graph.position[old],
        start.astype(np.int32),
        graph.start_position[starts],
        graph.start_clock[starts],
    )
    floor = np.searchsorted(starts, hits.floor).astype(np.int32)
    return copied, hits._replace(root=places, floor=floor)
