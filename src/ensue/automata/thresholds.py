"""Conditions between two events that rounding keeps from being rewritten, as ranges of one side.

fl(y - x) > 10 and y > fl(x + 10) are not the same on doubles. But every step from y to the
comparison is monotone, rounding included: for an x, the values of y that satisfy the condition are
an interval. Its ends are a function of x alone, and predicates/thresholds.py finds them by trying
the condition itself; so a register can hold them, and the condition is decided exactly.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ensue.analysis.expressions import (
    Attribute,
    Constant,
    Expression,
    Operation,
    variables_of,
    without_variables,
)
from ensue.analysis.types import Type
from ensue.automata.condition_forms import INTEGER_TYPES, Sign

Side = Literal["low", "high"]

_NUMBERS = frozenset({*INTEGER_TYPES, Type.DOUBLE}) - {Type.BOOLEAN}
_REAL = frozenset({"+", "-", "*", "/"})
"""What decimals are doubles in."""
_ARITHMETIC = frozenset({"+", "-", "*", "/", "negative", "abs"})
_REVERSED: dict[str, Sign] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Link(NamedTuple):
    """A step on the way from y to the comparison."""

    name: str
    other: Expression | None
    """The other operand, which is about x or about nothing; None: there is none."""
    is_left: bool
    """Whether y is below the left operand."""
    type: Type


class Threshold(NamedTuple):
    """One end of the interval of the y that satisfy a condition, for an event x."""

    links: tuple[Link, ...]
    """From y outwards."""
    sign: Sign
    """How what the last link gives is compared with `limit`."""
    limit: Expression
    whole: bool
    """Whether y is a whole number."""
    side: Side

    @property
    def scales(self) -> bool:
        """Whether y is multiplied or divided on the way."""
        return any(link.name in ("*", "/") for link in self.links)

    @property
    def multiplies(self) -> bool:
        """Whether y is a whole number and is multiplied as one on the way."""
        return self.whole and any(each.name == "*" and each.type is Type.INT for each in self.links)

    def read(self) -> tuple[Expression, ...]:
        """Return the expressions that it reads of an event."""
        return (*(each.other for each in self.links if each.other is not None), self.limit)


class Range(NamedTuple):
    """A condition as a range of g(y): its ends, of which one may always hold."""

    x: str
    y: str
    value: Expression
    """g(y)."""
    ends: tuple[Threshold, ...]
    whole: bool


def ranged(predicate: Operation) -> Range | None:
    """Write a condition on x and y as a range of a value of one of them; None: it is no such."""
    names = sorted(variables_of(predicate))
    if predicate.name not in _REVERSED or len(names) != 2:
        return None
    for y, x in (names, names[::-1]):
        found = _range_of(predicate, x, y)
        if found is not None:
            return found
    return None


def _range_of(predicate: Operation, x: str, y: str) -> Range | None:
    left, right = predicate.arguments
    sign: Sign = predicate.name  # type: ignore[assignment]
    if y in variables_of(right):
        left, right, sign = right, left, _REVERSED[sign]
    if y in variables_of(right) or not _is_plain(left) or not _is_plain(right):
        return None
    links: list[Link] = []
    inner = left
    while variables_of(inner) != {y}:
        link, inner = _link(inner, y)
        if link is None:
            return None
        links.append(link)
    whole = inner.type in INTEGER_TYPES
    inner = as_real(inner) if links else inner
    if inner.type not in _NUMBERS or not _fits(links, left, right, whole=whole):
        return None
    links.reverse()
    grows, known = True, True
    for link in links:
        if link.name == "negative" or (link.name == "-" and not link.is_left):
            grows = not grows
        if link.name in ("*", "/"):
            known = False
    sides: tuple[Side, ...] = ("low", "high")
    if known:
        sides = ("low",) if (sign in (">", ">=")) == grows else ("high",)
    chain = tuple(
        each._replace(other=None if each.other is None else without_variables(each.other))
        for each in links
    )
    limit = without_variables(right)
    ends = tuple(Threshold(chain, sign, limit, whole, side) for side in sides)
    return Range(x, y, inner, ends, whole)


def _link(expression: Expression, y: str) -> tuple[Link | None, Expression]:
    """Return the outermost step from y, and what is below it."""
    match expression:
        case Operation(name="negative", arguments=(operand,), type=kind):
            return Link("negative", None, True, kind), operand
        case Operation(name="+" | "-" | "*" | "/" as name, arguments=(left, right), type=kind):
            is_left = y in variables_of(left)
            inner, other = (left, right) if is_left else (right, left)
            if y not in variables_of(other) and (name != "/" or is_left):
                return Link(name, as_real(other), is_left, kind), inner
    return None, expression


def as_real(operand: Expression) -> Expression:
    """Return an operand of arithmetic as it is computed with: decimals are doubles there."""
    if operand.type is Type.DECIMAL:
        return Operation("+", (operand, Constant(0.0, Type.DOUBLE)), Type.DOUBLE)
    return operand


def _is_plain(expression: Expression) -> bool:
    """Tell whether an operand is a number that is computed on columns from numbers."""
    return expression.type in _NUMBERS and _is_computed(expression)


def _is_computed(part: Expression, *, real: bool = False) -> bool:
    """Tell the same of a part; `real` says that it is an operand for which decimals are doubles."""
    match part:
        case Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Attribute(type=kind):
            return kind in _NUMBERS or (real and kind is Type.DECIMAL)
        case Operation(name=name, arguments=arguments) if name in _ARITHMETIC:
            return all(_is_computed(each, real=name in _REAL) for each in arguments)
    return False


def _fits(links: list[Link], left: Expression, right: Expression, *, whole: bool) -> bool:
    """Tell whether the steps from a whole number overflow in no common case and stay exact."""
    if whole and left.type is not Type.DOUBLE and right.type is Type.DOUBLE:
        return False
    scaled = [each for each in links if each.name in ("*", "/")]
    return all(each.type in _NUMBERS for each in links) and all(
        each.type is Type.DOUBLE or (each.type is Type.INT and each.name == "*") for each in scaled
    )
