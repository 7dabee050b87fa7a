"""Events, computed events and complex events: the values of the reference semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ensue.analysis.expressions import Value

Positions = frozenset[int]


@dataclass(frozen=True, slots=True)
class Event:
    """An event: type and stream, if any, attributes and time."""

    type: str | None
    attributes: Mapping[str, Any]
    time: int = 0
    stream: str | None = None

    def value(self, path: tuple[str, ...]) -> Value:
        """Return an attribute, NULL where it is absent; `type` is the event's type."""
        if path == ("type",):
            return self.type
        found: Any = self.attributes
        for name in path:
            if not isinstance(found, Mapping):
                return None
            found = found.get(name)
        result: Value = None if isinstance(found, Mapping) else found
        return result


class Computed(NamedTuple):
    """An event that AGGREGATE computed, identified by its place in the text and its end."""

    place: int
    end: int
    columns: tuple[tuple[str, Value], ...]

    def value(self, path: tuple[str, ...]) -> Value:
        """Return a computed column."""
        return dict(self.columns).get(".".join(path))


@dataclass(frozen=True, slots=True)
class ComplexEvent:
    """C = (start, end, bindings): pairs of a variable and a position, or a computed event."""

    start: int
    end: int
    bindings: frozenset[tuple[str, int]] = frozenset()
    computed: frozenset[tuple[str, Computed]] = frozenset()

    @property
    def support(self) -> Positions:
        return frozenset(position for _, position in self.bindings)

    def positions(self, variable: str) -> list[int]:
        return sorted(position for name, position in self.bindings if name == variable)

    def union(self, other: ComplexEvent) -> ComplexEvent:
        """Join two complex events, the empty one being the unit."""
        if self is EMPTY:
            return other
        if other is EMPTY:
            return self
        return ComplexEvent(
            min(self.start, other.start),
            max(self.end, other.end),
            self.bindings | other.bindings,
            self.computed | other.computed,
        )


EMPTY = ComplexEvent(-1, -1)


Meaning = frozenset[ComplexEvent]
