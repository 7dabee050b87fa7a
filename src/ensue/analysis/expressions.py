"""Bound expressions: few kinds of nodes, every name resolved, every node typed.

Sugar is gone: BETWEEN is two comparisons, NOT IN a NOT, parameters are constants. Values are
Python's: bool, int, float, Decimal, str; instants and durations are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from ensue.analysis.types import Type

if TYPE_CHECKING:
    from ensue.analysis.user_functions import UserFunction

Value: TypeAlias = bool | int | float | Decimal | str | tuple[Any, ...] | None
"""Tuples are the lists that aggregates make."""


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
    what may be in it); case (condition, value, condition, value, …, otherwise); date_diff with its
    unit; call, of a function that the user gives; and the functions of the language under their
    own names.
    """

    name: str
    arguments: tuple[Expression, ...]
    type: Type
    function: UserFunction | None = None
    """Of a call: which one."""


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


def calls_of(expression: Expression) -> tuple[Operation, ...]:
    """Return the calls of functions of the user in an expression."""
    return tuple(
        each
        for each in subexpressions(expression)
        if isinstance(each, Operation) and each.function is not None
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


def untyped(expression: Expression) -> Expression:
    """Return an expression without its types, to be found again where columns got wider."""
    match expression:
        case Operation(arguments=arguments):
            parts = tuple(map(untyped, arguments))
            return replace(expression, arguments=parts, type=Type.UNKNOWN)
        case OneOf(operand=operand):
            return replace(expression, operand=untyped(operand))
        case Attribute():
            return replace(expression, type=Type.UNKNOWN)
        case _:
            return expression


def stored_type(expression: Expression, type_of: Callable[[tuple[str, ...]], Type]) -> Type:
    """Return the type of an expression's values in columns.

    An attribute that is an integer in one type of events has doubles if it is one in another.
    """
    if isinstance(expression, Attribute):
        return type_of(expression.path)
    wide = any(type_of(path) in (Type.DOUBLE, Type.DECIMAL) for path in paths_of(expression))
    return Type.DOUBLE if wide and expression.type is Type.INT else expression.type


def negated(expression: Expression, negate: bool) -> Expression:
    """Return NOT of a condition, or the condition itself if `negate` is false."""
    return Operation("not", (expression,), Type.BOOLEAN) if negate else expression
