"""Adding up the matches of many completing events on one graph, none listed.

The weight of the paths below every node is worked out once, bottom up. A node all of whose starts
are inside a window has all of its paths there; only the nodes that the window's edge cuts in two
are looked at for a single event, each once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ensue.runtime import weights as of_weights
from ensue.runtime.jit import kernel
from ensue.runtime.layout import NOTHING, UNION, Array, Graph, Hits
from ensue.runtime.weights import (
    Binds,
    Values,
    Weights,
    add_row,
    add_step,
    copy_row,
    new_weights,
    set_number,
    uncompiled,
)


@kernel
def add_below(
    graph: Graph, node: int, binds: Binds, values: Values, rows: Array, weights: Weights
) -> None:
    """Work out the weight of a node from those of its children."""
    set_number(weights, node, 0)
    left = graph.left[node]
    if graph.label[node] == UNION:
        add_row(weights, node, left)
        add_row(weights, node, graph.right[node])
    else:
        add_step(weights, node, left, binds, graph.label[node], values, rows[node])


@kernel
def weigh_paths(
    graph: Graph,
    rows: Array,
    binds: Binds,
    values: Values,
    roots: Array,
    edges: Array,
    floors: Array,
    whole: Weights,
    cut: Weights,
    found: Weights,
) -> None:
    """Add up the matches of every hit.

    Args:
        rows: the row of each output node's event in `values`.
        whole: room for the weights of all paths below each node.
        cut: room for those of the paths inside the window at hand.
    """
    nodes = graph.label.shape[0]
    earliest = np.zeros(nodes, np.int32)
    for node in range(nodes):
        earliest[node] = graph.start[node]
        if graph.label[node] == 0:
            set_number(whole, node, 1)
            continue
        for side in range(2):
            child = graph.left[node] if side == 0 else graph.right[node]
            if child != NOTHING:
                earliest[node] = min(earliest[node], earliest[child])
        add_below(graph, node, binds, values, rows, whole)
    seen = np.full(nodes, NOTHING, np.int64)
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
                copy_row(cut, node, whole, node)
            elif last < floor or graph.start_clock[last] < edge:
                set_number(cut, node, 0)
            elif top >= 0:
                stack[depth] = -node - 1
                depth += 1
                for side in range(2):
                    child = graph.left[node] if side == 0 else graph.right[node]
                    if child != NOTHING:
                        stack[depth] = child
                        depth += 1
            else:
                add_below(graph, node, binds, values, rows, cut)
        copy_row(found, hit, cut, roots[hit])


def weigh(
    graph: Graph, hits: Hits, rows: np.ndarray, binds: Binds, values: Values, *, exact: bool
) -> Weights:
    """Return the weights of the matches of every hit; exact ones are of any size, and slow."""
    nodes = len(graph.label)
    room = [new_weights(count, values, exact=exact) for count in (nodes, nodes, len(hits.end))]
    kernels: Any = _exact() if exact else None
    run = kernels.weigh_paths if exact else weigh_paths
    # Counts are kept modulo 2^64 on purpose.
    with np.errstate(over="ignore", invalid="ignore"):
        run(graph, rows, binds, values, hits.root, hits.edge, hits.floor, *room)
    return room[2]


def _exact() -> Any:
    from ensue.runtime import paths

    return uncompiled(of_weights, paths)
