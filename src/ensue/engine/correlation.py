"""Matches of a ψ that must not happen, found by the conditions that relate them to a match of φ.

ψ is evaluated alone, without the conditions that name variables of φ. Each of its matches is kept
with what those conditions ask of it. A match of φ asks whether one of them lies inside an interval
and satisfies all the conditions with the events of φ.

An equality f(ψ) = g(φ) asks for one value: matches of ψ are kept by value, and of those with one
value only the latest start for each end. So where all conditions are equalities, the answer is a
lookup and a binary search. Other conditions are evaluated on the matches of ψ inside the interval
that the equalities leave.

A condition holds where nothing is bound to one of its variables, on either side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from ensue.analysis.conditions import Relation
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    Operation,
    Value,
    paths_of,
    variables_of,
)
from ensue.automata.registers import Deferred
from ensue.logic.evaluate import Tally, evaluate
from ensue.logic.reference import ComplexEvent, Event, Reference

Bound = frozenset[tuple[str, int]]
"""Variables and the positions of their events, in one round of a condition's scope."""

Events = Mapping[str, Sequence[Event]]
"""The events of variables."""


class _Mark:
    """A value that no expression has."""


ANY = _Mark()
"""Nothing is bound to a variable of the condition, so that it holds."""

_NEVER = _Mark()
"""NULL, or two values at once: equal to nothing."""

_MARKS = (ANY, _NEVER)


class Happening(NamedTuple):
    """A match of ψ, and what its correlated conditions are about."""

    start: int
    end: int
    key: int
    """Its partition, as φ numbers them."""
    rounds: tuple[tuple[Bound, ...], ...]
    """For each condition what is bound in each round of its scope."""
    values: tuple[Any, ...]
    """For each equality the value that φ must have; ANY or a mark that nothing is equal to."""
    events: Mapping[int, Event]
    """The events that other conditions look at."""

    def saved(self) -> tuple[Any, ...]:
        """Write it down as plain values."""
        values = tuple(_MARKS.index(v) if isinstance(v, _Mark) else (v,) for v in self.values)
        events = tuple(
            (at, each.type, each.stream, each.time, dict(each.attributes))
            for at, each in sorted(self.events.items())
        )
        return self.start, self.end, self.key, self.rounds, values, events

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> Happening:
        """Read what `saved` wrote."""
        start, end, key, rounds, values, events = saved
        read = tuple(_MARKS[v] if isinstance(v, int) else v[0] for v in values)
        return cls(
            start,
            end,
            key,
            rounds,
            read,
            {
                at: Event(kind, attributes, time, stream)
                for at, kind, stream, time, attributes in events
            },
        )


class Equality(NamedTuple):
    """f(ψ) = g(φ)."""

    number: int
    """Of the condition."""
    inner: Expression
    outer: Expression


@dataclass(frozen=True, slots=True)
class Correlation:
    """The conditions that relate matches of ψ to those of φ."""

    conditions: tuple[Deferred, ...]
    outer: frozenset[str]
    tally: Tally = field(default_factory=Tally)
    equalities: tuple[Equality, ...] = field(init=False)
    others: tuple[int, ...] = field(init=False)
    """The numbers of the conditions that are no equalities."""

    def __post_init__(self) -> None:
        every = [equality(each, self.outer) for each in self.conditions]
        equalities = [
            Equality(number, *sides) for number, sides in enumerate(every) if sides is not None
        ]
        object.__setattr__(self, "equalities", tuple(equalities))
        others = tuple(number for number, sides in enumerate(every) if sides is None)
        object.__setattr__(self, "others", others)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the conditions read, on either side."""
        every = (paths_of(read) for each in self.conditions for read in each.expressions())
        return frozenset(path[0] for paths in every for path in paths)

    def rounds(self, labels: Sequence[tuple[int, int]]) -> tuple[tuple[Bound, ...], ...]:
        """Return what each condition is about, given the labels of a match of ψ."""
        return tuple(
            tuple(round.bound for round in each.rounds(labels)) for each in self.conditions
        )

    def happening(
        self,
        start: int,
        end: int,
        key: int,
        rounds: tuple[tuple[Bound, ...], ...],
        events: Callable[[int], Event],
    ) -> Happening:
        """Work out what the conditions ask of a match of ψ."""
        values = tuple(
            self._value(each.inner, rounds[each.number], events) for each in self.equalities
        )
        looked_at = {
            position for number in self.others for bound in rounds[number] for _, position in bound
        }
        return Happening(
            start, end, key, rounds, values, {position: events(position) for position in looked_at}
        )

    def _value(
        self, expression: Expression, rounds: Iterable[Bound], events: Callable[[int], Event]
    ) -> Any:
        """Return the one value of an expression on all choices of events."""
        found: set[Value] = set()
        if isinstance(expression, Attribute):
            found = {events(at).value(expression.path) for bound in rounds for _, at in bound}
            rounds = ()
        for bound in rounds:
            by_name: dict[str, list[Event]] = {name: [] for name in variables_of(expression)}
            for name, position in bound:
                by_name[name].append(events(position))
            found.update(self._values(expression, by_name))
        if not found:
            return ANY
        return _NEVER if len(found) > 1 or None in found else found.pop()

    def _values(self, expression: Expression, events: Events) -> Iterator[Value]:
        names = list(events)
        for choice in product(*events.values()):
            chosen = dict(zip(names, choice, strict=True))

            def lookup(name: Attribute | EventType, chosen: Mapping[Any, Event] = chosen) -> Value:
                event = chosen[name.variable]
                return event.type if isinstance(name, EventType) else event.value(name.path)

            yield evaluate(expression, lookup, self.tally)

    def wanted(self, outer: Events) -> tuple[Any, ...]:
        """Return the values that the events of φ have for the equalities."""
        found: list[Any] = []
        for each in self.equalities:
            if isinstance(each.outer, Attribute):
                of, path = outer[each.outer.variable or ""], each.outer.path
                values = [event.value(path) for event in of]
            else:
                events = {name: outer[name] for name in variables_of(each.outer)}
                values = list(self._values(each.outer, events))
            found.append(ANY if not values else _NEVER if values[0] is None else values[0])
        return tuple(found)

    def satisfied(self, happening: Happening, outer: Events) -> bool:
        """Tell whether a match of ψ satisfies the conditions that are no equalities."""
        stream: Any = happening.events
        reference = Reference(stream, self.tally, outer=outer)
        for number in self.others:
            condition = self.conditions[number].condition
            for bound in happening.rounds[number]:
                c = ComplexEvent(happening.start, happening.end, bound)
                if bound and not reference.satisfies(c, condition):
                    return False
        return True


def equality(deferred: Deferred, outer: frozenset[str]) -> tuple[Expression, Expression] | None:
    """Write a condition as f(ψ) = g(φ); None: it is another."""
    match deferred.condition:
        case Relation(predicate=Operation(name="=", arguments=(left, right))):
            sides = (left, right)
        case _:
            return None
    for inner, other in (sides, sides[::-1]):
        mine, theirs = variables_of(inner), variables_of(other)
        if mine and theirs and mine.isdisjoint(outer) and theirs <= outer:
            return inner, other
    return None


@dataclass(slots=True)
class _Ends:
    """Matches of ψ with one value, in the order of their ends."""

    ends: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where all conditions are equalities, both increase: what starts no later is left out."""
    happenings: list[Happening] = field(default_factory=list)

    def add(self, happening: Happening, latest_only: bool) -> None:
        start, end = happening.start, happening.end
        if latest_only:
            if self.starts and self.starts[-1] >= start:
                return
            if self.ends and self.ends[-1] == end:
                self.starts[-1] = start
                return
        else:
            self.happenings.append(happening)
        self.ends.append(end)
        self.starts.append(start)


@dataclass(slots=True)
class _Index:
    """Matches of ψ by key and by the values of the equalities that are asked for."""

    asked: tuple[bool, ...]
    latest_only: bool
    by_value: dict[tuple[int, tuple[Any, ...]], _Ends] = field(default_factory=dict)
    free: set[tuple[bool, ...]] = field(default_factory=set)
    """Which of the equalities hold for whatever φ has, as they come with matches of ψ."""
    taken: int = 0

    def take(self, happenings: list[Happening]) -> None:
        """Take in what came since."""
        if self.taken == len(happenings):
            return
        for happening in happenings[self.taken :]:
            pairs = zip(happening.values, self.asked, strict=True)
            values = tuple(value if asked else ANY for value, asked in pairs)
            if _NEVER not in values:
                self.free.add(tuple(value is ANY for value in values))
                ends = self.by_value.setdefault((happening.key, values), _Ends())
                ends.add(happening, self.latest_only)
        self.taken = len(happenings)

    def candidates(self, key: int, wanted: tuple[Any, ...]) -> Iterator[_Ends]:
        """Give the matches of ψ with the wanted values, or with none of their own."""
        for free in self.free:
            pairs = zip(wanted, free, strict=True)
            values = tuple(ANY if open_ else value for value, open_ in pairs)
            found = self.by_value.get((key, values))
            if found is not None:
                yield found


@dataclass(slots=True)
class Happened:
    """The matches of ψ so far, in the order of their ends.

    What is added later ends later, so whoever asks about earlier ends may go on to do so. To
    forget what is old makes a new value.
    """

    correlation: Correlation
    happenings: list[Happening] = field(default_factory=list)
    _indexes: dict[tuple[bool, ...], _Index] = field(default_factory=dict)
    """By which equalities are asked for: all, where all their variables are bound."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns of events of φ that are looked at."""
        return self.correlation.columns

    def add(
        self,
        start: int,
        end: int,
        key: int,
        rounds: tuple[tuple[Bound, ...], ...],
        events: Callable[[int], Event],
    ) -> None:
        """Note a match of ψ; its end is none before that of the last."""
        self.happenings.append(self.correlation.happening(start, end, key, rounds, events))

    def since(self, position: int) -> Happened:
        """Return the matches that start at a position or later."""
        kept = [each for each in self.happenings if each.start >= position]
        return Happened(self.correlation, kept)

    def inside(self, key: int, first: int, last: int, outer: Events) -> bool:
        """Tell whether a match of ψ in an interval satisfies the conditions with these events."""
        wanted = self.correlation.wanted(outer)
        asked = tuple(value is not ANY for value in wanted)
        latest_only = not self.correlation.others
        index = self._indexes.get(asked)
        if index is None:
            index = self._indexes[asked] = _Index(asked, latest_only)
        index.take(self.happenings)
        for found in index.candidates(key, wanted):
            ended = bisect_right(found.ends, last)
            if latest_only:
                if ended and found.starts[ended - 1] >= first:
                    return True
                continue
            for place in range(bisect_left(found.ends, first), ended):
                happening = found.happenings[place]
                if happening.start >= first and self.correlation.satisfied(happening, outer):
                    return True
        return False
