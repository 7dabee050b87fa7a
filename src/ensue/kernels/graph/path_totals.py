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
from ensue.kernels.layout import NOTHING, UNION, Array, Graph, Hits
from ensue.kernels.minmax import smaller

OUTSIDE, INSIDE, CUT = range(3)


class Room(NamedTuple):
    """What is written down of every node, and a stack."""

    earliest: np.ndarray
    """The earliest start below it."""
    seen: np.ndarray
    """The last hit for which it was looked at."""
    stack: np.ndarray


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
    room: Room,
) -> None:
    """Add up the matches of every hit.

    Args:
        rows: the row of each output node's event in `values`.
        whole: room for the weights of all paths below each node.
        cut: room for those of the paths inside the window at hand.
        found: room for those of every hit.
    """
    labels, lefts, rights, starts = graph.label, graph.left, graph.right, graph.start
    clocks = graph.start_clock
    earliest, seen, stack = room.earliest, room.seen, room.stack
    for node in range(labels.shape[0]):
        label = labels[node]
        earliest[node] = starts[node]
        if label == 0:
            whole.whole[node, 0] = 1
            whole.real[node, 0] = 1.0
            continue
        for side in range(2):
            child = lefts[node] if side == 0 else rights[node]
            if child != NOTHING:
                earliest[node] = smaller(earliest[node], earliest[child])
                add_row(whole, node, whole, child)
        if label != UNION:
            add_event(whole, node, binds, label, values, rows[node])
    for hit in range(roots.shape[0]):
        edge = edges[hit]
        floor = floors[hit]
        root = roots[hit]
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
                    if child != NOTHING and seen[child] != hit:
                        where = place(earliest[child], starts[child], clocks, edge, floor)
                        if where == CUT:
                            stack[depth] = child
                            depth += 1
                continue
            set_number(cut, node, 0)
            for side in range(2):
                child = lefts[node] if side == 0 else rights[node]
                if child == NOTHING:
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
    whole, cut, found = (
        new_weights(count, values, exact=exact) for count in (nodes, nodes, len(hits.end))
    )
    room = Room(
        np.zeros(nodes, np.int32),
        np.full(nodes, NOTHING, np.int64),
        np.zeros(2 * nodes + 2, np.int64),
    )
    kernels: Any = _exact() if exact else None
    run = kernels.weigh_paths if exact else weigh_paths
    # Counts are kept modulo 2^64 on purpose.
    with np.errstate(over="ignore", invalid="ignore"):
        run(graph, rows, binds, values, hits.root, hits.edge, hits.floor, whole, cut, found, room)
    return found


def _exact() -> Any:
    from ensue.kernels.graph import path_totals

    return uncompiled(of_weights, path_totals)
