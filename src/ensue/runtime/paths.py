"""Adding up the matches of many completing events on one graph, none listed.

The weight of the paths below every node is worked out once, bottom up. A node all of whose starts
are inside a window has all of its paths there; only the nodes that the window's edge cuts in two
are looked at for a single event, each once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ensue.runtime import weights as of_weights
from ensue.runtime.jit import helper, kernel
from ensue.runtime.layout import NOTHING, UNION, Array, Graph, Hits
from ensue.runtime.weights import (
    NONE,
    Binds,
    Values,
    Weights,
    new_weights,
    uncompiled,
)

OUTSIDE, INSIDE, CUT = range(3)


@helper
def clear_row(whole: Array, real: Array, least: Array, at: int) -> None:
    """Write the weight of no runs."""
    for term in range(whole.shape[1]):
        whole[at, term] = 0
    for term in range(real.shape[1]):
        real[at, term] = 0.0
    for term in range(least.shape[1]):
        least[at, term] = NONE


@helper
def add_row(
    whole: Array,
    real: Array,
    least: Array,
    at: int,
    more_whole: Array,
    more_real: Array,
    more_least: Array,
    a: int,
) -> None:
    """Add the runs of one set to another."""
    for term in range(whole.shape[1]):
        whole[at, term] += more_whole[a, term]
    for term in range(real.shape[1]):
        real[at, term] += more_real[a, term]
    for term in range(least.shape[1]):
        least[at, term] = min(least[at, term], more_least[a, term])


@helper
def add_event(
    whole: Array,
    real: Array,
    least: Array,
    at: int,
    binds: Binds,
    label: int,
    values: Values,
    row: int,
) -> None:
    """Let the runs of a set read one more event."""
    for term in range(1, whole.shape[1]):
        if binds.whole[label, term]:
            whole[at, term] += whole[at, 0] * values.whole[row, term]
    for term in range(1, real.shape[1]):
        if binds.real[label, term]:
            real[at, term] += real[at, 0] * values.real[row, term]
    for term in range(least.shape[1]):
        if binds.least[label, term]:
            least[at, term] = min(least[at, term], values.least[row, term])


@helper
def place(first: int, last: int, clocks: Array, edge: int, floor: int) -> int:
    """Tell where starts, from the first to the last, are: before a window, inside, or both."""
    if first >= floor and clocks[first] >= edge:
        return INSIDE
    if last < floor or clocks[last] < edge:
        return OUTSIDE
    return CUT


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
    # Tuples are taken apart before the loops: in them, each access would count references.
    labels, lefts, rights, _, starts, _, clocks = graph
    all_w, all_r, all_l = whole
    cut_w, cut_r, cut_l = cut
    ends_w, ends_r, ends_l = found
    nodes = labels.shape[0]
    earliest = np.zeros(nodes, np.int32)
    for node in range(nodes):
        label = labels[node]
        earliest[node] = starts[node]
        if label == 0:
            all_w[node, 0] = 1
            all_r[node, 0] = 1.0
            continue
        for side in range(2):
            child = lefts[node] if side == 0 else rights[node]
            if child != NOTHING:
                earliest[node] = min(earliest[node], earliest[child])
                add_row(all_w, all_r, all_l, node, all_w, all_r, all_l, child)
        if label != UNION:
            add_event(all_w, all_r, all_l, node, binds, label, values, rows[node])
    seen = np.full(nodes, NOTHING, np.int64)
    stack = np.zeros(2 * nodes + 2, np.int64)
    for hit in range(roots.shape[0]):
        edge = edges[hit]
        floor = floors[hit]
        root = roots[hit]
        where = place(earliest[root], starts[root], clocks, edge, floor)
        depth = 0
        if where == INSIDE:
            add_row(ends_w, ends_r, ends_l, hit, all_w, all_r, all_l, root)
        elif where == CUT:
            stack[0] = root
            depth = 1
        while depth > 0:
            depth -= 1
            top = stack[depth]
            node = top if top >= 0 else -top - 1
            if top >= 0:
                if seen[node] == hit:
                    continue
                seen[node] = hit
                stack[depth] = -node - 1
                depth += 1
                for side in range(2):
                    child = lefts[node] if side == 0 else rights[node]
                    if child != NOTHING and seen[child] != hit:
                        where = place(earliest[child], starts[child], clocks, edge, floor)
                        if where == CUT:
                            stack[depth] = child
                            depth += 1
                continue
            clear_row(cut_w, cut_r, cut_l, node)
            for side in range(2):
                child = lefts[node] if side == 0 else rights[node]
                if child == NOTHING:
                    continue
                where = place(earliest[child], starts[child], clocks, edge, floor)
                if where == INSIDE:
                    add_row(cut_w, cut_r, cut_l, node, all_w, all_r, all_l, child)
                elif where == CUT:
                    add_row(cut_w, cut_r, cut_l, node, cut_w, cut_r, cut_l, child)
            if labels[node] != UNION:
                add_event(cut_w, cut_r, cut_l, node, binds, labels[node], values, rows[node])
            if node == root:
                add_row(ends_w, ends_r, ends_l, hit, cut_w, cut_r, cut_l, root)


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
