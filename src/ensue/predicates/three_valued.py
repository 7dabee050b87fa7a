"""Truth values and comparisons of whole columns: true, false, or NULL where a value is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.expressions import Value
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError, Vector

_LARGEST_EXACT_INTEGER = 2**53
"""Integers up to this magnitude convert to doubles without loss."""


def expand(operand: Strings, answers: pa.Array, kind: Any = np.bool_) -> Numbers:
    """Expand results of the distinct strings to the rows that hold them."""
    valid = answers.is_valid().to_numpy(zero_copy_only=False)
    filled = pc.fill_null(answers, False if kind is np.bool_ else 0)
    values = filled.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return Numbers(operand.take(values), operand.take(valid))


def both_valid(left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray | None:
    """Combine two validity masks; None means that every row is valid."""
    if left is None or right is None:
        return right if left is None else left
    valid: np.ndarray = left & right
    return valid


def logical(name: str, operands: list[Numbers]) -> Numbers:
    """Compute AND or OR in three-valued logic: NULL only where no operand decides."""
    decisive = name == "or"
    decided, unknown = None, None
    for operand in operands:
        values, valid = operand.values.astype(bool, copy=False), operand.valid
        decides = values if decisive else ~values
        if valid is not None:
            decides = decides & valid
            unknown = ~valid if unknown is None else unknown | ~valid
        decided = decides if decided is None else decided | decides
    assert decided is not None
    values = decided if decisive else ~decided
    return Numbers(values, None if unknown is None else decided | ~unknown)


def refuse_inexact(left: np.ndarray, right: np.ndarray) -> None:
    """Raise UnsupportedError for large integers beside doubles, which need exact comparison."""
    for a, b in ((left, right), (right, left)):
        mixed = a.dtype == np.int64 and b.dtype == np.float64
        if mixed and max(int(a.max(initial=0)), -int(a.min(initial=0))) > _LARGEST_EXACT_INTEGER:
            raise UnsupportedError("integers beyond 2^53 beside doubles")


def found_among(operand: Vector, wanted: frozenset[Value]) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the values that are among those wanted, and one of those not NULL."""
    if isinstance(operand, Lists):
        raise UnsupportedError("a list among values")
    if isinstance(operand, Numbers):
        return _among(operand.values, wanted), operand.is_valid()
    texts = pa.array([each for each in wanted if isinstance(each, str)], pa.string())
    found = pc.is_in(operand.distinct, value_set=texts).to_numpy(zero_copy_only=False)
    return operand.take(found), operand.codes != len(operand.distinct) - 1


def _among(values: np.ndarray, wanted: frozenset[Value]) -> np.ndarray:
    if values.dtype == np.bool_:
        return np.isin(values, [v for v in wanted if isinstance(v, bool)])
    numbers = [v for v in wanted if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(wanted):
        raise UnsupportedError("decimals")
    if values.dtype == np.int64:
        whole = [int(v) for v in numbers if int(v) == v and -(2**63) <= v < 2**63]
        among = pc.is_in(pa.array(values), value_set=pa.array(whole, pa.int64()))
        found: np.ndarray = among.to_numpy(zero_copy_only=False)
        return found
    exact = [float(v) for v in numbers if float(v) == v]
    return np.isin(values, exact)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


ARROW_NAMES = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def chosen_places(tests: list[Numbers], known: list[np.ndarray]) -> list[np.ndarray]:
    """Return where each value is chosen, unless one before it is."""
    if not tests:
        return known
    held = [each.values.astype(bool, copy=False) & each.is_valid() for each in tests]
    return [*held, np.ones(len(held[0]), bool)]
