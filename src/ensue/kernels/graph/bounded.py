"""Bounds on running totals: where enumeration need not go, because no path below stays within them.

A walk goes from the end of a match to its start and keeps, for each total, what the events on its
path have contributed. What the paths below a node can still contribute at least and at most is
known beforehand, bottom up, so a branch is entered only if some path below may end within bounds
(each total taken by itself). A window's edge is not known then; but a sum cannot grow by more than
all events since the edge contribute together. What is listed is checked exactly later.

A total may begin anew at some nodes, because it is one of a scope inside the match: walking back,
a scope is entered at its last event. Before that there is no total, which is written as NaN, so
that no comparison turns the walk away. The walk itself is that of enumerate.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.layout import UNION, Array, Bool, Float64, Graph


class Bounds(NamedTuple):
    """Totals of a graph's paths, and the bounds they must stay within."""

    greatest: Bool
    """[total]: whether it is the greatest of the contributions, not their sum."""
    begin: Float64
    """[total]: what a walk begins with; NaN: there is no total yet."""
    low: Float64
    high: Float64
    value: Float64
    """[node, total]: what the event of an output node contributes."""
    opens: Bool
    """[node, total]: whether the total begins anew there, with this event."""
    least: Float64
    most: Float64
    """[node, total]: what the paths below contribute at least, and at most."""
    reach: Float64
    """[node, total]: what all events up to the last one below contribute together."""
    base: Float64
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


@helper
def add_event(bounds: Bounds, held: Array, row: int, node: int) -> None:
    """Add what the event of an output node contributes to the totals of a path."""
    for total in range(held.shape[1]):
        value = bounds.value[node, total]
        if bounds.opens[node, total]:
            held[row, total] = value
        else:
            held[row, total] = joined(bounds.greatest[total], held[row, total], value)
