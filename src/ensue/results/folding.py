"""Aggregates of groups of events, many groups at a time.

A group is what one aggregate is computed from: the events of a variable in a match, or in one round
of a scope inside of it. The kernels of kernels/aggregate.py go over the events of each group once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ensue.analysis.bound import Column
from ensue.kernels.aggregate import (
    CODES,
    COUNT,
    HARD,
    LOST,
    NONE,
    Groups,
    ValueColumn,
    fold_real,
    fold_whole,
)
from ensue.kernels.memory import read_only
from ensue.logic.aggregates import aggregate
from ensue.logic.evaluate import Tally
from ensue.results.aggregate_columns import AggregateValues
from ensue.results.grouped import grouped
from ensue.stream.attributes import AttributeColumn

_ON_NUMBERS = ("sum", "avg", "range", "stddev", "product", "median", "percentile")


def sizes_of(offsets: np.ndarray) -> AggregateValues:
    """Count the events of each group."""
    return AggregateValues(np.diff(offsets).astype(np.int64), np.ones(len(offsets) - 1, bool))


def converted(column: Column, source: AttributeColumn) -> AttributeColumn:
    """Return values as a function takes them: as doubles, where it asks for doubles."""
    if source.distinct is not None and column.function in _ON_NUMBERS:
        # Decimals are computed as doubles.
        doubles = np.array([float(each) for each in source.distinct] or [0.0])
        return AttributeColumn(doubles[source.values], source.known)
    if column.function == "stddev" and source.values.dtype != np.float64:
        return AttributeColumn(source.values.astype(np.float64), source.known)
    return source


def fold(
    column: Column, source: AttributeColumn, offsets: np.ndarray, rows: np.ndarray, tally: Tally
) -> AggregateValues:
    """Aggregate the rows of a source between offsets."""
    source = converted(column, source)
    offsets, rows = offsets.astype(np.int32, copy=False), rows.astype(np.int64, copy=False)
    count = len(offsets) - 1
    if column.function not in CODES:
        computed, missing = grouped(column, source, offsets, rows)
        tally.nulls += missing
        return computed
    state = np.zeros(count, np.int8)
    real = np.zeros(count, np.float64)
    code = CODES[column.function]
    found: np.ndarray = real
    values = ValueColumn(read_only(source.values), read_only(source.known))
    groups = Groups(read_only(offsets), read_only(rows))
    with np.errstate(all="ignore"):
        if source.values.dtype == np.float64:
            fold_real(values, groups, code, real, state)
            found = real.astype(np.int64) if code == COUNT else real
        else:
            whole = np.zeros(count, np.int64)
            fold_whole(values, groups, code, whole, real, state)
            found = real if column.function == "avg" else whole
    valid = (state != NONE) & (state != LOST)
    lost = int(np.count_nonzero(state == LOST))
    for group in np.flatnonzero(state == HARD).tolist():
        own = rows[offsets[group] : offsets[group + 1]]
        listed = source.values[own]
        if len(source.known):
            listed = listed[source.known[own]]
        exact: Any = aggregate(column.function, listed.tolist())
        valid[group] = exact is not None
        lost += exact is None
        found[group] = 0.0 if exact is None else exact
    tally.nulls += lost
    return AggregateValues(found, valid, None if code == COUNT else source.distinct)
