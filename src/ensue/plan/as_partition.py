"""Whether an equality over all events of a pattern is as good as PARTITION BY.

It is where nothing in the query sees events that it does not bind: no contiguity, UNLESS, NOT,
START, STRICT, no strategy or projection below the equality, and no window that counts events.
"""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Relation, SameKey
from ensue.analysis.expressions import Attribute, Operation
from ensue.logic import formula as f


def equal_attribute(bound: BoundQuery, formula: f.Formula) -> str | None:
    """Return the attribute by which a query could be partitioned as well; None: there is none."""
    counts = bound.window is not None and bound.window.kind == "events"
    if bound.partition or counts or bound.consume == "PARTITION" or bound.totals is not None:
        return None
    conditions: list[f.Atomic] = []
    while isinstance(formula, f.Filter | f.Project) or (
        isinstance(formula, f.Select) and formula.strategy not in ("START", "STRICT")
    ):
        if isinstance(formula, f.Filter):
            conditions += formula.conditions
        elif conditions:
            return None
        formula = formula.formula
    if any(map(_sees_others, f.subformulas(formula))):
        return None
    for condition in conditions:
        if isinstance(condition, SameKey):
            paths = {path for _, path in condition.keys}
            if len(paths) == 1:
                return ".".join(paths.pop())
    return _by_chain(formula, conditions)


def _sees_others(formula: f.Formula) -> bool:
    match formula:
        case f.Sequence(contiguous=contiguous) | f.Repeat(contiguous=contiguous):
            return contiguous
        case f.Within(window=window):
            return window.kind == "events"
        case _:
            return isinstance(formula, f.Unless | f.Absent | f.Select | f.Project)


def _by_chain(formula: f.Formula, conditions: list[f.Atomic]) -> str | None:
    """Look for equalities that connect all variables, each of which is always bound."""
    parts = list(f.subformulas(formula))
    if any(isinstance(each, f.Or | f.And | f.All | f.Empty) for each in parts):
        return None
    pairs = [pair for each in conditions for pair in _equated(each)]
    for path in dict.fromkeys(path for _, _, path in pairs):
        connected = {next(x for x, _, own in pairs if own == path)}
        for _ in pairs:
            for x, y, own in pairs:
                if own == path and connected & {x, y}:
                    connected |= {x, y}
        if all(connected & names for names in _names(formula)):
            return ".".join(path)
    return None


def _equated(condition: f.Atomic) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    if isinstance(condition, Relation) and isinstance(condition.predicate, Operation):
        match condition.predicate:
            case Operation(name="=", arguments=(Attribute() as x, Attribute() as y)):
                if x.path == y.path and x.variable and y.variable:
                    yield x.variable, y.variable, x.path


def _names(formula: f.Formula) -> Iterator[frozenset[str]]:
    """Give the variables that each atom is bound to."""
    match formula:
        case f.Atom(variable=name):
            yield frozenset({name})
        case f.Named(formula=inner, variable=name):
            yield from (names | {name} for names in _names(inner))
        case _:
            for child in f.children(formula):
                yield from _names(child)
