"""Aggregates of matches: one pass over the events bound to a variable, match after match.

The values of match i are values[rows[offsets[i]:offsets[i + 1]]], of which NULLs are left out.
They are the same as logic/aggregates.py gives on lists: sums run in order, whole ones are exact.
"""

from __future__ import annotations

import math

from ensue.kernels.compile.jit import kernel
from ensue.kernels.layout import Array
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

_EXACT = 2**53
_MOST, _LEAST = 2**63 - 1, -(2**63)
_LARGE = 1e150
"""Beyond this, and below its inverse, squares are not to be trusted."""


@kernel
def fold_whole(
    values: Array,
    known: Array,
    offsets: Array,
    rows: Array,
    function: int,
    whole: Array,
    real: Array,
    state: Array,
) -> None:
    """Aggregate whole numbers, the results being whole numbers, or with avg doubles."""
    all_known = known.shape[0] == 0
    for match in range(offsets.shape[0] - 1):
        count = 0
        first = 0
        last = 0
        least = 0
        most = 0
        total = 0
        carry = 0
        for i in range(offsets[match], offsets[match + 1]):
            row = rows[i]
            if not all_known and not known[row]:
                continue
            value = values[row]
            if count == 0:
                first = value
                least = value
                most = value
            last = value
            if value < least:
                least = value
            if value > most:
                most = value
            # Never beyond 64 bits: compilers take for granted that this does not happen.
            if value > 0 and total > _MOST - value:
                carry += 1
                total = (total + _LEAST) + (value + _LEAST)
            elif value < 0 and total < _LEAST - value:
                carry -= 1
                total = (total - _LEAST) + (value - _LEAST)
            else:
                total += value
            count += 1
        state[match] = GOOD
        if function == COUNT:
            whole[match] = count
        elif function == SUM:
            whole[match] = total
            if carry != 0:
                state[match] = LOST
        elif count == 0:
            state[match] = NONE
        elif function == MIN:
            whole[match] = least
        elif function == MAX:
            whole[match] = most
        elif function == FIRST:
            whole[match] = first
        elif function == LAST:
            whole[match] = last
        elif function == AVG:
            real[match] = total / count
            if carry != 0 or total > _EXACT or total < -_EXACT:
                state[match] = HARD
        elif least < 0 and most > _MOST + least:
            state[match] = LOST
        else:
            whole[match] = most - least


@kernel
def deviation(values: Array, known: Array, rows: Array, begin: int, end: int, count: int) -> float:
    """Return the deviation of a sample; sums are kept as two doubles each, large and small."""
    high = 0.0
    low = 0.0
    for i in range(begin, end):
        if known.shape[0] == 0 or known[rows[i]]:
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
        if known.shape[0] == 0 or known[rows[i]]:
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
    values: Array,
    known: Array,
    offsets: Array,
    rows: Array,
    function: int,
    real: Array,
    state: Array,
) -> None:
    """Aggregate doubles, the results being doubles."""
    all_known = known.shape[0] == 0
    for match in range(offsets.shape[0] - 1):
        count = 0
        first = 0.0
        last = 0.0
        least = 0.0
        most = 0.0
        total = 0.0
        for i in range(offsets[match], offsets[match + 1]):
            row = rows[i]
            if not all_known and not known[row]:
                continue
            value = values[row]
            if count == 0:
                first = value
                least = value
                most = value
            last = value
            if value < least:
                least = value
            if value > most:
                most = value
            total += value
            count += 1
        state[match] = GOOD
        result = total
        if function == COUNT:
            result = float(count)
        elif function != SUM and count == 0:
            state[match] = NONE
        elif function == MIN:
            result = least
        elif function == MAX:
            result = most
        elif function == FIRST:
            result = first
        elif function == LAST:
            result = last
        elif function == AVG:
            result = total / count
            if not math.isfinite(total):
                state[match] = LOST
        elif function == RANGE:
            result = most - least
            if not math.isfinite(result):
                state[match] = LOST
        elif function == STDDEV:
            size = larger(abs(least), abs(most))
            if count < 2:
                state[match] = NONE
            elif size > _LARGE or 0.0 < size < 1.0 / _LARGE:
                state[match] = HARD
            else:
                result = deviation(values, known, rows, offsets[match], offsets[match + 1], count)
        elif not math.isfinite(result):
            state[match] = LOST
        real[match] = result
