"""Aggregates of matches: one pass over the events bound to a variable, match after match.

NULLs are left out. The results are those that logic/aggregates.py gives on lists: sums run in
order, whole ones are exact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ensue.kernels.compile.jit import helper, kernel, subroutine
from ensue.kernels.layout import Array, Bool, Float64, Int8, Int32, Int64
from ensue.kernels.minmax import larger

COUNT, SUM, MIN, MAX, AVG, RANGE, FIRST, LAST, STDDEV = range(9)

CODES = {
    "count": COUNT,
    "sum": SUM,
    "min": MIN,
    "max": MAX,
    "avg": AVG,
    "range": RANGE,
    "first": FIRST,
    "last": LAST,
    "stddev": STDDEV,
}

GOOD, NONE, LOST, HARD = range(4)
"""What became of a value: it is there, there is none, it does not fit, it needs more care."""

_EXACT_DOUBLES = 2**53
"""Whole numbers up to this are exact as doubles."""

_INT64_MAX, _INT64_MIN = 2**63 - 1, -(2**63)

_SAFE_SQUARES = 1e150
"""Beyond this, and below its inverse, squares are not to be trusted."""


class ValueColumn(NamedTuple):
    """The values of an attribute."""

    values: Array
    """Int64 or Float64."""
    known: Bool
    """Whether each is not NULL; empty where none is."""


class Groups(NamedTuple):
    """The rows of each match in a column: rows[offsets[i]:offsets[i + 1]]."""

    offsets: Int32
    rows: Int64


@helper
def is_known(column: ValueColumn, row: int) -> bool:
    """Tell whether a value is not NULL."""
    known: bool = column.known.shape[0] == 0 or column.known[row]
    return known


@helper
def scanned(column: ValueColumn, groups: Groups, match: int) -> tuple[int, Any, Any, Any, Any]:
    """Return how many values a match has, and the first, last, least and largest of them."""
    count = 0
    first: Any = 0
    last: Any = 0
    least: Any = 0
    most: Any = 0
    for i in range(groups.offsets[match], groups.offsets[match + 1]):
        row = groups.rows[i]
        if not is_known(column, row):
            continue
        value = column.values[row]
        if count == 0:
            first = value
            least = value
            most = value
        last = value
        if value < least:
            least = value
        if value > most:
            most = value
        count += 1
    return count, first, last, least, most


@helper
def adds_up(function: int) -> bool:
    """Tell whether an aggregate is made of the sum of all values."""
    if function == SUM:
        return True
    return function == AVG


@helper
def chosen(function: int, first: Any, last: Any, least: Any, most: Any) -> Any:
    """Return the value that FIRST, LAST, MIN or MAX chooses."""
    if function == FIRST:
        return first
    if function == LAST:
        return last
    if function == MIN:
        return least
    return most


@kernel
def fold_whole(
    column: ValueColumn, groups: Groups, function: int, whole: Int64, real: Float64, state: Int8
) -> None:
    """Aggregate whole numbers, the results being whole numbers, or with avg doubles."""
    for match in range(groups.offsets.shape[0] - 1):
        state[match] = GOOD
        if adds_up(function):
            count = 0
            total = 0
            carry = 0
            for i in range(groups.offsets[match], groups.offsets[match + 1]):
                row = groups.rows[i]
                if not is_known(column, row):
                    continue
                value = column.values[row]
                # Never beyond 64 bits: compilers take for granted that this does not happen.
                if value > 0 and total > _INT64_MAX - value:
                    carry += 1
                    total = (total + _INT64_MIN) + (value + _INT64_MIN)
                elif value < 0 and total < _INT64_MIN - value:
                    carry -= 1
                    total = (total - _INT64_MIN) + (value - _INT64_MIN)
                else:
                    total += value
                count += 1
            if function == SUM:
                whole[match] = total
                if carry != 0:
                    state[match] = LOST
            elif count == 0:
                state[match] = NONE
            else:
                real[match] = total / count
                if carry != 0 or total > _EXACT_DOUBLES or total < -_EXACT_DOUBLES:
                    state[match] = HARD
            continue
        count, first, last, least, most = scanned(column, groups, match)
        if function == COUNT:
            whole[match] = count
        elif count == 0:
            state[match] = NONE
        elif function != RANGE:
            whole[match] = chosen(function, first, last, least, most)
        elif least < 0 and most > _INT64_MAX + least:
            state[match] = LOST
        else:
            whole[match] = most - least


@subroutine
def deviation(column: ValueColumn, groups: Groups, match: int, count: int) -> float:
    """Return the deviation of a sample; sums are kept as two doubles each, large and small."""
    values = column.values
    rows = groups.rows
    begin = groups.offsets[match]
    end = groups.offsets[match + 1]
    high = 0.0
    low = 0.0
    for i in range(begin, end):
        if is_known(column, rows[i]):
            value = values[rows[i]]
            total = high + value
            part = total - high
            low += (high - (total - part)) + (value - part)
            high = total
    # The mean is mean + rest: what the division lost, found by multiplying without loss.
    mean = (high + low) / count
    wide = 134217729.0
    a = mean * wide
    a = a - (a - mean)
    b = mean - a
    n = float(count)
    product = mean * n
    lost = (a * n - product) + b * n
    rest = (((high - product) - lost) + low) / n
    square_high = 0.0
    square_low = 0.0
    for i in range(begin, end):
        if is_known(column, rows[i]):
            value = values[rows[i]]
            apart = value - mean
            part = apart - value
            error = (value - (apart - part)) - (mean + part) - rest
            c = apart * wide
            c = c - (c - apart)
            d = apart - c
            square = apart * apart
            more = (2.0 * apart + error) * error
            error = ((c * c - square) + 2.0 * c * d + d * d) + more
            total = square_high + square
            part = total - square_high
            square_low += (square_high - (total - part)) + (square - part) + error
            square_high = total
    return math.sqrt((square_high + square_low) / (count - 1))


@kernel
def fold_real(
    column: ValueColumn, groups: Groups, function: int, real: Float64, state: Int8
) -> None:
    """Aggregate doubles, the results being doubles."""
    for match in range(groups.offsets.shape[0] - 1):
        state[match] = GOOD
        if adds_up(function):
            count = 0
            total = 0.0
            for i in range(groups.offsets[match], groups.offsets[match + 1]):
                row = groups.rows[i]
                if is_known(column, row):
                    total += column.values[row]
                    count += 1
            real[match] = total
            if function == AVG and count == 0:
                state[match] = NONE
            elif not math.isfinite(total):
                state[match] = LOST
            elif function == AVG:
                real[match] = total / count
            continue
        count, first, last, least, most = scanned(column, groups, match)
        size = larger(abs(least), abs(most))
        real[match] = 0.0
        if function == COUNT:
            real[match] = float(count)
        elif count == 0 or (function == STDDEV and count < 2):
            state[match] = NONE
        elif function == RANGE:
            real[match] = most - least
            if not math.isfinite(most - least):
                state[match] = LOST
        elif function != STDDEV:
            real[match] = chosen(function, first, last, least, most)
        elif size > _SAFE_SQUARES or 0.0 < size < 1.0 / _SAFE_SQUARES:
            state[match] = HARD
        else:
            real[match] = deviation(column, groups, match, count)
