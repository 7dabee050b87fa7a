"""Formulas of CEL: patterns without sugar.

Bounded repetitions, ?, * and filters joined by OR are rewritten into the few operators here.
Formulas may share sub-formulas (a DAG): a rewriting that needs a pattern twice uses the same
object twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ensue.analysis.bound import Column, Derived, Window
from ensue.analysis.conditions import Each, Relation, SameKey, Trend

Atomic: TypeAlias = Each | Relation | Trend | SameKey
"""A condition that is not made of others."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One event of a type (None: any), bound to a variable."""

    type: str | None
    stream: str | None
    variable: str


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """One event that is not a match of a one-event formula; binds nothing."""

    formula: Formula


@dataclass(frozen=True, slots=True, eq=False)
class Empty:
    """The empty match, unit of both sequences."""


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    formula: Formula
    variable: str


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """One or more times, by `;` or by `:`."""

    formula: Formula
    contiguous: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    items: tuple[Formula, ...]
    contiguous: bool


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class And:
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class All:
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unless:
    """The matches in whose interval the absent formula has no match."""

    formula: Formula
    absent: Formula
    outer: frozenset[str] = frozenset()
    """Variables of `formula` that conditions of `absent` name."""
    after: bool = False
    """In automata of NOT FOLLOWED BY: it must be absent after the interval, until a deadline."""


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """The matches that satisfy all conditions."""

    formula: Formula
    conditions: tuple[Atomic, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Adds a computed event; `place` is the number of the AGGREGATE in the text."""

    formula: Formula
    variable: str
    columns: tuple[Column, ...]
    place: int
    derived: tuple[Derived, ...] = ()
    """What is computed from the columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the computed event."""
        shown = (column.name for column in self.columns if not column.hidden)
        return (*shown, *(each.name for each in self.derived))


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    formula: Formula
    variables: frozenset[str]


Strategy = Literal["START", "STRICT", "NEXT", "LAST", "MAX"]

Choice = Literal["NEXT", "LAST", "MAX", "FIRST"]
"""The strategies of SELECT that choose among matches; STRICT asks about one match at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """START, STRICT, NEXT, LAST or MAX of a formula."""

    formula: Formula
    strategy: Strategy
    support: frozenset[str] | None = None
    """STRICT only: the variables whose events must have no gap; None: all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The matches whose interval is no longer than a window."""

    formula: Formula
    window: Window
    text: str
    """The window as it was written."""


Formula: TypeAlias = (
    Atom
    | Absent
    | Empty
    | Named
    | Repeat
    | Sequence
    | Or
    | And
    | All
    | Unless
    | Filter
    | Aggregate
    | Project
    | Select
    | Within
)


@dataclass(frozen=True, slots=True, eq=False)
class NotFollowed:
    """φ NOT FOLLOWED BY ψ WITHIN w: the whole of a WHERE, hence no operator of formulas."""

    formula: Formula
    """φ, before the projection and strategy of SELECT."""
    absent: Formula
    """ψ."""
    window: Window
    outer: frozenset[str]
    """Variables of φ that conditions of ψ name."""
    shown: tuple[Aggregate | Project, ...]
    """What SELECT makes of a match of φ, innermost first."""


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas directly below a formula."""
    match formula:
        case Atom() | Empty():
            return ()
        case Sequence(items=items) | Or(items=items) | And(items=items) | All(items=items):
            return items
        case Unless(formula=inner, absent=absent):
            return (inner, absent)
        case _:
            return (formula.formula,)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Walk a formula from the outside in, shared parts as often as they occur."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def bindings_of(formula: Formula, variable: str) -> int:
    """Count the atoms and names of a formula that bind a variable, shared parts repeatedly."""
    return sum(
        isinstance(each, Atom | Named) and each.variable == variable
        for each in subformulas(formula)
    )


def bound_variables(formula: Formula) -> frozenset[str]:
    """Return the variables to which a match of a formula may bind something."""
    match formula:
        case Atom(variable=name):
            return frozenset({name})
        case Absent() | Empty():
            return frozenset()
        case Named(formula=inner, variable=name) | Aggregate(formula=inner, variable=name):
            return bound_variables(inner) | {name}
        case Project(formula=inner, variables=names):
            return bound_variables(inner) & names
        case Unless(formula=inner):
            return bound_variables(inner)
        case _:
            return frozenset().union(*map(bound_variables, children(formula)))


def free_variables(formula: Formula) -> frozenset[str]:
    """Return the variables that conditions name and that their own pattern does not bind.

    They stand right of an UNLESS, and are bound left of it.
    """
    match formula:
        case Filter(formula=inner, conditions=conditions):
            named = frozenset(name for each in conditions for name in condition_variables(each))
            return free_variables(inner) | (named - bound_variables(inner))
        case Unless(formula=inner, absent=absent):
            return free_variables(inner) | (free_variables(absent) - bound_variables(inner))
        case _:
            return frozenset().union(*map(free_variables, children(formula)))


def most_events(formula: Formula, variable: str) -> int:
    """Bound the number of events that a match binds to a variable; 2 means several."""
    return _most_events(formula, frozenset({variable}))


def _most_events(formula: Formula, names: frozenset[str] | None) -> int:
    match formula:
        case Atom(variable=name):
            return int(names is None or name in names)
        case Absent() | Empty():
            return 0
        case Named(formula=inner, variable=name):
            return _most_events(inner, None if names is None or name in names else names)
        case Project(formula=inner, variables=kept):
            return _most_events(inner, kept if names is None else kept & names)
        case Repeat(formula=inner):
            return min(2, 2 * _most_events(inner, names))
        case Or(items=items) | And(items=items):
            return max(_most_events(item, names) for item in items)
        case Sequence(items=items) | All(items=items):
            return min(2, sum(_most_events(item, names) for item in items))
        case _:
            return _most_events(formula.formula, names)


def fixed_events(formula: Formula, names: frozenset[str] | None = None) -> int | None:
    """Return how many events every match binds to some of the variables; None: it varies."""
    match formula:
        case Atom(variable=name):
            return int(names is None or name in names)
        case Absent() | Empty():
            return 0
        case Named(formula=inner, variable=name):
            return fixed_events(inner, None if names is None or name in names else names)
        case Project(formula=inner, variables=kept):
            return fixed_events(inner, kept if names is None else kept & names)
        case Repeat() | All():
            return None
        case Or(items=items) | And(items=items):
            sizes = {fixed_events(item, names) for item in items}
            return sizes.pop() if len(sizes) == 1 else None
        case Sequence(items=items):
            every = [fixed_events(item, names) for item in items]
            return None if None in every else sum(each or 0 for each in every)
        case _:
            return fixed_events(formula.formula, names)


def is_unary(formula: Formula) -> bool:
    """Return whether all conditions are on one event of the stream each.

    A window inside the pattern is a condition between the first event of a part and its last.
    """
    parts = list(subformulas(formula))
    if any(isinstance(each, Unless) and each.outer for each in parts):
        return False
    if any(isinstance(each, Within) and variables_of_one_event(each) is None for each in parts):
        return False
    computes = any(isinstance(each, Aggregate) for each in parts)
    return all(
        isinstance(condition, Each)
        and not (computes and condition.variable in computed_variables(each))
        for each in parts
        if isinstance(each, Filter)
        for condition in each.conditions
    )


def computed_variables(formula: Formula) -> frozenset[str]:
    """Return the variables to which AGGREGATEs of a formula bind something."""
    match formula:
        case Aggregate(formula=inner, variable=name):
            return computed_variables(inner) | {name}
        case Project(formula=inner, variables=names):
            return computed_variables(inner) & names
        case Unless(formula=inner):
            return computed_variables(inner)
        case _:
            return frozenset().union(*map(computed_variables, children(formula)))


def condition_variables(condition: Atomic) -> tuple[str, ...]:
    """Return the variables that a condition is about."""
    match condition:
        case Relation(variables=names):
            return names
        case SameKey(keys=keys):
            return tuple(name for name, _ in keys)
        case Each(variable=name) | Trend(variable=name):
            return (name,)


def named_by(conditions: Iterable[Atomic]) -> frozenset[str]:
    """Return the variables that some conditions are about."""
    return frozenset(name for each in conditions for name in condition_variables(each))


def describe(formula: Formula) -> str:
    """Write a formula in one line, with every parenthesis.

    >>> describe(Sequence((Atom("A", None, "A"), Atom("B", None, "B")), contiguous=True))
    '(A : B)'
    """
    match formula:
        case Atom(type=kind, stream=stream):
            return (f"{stream}>" if stream else "") + (kind or "ANY")
        case Absent(formula=inner):
            return f"NOT({describe(inner)})"
        case Empty():
            return "ε"
        case Named(formula=inner, variable=name):
            return f"({describe(inner)} AS {name})"
        case Repeat(formula=inner, contiguous=contiguous):
            return describe(inner) + (":+" if contiguous else "+")
        case Sequence(items=items, contiguous=contiguous):
            return "(" + (" : " if contiguous else " ; ").join(map(describe, items)) + ")"
        case Or(items=items) | And(items=items) | All(items=items):
            word = {Or: " OR ", And: " AND ", All: " ALL "}[type(formula)]
            return "(" + word.join(map(describe, items)) + ")"
        case Unless(formula=inner, absent=absent):
            word = "NOT FOLLOWED BY" if formula.after else "UNLESS"
            return f"({describe(inner)} {word} {describe(absent)})"
        case Filter(formula=inner, conditions=conditions):
            return f"({describe(inner)} FILTER {' AND '.join(each.text for each in conditions)})"
        case Aggregate(formula=inner, variable=name, columns=columns):
            listed = ", ".join(
                each.text if each.hidden else f"{each.name} = {each.text}" for each in columns
            )
            return f"({describe(inner)} AGGREGATE {name or 'SELECT'}[{listed}])"
        case Project(formula=inner, variables=names):
            return f"({describe(inner)} PROJECT [{', '.join(filter(None, sorted(names)))}])"
        case Select(formula=inner, strategy=strategy):
            return f"{strategy}({describe(inner)})"
        case Within(formula=inner, text=text):
            return f"({describe(inner)} {text})"


def variables_of_one_event(formula: Formula) -> frozenset[str] | None:
    """Return the variables of a formula that matches single events, None for other formulas."""
    match formula:
        case Atom(variable=name):
            return frozenset({name})
        case Named(formula=inner, variable=name):
            names = variables_of_one_event(inner)
            return None if names is None else names | {name}
        case Filter(formula=inner) | Select(formula=inner) | Within(formula=inner):
            return variables_of_one_event(inner)
        case _:
            return None


def interval_formula(formula: Formula) -> Formula:
    """Drop projections and strategies, which do not change in which intervals there is a match."""
    while isinstance(formula, Project) or (
        isinstance(formula, Select) and formula.strategy not in ("START", "STRICT")
    ):
        formula = formula.formula
    return formula
