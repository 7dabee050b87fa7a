"""The aggregate functions on lists of values in the order of positions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ensue.analysis.expressions import Value

_INT64 = 2**63


def aggregate(function: str, values: Sequence[Value]) -> Value:
    """Apply an aggregate to values none of which is NULL.

    >>> aggregate("range", [3, 1, 2]), aggregate("sum", []), aggregate("max", [])
    (2, 0, None)
    """
    if function == "count":
        return len(values)
    if function == "sum":
        return total(values)
    if not values:
        return None
    numbers: Any = values
    match function:
        case "first":
            return values[0]
        case "last":
            return values[-1]
        case "min":
            least: Value = min(numbers)
            return least
        case "max":
            most: Value = max(numbers)
            return most
        case "avg":
            return mean(values)
        case "range":
            return total([max(numbers), -_real(min(numbers))])
        case "stddev":
            return _deviation([float(each) for each in numbers])
    raise AssertionError(function)


def total(values: Sequence[Value]) -> Value:
    """Return the sum in order; sums of integers beyond 64 bits are NULL."""
    numbers = [_real(each) for each in values]
    if all(isinstance(each, int) for each in numbers):
        whole = sum(numbers)
        return whole if -_INT64 <= whole < _INT64 else None
    result = 0.0
    for each in numbers:
        result += each
    return result if math.isfinite(result) else None


def mean(values: Sequence[Value]) -> Value:
    """Return the average as a double."""
    numbers = [_real(each) for each in values]
    if all(isinstance(each, int) for each in numbers):
        return float(sum(numbers) / len(numbers))
    summed = total(values)
    assert summed is None or isinstance(summed, float)
    return None if summed is None else summed / len(values)


def _deviation(numbers: list[float]) -> float | None:
    if len(numbers) < 2:
        return None
    if not all(map(math.isfinite, numbers)):
        return None
    result = statistics.stdev(numbers)
    return result if math.isfinite(result) else None


def _real(value: Value) -> Any:
    return float(value) if isinstance(value, Decimal) else value
