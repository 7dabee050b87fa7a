"""Aggregates of many matches that are no folds: products, percentiles, lists, distinct values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from ensue.analysis.bound import Column
from ensue.kernels.graph.path_folds import fold_groups, runs_compiled
from ensue.logic.aggregates import aggregate, aggregated
from ensue.logic.user_calls import combined, lowered
from ensue.results.aggregate_columns import AggregateValues
from ensue.stream.attributes import AttributeColumn

_SURELY_FITS = 9.2e18
"""A product of integers below this, as a double, fits into 64 bits."""


def grouped(
    column: Column, source: AttributeColumn, offsets: np.ndarray, rows: np.ndarray
) -> tuple[AggregateValues, int]:
    """Aggregate the rows between offsets; return the values, and how many do not exist."""
    count = len(offsets) - 1
    group = np.repeat(np.arange(count), np.diff(offsets))
    if len(source.known):
        known = source.known[rows]
        rows, group = rows[known], group[known]
    sizes = np.bincount(group, minlength=count)
    values = source.values[rows]
    if column.user is not None:
        return _folded(column, values, sizes, source.distinct), 0
    match column.function:
        case "count distinct":
            return _distinct(values, group, count), 0
        case "list":
            return _lists(values, sizes, source.distinct), 0
        case "product":
            return _products(values, sizes)
        case "median":
            return _percentiles(values, group, sizes, 0.5)
    assert column.parameter is not None, column.function
    return _percentiles(values, group, sizes, column.parameter)


def _distinct(values: np.ndarray, group: np.ndarray, count: int) -> AggregateValues:
    """Count different values; ranks and numbers differ where values do."""
    order = np.lexsort((values, group))
    values, group = values[order], group[order]
    new = np.ones(len(values), bool)
    new[1:] = (values[1:] != values[:-1]) | (group[1:] != group[:-1])
    return AggregateValues(np.bincount(group[new], minlength=count), np.ones(count, bool))


def _lists(values: np.ndarray, sizes: np.ndarray, distinct: list[Any] | None) -> AggregateValues:
    """Return lists as ranks among the different ones."""
    plain = values.tolist()
    if distinct is not None:
        plain = [distinct[rank] for rank in plain]
    ends = np.cumsum(sizes).tolist()
    found = [tuple(plain[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]
    known = sorted(set(found)) or [()]
    place = {each: rank for rank, each in enumerate(known)}
    ranks = np.array([place[each] for each in found], np.int64)
    return AggregateValues(ranks, sizes > 0, known)


def _folded(
    column: Column, values: np.ndarray, sizes: np.ndarray, distinct: list[Any] | None
) -> AggregateValues:
    """Fold the values of each match by an aggregate of the user."""
    user = column.user
    assert user is not None
    results: list[Any]
    if runs_compiled(user, distinct):
        totals = combined(user, fold_groups, user, values, np.cumsum(sizes))
        results = [lowered(user, each) for each in totals.tolist()]
    else:
        plain = values.tolist()
        if distinct is not None:
            plain = [distinct[rank] for rank in plain]
        ends = np.cumsum(sizes).tolist()
        results = [
            aggregated(column, plain[end - size : end])
            for end, size in zip(ends, sizes.tolist(), strict=True)
        ]
    valid = np.array([each is not None for each in results], bool)
    if any(isinstance(each, str | bool | Decimal) for each in results):
        known = sorted({each for each in results if each is not None})
        place = {each: rank for rank, each in enumerate(known)}
        return AggregateValues(np.array([place.get(each, 0) for each in results]), valid, known)
    return AggregateValues(np.array([each or 0 for each in results]), valid)


def _products(values: np.ndarray, sizes: np.ndarray) -> tuple[AggregateValues, int]:
    some = sizes > 0
    ends = np.cumsum(sizes)
    starts = (ends - sizes)[some]
    found = np.zeros(len(sizes), values.dtype)
    valid = some.copy()
    if not len(starts):
        return AggregateValues(found, valid), 0
    estimate = np.zeros(len(sizes))
    with np.errstate(all="ignore"):
        found[some] = np.multiply.reduceat(values, starts)
        estimate[some] = np.multiply.reduceat(values.astype(np.float64), starts)
    if values.dtype == np.float64:
        valid &= np.isfinite(found)
    else:
        for each in np.flatnonzero(~(np.abs(estimate) < _SURELY_FITS)):
            own = values[ends[each] - sizes[each] : ends[each]].tolist()
            exact: Any = aggregate("product", own)
            valid[each] = exact is not None
            found[each] = exact or 0
    return AggregateValues(found, valid), int(np.count_nonzero(some & ~valid))


def _percentiles(
    values: np.ndarray, group: np.ndarray, sizes: np.ndarray, which: float
) -> tuple[AggregateValues, int]:
    doubles = values.astype(np.float64)
    ordered = doubles[np.lexsort((doubles, group))]
    some = sizes > 0
    starts, last = (np.cumsum(sizes) - sizes)[some], sizes[some] - 1
    place = which * last
    low = np.floor(place).astype(np.int64)
    below, above = ordered[starts + low], ordered[starts + np.minimum(low + 1, last)]
    found = np.zeros(len(sizes))
    with np.errstate(all="ignore"):
        found[some] = below + (above - below) * (place - low)
    valid = some & np.isfinite(found)
    return AggregateValues(found, valid), int(np.count_nonzero(some & ~valid))
