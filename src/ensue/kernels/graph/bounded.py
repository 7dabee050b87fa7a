"""Enumeration that turns away from paths on which a running total cannot stay within its bounds.

A walk goes from the end of a match to its start and keeps, for each total, what the events on its
path have contributed. What the paths below a node can still contribute at least and at most is
known beforehand, bottom up, so a branch is entered only if some path below may end within bounds
(other totals left aside). A window's edge is not known then; but a sum cannot grow by more than
all events since the edge contribute together. What is listed is checked exactly later.

A total may begin anew at some nodes, because it is one of a scope inside the match: walking back,
a scope is entered at its last event. Before that there is no total, which is written as NaN, so
that no comparison turns the walk away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.graph.enumerate import ALIKE, DEPTH, HIT, LISTED, Found, Walk
from ensue.kernels.layout import UNION, Array, Graph

_LOW = 0xFFFFFFFF


class Bounds(NamedTuple):
    """Totals of a graph's paths, and the bounds they must stay within."""

    greatest: np.ndarray
    """[total]: whether it is the greatest of the contributions, not their sum."""
    begin: np.ndarray
    """[total]: what a walk begins with; NaN: there is no total yet."""
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray
    """[node, total]: what the event of an output node contributes."""
    opens: np.ndarray
    """[node, total]: whether the total begins anew there, with this event."""
    least: np.ndarray
    most: np.ndarray
    """[node, total]: what the paths below contribute at least, and at most."""
    reach: np.ndarray
    """[node, total]: what all events up to the last one below contribute together."""
    base: np.ndarray
    """[hit, total]: what those before the window contribute."""


@helper
def joined(greatest: bool, a: float, b: float) -> float:
    """Add a contribution to a total; what is no number stays none."""
    if not greatest or a != a:
        return a + b
    return max(a, b)


@kernel
def bound_paths(graph: Graph, bounds: Bounds) -> None:
    """Work out what the paths below every node contribute."""
    for node in range(graph.label.shape[0]):
        label = graph.label[node]
        left = graph.left[node]
        right = graph.right[node]
        for total in range(bounds.low.shape[0]):
            greatest = bounds.greatest[total]
            if label == 0 or (label != UNION and bounds.opens[node, total]):
                nothing = -np.inf if greatest else 0.0
                bounds.least[node, total] = nothing
                bounds.most[node, total] = nothing
                if label == 0:
                    bounds.reach[node, total] = 0.0
            elif label == UNION:
                bounds.least[node, total] = min(
                    bounds.least[left, total], bounds.least[right, total]
                )
                bounds.most[node, total] = max(bounds.most[left, total], bounds.most[right, total])
                bounds.reach[node, total] = max(
                    bounds.reach[left, total], bounds.reach[right, total]
                )
            else:
                value = bounds.value[node, total]
                bounds.least[node, total] = joined(greatest, bounds.least[left, total], value)
                bounds.most[node, total] = joined(greatest, bounds.most[left, total], value)


@helper
def may_end_well(bounds: Bounds, hit: int, held: Array, row: int, node: int) -> bool:
    """Tell whether each total may come to lie within its bounds on some path below a node."""
    good = True
    for total in range(bounds.low.shape[0]):
        greatest = bounds.greatest[total]
        if joined(greatest, held[row, total], bounds.least[node, total]) > bounds.high[total]:
            good = False
        # Where a run starts nothing is reached, but nothing is lost by that either.
        reach = max(bounds.reach[node, total] - bounds.base[hit, total], 0.0)
        most = min(bounds.most[node, total], reach)
        if joined(greatest, held[row, total], most) < bounds.low[total]:
            good = False
    return good


@helper
def copy_totals(held: Array, to: int, row: int) -> None:
    """Copy the totals of a path."""
    for total in range(held.shape[1]):
        held[to, total] = held[row, total]


@kernel
def list_within(
    packed: Array,
    roots: Array,
    edges: Array,
    floors: Array,
    limit: int,
    walk: Walk,
    found: Found,
    bounds: Bounds,
    held: Array,
) -> int:
    """List matches as `list_matches` does, but only where totals may stay within their bounds.

    held[i] has the totals of the path above the i-th node of the stack; its last row is scratch.
    """
    totals = bounds.low.shape[0]
    now = held.shape[0] - 1
    count = 0
    filled = 0
    found.offset[0] = 0
    hit = walk.cursor[HIT]
    depth = walk.cursor[DEPTH]
    listed = walk.cursor[LISTED]
    full = False
    enough = found.position.shape[0] // 2
    while hit < roots.shape[0]:
        if depth == 0 and listed == 0:
            walk.node[0] = roots[hit]
            walk.length[0] = 0
            for total in range(totals):
                held[0, total] = bounds.begin[total]
            depth = 1
        edge = edges[hit]
        floor = floors[hit]
        while depth > 0:
            if count == found.start.shape[0] or filled > enough:
                full = True
                break
            depth -= 1
            node = walk.node[depth]
            length = walk.length[depth]
            copy_totals(held, now, depth)
            word = packed[node, 0]
            label = word >> 32
            good = may_end_well(bounds, hit, held, now, node)
            while good and label != 0:
                if label == UNION:
                    right = packed[node, 1]
                    other = right & _LOW
                    if (
                        right >> 32 >= floor
                        and packed[node, 2] >= edge
                        and may_end_well(bounds, hit, held, now, other)
                    ):
                        walk.node[depth] = other
                        walk.length[depth] = length
                        copy_totals(held, depth, now)
                        depth += 1
                else:
                    walk.path_position[length] = packed[node, 3]
                    walk.path_label[length] = label
                    length += 1
                    for total in range(totals):
                        value = bounds.value[node, total]
                        if bounds.opens[node, total]:
                            held[now, total] = value
                        else:
                            held[now, total] = joined(
                                bounds.greatest[total], held[now, total], value
                            )
                node = word & _LOW
                word = packed[node, 0]
                label = word >> 32
                good = may_end_well(bounds, hit, held, now, node)
            if not good:
                continue
            found.start[count] = packed[node, 3]
            found.hit[count] = hit
            for i in range(length):
                found.position[filled + i] = walk.path_position[length - 1 - i]
                found.label[filled + i] = walk.path_label[length - 1 - i]
            filled += length
            count += 1
            found.offset[count] = filled
            listed += 1
            if listed == limit:
                depth = 0
        if full:
            break
        hit += 1
        depth = 0
        listed = 0
    walk.cursor[HIT] = hit
    walk.cursor[DEPTH] = depth
    walk.cursor[LISTED] = listed
    walk.cursor[ALIKE] = False
    return count
