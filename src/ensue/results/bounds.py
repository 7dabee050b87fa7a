"""Filters on aggregates that are looked at while matches are listed, not after.

`Y[n <= 3]` on a count, or a comparison of a sum, a minimum or a maximum with a constant, bounds a
total that is known better and better as a match is put together. The bounds only leave out what
the filter would refuse: numbers are taken as doubles, with as much slack as rounding needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ensue.analysis.bound import Column
from ensue.analysis.conditions import Each
from ensue.analysis.expressions import Attribute, Constant, Expression, OneOf, Operation
from ensue.automata.build import Compiled
from ensue.kernels.graph.bounded import Bounds, bound_paths
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import Graph
from ensue.logic import formula as f
from ensue.plan.residual_operators import ResidualOperator
from ensue.stream.attributes import attribute_column
from ensue.stream.batch import EventBatch

_FUNCTIONS = ("count", "sum", "min", "max")
_EXACT = 2.0**53


class Limit(NamedTuple):
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


def limits_of(operators: Sequence[ResidualOperator], compiled: Compiled) -> tuple[Limit, ...]:
    """Find the filters on aggregates that bound a total."""
    return (*_limits_above(operators, compiled), *_limits_inside(compiled))


def _limits_above(operators: Sequence[ResidualOperator], compiled: Compiled) -> Iterator[Limit]:
    """Look at the operators at the top, up to where a strategy chooses among matches."""
    made = {maker.formula.variable for maker in compiled.plan.makers}
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
                            yield Limit(column, bit, 0, low, high, condition.text)


def _limits_inside(compiled: Compiled) -> Iterator[Limit]:
    """Look at conditions on what is computed inside the pattern."""
    makers = compiled.plan.makers
    for deferred in compiled.plan.deferred:
        condition = deferred.condition
        if not isinstance(condition, Each):
            continue
        intervals = list(_intervals(condition.predicate))
        for maker in (makers[number] for number in deferred.makers):
            if maker.formula.variable != condition.variable:
                continue
            computed = {makers[number].formula.variable for number in maker.makers}
            bits = {name: bit for name, bit in maker.bits if name not in computed}
            for column in maker.formula.columns:
                if column.function not in _FUNCTIONS or column.variable not in bits:
                    continue
                bit = bits[column.variable]
                for name, low, high in intervals:
                    if name == column.name:
                        yield Limit(column, bit, maker.end, low, high, condition.text)


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


# --- on the events of some matches -----------------------------------------------------------


def bounds_of(
    limits: Sequence[Limit], labels: Sequence[int], stream: EventBatch
) -> Callable[[Segment], Bounds]:
    """Return what gives the bounds of a segment whose label numbers stand for these bits."""

    def bounds(segment: Segment) -> Bounds:
        graph = segment.graph
        nodes, totals = len(graph.label), len(limits)
        found = Bounds(
            np.array([each.column.function in ("min", "max") for each in limits], bool),
            np.zeros(totals),
            np.array([each.low for each in limits]),
            np.array([each.high for each in limits]),
            np.zeros((nodes, totals)),
            np.zeros((nodes, totals), bool),
            np.zeros((nodes, totals)),
            np.zeros((nodes, totals)),
            np.full((nodes, totals), math.inf),
            np.zeros((len(segment.hits.end), totals)),
        )
        outputs = np.flatnonzero(graph.label > 0)
        first = _first_positions(segment)
        for total, limit in enumerate(limits):
            _fill(found, total, limit, graph, outputs, labels, stream)
            if first is not None and not found.greatest[total]:
                _reach(found, total, graph, outputs, first)
        bound_paths(graph, found)
        return found

    return bounds


def _fill(
    bounds: Bounds,
    total: int,
    limit: Limit,
    graph: Graph,
    outputs: np.ndarray,
    labels: Sequence[int],
    stream: EventBatch,
) -> None:
    """Write down what each node contributes to a total."""
    function, path = limit.column.function, limit.column.path
    nothing = -math.inf if bounds.greatest[total] else 0.0
    bounds.begin[total] = math.nan if limit.end else nothing
    bounds.value[:, total] = nothing
    label = graph.label[outputs]
    bounds.opens[outputs, total] = np.array([bool(bits & limit.end) for bits in labels])[label]
    own = outputs[np.array([bool(bits & limit.bit) for bits in labels])[label]]
    rows = stream.rows_at(graph.position[own])
    values, known = np.ones(len(rows)), np.ones(len(rows), bool)
    if path is not None:
        source = attribute_column(stream, path)
        known = source.known[rows] if len(source.known) else known
        if function != "count":
            if source.distinct is not None:
                # Ranks bound nothing.
                bounds.low[total], bounds.high[total] = -math.inf, math.inf
                return
            values = source.values[rows].astype(np.float64)
    if function == "min":
        # The least is the greatest of the negatives.
        values = -values
        bounds.low[total], bounds.high[total] = -limit.high, -limit.low
    slack = _slack(values, bounds.greatest[total])
    bounds.low[total] -= slack
    bounds.high[total] += slack
    bounds.value[own[known], total] = values[known]


def _first_positions(segment: Segment) -> np.ndarray | None:
    """Return where the window of each hit begins; None where clocks are not in order."""
    graph, hits = segment.graph, segment.hits
    clocks = graph.start_clock
    if len(clocks) == 0 or bool(np.any(clocks[1:] < clocks[:-1])):
        return None
    starts = np.maximum(np.searchsorted(clocks, hits.edge), hits.floor)
    positions: np.ndarray = graph.start_position[np.minimum(starts, len(clocks) - 1)]
    return positions


def _reach(
    bounds: Bounds, total: int, graph: Graph, outputs: np.ndarray, first: np.ndarray
) -> None:
    """Add up what events contribute at most, up to each node and before each window."""
    positions, place = np.unique(graph.position[outputs], return_inverse=True)
    most = np.zeros(len(positions))
    np.maximum.at(most, place, bounds.value[outputs, total])
    sums = np.concatenate([[0.0], np.cumsum(most)])
    bounds.reach[outputs, total] = sums[place + 1]
    bounds.base[:, total] = sums[np.searchsorted(positions, first)]


def _slack(values: np.ndarray, greatest: bool) -> float:
    """Return how far a total of some of these values may be off by rounding."""
    sizes = np.abs(values[np.isfinite(values)])
    size = float(sizes.max(initial=0.0) if greatest else sizes.sum())
    if greatest or bool(np.all(values == np.rint(values))):
        return 0.0 if size < _EXACT else size * 2.0**-50
    return size * 2.0**-52 * len(values)
