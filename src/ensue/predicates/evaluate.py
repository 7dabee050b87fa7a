"""Expressions a column at a time; the same values as logic/evaluate.py gives one by one.

What has no vectorised form (decimals, integers beyond 2^53 beside doubles, a few functions of two
columns) is computed value by value by that very module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    OneOf,
    Operation,
    Value,
)
from ensue.analysis.types import Type
from ensue.logic.evaluate import Tally, evaluate, like_regex
from ensue.predicates.values import python_values
from ensue.predicates.vectors import (
    Lists,
    Numbers,
    Strings,
    UnsupportedError,
    Vector,
    nulls,
    path_column,
    plain_values,
    vector_of,
)

_EXACT = 2**53
"""Integers up to here are doubles without loss."""

_NANOSECONDS_A_DAY = 86_400_000_000_000


@dataclass(slots=True)
class Batch:
    """A table of events, its columns turned into vectors as they are asked for."""

    table: pa.Table
    given_types: Strings | pa.ChunkedArray
    tally: Tally = field(default_factory=Tally)
    length: int = field(init=False)
    _vectors: dict[tuple[str, ...], Vector] = field(default_factory=dict)
    _truths: dict[Expression, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.length = self.table.num_rows

    @property
    def types(self) -> Strings:
        """The types of the events."""
        if not isinstance(self.given_types, Strings):
            strings = vector_of(self.given_types)
            assert isinstance(strings, Strings)
            self.given_types = strings
        return self.given_types

    def type_names(self) -> list[str | None]:
        """Return the type of each event, where there are few."""
        if isinstance(self.given_types, Strings):
            return _texts(self.given_types)
        return plain_values(self.given_types)

    def texts(self, path: tuple[str, ...]) -> list[str | None]:
        """Return a column of strings, where there are few events."""
        known = self._vectors.get(path)
        if isinstance(known, Strings):
            return _texts(known)
        column = path_column(self.table, path)
        return [None] * self.length if column is None else plain_values(column)

    def vector(self, path: tuple[str, ...]) -> Vector:
        """Return an attribute of all events; one that no event has is NULL."""
        known = self._vectors.get(path)
        if known is None:
            column = path_column(self.table, path)
            known = nulls(self.length) if column is None else vector_of(column)
            self._vectors[path] = known
        return known

    def pretend(self, path: tuple[str, ...], vector: Vector) -> None:
        """Use a vector in place of a column, such as the distinct values for the rows."""
        self._vectors[path] = vector
        self._truths.clear()
        assert not isinstance(vector, Lists)
        self.length = len(vector.codes if isinstance(vector, Strings) else vector.values)

    def holds(self, predicate: Expression) -> np.ndarray:
        """Tell for which events a predicate is true; each is asked once."""
        known = self._truths.get(predicate)
        if known is None:
            known = self._truths[predicate] = self._hold(predicate)
        return known

    def _hold(self, predicate: Expression) -> np.ndarray:
        try:
            found = self.compute(predicate)
        except UnsupportedError:
            found = self._one_by_one(predicate)
        assert isinstance(found, Numbers)
        values = found.values.astype(bool, copy=False)
        return values if found.valid is None else values & found.valid

    def _one_by_one(self, predicate: Expression) -> Numbers:
        """Evaluate by definition, each event on its own."""
        columns: dict[tuple[str, ...], list[Any]] = {}

        def lookup(row: int) -> Callable[[Attribute | EventType], Value]:
            def value(name: Attribute | EventType) -> Value:
                if isinstance(name, EventType):
                    kind: Value = self.types.distinct[int(self.types.codes[row])].as_py()
                    return kind
                if name.path not in columns:
                    columns[name.path] = self._plain(name.path)
                found: Value = columns[name.path][row]
                return found

            return value

        results = [evaluate(predicate, lookup(row), self.tally) for row in range(self.length)]
        return Numbers(
            np.array([result is True for result in results], bool),
            np.array([result is not None for result in results], bool),
        )

    def _plain(self, path: tuple[str, ...]) -> list[Any]:
        known = self._vectors.get(path)
        if isinstance(known, Strings):
            return _texts(known)
        column = path_column(self.table, path)
        return [None] * self.length if column is None else python_values(column)

    # expressions

    def compute(self, expression: Expression) -> Vector:
        """Compute an expression for all events."""
        match expression:
            case Constant(value=value):
                return self._constant(value)
            case Attribute(path=path, type=kind):
                if kind is Type.DECIMAL:
                    raise UnsupportedError("decimals")
                return self.vector(path)
            case EventType():
                return self.types
            case OneOf():
                return self._one_of(expression)
            case Operation(name="and" | "or" as name, arguments=arguments):
                return _logical(name, [self._numbers(each) for each in arguments])
            case Operation(name="not", arguments=(argument,)):
                operand = self._numbers(argument)
                return Numbers(~operand.values.astype(bool, copy=False), operand.valid)
            case Operation(name="is_null", arguments=(argument,)):
                return self._is_null(self.compute(argument))
            case Operation(name="coalesce", arguments=arguments, type=kind):
                return self._coalesce(arguments, kind)
            case Operation(name=name, arguments=arguments) if name in COMPARISONS:
                return self._compared(name, *arguments)
            case Operation(name="like" | "rlike" as name, arguments=(operand, pattern)):
                return self._matched(name, operand, pattern)
            case Operation(name="has", arguments=(operand, element)):
                return self._has(self.compute(operand), element)
            case Operation(name=name, arguments=arguments, type=kind):
                return self._applied(name, arguments, kind)

    def _numbers(self, expression: Expression) -> Numbers:
        found = self.compute(expression)
        if not isinstance(found, Numbers):
            raise UnsupportedError("a string or a list among numbers")
        return found

    def _constant(self, value: Value) -> Numbers:
        if value is None:
            return nulls(self.length)
        if not isinstance(value, bool | int | float):
            raise UnsupportedError("a constant that is no number")
        return Numbers(np.broadcast_to(np.asarray(value), self.length))

    def _one_of(self, expression: OneOf) -> Numbers:
        values, valid = _found(self.compute(expression.operand), expression.values)
        if expression.with_null:
            valid = valid & values
        return Numbers(values, valid)

    def _has(self, lists: Vector, element: Expression) -> Numbers:
        """Tell which lists have an element; where one is NULL, it might be that."""
        if not isinstance(lists, Lists):
            return nulls(self.length)
        if not isinstance(element, Constant):
            raise UnsupportedError("what differs from event to event, in lists")
        if element.value is None:
            return nulls(self.length)
        equal, known = _found(lists.items, frozenset({element.value}))
        found, unknown = np.zeros(self.length, bool), np.zeros(self.length, bool)
        found[lists.rows[equal & known]] = True
        unknown[lists.rows[~known]] = True
        return Numbers(found, lists.valid & (found | ~unknown))

    def _is_null(self, operand: Vector) -> Numbers:
        if isinstance(operand, Strings):
            return Numbers(operand.codes == len(operand.distinct) - 1)
        return Numbers(~(operand.valid if isinstance(operand, Lists) else operand.is_valid()))

    def _coalesce(self, arguments: tuple[Expression, ...], kind: Type) -> Numbers:
        values: np.ndarray | None = None
        valid = np.zeros(self.length, bool)
        for argument in arguments:
            operand = self._numbers(argument)
            given = operand.values.astype(np.float64) if kind is Type.DOUBLE else operand.values
            values = given if values is None else np.where(valid, values, given)
            valid = valid | operand.is_valid()
        assert values is not None
        return Numbers(values, valid)

    # comparisons

    def _compared(self, name: str, left: Expression, right: Expression) -> Numbers:
        if Type.STRING in (left.type, right.type):
            return self._compared_strings(name, left, right)
        a, b = self._numbers(left), self._numbers(right)
        _refuse_inexact(a.values, b.values)
        return Numbers(COMPARISONS[name](a.values, b.values), _both(a.valid, b.valid))

    def _compared_strings(self, name: str, left: Expression, right: Expression) -> Numbers:
        if isinstance(left, Constant):
            name = _MIRRORED.get(name, name)
            left, right = right, left
        operand = self.compute(left)
        if not isinstance(right, Constant):
            return self._compared_columns(name, operand, self.compute(right))
        if not isinstance(operand, Strings) or right.value is None:
            return nulls(self.length)
        answers = pc.call_function(_ARROW[name], [operand.distinct, pa.scalar(right.value)])
        return _spread(operand, answers)

    def _compared_columns(self, name: str, left: Vector, right: Vector) -> Numbers:
        if not isinstance(left, Strings) or not isinstance(right, Strings):
            return nulls(self.length)
        a, b = left.distinct.take(pa.array(left.codes)), right.distinct.take(pa.array(right.codes))
        answers = pc.call_function(_ARROW[name], [a, b])
        filled = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
        return Numbers(filled, answers.is_valid().to_numpy(zero_copy_only=False))

    def _matched(self, name: str, left: Expression, pattern: Expression) -> Numbers:
        operand = self.compute(left)
        assert isinstance(pattern, Constant)
        if not isinstance(operand, Strings) or not isinstance(pattern.value, str):
            return nulls(self.length)
        if name == "rlike":
            return _spread(operand, pc.match_substring_regex(operand.distinct, pattern.value))
        regex = like_regex(pattern.value)
        answers = [
            None if text is None else regex.fullmatch(text) is not None
            for text in operand.distinct.to_pylist()
        ]
        return _spread(operand, pa.array(answers, pa.bool_()))

    # arithmetic and functions

    def _applied(self, name: str, arguments: tuple[Expression, ...], kind: Type) -> Vector:
        if name in _STRING_FUNCTIONS:
            return self._string_function(name, arguments)
        operands = [self._numbers(each) for each in arguments]
        valid = operands[0].valid
        for operand in operands[1:]:
            valid = _both(valid, operand.valid)
        with np.errstate(all="ignore"):
            values, has_value = FUNCTIONS[name](*(each.values for each in operands))
        if kind is Type.DOUBLE and values.dtype != np.float64:
            values = values.astype(np.float64)
        if values.dtype == np.float64:
            has_value = _both(has_value, np.isfinite(values))
        if has_value is None or has_value.all():
            return Numbers(values, valid)
        lost = ~has_value if valid is None else ~has_value & valid
        self.tally.nulls += int(np.count_nonzero(lost))
        return Numbers(values, _both(valid, has_value))

    def _string_function(self, name: str, arguments: tuple[Expression, ...]) -> Vector:
        operand = self.compute(arguments[0])
        if isinstance(operand, Lists):
            return Numbers(np.bincount(operand.rows, minlength=self.length), operand.valid)
        if not isinstance(operand, Strings):
            return nulls(self.length)
        if name in ("lower", "upper"):
            return Strings(operand.codes, pc.call_function(f"utf8_{name}", [operand.distinct]))
        if name == "length":
            return _spread(operand, pc.utf8_length(operand.distinct), np.int64)
        piece = arguments[1]
        if not isinstance(piece, Constant):
            raise UnsupportedError(f"{name} of two columns")
        if not isinstance(piece.value, str):
            return nulls(self.length)
        function = {"starts_with": pc.starts_with, "ends_with": pc.ends_with}.get(name)
        if function is None:
            return _spread(operand, pc.match_substring(operand.distinct, piece.value))
        return _spread(operand, function(operand.distinct, piece.value))


def _texts(strings: Strings) -> list[str | None]:
    texts = strings.distinct.to_pylist()
    return [texts[code] for code in strings.codes.tolist()]


def _spread(operand: Strings, answers: pa.Array, kind: Any = np.bool_) -> Numbers:
    """Spread what was found out about distinct strings over the rows."""
    valid = answers.is_valid().to_numpy(zero_copy_only=False)
    filled = pc.fill_null(answers, False if kind is np.bool_ else 0)
    values = filled.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return Numbers(operand.take(values), operand.take(valid))


def _both(left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray | None:
    if left is None or right is None:
        return right if left is None else left
    both: np.ndarray = left & right
    return both


def _logical(name: str, operands: list[Numbers]) -> Numbers:
    """AND and OR of three values: NULL only where no operand decides."""
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


def _refuse_inexact(left: np.ndarray, right: np.ndarray) -> None:
    """Large integers beside doubles are compared exactly, one by one."""
    for a, b in ((left, right), (right, left)):
        mixed = a.dtype == np.int64 and b.dtype == np.float64
        if mixed and max(int(a.max(initial=0)), -int(a.min(initial=0))) > _EXACT:
            raise UnsupportedError("integers beyond 2^53 beside doubles")


def _found(operand: Vector, wanted: frozenset[Value]) -> tuple[np.ndarray, np.ndarray]:
    """Tell which values are among those wanted, and which are not NULL."""
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
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARROW = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}

Computed = tuple[np.ndarray, np.ndarray | None]
"""Values, and where there is one."""


def _whole(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == np.int64 and right.dtype == np.int64


def _integers(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64) if values.dtype == np.bool_ else values


def _add(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left + right
    if not _whole(left, right):
        return result, None
    return result, ((left ^ result) & (right ^ result)) >= 0


def _subtract(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left - right
    if not _whole(left, right):
        return result, None
    return result, ((left ^ right) & (left ^ result)) >= 0


def _multiply(left: np.ndarray, right: np.ndarray) -> Computed:
    result = left * right
    if not _whole(left, right):
        return result, None
    estimate = left.astype(np.float64) * right.astype(np.float64)
    return result, _fits(left, right, estimate)


def _fits(left: np.ndarray, right: np.ndarray, estimate: np.ndarray) -> np.ndarray:
    """Tell where a product of integers fits into 64 bits; close calls are computed exactly."""
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
    return (values // _NANOSECONDS_A_DAY + 3) % 7 + 1, None


_STRING_FUNCTIONS = frozenset({"lower", "upper", "length", "starts_with", "ends_with", "contains"})

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
"""Those that may have no value, which is counted for every event."""
