"""Bound expressions: few kinds of nodes, every name resolved, every node typed.

Sugar is gone: BETWEEN is two comparisons, NOT IN a NOT, parameters are constants. Values are
Python's: bool, int, float, Decimal, str; instants and durations are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from ensue.analysis.types import Type

Value: TypeAlias = bool | int | float | Decimal | str | None


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the current event, or of the event chosen for a variable."""

    path: tuple[str, ...]
    type: Type
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class EventType:
    """`type`: the name of the event's type."""

    variable: str | None = None
    type: Type = Type.STRING


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or function applied to arguments.

    Names: or, and, not; = != < <= > >=; + - * / % negative; like, rlike, is_null; has (a list,
    what may be in it); and the functions of the language under their own names.
    """

    name: str
    arguments: tuple[Expression, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class OneOf:
    """Membership in a set of constants; `with_null` when the list also held a NULL."""

    operand: Expression
    values: frozenset[Value]
    with_null: bool
    type: Type = Type.BOOLEAN


Expression: TypeAlias = Constant | Attribute | EventType | Operation | OneOf

UNKNOWN = Constant(None, Type.UNKNOWN)


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Walk an expression from the outside in."""
    yield expression
    if isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from subexpressions(argument)
    elif isinstance(expression, OneOf):
        yield from subexpressions(expression.operand)


def variables_of(expression: Expression) -> frozenset[str]:
    """Return the variables whose events an expression reads."""
    return frozenset(
        each.variable
        for each in subexpressions(expression)
        if isinstance(each, (Attribute, EventType)) and each.variable is not None
    )


def paths_of(expression: Expression) -> frozenset[tuple[str, ...]]:
    """Return the attributes that an expression reads."""
    return frozenset(
        each.path for each in subexpressions(expression) if isinstance(each, Attribute)
    )


def without_variables(expression: Expression) -> Expression:
    """Turn an expression on events of variables into one on the current event."""
    match expression:
        case Attribute() | EventType():
            return replace(expression, variable=None)
        case Operation(arguments=arguments):
            return replace(expression, arguments=tuple(map(without_variables, arguments)))
        case OneOf(operand=operand):
            return replace(expression, operand=without_variables(operand))
        case _:
            return expression


def negated(expression: Expression, negate: bool) -> Expression:
    """Return NOT of a condition, or the condition itself if `negate` is false."""
    return Operation("not", (expression,), Type.BOOLEAN) if negate else expression
