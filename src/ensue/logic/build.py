"""From bound query to formula, in which only the core operators remain."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import cast

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import AllOf, AnyOf, Condition
from ensue.analysis.patterns import may_be_empty, partition_place
from ensue.errors import CeqlSemanticError, Span
from ensue.language import tree
from ensue.language.parser import MOST_NODES, too_large
from ensue.language.printer import format_window
from ensue.logic.formula import (
    Absent,
    Aggregate,
    All,
    And,
    Atom,
    Atomic,
    Choice,
    Empty,
    Filter,
    Formula,
    Named,
    NotFollowed,
    Or,
    Project,
    Repeat,
    Select,
    Sequence,
    Strategy,
    Unless,
    Within,
    bound_variables,
    free_variables,
)

SELECTED = ""
"""The variable of the computed event that holds the columns of SELECT."""


def to_formula(query: BoundQuery) -> Formula:
    """Return the formula of a query's WHERE, with the projection of its SELECT, and STRICT.

    The other strategies of SELECT choose among matches inside the window: see `choice_of`.
    """
    formula = _Builder(query).build(query.tree.pattern)
    for operator in _shown(query, formula):
        formula = operator
    return Select(formula, "STRICT") if query.strategy == "STRICT" else formula


def choice_of(query: BoundQuery) -> Choice | None:
    """Return the strategy of SELECT where it chooses among matches; None: all are kept."""
    return None if query.strategy in (None, "STRICT") else cast(Choice, query.strategy)


def _shown(query: BoundQuery, formula: Formula) -> tuple[Aggregate | Project, ...]:
    """Return what SELECT makes of the matches of a formula, innermost first."""
    shown: list[Aggregate | Project] = []
    computed = query.computed
    if computed.columns or computed.derived:
        formula = Aggregate(formula, SELECTED, computed.columns, 0, computed.derived)
        shown.append(formula)
    if query.shown is not None and query.totals is None:
        shown.append(Project(formula, frozenset(query.shown) | {SELECTED}))
    return tuple(shown)


def to_absence(query: BoundQuery) -> NotFollowed | None:
    """Return what must not follow a match of a query's WHERE; None: anything may."""
    absence = query.not_followed
    if absence is None:
        return None
    builder = _Builder(query)
    formula, absent = builder.build(query.tree.pattern), builder.build(absence.pattern)
    outer = free_variables(absent) & bound_variables(formula)
    return NotFollowed(formula, absent, absence.window, outer, _shown(query, formula))


@dataclass(slots=True)
class _Builder:
    query: BoundQuery
    nodes: int = 0
    places: dict[Span, int] = field(default_factory=dict)

    def build(self, pattern: tree.Pattern) -> Formula:
        """Return the formula of a pattern, with the empty match if the pattern allows it."""
        formula = self._present(pattern)
        return Or((formula, Empty())) if may_be_empty(pattern) else formula

    def _present(self, pattern: tree.Pattern) -> Formula:
        """Return the formula of a pattern without the empty match.

        Operators on one pattern do not change the empty match, so `build` adds it last.
        """
        self._count(1, pattern)
        match pattern:
            case tree.Event(type=word, stream=stream):
                name = None if word is None else word.text
                return Atom(name, None if stream is None else stream.text, name or "ANY")
            case tree.Absent(pattern=inner):
                return Absent(self.build(inner))
            case tree.Named(pattern=inner, variable=word):
                return Named(self._present(inner), word.text)
            case tree.Repeated():
                return self._repeated(pattern)
            case tree.Sequence(items=items) if all(map(may_be_empty, items)):
                return self._sequence_of_optional(pattern)
            case tree.Sequence(items=items, contiguous=contiguous):
                return Sequence(tuple(map(self.build, items)), contiguous)
            case tree.Combined(operator=operator, items=items):
                built = tuple(map(self._present, items))
                return Or(built) if operator == "OR" else (All if operator == "ALL" else And)(built)
            case tree.Unless(pattern=inner, absent=absent):
                return self._unless(self.build(inner), self.build(absent))
            case tree.Filtered(pattern=inner, condition=condition):
                return self._filtered(inner, self.query.conditions[condition.span])
            case tree.Partitioned(pattern=inner, keys=keys):
                same = self.query.conditions[partition_place(keys)]
                return self._filtered(inner, same)
            case tree.Aggregated(pattern=inner, variable=word):
                place = self.places.setdefault(word.span, len(self.places) + 1)
                computed = self.query.aggregates[word.span]
                return Aggregate(
                    self.build(inner), word.text, computed.columns, place, computed.derived
                )
            case tree.Projected(pattern=inner, variables=words):
                return Project(self._present(inner), frozenset(word.text for word in words))
            case tree.Applied(function=word, pattern=inner):
                return Select(self.build(inner), cast(Strategy, word.text.upper()))
            case tree.Within(pattern=inner, window=written):
                return self._within(self._present(inner), written)

    def _within(self, formula: Formula, written: tree.Window) -> Formula:
        """Apply a window, unless the window of the query bounds the same matches."""
        window = self.query.inner_windows.get(written.span)
        return formula if window is None else Within(formula, window, format_window(written))

    def _unless(self, formula: Formula, absent: Formula) -> Formula:
        outer = free_variables(absent)
        return Unless(formula, absent, outer & bound_variables(formula) if outer else outer)

    def _count(self, nodes: int, pattern: tree.Node) -> None:
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise CeqlSemanticError(too_large(pattern.span), self.query.source)

    def _sequence_of_optional(self, pattern: tree.Sequence) -> Formula:
        """Rewrite φ1? ; φ2? ; … as a choice of the first item present; later ones stay optional."""
        choices: list[Formula] = []
        after: tuple[Formula, ...] = ()
        size = 0
        for item in reversed(pattern.items):
            before = self.nodes
            formula = self._present(item)
            self._count(size, pattern)
            size += self.nodes - before + 2
            choices.append(Sequence((formula, *after), pattern.contiguous) if after else formula)
            after = (Or((formula, Empty())), *after)
        return Or(tuple(reversed(choices)))

    def _repeated(self, pattern: tree.Repeated) -> Formula:
        """Rewrite φ{n,m} as n times φ and then up to m - n times, nested."""
        before = self.nodes
        once = self._present(pattern.pattern)
        low, high, contiguous = pattern.low, pattern.high, pattern.contiguous
        if low == 0 or may_be_empty(pattern.pattern):
            low = 1
        copies = low if high is None else high
        self._count((self.nodes - before) * (copies - 1) + copies, pattern)
        tail: Formula | None = None
        if high is None:
            tail = Repeat(once, contiguous)
            low -= 1
        else:
            for _ in range(high - low):
                more = once if tail is None else Sequence((once, tail), contiguous)
                tail = Or((more, Empty()))
        items = (once,) * low + (() if tail is None else (tail,))
        return items[0] if len(items) == 1 else Sequence(items, contiguous)

    def _filtered(self, pattern: tree.Pattern, condition: Condition) -> Formula:
        before = self.nodes
        formula = self._present(pattern)
        self._count((self.nodes - before) * (_choices(condition) - 1), pattern)
        return _filter(formula, condition)


def _filter(formula: Formula, condition: Condition) -> Formula:
    """Apply a condition: AND filters again, OR is a choice of two filtered formulas."""
    simple = _conjunction(condition)
    if simple is not None:
        return Filter(formula, simple) if simple else formula
    if isinstance(condition, AnyOf):
        return Or(tuple(_filter(formula, part) for part in condition.conditions))
    assert isinstance(condition, AllOf)
    for part in condition.conditions:
        formula = _filter(formula, part)
    return formula


def _choices(condition: Condition) -> int:
    """Count how often a formula occurs once a condition on it is rewritten."""
    match condition:
        case AllOf(conditions=parts):
            return min(MOST_NODES, prod(map(_choices, parts)))
        case AnyOf(conditions=parts):
            return min(MOST_NODES, sum(map(_choices, parts)))
        case _:
            return 1


def _conjunction(condition: Condition) -> tuple[Atomic, ...] | None:
    """Return the conditions that must all hold, or None when there is an OR among them."""
    match condition:
        case AllOf(conditions=parts):
            found: list[Atomic] = []
            for part in parts:
                inner = _conjunction(part)
                if inner is None:
                    return None
                found.extend(inner)
            return tuple(found)
        case AnyOf():
            return None
        case _:
            return (condition,)
