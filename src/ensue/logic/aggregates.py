"""The aggregate functions on lists of values in the order of positions, and their arguments."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ensue.analysis.bound import Column, Derived
from ensue.analysis.expressions import Attribute, EventType, Expression, Value
from ensue.logic.complex_event import Computed, Event
from ensue.logic.evaluate import Tally, evaluate
from ensue.logic.user_calls import folded

_INT64 = 2**63


def value_of(argument: Expression, event: Event | Computed) -> Value:
    """Return the value of an argument on one event; where it has none, nothing is aggregated."""

    def lookup(name: Attribute | EventType) -> Value:
        if isinstance(name, EventType):
            assert isinstance(event, Event)
            return event.type
        value: Value = event.value(name.path)
        return value

    return evaluate(argument, lookup)


def derived(column: Derived, values: Mapping[str, Value], tally: Tally | None = None) -> Value:
    """Return the value of a column that is computed from aggregates."""

    def lookup(name: Attribute | EventType) -> Value:
        assert isinstance(name, Attribute)
        return values[name.path[0]]

    return evaluate(column.expression, lookup, tally)


def aggregated(column: Column, values: Sequence[Value]) -> Value:
    """Apply the aggregate of a column to values none of which is NULL."""
    if column.user is None:
        return aggregate(column.function, values, column.parameter)
    assert column.argument is not None
    return folded(column.user, values, column.argument.type)


def aggregate(function: str, values: Sequence[Value], parameter: float | None = None) -> Value:
    """Apply an aggregate to values none of which is NULL.

    >>> aggregate("range", [3, 1, 2]), aggregate("sum", []), aggregate("max", [])
    (2, 0, None)
    """
    if function == "count":
        return len(values)
    if function == "count distinct":
        return len(set(values))
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
        case "product":
            return product(values)
        case "median":
            return percentile([float(each) for each in numbers], 0.5)
        case "percentile":
            assert parameter is not None
            return percentile([float(each) for each in numbers], parameter)
        case "list":
            return tuple(values)
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


def product(values: Sequence[Value]) -> Value:
    """Return the product in order; products of integers beyond 64 bits are NULL."""
    numbers = [_real(each) for each in values]
    whole = all(isinstance(each, int) for each in numbers)
    result: Any = 1 if whole else 1.0
    for each in numbers:
        result *= each
    if whole:
        return result if -_INT64 <= result < _INT64 else None
    return result if math.isfinite(result) else None


def percentile(numbers: list[float], which: float) -> float | None:
    """Return a percentile, from 0 to 1, between the two nearest values.

    >>> percentile([1.0, 2.0, 4.0], 0.5), percentile([1.0, 2.0, 4.0], 0.75)
    (2.0, 3.0)
    """
    ordered = sorted(numbers)
    place = which * (len(ordered) - 1)
    low = math.floor(place)
    below, above = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    result = below + (above - below) * (place - low)
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
