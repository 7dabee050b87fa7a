"""What the automaton does not decide: conditions and AGGREGATEs that the labels of a match decide.

Without a deferred condition there are only more matches; each match is checked when it is listed.
Hidden bits of its labels mark the events of each variable in each scope, so the labels contain
all that the check needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import Expression
from ensue.analysis.types import Type
from ensue.automata.condition_forms import attribute_of
from ensue.logic.formula import Aggregate


class Round(NamedTuple):
    """One round of a scope in a match: first and last position, and the bindings in between."""

    first: int
    last: int
    bound: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A condition that is decided when a match is listed, by its labels."""

    condition: Each | Relation | Trend | SameKey
    bits: tuple[tuple[str, int], ...]
    """Its variables, and the bits that mark their events in its scope."""
    marker: int
    inner_aggregates: tuple[int, ...] = ()
    """The AGGREGATEs of its scope, by their numbers in the plan."""

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions that the condition reads."""
        match self.condition:
            case Each(predicate=predicate) | Relation(predicate=predicate):
                yield predicate
            case Trend(path=path):
                yield attribute_of(path, Type.UNKNOWN)
            case SameKey(keys=keys):
                yield from (attribute_of(path, Type.UNKNOWN) for _, path in keys)

    def rounds(self, word: Sequence[tuple[int, int]]) -> Iterator[Round]:
        """Yield the rounds of the scope, given the positions and labels of a match."""
        bound: set[tuple[str, int]] = set()
        first = 0
        for position, label in word:
            if label & self.marker:
                yield Round(first, position - 1, frozenset(bound))
                bound, first = set(), position
            bound.update((name, position) for name, bit in self.bits if label & bit)
        yield Round(first, word[-1][0] if word else first, frozenset(bound))


@dataclass(frozen=True, slots=True)
class InnerAggregate:
    """An AGGREGATE inside a pattern: computes an event whenever its scope ends."""

    formula: Aggregate
    bits: tuple[tuple[str, int], ...]
    """The variables it reads, and the bits that mark their events in its scope."""
    end: int
    """The bit of the last event of its scope."""
    inner_aggregates: tuple[int, ...]
    """The AGGREGATEs of its scope, by their numbers in the plan."""

    def rounds(self, word: Sequence[tuple[int, int]]) -> Iterator[Round]:
        """Yield the rounds of the scope, given the positions and labels of a match."""
        bound: set[tuple[str, int]] = set()
        first = 0
        for position, label in word:
            bound.update((name, position) for name, bit in self.bits if label & bit)
            if label & self.end:
                yield Round(first, position, frozenset(bound))
                bound, first = set(), position + 1


class Interval(NamedTuple):
    """The bits of the first and last event of φ in φ UNLESS ψ, for a ψ with deferred conditions."""

    begin: int
    end: int
    absent: int
    """The number of ψ among those of the query."""
    outer: tuple[tuple[str, int], ...] = ()
    """The variables of φ that conditions of ψ name, and the bits of their events."""
    after: bool = False
    """Whether ψ must be absent after φ, until a deadline, and not in its interval."""
