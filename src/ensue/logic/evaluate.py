"""Evaluation of expressions on single values, in SQL's three-valued logic: the reference.

NULL is None. What has no value (division by zero, overflow, the root of a negative number) is
NULL and counted. Strings go through Arrow's functions, so that case, length and regular
expressions mean the same here as on whole columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

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
from ensue.errors import EventError
from ensue.logic.functions import OPERATIONS as FUNCTIONS
from ensue.logic.user_calls import call_on_values
from ensue.messages import Message, Option

_INT64 = 2**63
_INTEGER_TYPES = (Type.INT, Type.TIMESTAMP, Type.DURATION)

Lookup = Callable[[Attribute | EventType], Value]


@dataclass(slots=True)
class Tally:
    """Counters kept while predicates are evaluated."""

    nulls: int = 0
    """The number of times arithmetic had no value."""
    witness: Callable[[Any], None] | None = None
    """If set, called with each batch of events after its predicates are evaluated."""


def evaluate(expression: Expression, lookup: Lookup, tally: Tally | None = None) -> Value:
    """Return the value of an expression, names looked up by `lookup`.

    >>> from ensue.analysis.types import Type
    >>> one, zero = Constant(1, Type.INT), Constant(0, Type.INT)
    >>> print(evaluate(Operation("/", (one, zero), Type.DOUBLE), lambda name: None))
    None
    """
    match expression:
        case Constant(value=value):
            return value
        case Attribute() | EventType():
            return lookup(expression)
        case OneOf(operand=operand, values=values, with_null=with_null):
            value = evaluate(operand, lookup, tally)
            if value is None:
                return None
            return True if value in values else None if with_null else False
        case Operation(name="and" | "or" as name, arguments=arguments):
            return _logical(name, [evaluate(each, lookup, tally) for each in arguments])
        case Operation(
            name="coalesce" | "greatest" | "least" | "case" as name, arguments=arguments, type=kind
        ):
            return _chosen(name, [evaluate(each, lookup, tally) for each in arguments], kind)
        case Operation(function=function, arguments=arguments) if function is not None:
            return call_on_values(function, [evaluate(each, lookup, tally) for each in arguments])
        case Operation(name="is_null", arguments=(argument,)):
            return evaluate(argument, lookup, tally) is None
        case Operation(name=name, arguments=arguments, type=kind):
            values_ = [evaluate(each, lookup, tally) for each in arguments]
            if any(value is None for value in values_):
                return None
            try:
                result = _checked(OPERATIONS[name](*values_), kind)
            except (TypeError, AttributeError) as error:
                raise EventError(_misfit(name, arguments, values_)) from error
            lost = result is None and kind is not Type.BOOLEAN and name != "regexp_extract"
            if lost and tally is not None:
                tally.nulls += 1
            return result


def _misfit(name: str, arguments: tuple[Expression, ...], values: list[Value]) -> Message:
    """Return the error text for attributes without a schema whose values have a wrong type."""
    shown = [
        f"{value!r} (of '{'.'.join(each.path)}')" if isinstance(each, Attribute) else repr(value)
        for each, value in zip(arguments, values, strict=True)
    ]
    return Message(
        f"'{name}' does not go with {' and '.join(shown)}; give the attribute one type, or say in ",
        Option("schema"),
        " what it holds",
    )


def _logical(name: str, values: list[Value]) -> bool | None:
    decisive = name == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if any(value is None for value in values) else not decisive


def _chosen(name: str, values: list[Value], kind: Type) -> Value:
    """Return the value that coalesce, greatest, least or CASE chooses, in their common type."""
    if name == "case":
        *branches, otherwise = values
        pairs = zip(branches[::2], branches[1::2], strict=True)
        values = [next((value for test, value in pairs if test is True), otherwise)]
    known: list[Any] = [value for value in values if value is not None]
    if not known:
        return None
    if kind is Type.DOUBLE:
        known = [value if isinstance(value, str) else float(value) for value in known]
    try:
        chosen: Value = known[0] if name in ("case", "coalesce") else _EXTREMES[name](known)
    except TypeError as error:
        raise EventError(f"{name} cannot compare {' and '.join(map(repr, known))}") from error
    return chosen


_EXTREMES: dict[str, Callable[[list[Any]], Any]] = {"greatest": max, "least": min}


def _checked(value: Any, kind: Type) -> Value:
    """Return a result, or NULL if it is not a value of its type."""
    if kind is Type.DOUBLE and isinstance(value, int):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and kind in _INTEGER_TYPES:
        return value if -_INT64 <= value < _INT64 else None
    result: Value = value
    return result


def _real(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        try:
            return compute(_real(left), _real(right))
        except (ZeroDivisionError, OverflowError, ValueError):
            return None

    return apply


def _divide(left: Any, right: Any) -> Any:
    return float(left) / float(right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.fmod(left, right) if right else None


def _round(value: Any) -> Any:
    """Round half away from zero."""
    value = _real(value)
    if isinstance(value, int) or not math.isfinite(value):
        return value
    whole = math.floor(abs(value))
    if abs(value) - whole >= 0.5:
        whole += 1
    return math.copysign(float(whole), value)


def _whole(compute: Callable[[float], int]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        value = _real(value)
        whole = isinstance(value, int) or not math.isfinite(value)
        return value if whole else float(compute(value))

    return apply


def _root(value: Any) -> Any:
    return math.sqrt(value) if value >= 0 else None


@cache
def like_regex(pattern: str) -> re.Pattern[str]:
    """Turn a LIKE pattern into a regular expression; a backslash escapes % and _."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern) and pattern[at + 1] in "%_\\":
            at += 1
            parts.append(re.escape(pattern[at]))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
        at += 1
    return re.compile("".join(parts), re.DOTALL)


def _like(value: Any, pattern: Any) -> bool:
    return like_regex(pattern).fullmatch(value) is not None


def _has(values: Any, wanted: Any) -> bool | None:
    """Return whether a list has an element; NULL if only a NULL might be it."""
    if any(value is not None and value == wanted for value in values):
        return True
    return None if any(value is None for value in values) else False


@cache
def _arrow(function: str, value: str, pattern: str | None = None) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    scalar = pa.scalar(value)
    if pattern is None:
        return pc.call_function(function, [scalar]).as_py()
    return pc.match_substring_regex(scalar, pattern=pattern).as_py()


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _part(read: Callable[[datetime], int]) -> Callable[[Any], Any]:
    def apply(nanoseconds: Any) -> Any:
        try:
            return read(_EPOCH + timedelta(microseconds=nanoseconds // 1000))
        except OverflowError:
            return None

    return apply


OPERATIONS: dict[str, Callable[..., Any]] = {
    "not": lambda value: not value,
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "+": _arithmetic(lambda left, right: left + right),
    "-": _arithmetic(lambda left, right: left - right),
    "*": _arithmetic(lambda left, right: left * right),
    "/": _arithmetic(_divide),
    "%": _arithmetic(_remainder),
    "negative": lambda value: -_real(value),
    "abs": lambda value: abs(_real(value)),
    "round": _round,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "sqrt": lambda value: _root(_real(value)),
    "lower": lambda value: _arrow("utf8_lower", value),
    "upper": lambda value: _arrow("utf8_upper", value),
    "length": len,
    "starts_with": lambda value, prefix: value.startswith(prefix),
    "ends_with": lambda value, suffix: value.endswith(suffix),
    "contains": lambda value, piece: piece in value,
    "has": _has,
    "like": _like,
    "rlike": lambda value, pattern: _arrow("match_substring_regex", value, pattern),
    "hour": _part(lambda moment: moment.hour),
    "minute": _part(lambda moment: moment.minute),
    "day": _part(lambda moment: moment.day),
    "month": _part(lambda moment: moment.month),
    "year": _part(lambda moment: moment.year),
    "day_of_week": _part(lambda moment: moment.isoweekday()),
    **FUNCTIONS,
}
"""Operations that are NULL where an argument is NULL."""
