"""Values of literals and parameters: numbers, instants, durations, lists."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ensue.analysis.context import Context, listing
from ensue.analysis.expressions import UNKNOWN, Constant, Expression, Value
from ensue.analysis.types import NANOSECONDS, Type
from ensue.errors import Fix
from ensue.language import tree
from ensue.messages import Message, Parameter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = 2**63


def nanoseconds_of(moment: datetime | date) -> int:
    """Return an instant as nanoseconds from the epoch; without a zone it is in UTC."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def bind_instant(node: tree.Instant, context: Context) -> Constant:
    """Read TIMESTAMP '…' or DATE '…'."""
    kind = Type[node.kind]
    try:
        moment: datetime | date
        if kind is Type.DATE:
            moment = date.fromisoformat(node.text.strip())
        else:
            moment = datetime.fromisoformat(node.text.strip())
        return Constant(nanoseconds_of(moment), kind)
    except (ValueError, OverflowError):
        example = "2026-01-31" if kind is Type.DATE else "2026-01-31 09:30:00"
        context.report(
            "E301",
            node.span,
            f"'{node.text}' is not {kind.article}",
            f"write {node.kind} '{example}'",
        )
        return UNKNOWN


def bind_duration(node: tree.Duration, context: Context) -> Constant:
    """Sum up a duration in nanoseconds."""
    total: int | Decimal = 0
    for amount, unit in node.parts:
        singular = unit.text.upper().removesuffix("S")
        if singular not in NANOSECONDS:
            known = [f"{name}S" for name in NANOSECONDS]
            context.report_name(
                "E202",
                unit.span,
                f"unknown unit '{unit.text}'",
                unit.text,
                [*known, *NANOSECONDS],
                f"the units are {listing(reversed(known))}",
            )
            return UNKNOWN
        total += amount * NANOSECONDS[singular]
    return Constant(int(total), Type.DURATION)


def bind_parameter(node: tree.Parameter, context: Context) -> Constant:
    """Look up a parameter that stands for one value."""
    value = _given(node, context)
    if value is _MISSING:
        return UNKNOWN
    if _is_list(value):
        context.report(
            "E302",
            node.span,
            f"the parameter ${node.name} is a list, but one value is needed here",
            f"write IN ${node.name}, or give one value",
        )
        return UNKNOWN
    constant = constant_of(value)
    if constant is None:
        _report_value(node, value, context)
        return UNKNOWN
    return constant


def bind_list(node: tree.Parameter, context: Context) -> list[Constant]:
    """Look up a parameter that stands for a list of values."""
    value: Any = _given(node, context)
    if value is _MISSING:
        return [UNKNOWN]
    if not _is_list(value):
        context.report(
            "E303",
            node.span,
            f"the parameter ${node.name} after IN must be a list, not {value!r}",
            Message("give ", Parameter(node.name, [value])),
        )
        return [UNKNOWN]
    if hasattr(value, "to_pylist"):
        value = value.to_pylist()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    found: list[Constant] = []
    for each in value:
        constant = constant_of(each)
        if constant is None:
            _report_value(node, each, context)
            return [UNKNOWN]
        found.append(constant)
    return found


_MISSING = object()


def _given(node: tree.Parameter, context: Context) -> object:
    if context.parameters is None:
        return _MISSING
    if node.name in context.parameters:
        return context.parameters[node.name]
    known = list(context.parameters)
    hint = Message("pass ", Parameter(node.name))
    message = f"the parameter ${node.name} is not given"
    near = [f"${each}" for each in known]
    context.report("E203", node.span, message, hint)
    if len(near) == 1:
        problem = context.problems.pop()
        context.report(
            problem.code,
            node.span,
            message,
            f"{hint}; given is {near[0]}",
            Fix(node.span, near[0]),
        )
    return _MISSING


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))


def _report_value(node: tree.Parameter, value: object, context: Context) -> None:
    context.report(
        "E304",
        node.span,
        f"the parameter ${node.name} has a value of type {type(value).__name__}, "
        "which CEQL does not have",
        "values are booleans, numbers, strings, dates, datetimes and timedeltas",
    )


def constant_of(value: object) -> Constant | None:
    """Return a Python value as a constant, or None if CEQL has no such value."""
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        value = value.item()
    match value:
        case None:
            return UNKNOWN
        case bool():
            return Constant(value, Type.BOOLEAN)
        case int():
            return Constant(value, Type.INT) if -_INT64 <= value < _INT64 else None
        case float():
            return UNKNOWN if math.isnan(value) else Constant(value, Type.DOUBLE)
        case Decimal():
            return UNKNOWN if value.is_nan() else Constant(value, Type.DECIMAL)
        case str():
            return Constant(value, Type.STRING)
        case datetime():
            return Constant(nanoseconds_of(value), Type.TIMESTAMP)
        case date():
            return Constant(nanoseconds_of(value), Type.DATE)
        case timedelta():
            return Constant(value // timedelta(microseconds=1) * 1000, Type.DURATION)
        case _:
            return None


def as_double(constant: Constant) -> Constant:
    """Turn a decimal constant into the double it is computed as."""
    if isinstance(constant.value, Decimal):
        value: Value = float(constant.value)
        return Constant(value, Type.DOUBLE)
    return constant


def computed_literal(expression: Expression) -> Expression:
    """Return a decimal literal as a double: decimals are computed as doubles."""
    return as_double(expression) if isinstance(expression, Constant) else expression
