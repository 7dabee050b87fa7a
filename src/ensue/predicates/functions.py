"""Arithmetic and functions of numbers on whole columns.

Each function takes the values of its operands and returns the result's values and where the
result exists: overflow, division by zero and roots of negative numbers are NULL. Whether an
operand is NULL is not its business: the caller combines validity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ensue.analysis.special_calls import DATE_UNITS
from ensue.logic.functions import DATE_DIFFERENCES
from ensue.logic.numeric import FUNCTIONS as ELEMENTWISE
from ensue.logic.numeric import elementwise
from ensue.predicates.vectors import Numbers

_NANOSECONDS_PER_DAY = 86_400_000_000_000


Computed = tuple[np.ndarray, np.ndarray | None]
"""Values, and a mask of the rows that have one (None: all have)."""


def _are_integers(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == np.int64 and right.dtype == np.int64


def _add(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left + right
    if not _are_integers(left, right):
        return result, None
    return result, ((left ^ result) & (right ^ result)) >= 0


def _subtract(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left - right
    if not _are_integers(left, right):
        return result, None
    return result, ((left ^ right) & (left ^ result)) >= 0


def _multiply(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left * right
    if not _are_integers(left, right):
        return result, None
    estimate = left.astype(np.float64) * right.astype(np.float64)
    return result, _fits(left, right, estimate)


def _fits(left: np.ndarray, right: np.ndarray, estimate: np.ndarray) -> np.ndarray:
    """Return where a product of integers fits into 64 bits; exact near the limit."""
    fits: np.ndarray = np.abs(estimate) < 9.2e18
    for row in np.flatnonzero(~fits & (np.abs(estimate) < 9.3e18)):
        fits[row] = -(2**63) <= int(left[row]) * int(right[row]) < 2**63
    return fits


def _divide(left: np.ndarray, right: np.ndarray) -> Computed:
    return left.astype(np.float64) / right.astype(np.float64), right != 0


def _remainder(left: np.ndarray, right: np.ndarray) -> Computed:
    return np.fmod(left, np.where(right == 0, 1, right)), right != 0


def _negative(values: np.ndarray) -> Computed:
    least = values == np.iinfo(np.int64).min if values.dtype == np.int64 else None
    return -values, None if least is None else ~least


def _absolute(values: np.ndarray) -> Computed:
    least = values == np.iinfo(np.int64).min if values.dtype == np.int64 else None
    return np.abs(values), None if least is None else ~least


def _round(values: np.ndarray) -> Computed:
    if values.dtype == np.int64:
        return values, None
    size = np.abs(values)
    whole = np.floor(size)
    return np.copysign(np.where(size - whole >= 0.5, whole + 1, whole), values), None


def _floor(values: np.ndarray) -> Computed:
    return (values if values.dtype == np.int64 else np.floor(values)), None


def _ceil(values: np.ndarray) -> Computed:
    return (values if values.dtype == np.int64 else np.ceil(values)), None


def _root(values: np.ndarray) -> Computed:
    return np.sqrt(np.maximum(values, 0).astype(np.float64)), values >= 0


def _calendar(unit: str, offset: int, within: str | None) -> Callable[[np.ndarray], Computed]:
    def apply(values: np.ndarray) -> Computed:
        moments = values.astype("datetime64[ns]")
        parts = moments.astype(f"datetime64[{unit}]")
        if within is None:
            return parts.astype(np.int64) + offset, None
        return (parts - moments.astype(f"datetime64[{within}]")).astype(np.int64) + offset, None

    return apply


def _day_of_week(values: np.ndarray) -> Computed:
    return (values // _NANOSECONDS_PER_DAY + 3) % 7 + 1, None


def _sign(values: np.ndarray) -> Computed:
    return (values > 0).astype(np.int64) - (values < 0), None


def _elementwise(name: str) -> Callable[..., Computed]:
    return lambda *columns: (elementwise(name, *columns), None)


def _whole_units(name: str, unit: int) -> Callable[[np.ndarray, np.ndarray], Computed]:
    """Count whole units from one instant to another."""
    exact = DATE_DIFFERENCES[name]

    def apply(start: np.ndarray, end: np.ndarray) -> Computed:
        difference, fits = _subtract(end, start)
        whole = difference // unit + ((difference < 0) & (difference % unit != 0))
        assert fits is not None
        has_value = fits.copy()
        for row in np.flatnonzero(~fits):
            count = exact(int(start[row]), int(end[row]))
            if count is not None and -(2**63) <= count < 2**63:
                whole[row], has_value[row] = count, True
        return whole, has_value

    return apply


def _whole_months(months: int) -> Callable[[np.ndarray, np.ndarray], Computed]:
    """Count whole calendar months from one instant to another, `months` at a time."""

    def apply(start: np.ndarray, end: np.ndarray) -> Computed:
        (first, before), (last, after) = _in_month(start), _in_month(end)
        whole = last - first
        whole -= (whole > 0) & (after < before)
        whole += (whole < 0) & (after > before)
        return np.sign(whole) * (np.abs(whole) // months), None

    return apply


def _in_month(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of months, and the nanoseconds since they began."""
    days = moments // _NANOSECONDS_PER_DAY
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    day = days - months.astype("datetime64[D]").astype(np.int64)
    return months.astype(np.int64), day * _NANOSECONDS_PER_DAY + moments % _NANOSECONDS_PER_DAY


def extreme(name: str, columns: list[Numbers]) -> Numbers:
    """Return the greatest or least value of each row, NULLs left out; of equal ones the first."""
    values, valid = columns[0].values, columns[0].is_valid()
    for each in columns[1:]:
        better = each.values > values if name == "greatest" else each.values < values
        known = each.is_valid()
        values = np.where(known & (~valid | better), each.values, values)
        valid = valid | known
    return Numbers(values, valid)


FUNCTIONS: dict[str, Callable[..., Computed]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "negative": _negative,
    "abs": _absolute,
    "round": _round,
    "floor": _floor,
    "ceil": _ceil,
    "sqrt": _root,
    "hour": _calendar("h", 0, "D"),
    "minute": _calendar("m", 0, "h"),
    "day": _calendar("D", 1, "M"),
    "month": _calendar("M", 1, "Y"),
    "year": _calendar("Y", 1970, None),
    "day_of_week": _day_of_week,
    "sign": _sign,
    **{name: _elementwise(name) for name in ELEMENTWISE},
    **{f"date_diff {name}": _whole_units(name, unit) for name, unit in DATE_UNITS.items() if unit},
    "date_diff month": _whole_months(1),
    "date_diff year": _whole_months(12),
}
"""Functions of numbers by name; results without a value are counted for every event."""
