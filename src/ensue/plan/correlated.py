"""Conditions right of UNLESS that name variables of its left, written on columns.

A condition of ψ reads attributes of events of ψ and of φ. On columns, each attribute that it reads
is a column named by variable and attribute, and the condition a predicate on one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ensue.analysis.conditions import Each, Relation, Trend
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    OneOf,
    Operation,
    subexpressions,
    variables_of,
)
from ensue.analysis.types import Type
from ensue.automata.deferred import Deferred


class Read(NamedTuple):
    """An attribute of a variable's event that a condition reads; no path: the event's type."""

    variable: str
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The column that holds it."""
        return "\0".join((self.variable, *self.path))


@dataclass(frozen=True, slots=True)
class CorrelatedCondition:
    """A condition on columns, one for each attribute that it reads."""

    deferred: Deferred
    predicate: Expression
    inner: tuple[Read, ...]
    outer: tuple[Read, ...]
    names: frozenset[str]
    """The variables of φ that it is about."""
    sides: tuple[Expression, str, Expression] | None
    """f(ψ), the sign, g(φ), where it is written so."""

    @property
    def is_equality(self) -> bool:
        return self.sides is not None and self.sides[1] == "="

    @classmethod
    def of(cls, deferred: Deferred, outer: frozenset[str]) -> CorrelatedCondition:
        """Write a condition on columns."""
        predicate = _predicate(deferred)
        reads = sorted(set(_reads(predicate)))
        return cls(
            deferred,
            _placed(predicate),
            tuple(each for each in reads if each.variable not in outer),
            tuple(each for each in reads if each.variable in outer),
            variables_of(predicate) & outer,
            _sides(predicate, outer),
        )


def is_equality(deferred: Deferred, outer: frozenset[str]) -> bool:
    """Tell whether a condition is written f(ψ) = g(φ)."""
    return CorrelatedCondition.of(deferred, outer).is_equality


def _predicate(deferred: Deferred) -> Expression:
    """Write a condition as a predicate on one event of each variable."""
    match deferred.condition:
        case Relation(predicate=predicate):
            return predicate
        case Each(variable=name, predicate=predicate):
            return _of_variable(predicate, name)
        case Trend(variable=name, path=path):
            # A variable of φ has one event, of which a trend asks that there is a value.
            null = Operation("is_null", (Attribute(path, Type.UNKNOWN, name),), Type.BOOLEAN)
            return Operation("not", (null,), Type.BOOLEAN)
        case other:
            raise AssertionError(f"right of UNLESS there is no {other}")


def _mapped(
    expression: Expression, change: Callable[[Attribute | EventType], Expression]
) -> Expression:
    """Put something else for what an expression reads of events."""
    match expression:
        case Attribute() | EventType():
            return change(expression)
        case Operation(arguments=arguments):
            changed = tuple(_mapped(each, change) for each in arguments)
            return replace(expression, arguments=changed)
        case OneOf(operand=operand):
            return replace(expression, operand=_mapped(operand, change))
        case _:
            return expression


def _of_variable(expression: Expression, name: str) -> Expression:
    return _mapped(expression, lambda each: replace(each, variable=name))


def _read(each: Attribute | EventType) -> Read:
    assert each.variable is not None
    return Read(each.variable, () if isinstance(each, EventType) else each.path)


def _reads(expression: Expression) -> Iterator[Read]:
    for each in subexpressions(expression):
        if isinstance(each, Attribute | EventType):
            yield _read(each)


def _placed(expression: Expression) -> Expression:
    """Let an expression read columns that are named by variable and attribute."""
    return _mapped(expression, lambda each: Attribute((_read(each).name,), each.type))


_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _sides(
    predicate: Expression, outer: frozenset[str]
) -> tuple[Expression, str, Expression] | None:
    """Write a condition as f(ψ) op g(φ), on columns; None: it is another."""
    match predicate:
        case Operation(name=sign, arguments=(left, right)) if sign in _MIRRORED:
            ways = ((left, sign, right), (right, _MIRRORED[sign], left))
        case _:
            return None
    for inner, way, other in ways:
        mine, theirs = variables_of(inner), variables_of(other)
        if mine and theirs and mine.isdisjoint(outer) and theirs <= outer:
            return _placed(inner), way, _placed(other)
    return None
