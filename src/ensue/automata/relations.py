"""Conditions between two events as comparisons f(x) op g(y) of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

from ensue.analysis.expressions import (
    Attribute,
    Expression,
    Operation,
    subexpressions,
    variables_of,
    without_variables,
)
from ensue.analysis.types import Type
from ensue.automata.condition_forms import INTEGER_TYPES, Sign, separated
from ensue.automata.thresholds import Range, Threshold, ranged

Domain = Literal[
    "int",
    "sum",
    "double",
    "tried int",
    "tried factor",
    "tried double",
    "decimal",
    "string",
    "truth",
    "clock",
]
"""What is in a column. A sum of integers must be far from overflowing, and what is compared with
thresholds must be among the values that these were tried on."""


class EventClock(NamedTuple):
    """The time of an event, or its number in its (sub)stream, less some units."""

    kind: Literal["time", "number"]
    less: int = 0


class Column(NamedTuple):
    """A value of every event, encoded as an integer in the order of its domain.

    In the domain `truth`, it is 1 if a predicate is true, else 0.
    """

    expression: Expression | EventClock | Threshold
    domain: Domain


class Sides(NamedTuple):
    """f(x) op g(y), each as a column."""

    x: str
    left: Column
    sign: Sign
    y: str
    right: Column
    itself: Operation
    """A comparison that means the same on one event bound to both."""
    integers_only: bool = False
    """Whether it would be other columns if integers were doubles."""


def as_numbers(expression: Expression) -> Expression:
    """Return an expression in which all that has no type is a double."""
    match expression:
        case Operation(arguments=arguments, type=kind):
            kind = Type.DOUBLE if kind is Type.UNKNOWN else kind
            return replace(expression, arguments=tuple(map(as_numbers, arguments)), type=kind)
        case Attribute(type=Type.UNKNOWN):
            return replace(expression, type=Type.DOUBLE)
    return expression


def common_domain(expressions: list[Expression], *, ordered: bool) -> Domain | None:
    """Return the domain in which all these expressions can be compared, or None."""
    types = {each.type for each in expressions}
    if types <= INTEGER_TYPES:
        return "int"
    if types <= {Type.INT, Type.DOUBLE}:
        return "double"
    if types == {Type.STRING} and not ordered:
        return "string"
    if types <= {Type.INT, Type.DECIMAL} and all(isinstance(e, Attribute) for e in expressions):
        return "decimal"
    return None


def sides_of(part: Operation, domain_of: Callable[..., Domain | None]) -> tuple[Sides, ...]:
    """Write a comparison as one of f(x) and g(y), or as two of them; empty: it cannot be."""
    sides = separated(part)
    if sides is not None:
        left, sign, right = sides
        domain = domain_of([left, right], ordered=sign not in ("=", "!="))
        if domain is None:
            return ()
        moved = (left, right) != part.arguments
        (x,), (y,) = variables_of(left), variables_of(right)
        f, g = (
            Column(without_variables(each), "sum" if moved else domain) for each in (left, right)
        )
        itself = Operation(sign, (left, right), Type.BOOLEAN)
        return (Sides(x, f, sign, y, g, itself, moved),)
    if part.name == "=":
        at_least, at_most = (sides_of(replace(part, name=n), domain_of) for n in (">=", "<="))
        return (*at_least, *at_most) if at_least and at_most else ()
    found = ranged(part)
    return () if found is None else _ends(part, found)


def is_recent(sides: Sides, forms: int) -> bool:
    """Tell whether registers decide a comparison only since a later version than these forms."""
    end = sides.left.expression
    if not isinstance(end, Threshold):
        return forms < 2 and sides.left.domain == "decimal"
    read = (*end.read(), sides.right.expression)
    decimals = any(
        isinstance(part, Attribute) and part.type is Type.DECIMAL
        for each in read
        if not isinstance(each, EventClock | Threshold)
        for part in subexpressions(each)
    )
    return forms < 2 or decimals or end.multiplies


def _ends(part: Operation, found: Range) -> tuple[Sides, ...]:
    """Write a comparison as the ends of a range, on one side or on both."""
    domain: Domain = "tried double" if found.ends[0].scales else "double"
    if found.whole:
        domain = "tried factor" if found.ends[0].multiplies else "tried int"
    value = Column(without_variables(found.value), domain)
    integers_only = any(
        isinstance(each, Attribute) and each.type is not Type.DOUBLE
        for each in subexpressions(part)
    )
    signs: dict[str, Sign] = {"low": "<=", "high": ">="}
    return tuple(
        Sides(found.x, Column(end, domain), signs[end.side], found.y, value, part, integers_only)
        for end in found.ends
    )
