"""Adding up the matches of many completing events on one graph, none listed.

The weight of the paths below every node is worked out once, bottom up. A node all of whose starts
are inside a window has all of its paths there; only the nodes that the window's edge cuts in two
are looked at for a single event, each once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel, subroutine
from ensue.kernels.count import weights as of_weights
from ensue.kernels.count.weights import (
    Binds,
    Values,
    Weights,
    new_weights,
    set_number,
    uncompiled,
)
from ensue.kernels.layout import NIL, UNION, Array, Graph, Hits, Int32, Int64, Roots
from ensue.kernels.minmax import smaller

OUTSIDE, INSIDE, CUT = range(3)
"""Where the starts below a node are: before the window, inside it, or both."""


class PathTotals(NamedTuple):
    """The weights of paths, what is written down of every node, and a stack."""

    whole: Weights
    """[node]: of all paths below it."""
    cut: Weights
    """[node]: of the paths inside the window at hand."""
    found: Weights
    """[root]: of its matches."""
    earliest: Int32
    """[node]: the earliest start below it."""
    seen: Int64
    """[node]: the last root for which it was looked at."""
    stack: Int64


@subroutine
def add_row(weights: Weights, at: int, more: Weights, a: int) -> None:
    """Add the runs of one set to another."""
    for term in range(weights.whole.shape[1]):
        weights.whole[at, term] += more.whole[a, term]
    for term in range(weights.real.shape[1]):
        weights.real[at, term] += more.real[a, term]
    for term in range(weights.least.shape[1]):
        weights.least[at, term] = smaller(weights.least[at, term], more.least[a, term])


@helper
def add_event(
    weights: Weights, at: int, binds: Binds, label: int, values: Values, row: int
) -> None:
    """Let the runs of a set read one more event."""
    for term in range(1, weights.whole.shape[1]):
        if binds.whole[label, term]:
            weights.whole[at, term] += weights.whole[at, 0] * values.whole[row, term]
    for term in range(1, weights.real.shape[1]):
        if binds.real[label, term]:
            weights.real[at, term] += weights.real[at, 0] * values.real[row, term]
    for term in range(weights.least.shape[1]):
        if binds.least[label, term]:
            weights.least[at, term] = smaller(weights.least[at, term], values.least[row, term])


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
    graph: Graph, roots: Roots, rows: Array, binds: Binds, values: Values, totals: PathTotals
) -> None:
    """Add up the matches of every root; rows[n] is the row of output node n's event in `values`."""
    labels = graph.label
    lefts = graph.left
    rights = graph.right
    starts = graph.start
    clocks = graph.start_clock
    whole = totals.whole
    cut = totals.cut
    found = totals.found
    earliest = totals.earliest
    seen = totals.seen
    stack = totals.stack
    for node in range(labels.shape[0]):
        label = labels[node]
        earliest[node] = starts[node]
        if label == 0:
            whole.whole[node, 0] = 1
            whole.real[node, 0] = 1.0
            continue
        for side in range(2):
            child = lefts[node] if side == 0 else rights[node]
            if child != NIL:
                earliest[node] = smaller(earliest[node], earliest[child])
                add_row(whole, node, whole, child)
        if label != UNION:
            add_event(whole, node, binds, label, values, rows[node])
    for hit in range(roots.node.shape[0]):
        edge = roots.edge[hit]
        floor = roots.floor[hit]
        root = roots.node[hit]
        where = place(earliest[root], starts[root], clocks, edge, floor)
        depth = 0
        if where == INSIDE:
            add_row(found, hit, whole, root)
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
                    if child != NIL and seen[child] != hit:
                        where = place(earliest[child], starts[child], clocks, edge, floor)
                        if where == CUT:
                            stack[depth] = child
                            depth += 1
                continue
            set_number(cut, node, 0)
            for side in range(2):
                child = lefts[node] if side == 0 else rights[node]
                if child == NIL:
                    continue
                where = place(earliest[child], starts[child], clocks, edge, floor)
                if where == INSIDE:
                    add_row(cut, node, whole, child)
                elif where == CUT:
                    add_row(cut, node, cut, child)
            if labels[node] != UNION:
                add_event(cut, node, binds, labels[node], values, rows[node])
            if node == root:
                add_row(found, hit, cut, root)


def weigh(
    graph: Graph, hits: Hits, rows: np.ndarray, binds: Binds, values: Values, *, exact: bool
) -> Weights:
    """Return the weights of the matches of every hit; exact ones are of any size, and slow."""
    nodes = len(graph.label)
    totals = PathTotals(
        new_weights(nodes, values, exact=exact),
        new_weights(nodes, values, exact=exact),
        new_weights(len(hits.end), values, exact=exact),
        np.zeros(nodes, np.int32),
        np.full(nodes, NIL, np.int64),
        np.zeros(2 * nodes + 2, np.int64),
    )
    run = _exact().weigh_paths if exact else weigh_paths
    # Counts are kept modulo 2^64 on purpose.
    with np.errstate(over="ignore", invalid="ignore"):
        run(graph, hits.roots, rows, binds, values, totals)
    return totals.found


def _exact() -> Any:
    from ensue.kernels.graph import path_totals

    return uncompiled(of_weights, path_totals)
