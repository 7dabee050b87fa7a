"""Which variables a pattern can bind, to events of which types, and how often.

Every event of a pattern is an atom of its text; an atom has the variables that its event is
bound to: its type and the names given by AS around it, except those that PROJECT drops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ensue.analysis.types import Type, joined
from ensue.errors import Span
from ensue.language import tree

ANY = "ANY"


@dataclass(frozen=True, slots=True)
class Atom:
    """One event of a pattern: its type (None: any) and the variables it is bound to."""

    type: str | None
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: the types of its events, or the columns of its computed event."""

    name: str
    types: frozenset[str] | None = None
    """None: events of any type."""
    computed: Mapping[str, Type] | None = None


_SEVERAL = 2
"""Stands for any number of events above one."""


@dataclass(slots=True)
class Variables:
    """The variables of patterns; results are cached for each pattern."""

    columns: dict[Span, Mapping[str, Type]] = field(default_factory=dict)
    """Types of computed columns by the span of their AGGREGATE's variable."""
    _atoms: dict[int, tuple[Atom, ...]] = field(default_factory=dict)
    _names: dict[int, frozenset[str]] = field(default_factory=dict)

    def atoms(self, pattern: tree.Pattern) -> tuple[Atom, ...]:
        """Return the events that a pattern can bind, in the order of the text."""
        known = self._atoms.get(id(pattern))
        if known is None:
            known = self._atoms[id(pattern)] = self._find_atoms(pattern)
        return known

    def _find_atoms(self, pattern: tree.Pattern) -> tuple[Atom, ...]:
        match pattern:
            case tree.Event(type=word):
                name = None if word is None else word.text
                return (Atom(name, frozenset({name or ANY})),)
            case tree.Absent():
                return ()
            case tree.Named(pattern=inner, variable=word):
                return tuple(
                    Atom(atom.type, atom.variables | {word.text}) for atom in self.atoms(inner)
                )
            case tree.Projected(pattern=inner, variables=words):
                kept = {word.text for word in words}
                atoms = (Atom(atom.type, atom.variables & kept) for atom in self.atoms(inner))
                return tuple(atom for atom in atoms if atom.variables)
            case tree.Sequence(items=items) | tree.Combined(items=items):
                return tuple(atom for item in items for atom in self.atoms(item))
            case _:
                return self.atoms(pattern.pattern)

    def of(self, pattern: tree.Pattern) -> dict[str, Variable]:
        """Return the variables that a pattern can bind, by name."""
        found: dict[str, Variable] = {}
        for name, computed in self.computed(pattern).items():
            found[name] = Variable(name, frozenset(), computed)
        for atom in self.atoms(pattern):
            types = None if atom.type is None else frozenset({atom.type})
            for name in sorted(atom.variables):
                known = found.get(name)
                if known is None or known.computed is not None:
                    found[name] = Variable(name, types)
                elif known.types is not None:
                    both = None if types is None else known.types | types
                    found[name] = Variable(name, both)
        return found

    def names(self, pattern: tree.Pattern) -> frozenset[str]:
        """Return the names of all variables that a pattern can bind."""
        known = self._names.get(id(pattern))
        if known is None:
            bound = (atom.variables for atom in self.atoms(pattern))
            known = frozenset().union(*bound, self.computed(pattern))
            self._names[id(pattern)] = known
        return known

    def may_repeat(self, pattern: tree.Pattern, variable: str) -> bool:
        """Return whether a match of the pattern may bind a variable to more than one event."""
        return self._most_events(pattern, frozenset({variable})) >= _SEVERAL

    def _most_events(self, pattern: tree.Pattern, names: frozenset[str] | None) -> int:
        """Bound the number of events bound to some of the names (None: any); 2 means several."""
        if names is not None and names.isdisjoint(self.names(pattern)):
            return 0
        match pattern:
            case tree.Event():
                return 1
            case tree.Absent():
                return 0
            case tree.Named(pattern=inner, variable=word):
                whole = names is None or word.text in names
                return self._most_events(inner, None if whole else names)
            case tree.Projected(pattern=inner, variables=words):
                kept = frozenset(word.text for word in words)
                return self._most_events(inner, kept if names is None else kept & names)
            case tree.Repeated(pattern=inner, high=high):
                once = self._most_events(inner, names)
                return once if high == 1 else min(_SEVERAL, once * _SEVERAL)
            case tree.Combined(operator="OR" | "AND", items=items):
                return max(self._most_events(item, names) for item in items)
            case tree.Sequence(items=items) | tree.Combined(items=items):
                return min(_SEVERAL, sum(self._most_events(item, names) for item in items))
            case tree.Aggregated(pattern=inner, variable=word):
                computed = int(names is not None and word.text in names)
                return min(_SEVERAL, computed + self._most_events(inner, names))
            case _:
                return self._most_events(pattern.pattern, names)

    def computed(self, pattern: tree.Pattern) -> dict[str, dict[str, Type]]:
        """Return the computed variables of a pattern with the columns of their events."""
        match pattern:
            case tree.Event() | tree.Absent():
                return {}
            case tree.Sequence(items=items) | tree.Combined(items=items):
                merged: dict[str, dict[str, Type]] = {}
                for item in items:
                    for name, columns in self.computed(item).items():
                        _join(merged.setdefault(name, {}), columns)
                return merged
            case tree.Projected(pattern=inner, variables=words):
                kept = {word.text for word in words}
                return {name: each for name, each in self.computed(inner).items() if name in kept}
            case tree.Aggregated(pattern=inner, variable=word):
                found = self.computed(inner)
                _join(found.setdefault(word.text, {}), self.columns.get(word.span, {}))
                return found
            case _:
                return self.computed(pattern.pattern)


def _join(known: dict[str, Type], columns: Mapping[str, Type]) -> None:
    """Add columns; one that several AGGREGATEs compute has the type of all its values."""
    for name, kind in columns.items():
        known[name] = joined(known.get(name, kind), kind) or kind


def always_bound(pattern: tree.Pattern) -> frozenset[str]:
    """Return the variables that every match of the pattern binds."""
    match pattern:
        case tree.Event(type=word):
            return frozenset({ANY if word is None else word.text})
        case tree.Absent():
            return frozenset()
        case tree.Named(pattern=inner, variable=word):
            names = always_bound(inner)
            return names | {word.text} if names else names
        case tree.Projected(pattern=inner, variables=words):
            return always_bound(inner) & {word.text for word in words}
        case tree.Repeated(low=0):
            return frozenset()
        case tree.Combined(operator="OR", items=items):
            return frozenset.intersection(*(always_bound(item) for item in items))
        case tree.Sequence(items=items) | tree.Combined(items=items):
            return frozenset.union(*(always_bound(item) for item in items))
        case _:
            return always_bound(pattern.pattern)


def always_computed(pattern: tree.Pattern) -> frozenset[str]:
    """Return the variables that every match of the pattern binds to a computed event."""
    match pattern:
        case tree.Event() | tree.Absent() | tree.Repeated(low=0):
            return frozenset()
        case tree.Projected(pattern=inner, variables=words):
            return always_computed(inner) & {word.text for word in words}
        case tree.Combined(operator="OR", items=items):
            return frozenset.intersection(*(always_computed(item) for item in items))
        case tree.Sequence(items=items) | tree.Combined(items=items):
            return frozenset.union(*(always_computed(item) for item in items))
        case tree.Aggregated(pattern=inner, variable=word):
            return always_computed(inner) | {word.text}
        case _:
            return always_computed(pattern.pattern)
