"""Filters on aggregates that bound what is listed.

`Y[n <= 3]` on a count, or a comparison of a sum, a minimum or a maximum with a constant, bounds a
total that is known better and better as a match is put together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ensue.analysis.bound import Column
from ensue.analysis.conditions import Each
from ensue.analysis.expressions import Attribute, Constant, Expression, OneOf, Operation
from ensue.automata.compiled import Compiled
from ensue.logic import formula as f
from ensue.plan.residual_operators import ResidualOperator

_FUNCTIONS = ("count", "sum", "min", "max")


class AggregateBound(NamedTuple):
    """What an aggregate must lie within, for a filter to hold."""

    column: Column
    bit: int
    """That of the events that it aggregates."""
    end: int
    """The bit of the last event of its scope; 0: the scope is the whole match."""
    low: float
    high: float
    text: str
    """The filter as it was written."""


def aggregate_bounds(
    operators: Sequence[ResidualOperator], compiled: Compiled
) -> tuple[AggregateBound, ...]:
    """Find the filters on aggregates that bound a total."""
    return (*_bounds_above(operators, compiled), *_bounds_inside(compiled))


def _bounds_above(
    operators: Sequence[ResidualOperator], compiled: Compiled
) -> Iterator[AggregateBound]:
    """Look at the operators at the top, up to where a strategy chooses among matches."""
    made = {inner_aggregate.formula.variable for inner_aggregate in compiled.plan.inner_aggregates}
    columns: dict[tuple[str, str], Column] = {}
    for operator in operators:
        match operator:
            case f.Select():
                return
            case f.Aggregate(variable=name):
                # A variable with several computed events asks for all of them.
                if name in made or any(name == other for other, _ in columns):
                    return
                columns |= {(name, each.name): each for each in operator.columns}
            case f.Filter(conditions=conditions):
                for condition in conditions:
                    if not isinstance(condition, Each):
                        continue
                    for name, low, high in _intervals(condition.predicate):
                        column = columns.get((condition.variable, name))
                        if column is None or column.function not in _FUNCTIONS:
                            continue
                        if column.variable in compiled.variables and column.variable not in made:
                            bit = 1 << compiled.variables.index(column.variable)
                            yield AggregateBound(column, bit, 0, low, high, condition.text)


def _bounds_inside(compiled: Compiled) -> Iterator[AggregateBound]:
    """Look at conditions on what is computed inside the pattern."""
    inner_aggregates = compiled.plan.inner_aggregates
    for deferred in compiled.plan.deferred:
        condition = deferred.condition
        if not isinstance(condition, Each):
            continue
        intervals = list(_intervals(condition.predicate))
        for inner_aggregate in (inner_aggregates[number] for number in deferred.inner_aggregates):
            if inner_aggregate.formula.variable != condition.variable:
                continue
            computed = {
                inner_aggregates[number].formula.variable
                for number in inner_aggregate.inner_aggregates
            }
            bits = {name: bit for name, bit in inner_aggregate.bits if name not in computed}
            for column in inner_aggregate.formula.columns:
                if column.function not in _FUNCTIONS or column.variable not in bits:
                    continue
                bit = bits[column.variable]
                for name, low, high in intervals:
                    if name == column.name:
                        yield AggregateBound(
                            column, bit, inner_aggregate.end, low, high, condition.text
                        )


def _intervals(predicate: Expression) -> Iterator[tuple[str, float, float]]:
    """Give the columns that a predicate compares with constants, and what they must lie within."""
    match predicate:
        case Operation(name="and", arguments=arguments):
            for each in arguments:
                yield from _intervals(each)
        case Operation(name=sign, arguments=(Attribute(path=path), Constant(value=value))):
            yield from _interval(path, sign, value)
        case Operation(name=sign, arguments=(Constant(value=value), Attribute(path=path))):
            yield from _interval(path, _MIRRORED.get(sign, sign), value)
        case OneOf(operand=Attribute(path=path), values=values):
            numbers = [_number(each) for each in values]
            known = [each for each in numbers if each is not None]
            if known and len(known) == len(numbers):
                yield ".".join(path), min(known), max(known)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _interval(
    path: tuple[str, ...], sign: str, value: object
) -> Iterator[tuple[str, float, float]]:
    number = _number(value)
    if number is None:
        return
    match sign:
        case "=":
            yield ".".join(path), number, number
        case "<" | "<=":
            yield ".".join(path), -math.inf, number
        case ">" | ">=":
            yield ".".join(path), number, math.inf


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None  # type: ignore[arg-type]
