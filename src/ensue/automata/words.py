"""Predicates as text, for drawings and explanations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ensue.analysis.expressions import Attribute, Constant, EventType, Expression, OneOf, Operation
from ensue.analysis.types import Type
from ensue.automata.compiled import AtStart, Predicate, TypeTest

_SIGNS = frozenset({"=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_LISTED_VALUES = 5


def predicate_text(predicate: Predicate) -> str:
    """Return a predicate as text.

    >>> predicate_text(TypeTest("SELL", None))
    'SELL'
    """
    match predicate:
        case TypeTest(type=kind, stream=stream):
            return (f"{stream}>" if stream else "") + (kind or "ANY")
        case AtStart():
            return "first event"
        case _:
            return expression_text(predicate)


def expression_text(expression: Expression) -> str:
    """Return a bound expression as text."""
    match expression:
        case Constant(value=value, type=kind):
            return _constant_text(value, kind)
        case Attribute(path=path, variable=variable):
            return ".".join((variable, *path) if variable else path)
        case EventType(variable=variable):
            return f"{variable}.type" if variable else "type"
        case OneOf(operand=operand, values=values, with_null=with_null):
            shown = sorted(map(repr, values))
            more = [f"… {len(shown)} in all"] if len(shown) > _MOST_LISTED_VALUES else []
            listed = ", ".join(shown[:_MOST_LISTED_VALUES] + more + ["NULL"] * with_null)
            return f"{expression_text(operand)} IN ({listed})"
        case Operation(name=name, arguments=(left, right)) if name in _SIGNS:
            return f"{_nested(left)} {name} {_nested(right)}"
        case Operation(name="and" | "or" as name, arguments=arguments):
            return f" {name.upper()} ".join(map(_nested, arguments))
        case Operation(name="not", arguments=(operand,)):
            return f"NOT {_nested(operand)}"
        case Operation(name="is_null", arguments=(operand,)):
            return f"{_nested(operand)} IS NULL"
        case Operation(name="negative", arguments=(operand,)):
            return f"- {_nested(operand)}"
        case Operation(name="like" | "rlike" as name, arguments=(operand, pattern)):
            return f"{_nested(operand)} {name.upper()} {expression_text(pattern)}"
        case Operation(name="has", arguments=(operand, element)):
            return f"{_nested(element)} IN {_nested(operand)}"
        case Operation(name=name, arguments=arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"


def _nested(expression: Expression) -> str:
    text = expression_text(expression)
    simple = not isinstance(expression, Operation) or text.endswith(")")
    return text if simple else f"({text})"


def _constant_text(value: object, kind: Type) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if kind.is_time and isinstance(value, int):
        moment = _EPOCH + timedelta(microseconds=value // 1000)
        return f"{kind.name} '{moment:%Y-%m-%d %H:%M:%S}'"
    if kind is Type.DURATION and isinstance(value, int):
        return f"{value / 1e9:g} SECONDS"
    return str(value)
