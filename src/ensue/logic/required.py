"""Requirements: what events must contain for a formula to have any match.

A requirement is necessary, never sufficient: where one is not met, no event can have been bound to
some step of the pattern that every match has. What a match can do without requires nothing: the
right side of UNLESS, NOT, optional steps; of alternatives, only all of them together are required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each, Relation
from ensue.analysis.expressions import Attribute, Constant, EventType, Expression, OneOf, Operation
from ensue.analysis.functions import LENIENT
from ensue.analysis.types import Type
from ensue.logic import formula as f
from ensue.logic.build import to_formula

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasType:
    """Some event has one of these types."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class HasAttribute:
    """Some event has a value of an attribute."""

    path: Path


@dataclass(frozen=True, slots=True)
class HasValue:
    """Some event has one of these strings as the value of an attribute."""

    path: Path
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Every:
    """All of these are required."""

    parts: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of these is required."""

    parts: tuple[Requirement, ...]


Leaf: TypeAlias = HasType | HasAttribute | HasValue
Requirement: TypeAlias = Leaf | Every | Some

NO_REQUIREMENT = Every(())

_Conditions: TypeAlias = Mapping[str, tuple[Requirement, ...]]
"""Requirements on the events of each variable."""


def requirement(bound: BoundQuery) -> Requirement:
    """Return the requirement of a query."""
    keys = (HasAttribute(path) for path in bound.partition)
    return _every([*keys, _of(to_formula(bound), {}, frozenset())])


def leaves(required: Requirement) -> Iterator[Leaf]:
    """Yield the atomic parts of a requirement."""
    if isinstance(required, Every | Some):
        for part in required.parts:
            yield from leaves(part)
    else:
        yield required


def unmet(required: Requirement, holds: Callable[[Leaf], bool]) -> tuple[Leaf, ...]:
    """Return the parts because of which a requirement is not met; none if it is met."""
    match required:
        case Every(parts=parts):
            return tuple(dict.fromkeys(leaf for part in parts for leaf in unmet(part, holds)))
        case Some(parts=parts):
            found = [unmet(part, holds) for part in parts]
            return tuple(dict.fromkeys(leaf for each in found for leaf in each)) * all(found)
        case _:
            return () if holds(required) else (required,)


def _every(parts: Iterable[Requirement]) -> Requirement:
    flat: dict[Requirement, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, Every) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else Every(tuple(flat))


def _some(parts: Iterable[Requirement]) -> Requirement:
    distinct = tuple(dict.fromkeys(parts))
    if NO_REQUIREMENT in distinct:
        return NO_REQUIREMENT
    return distinct[0] if len(distinct) == 1 else Some(distinct)


def _of(formula: f.Formula, conditions: _Conditions, names: frozenset[str]) -> Requirement:
    """Return what a formula requires; its events are also bound to `names`."""
    match formula:
        case f.Atom(type=kind, variable=variable):
            asked = [HasType(frozenset({kind}))] if kind is not None else []
            bound = sorted(names | {variable})
            return _every([*asked, *(each for name in bound for each in conditions.get(name, ()))])
        case f.Empty() | f.Absent():
            return NO_REQUIREMENT
        case f.Named(formula=inner, variable=variable):
            return _of(inner, conditions, names | {variable})
        case f.Sequence(items=items) | f.And(items=items) | f.All(items=items):
            return _every(_of(item, conditions, names) for item in items)
        case f.Or(items=items):
            if any(isinstance(item, f.Empty) for item in items):
                return NO_REQUIREMENT
            return _some(_of(item, conditions, names) for item in items)
        case f.Unless(formula=inner) | f.Repeat(formula=inner) | f.Select(formula=inner):
            return _of(inner, conditions, names)
        case f.Within(formula=inner):
            return _of(inner, conditions, names)
        case f.Project(formula=inner, variables=kept):
            shown = {name: each for name, each in conditions.items() if name in kept}
            return _of(inner, shown, names)
        case f.Aggregate(formula=inner, variable=computed):
            # Conditions on what is computed say nothing of the events themselves.
            own = {name: each for name, each in conditions.items() if name != computed}
            return _of(inner, own, names)
        case f.Filter(formula=inner, conditions=added):
            return _of_filter(inner, added, conditions, names)
    return NO_REQUIREMENT


def _of_filter(
    formula: f.Formula,
    added: Iterable[f.Atomic],
    conditions: _Conditions,
    names: frozenset[str],
) -> Requirement:
    by_variable = dict(conditions)
    always: list[Requirement] = []
    computed = f.computed_variables(formula)
    for each in added:
        if isinstance(each, Each) and each.variable not in computed:
            known = by_variable.get(each.variable, ())
            by_variable[each.variable] = (*known, _of_predicate(each.predicate))
        elif isinstance(each, Relation) and all(
            # Without an event for each of its variables, a relation holds whatever it says.
            name not in computed and _always_binds(formula, name)
            for name in each.variables
        ):
            always += [HasAttribute(path) for path in _strict(each.predicate)]
    return _every([*always, _of(formula, by_variable, names)])


def _always_binds(formula: f.Formula, variable: str) -> bool:
    """Return whether every match of a formula binds a variable."""
    match formula:
        case f.Atom(variable=name):
            return name == variable
        case f.Named(formula=inner, variable=name):
            return _always_binds(inner, variable) or (name == variable and not _nullable(inner))
        case f.Sequence(items=items) | f.And(items=items) | f.All(items=items):
            return any(_always_binds(item, variable) for item in items)
        case f.Or(items=items):
            return all(_always_binds(item, variable) for item in items)
        case f.Project(formula=inner, variables=kept):
            return variable in kept and _always_binds(inner, variable)
        case f.Unless(formula=inner) | f.Repeat(formula=inner) | f.Select(formula=inner):
            return _always_binds(inner, variable)
        case f.Filter(formula=inner) | f.Aggregate(formula=inner) | f.Within(formula=inner):
            return _always_binds(inner, variable)
    return False


def _nullable(formula: f.Formula) -> bool:
    """Return whether a match of a formula may bind no event."""
    match formula:
        case f.Atom():
            return False
        case f.Or(items=items):
            return any(map(_nullable, items))
        case f.Sequence(items=items) | f.And(items=items) | f.All(items=items):
            return all(map(_nullable, items))
        case f.Named(formula=inner) | f.Repeat(formula=inner) | f.Select(formula=inner):
            return _nullable(inner)
        case f.Unless(formula=inner) | f.Filter(formula=inner) | f.Within(formula=inner):
            return _nullable(inner)
    return True


# predicates on one event


def _of_predicate(predicate: Expression) -> Requirement:
    """Return what a predicate requires to be true for some event."""
    match predicate:
        case Operation(name="and", arguments=sides):
            return _every(map(_of_predicate, sides))
        case Operation(name="or", arguments=sides):
            return _some(map(_of_predicate, sides))
        case Operation(name="=", arguments=(left, right)):
            named = _equals(left, right) or _equals(right, left)
            if named is not None:
                return named
        case OneOf(operand=operand, values=values) if values and _are_strings(values):
            named = _among(operand, frozenset(map(str, values)))
            if named is not None:
                return named
    return _every(map(HasAttribute, _strict(predicate)))


def _equals(operand: Expression, other: Expression) -> Requirement | None:
    if isinstance(other, Constant) and isinstance(other.value, str):
        return _among(operand, frozenset({other.value}))
    return None


def _among(operand: Expression, values: frozenset[str]) -> Requirement | None:
    match operand:
        case EventType():
            return HasType(values)
        case Attribute(path=path, type=Type.STRING | Type.UNKNOWN):
            return Every((HasAttribute(path), HasValue(path, values)))
    return None


def _are_strings(values: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in values)


def _strict(expression: Expression) -> tuple[Path, ...]:
    """Return the attributes without whose values an expression is NULL."""
    match expression:
        case Attribute(path=path):
            return (path,)
        case Operation(name=name, arguments=arguments) if name not in LENIENT:
            return tuple(dict.fromkeys(path for each in arguments for path in _strict(each)))
        case OneOf(operand=operand):
            return _strict(operand)
    return ()
