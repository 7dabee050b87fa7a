"""Filters on aggregates that are looked at while matches are listed, not after.

The plan has what a total must lie within (see plan/aggregate_bounds.py); here it is applied to the
events of some matches. The bounds only leave out what the filter would refuse: numbers are taken
as doubles, with as much slack as rounding needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ensue.kernels.graph.bounded import Bounds, bound_paths
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import Graph
from ensue.plan.aggregate_bounds import AggregateBound
from ensue.predicates.evaluate import Batch
from ensue.stream.attributes import value_column
from ensue.stream.batch import EventBatch

_EXACT = 2.0**53


def bounds_of(
    limits: Sequence[AggregateBound], labels: Sequence[int], stream: EventBatch
) -> Callable[[Segment], Bounds]:
    """Return what gives the bounds of a segment whose label numbers stand for these bits."""

    def bounds(segment: Segment) -> Bounds:
        graph = segment.graph
        nodes, totals = len(graph.label), len(limits)
        found = Bounds(
            np.array([each.column.function in ("min", "max") for each in limits], bool),
            np.zeros(totals),
            np.array([each.low for each in limits]),
            np.array([each.high for each in limits]),
            np.zeros((nodes, totals)),
            np.zeros((nodes, totals), bool),
            np.zeros((nodes, totals)),
            np.zeros((nodes, totals)),
            np.full((nodes, totals), math.inf),
            np.zeros((len(segment.hits.end), totals)),
        )
        outputs = np.flatnonzero(graph.label > 0)
        first = _first_positions(segment)
        for total, limit in enumerate(limits):
            _fill(found, total, limit, graph, outputs, labels, stream)
            if first is not None and not found.greatest[total]:
                _reach(found, total, graph, outputs, first)
        bound_paths(graph, found)
        return found

    return bounds


def _fill(
    bounds: Bounds,
    total: int,
    limit: AggregateBound,
    graph: Graph,
    outputs: np.ndarray,
    labels: Sequence[int],
    stream: EventBatch,
) -> None:
    """Save what each node contributes to a total."""
    function, argument = limit.column.function, limit.column.argument
    nothing = -math.inf if bounds.greatest[total] else 0.0
    bounds.begin[total] = math.nan if limit.end else nothing
    bounds.value[:, total] = nothing
    label = graph.label[outputs]
    bounds.opens[outputs, total] = np.array([bool(bits & limit.end) for bits in labels])[label]
    own = outputs[np.array([bool(bits & limit.bit) for bits in labels])[label]]
    rows = stream.rows_at(graph.position[own])
    values, known = np.ones(len(rows)), np.ones(len(rows), bool)
    if argument is not None:
        source = value_column(Batch(stream.table, stream.types), argument)
        known = source.known[rows] if len(source.known) else known
        if function != "count":
            if source.distinct is not None:
                # Ranks bound nothing.
                bounds.low[total], bounds.high[total] = -math.inf, math.inf
                return
            values = source.values[rows].astype(np.float64)
    if function == "min":
        # The least is the greatest of the negatives.
        values = -values
        bounds.low[total], bounds.high[total] = -limit.high, -limit.low
    slack = _slack(values, bounds.greatest[total])
    bounds.low[total] -= slack
    bounds.high[total] += slack
    bounds.value[own[known], total] = values[known]


def _first_positions(segment: Segment) -> np.ndarray | None:
    """Return where the window of each hit begins; None where clocks are not in order."""
    graph, hits = segment.graph, segment.hits
    clocks = graph.start_clock
    if len(clocks) == 0 or bool(np.any(clocks[1:] < clocks[:-1])):
        return None
    starts = np.maximum(np.searchsorted(clocks, hits.edge), hits.floor)
    positions: np.ndarray = graph.start_position[np.minimum(starts, len(clocks) - 1)]
    return positions


def _reach(
    bounds: Bounds, total: int, graph: Graph, outputs: np.ndarray, first: np.ndarray
) -> None:
    """Add up what events contribute at most, up to each node and before each window."""
    positions, place = np.unique(graph.position[outputs], return_inverse=True)
    most = np.zeros(len(positions))
    np.maximum.at(most, place, bounds.value[outputs, total])
    sums = np.concatenate([[0.0], np.cumsum(most)])
    bounds.reach[outputs, total] = sums[place + 1]
    bounds.base[:, total] = sums[np.searchsorted(positions, first)]


def _slack(values: np.ndarray, greatest: bool) -> float:
    """Return how far a total of some of these values may be off by rounding."""
    sizes = np.abs(values[np.isfinite(values)])
    size = float(sizes.max(initial=0.0) if greatest else sizes.sum())
    if greatest or bool(np.all(values == np.rint(values))):
        return 0.0 if size < _EXACT else size * 2.0**-50
    return size * 2.0**-52 * len(values)
