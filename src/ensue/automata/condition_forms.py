"""Conditions rewritten: as f(x) op g(y) for registers, or as predicates on one event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, get_args

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    Operation,
    variables_of,
    without_variables,
)
from ensue.analysis.types import Type

Sign = Literal["=", "!=", "<", "<=", ">", ">="]
SIGNS: frozenset[str] = frozenset(get_args(Sign))


def attribute_of(path: tuple[str, ...], kind: Type) -> Attribute | EventType:
    """Return the expression of an attribute; `type` is the type of the event."""
    return EventType() if path == ("type",) else Attribute(path, kind)


def not_null(attribute: Attribute | EventType) -> Expression:
    """Return the predicate that an attribute is not NULL."""
    null = Operation("is_null", (attribute,), Type.BOOLEAN)
    return Operation("not", (null,), Type.BOOLEAN)


def on_one_event(
    condition: Each | Relation | Trend | SameKey,
    names: frozenset[str],
    type_of: Callable[[tuple[str, ...]], Type],
) -> list[Each]:
    """Return predicates equal to a condition on one event that is bound to all these names."""
    match condition:
        case Each():
            return [condition]
        case Relation(variables=variables, predicate=predicate):
            if not names.issuperset(variables):
                return []
            return [Each(variables[0], without_variables(predicate), condition.text)]
        case Trend(variable=name, path=path):
            known = not_null(attribute_of(path, type_of(path)))
            return [Each(name, known, condition.text)] if name in names else []
        case SameKey(keys=keys):
            own = [
                (name, attribute_of(path, type_of(path))) for name, path in keys if name in names
            ]
            found = [Each(name, not_null(each), condition.text) for name, each in own]
            for (name, one), (_, other) in pairwise(own):
                equal = Operation("=", (one, other), Type.BOOLEAN)
                found.append(Each(name, equal, condition.text))
            return found


INTEGER_TYPES = frozenset({Type.INT, Type.TIMESTAMP, Type.DATE, Type.DURATION, Type.BOOLEAN})


def conjuncts(predicate: Expression) -> Iterator[Operation]:
    """Yield comparisons that together mean the same as a condition.

    BETWEEN is two of them, and so is abs(f) < c. What is none is yielded as it is.
    """
    match predicate:
        case Operation(name="and", arguments=arguments):
            for each in arguments:
                yield from conjuncts(each)
        case Operation(name="<" | "<=", arguments=(Operation(name="abs") as size, limit)):
            (distance,) = size.arguments
            kind = limit.type if limit.type in INTEGER_TYPES else Type.DOUBLE
            below = _negated(limit) or Operation("negative", (limit,), kind)
            over: Sign = ">" if predicate.name == "<" else ">="
            yield Operation(predicate.name, (distance, limit), Type.BOOLEAN)
            yield Operation(over, (distance, below), Type.BOOLEAN)
        case Operation(name=">" | ">=" as name, arguments=(limit, Operation(name="abs") as size)):
            mirrored = "<" if name == ">" else "<="
            yield from conjuncts(Operation(mirrored, (size, limit), Type.BOOLEAN))
        case Operation():
            yield predicate


def _negated(limit: Expression) -> Constant | None:
    """Return the negative of a number that is written out."""
    match limit:
        case Constant(value=int() | float() as value) if value != -(2**63):
            return Constant(-value, limit.type)
    return None


def separated(predicate: Operation) -> tuple[Expression, Sign, Expression] | None:
    """Write a condition as f(x) op g(y), moving integer terms to the other side if needed."""
    if predicate.name not in SIGNS or len(variables_of(predicate)) != 2:
        return None
    left, right = predicate.arguments
    sign: Sign = predicate.name  # type: ignore[assignment]
    if len(variables_of(left)) == 1 and len(variables_of(right)) == 1:
        return left, sign, right
    terms = _terms(left, 1) + _terms(right, -1)
    if any(len(variables_of(term)) > 1 or term.type not in INTEGER_TYPES for term, _ in terms):
        return None
    x = min(variables_of(predicate))
    mine = [(term, factor) for term, factor in terms if variables_of(term) == {x}]
    rest = [(term, -factor) for term, factor in terms if variables_of(term) != {x}]
    return _sum(mine), sign, _sum(rest)


def _terms(expression: Expression, factor: int) -> list[tuple[Expression, int]]:
    if isinstance(expression, Operation) and expression.name in ("+", "-"):
        left, right = expression.arguments
        other = factor if expression.name == "+" else -factor
        return _terms(left, factor) + _terms(right, other)
    return [(expression, factor)]


def terms_of(total: Expression) -> list[Expression]:
    """Return what is added and subtracted in a sum."""
    return [term for term, _ in _terms(total, 1)]


def _sum(terms: list[tuple[Expression, int]]) -> Expression:
    """Return the sum of terms as an integer expression."""
    total: Expression = Constant(0, Type.INT)
    for term, factor in terms:
        total = Operation("+" if factor > 0 else "-", (total, term), Type.INT)
    return total
