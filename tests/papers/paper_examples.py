"""What the tests of the papers' worked examples share: complex events as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ensue

Event = dict[str, Any]


class ComplexEvent(NamedTuple):
    """An interval of positions and, for each variable that binds something, its positions."""

    start: int
    end: int
    bindings: frozenset[tuple[str, tuple[int, ...]]]

    @property
    def support(self) -> frozenset[int]:
        """The positions bound to some variable: all that most of the papers call a match."""
        return frozenset(position for _, bound in self.bindings for position in bound)


def complex_event(start: int, end: int, bindings: Mapping[str, Sequence[int]]) -> ComplexEvent:
    """Build a complex event; a variable that binds nothing is as good as absent."""
    kept = frozenset((name, tuple(bound)) for name, bound in bindings.items() if bound)
    return ComplexEvent(start, end, kept)


def binding(events: Sequence[Event], *positions: int, **variables: list[int]) -> ComplexEvent:
    """Build the complex event over these positions, in which each event's type binds it too."""
    support = sorted({*positions, *(p for bound in variables.values() for p in bound)})
    types: dict[str, list[int]] = {}
    for position in support:
        types.setdefault(events[position]["type"], []).append(position)
    return complex_event(support[0], support[-1], {**types, **variables})


def recognize(text: str, events: Sequence[Event], **options: Any) -> set[ComplexEvent]:
    """Run a query without computed events, and insist that each match comes once."""
    found = [complex_event(m.start, m.end, m.bindings) for m in ensue.run(text, events, **options)]
    assert len(found) == len(set(found)), "a match was reported more than once"
    return set(found)


def supports(found: set[ComplexEvent]) -> set[frozenset[int]]:
    """Forget intervals and variables, as the papers do that know only sets of positions."""
    return {match.support for match in found}


def sets(*positions: Sequence[int]) -> set[frozenset[int]]:
    """Spell a set of sets of positions: sets([1, 2], [1, 8])."""
    return {frozenset(each) for each in positions}
