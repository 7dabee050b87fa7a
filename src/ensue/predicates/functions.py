"""Arithmetic and functions of numbers on whole columns.

Each function takes the values of its operands and returns the result's values and where the
result exists: overflow, division by zero and roots of negative numbers are NULL. Whether an
operand is NULL is not its business: the caller combines validity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
}
"""Functions of numbers by name; results without a value are counted for every event."""
