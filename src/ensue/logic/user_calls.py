"""Calls of functions that the user gives, on columns and on single values.

Values of the language are given as Arrow arrays of the declared types, instants with nanoseconds,
and what comes back is checked: its length and its type. Whatever goes wrong inside becomes a
FunctionError that names the function, the query and a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ensue.analysis.expressions import Value
from ensue.analysis.types import NANOSECONDS, Type
from ensue.analysis.user_functions import UserAggregate, UserFunction
from ensue.errors import FunctionError

if TYPE_CHECKING:
    import pyarrow as pa

_DAY = NANOSECONDS["DAY"]
_LONGEST_VALUE = 40


def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type in which a function gets values of a type."""
    import pyarrow as pa

    return {
        Type.BOOLEAN: pa.bool_(),
        Type.INT: pa.int64(),
        Type.DOUBLE: pa.float64(),
        Type.DECIMAL: pa.decimal128(38, 18),
        Type.STRING: pa.string(),
        Type.TIMESTAMP: pa.timestamp("ns"),
        Type.DATE: pa.date32(),
        Type.DURATION: pa.duration("ns"),
    }[kind]


def call_on_values(function: UserFunction, values: Sequence[Value]) -> Value:
    """Call a function on single values."""
    pairs = zip(values, function.args, strict=True)
    found = call_on_arrays(function, [to_array([value], kind) for value, kind in pairs], 1)
    result: Value = plain(found, function.returns)[0]
    return result


def to_array(values: Sequence[Any], kind: Type) -> pa.Array:
    """Return values as the language has them in an array: instants are whole nanoseconds."""
    import pyarrow as pa

    if kind is Type.DATE:
        days = [None if each is None else each // _DAY for each in values]
        return pa.array(days, pa.int32()).cast(pa.date32())
    if kind in (Type.TIMESTAMP, Type.DURATION):
        return pa.array(values, pa.int64()).cast(arrow_type(kind))
    if kind is Type.DOUBLE:
        values = [None if each is None else float(each) for each in values]
    return pa.array(values, arrow_type(kind))


def plain(array: pa.Array, kind: Type) -> list[Any]:
    """Return the values of an array as the language has them."""
    import pyarrow as pa

    if kind is Type.DATE:
        days = array.cast(pa.int32()).to_pylist()
        return [None if each is None else each * _DAY for each in days]
    if kind in (Type.TIMESTAMP, Type.DURATION):
        numbers: list[Any] = array.cast(pa.int64()).to_pylist()
        return numbers
    values: list[Any] = array.to_pylist()
    if kind is Type.DOUBLE:
        return [None if each is None or math.isnan(each) else each for each in values]
    return values


def call_on_arrays(function: UserFunction, columns: Sequence[pa.Array], length: int) -> pa.Array:
    """Call a function on columns; a FunctionError names a row that it fails on."""
    if not length:
        import pyarrow as pa

        return pa.array([], arrow_type(function.returns))
    try:
        return _called(function, columns, length)
    except FunctionError:
        raise
    except Exception as error:
        raise _failure(function, columns, length, error) from error


def _called(function: UserFunction, columns: Sequence[pa.Array], length: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if function.arrays == "arrow":
        return _checked(function, function.call(*columns), length)
    valid = np.ones(length, bool)
    for each in columns:
        valid &= each.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(valid)
    if not len(rows):
        return pa.nulls(length, arrow_type(function.returns))
    given = [each.take(pa.array(rows)).to_numpy(zero_copy_only=False) for each in columns]
    found = _checked(function, function.call(*given), len(rows))
    if len(rows) == length:
        return found
    places = np.full(length, -1)
    places[rows] = np.arange(len(rows))
    return found.take(pc.if_else(pa.array(valid), pa.array(places), None))


def _checked(function: UserFunction, result: Any, length: int) -> pa.Array:
    """Return what a function returned as an array of its declared type."""
    import pyarrow as pa

    kind = arrow_type(function.returns)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        result = pa.array(result, from_pandas=True)
    if len(result) != length:
        raise ValueError(f"it returned {len(result)} values for {length} rows")
    return result if result.type == kind else result.cast(kind)


def _failure(
    function: UserFunction, columns: Sequence[pa.Array], length: int, error: Exception
) -> FunctionError:
    """Look for a row that a function fails on, by halves."""
    first, last = 0, length
    while last - first > 1:
        middle = (first + last) // 2
        for start, stop in ((first, middle), (middle, last)):
            try:
                _called(
                    function, [each.slice(start, stop - start) for each in columns], stop - start
                )
            except Exception as inner:
                first, last, error = start, stop, inner
                break
        else:
            break
    alone = last - first == 1
    called = f"of the query '{function.query}' " if function.query else ""
    reason = f"{type(error).__name__}: {error}"
    if not alone:
        place = f"on rows {first} to {last - 1}"
    else:
        values = ", ".join(_short(each[first].as_py()) for each in columns)
        place = f"on row {first}, {function.name}({values})"
    return FunctionError(
        f"the function '{function.name}' {called}failed {place}: {reason}", first if alone else None
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def folded(function: UserAggregate, values: Sequence[Value], kind: Type) -> Value:
    """Combine values by an aggregate of the user; times are given as datetimes."""
    given = as_given(values, kind)
    try:
        total = function.zero
        for each in given:
            total = function.combine(total, function.lift(each))
        return _lowered(function, total)
    except Exception as error:
        raise _aggregate_failure(function, list(given), error) from error


def as_given(values: Sequence[Value], kind: Type) -> Sequence[Any]:
    """Return values as aggregates of the user get them: times are datetimes."""
    if kind is Type.DURATION:
        found: list[Any] = to_array(values, kind).cast("duration[us]").to_pylist()
        return found
    return to_array(values, kind).to_pylist() if kind.is_time else values


def lifted(function: UserAggregate, values: Sequence[Value], kind: Type) -> list[Any]:
    """Make elements of values none of which is NULL."""
    found = []
    for each in as_given(values, kind):
        try:
            found.append(function.lift(each))
        except Exception as error:
            raise _aggregate_failure(function, each, error) from error
    return found


def combined(function: UserAggregate, call: Callable[..., Any], *given: Any) -> Any:
    """Call what combines elements."""
    try:
        return call(*given)
    except Exception as error:
        raise _aggregate_failure(function, "elements of all matches", error) from error


def lowered(function: UserAggregate, element: Any) -> Value:
    """Make the result of an element."""
    try:
        return _lowered(function, element)
    except Exception as error:
        raise _aggregate_failure(function, element, error) from error


def _lowered(function: UserAggregate, element: Any) -> Value:
    found = _checked_value(function.lower(element), function.returns)
    result: Value = plain(found, function.returns)[0]
    return result


def _aggregate_failure(function: UserAggregate, on: object, error: Exception) -> FunctionError:
    called = f"of the query '{function.query}' " if function.query else ""
    return FunctionError(
        f"the aggregate '{function.name}' {called}failed on {_short(on)}: "
        f"{type(error).__name__}: {error}"
    )


def _checked_value(value: Any, kind: Type) -> pa.Array:
    """Return a result as an array of its declared type."""
    import pyarrow as pa

    wanted = arrow_type(kind)
    found = pa.array([value], from_pandas=True)
    return found if found.type == wanted else found.cast(wanted)
