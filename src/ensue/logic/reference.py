"""The meaning of CEQL by definition: slow, obvious, and the judge of everything else.

`meaning` gives [[φ]](S), the set of complex events of a formula on a (sub)stream, operator by
operator as the language page defines them; `answer` adds the clauses of a query in their order.
Positions inside `meaning` are those of the substream; `answer` translates them back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise, product
from typing import Any, NamedTuple

from ensue.analysis.bound import Column, Interval, Totals, Window
from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import Attribute, EventType, Value
from ensue.logic import formula as f
from ensue.logic.aggregates import aggregate
from ensue.logic.evaluate import Tally, evaluate

Positions = frozenset[int]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type and stream where it has them, its attributes, its time."""

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
    """An event that AGGREGATE made, identified by its place in the text and its end."""

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


@dataclass(slots=True)
class Reference:
    """Evaluates formulas on one (sub)stream; every sub-formula once."""

    stream: Sequence[Event]
    tally: Tally = field(default_factory=Tally)
    opens: bool = True
    """Whether the first event here is the first of the (sub)stream, not just the first kept."""
    outer: Mapping[str, Sequence[Event | Computed]] = field(default_factory=dict)
    """The events of variables that are bound left of an UNLESS, for what stands right of it."""
    _known: dict[int, tuple[f.Formula, Meaning]] = field(default_factory=dict)
    _given: dict[Any, Reference] = field(default_factory=dict)

    def meaning(self, formula: f.Formula) -> Meaning:
        """Return the set of complex events of a formula."""
        known = self._known.get(id(formula))
        if known is None:
            known = self._known[id(formula)] = (formula, frozenset(self._define(formula)))
        return known[1]

    def _define(self, formula: f.Formula) -> Iterable[ComplexEvent]:
        match formula:
            case f.Atom(type=kind, stream=stream, variable=name):
                return {
                    ComplexEvent(i, i, frozenset({(name, i)}))
                    for i, event in enumerate(self.stream)
                    if (kind is None or event.type == kind)
                    and (stream is None or event.stream in (None, stream))
                }
            case f.Absent(formula=inner):
                such = {c.start for c in self.meaning(inner)}
                return {ComplexEvent(i, i) for i in range(len(self.stream)) if i not in such}
            case f.Empty():
                return {EMPTY}
            case f.Named(formula=inner, variable=name):
                return {_named(c, name) for c in self.meaning(inner)}
            case f.Repeat(formula=inner, contiguous=contiguous):
                return _repeated(self.meaning(inner), contiguous)
            case f.Sequence(items=items, contiguous=contiguous):
                found = self.meaning(items[0])
                for item in items[1:]:
                    found = _followed(found, self.meaning(item), contiguous)
                return found
            case f.Or(items=items):
                return frozenset().union(*map(self.meaning, items))
            case f.And(items=items):
                return frozenset.intersection(*map(self.meaning, items))
            case f.All(items=items):
                found = self.meaning(items[0])
                for item in items[1:]:
                    found = frozenset(a.union(b) for a in found for b in self.meaning(item))
                return found
            case f.Unless(formula=inner, absent=absent, outer=outer):
                return {
                    c
                    for c in self.meaning(inner)
                    if not any(
                        c.start <= b.start and b.end <= c.end
                        for b in self.given(c, outer).meaning(absent)
                    )
                }
            case f.Filter(formula=inner, conditions=conditions):
                return {
                    c
                    for c in self.meaning(inner)
                    if all(self.satisfies(c, condition) for condition in conditions)
                }
            case f.Aggregate(formula=inner):
                return {self.aggregated(c, formula) for c in self.meaning(inner)}
            case f.Project(formula=inner, variables=names):
                return {projected(c, names) for c in self.meaning(inner)}
            case f.Select(strategy="START") if not self.opens:
                return ()
            case f.Select(formula=inner, support=frozenset() as names):
                supports = ((c, projected(c, names).support) for c in self.meaning(inner))
                return {c for c, support in supports if _has_no_gap(support)}
            case f.Select(formula=inner, strategy=strategy):
                return select(self.meaning(inner), strategy)

    def given(self, c: ComplexEvent, variables: frozenset[str]) -> Reference:
        """Return the reference in which some variables mean the events of a complex event."""
        if not variables:
            return self
        same = projected(c, variables)
        key = (variables, same.bindings, same.computed)
        if key not in self._given:
            events = {name: self._events(c, name) for name in variables}
            outer = {**self.outer, **events}
            self._given[key] = Reference(self.stream, self.tally, self.opens, outer)
        return self._given[key]

    # conditions

    def satisfies(self, c: ComplexEvent, condition: f.Atomic) -> bool:
        """Tell whether a condition holds for a complex event."""
        match condition:
            case Each(variable=name, predicate=predicate):
                return all(
                    self._evaluate(predicate, {None: event}.__getitem__)
                    for event in self._events(c, name)
                )
            case Relation(variables=names, predicate=predicate):
                choices = product(*(self._events(c, name) for name in names))
                return all(
                    self._evaluate(predicate, dict(zip(names, choice, strict=True)).__getitem__)
                    for choice in choices
                )
            case Trend(variable=name, kind=kind, path=path):
                return _follows_trend([event.value(path) for event in self._events(c, name)], kind)
            case SameKey(keys=keys):
                found = {
                    event.value(path) for name, path in keys for event in self._events(c, name)
                }
                return len(found) <= 1 and None not in found

    def _events(self, c: ComplexEvent, variable: str) -> list[Event | Computed]:
        """Return what is bound to a variable, in order."""
        if variable in self.outer:
            return list(self.outer[variable])
        events: list[tuple[int, int, Event | Computed]] = [
            (i, -1, self.stream[i]) for i in c.positions(variable)
        ]
        events += [(y.end, y.place, y) for name, y in c.computed if name == variable]
        return [event for *_, event in sorted(events, key=lambda each: each[:2])]

    def _evaluate(self, predicate: Any, chosen: Callable[[Any], Any]) -> bool:
        def lookup(name: Attribute | EventType) -> Value:
            event = chosen(name.variable)
            if isinstance(name, EventType):
                kind: Value = event.type
                return kind
            value: Value = event.value(name.path)
            return value

        return evaluate(predicate, lookup, self.tally) is True

    # aggregation

    def aggregated(self, c: ComplexEvent, formula: f.Aggregate) -> ComplexEvent:
        """Add the event that an AGGREGATE computes."""
        event = self.computed(c, formula)
        return ComplexEvent(c.start, c.end, c.bindings, c.computed | {(formula.variable, event)})

    def computed(self, c: ComplexEvent, formula: f.Aggregate) -> Computed:
        """Return the event that an AGGREGATE computes."""
        columns = tuple((column.name, self._total(c, column)) for column in formula.columns)
        return Computed(formula.place, c.end, columns)

    def _total(self, c: ComplexEvent, column: Column) -> Value:
        values = self.column_values(c, column)
        result = aggregate(column.function, values)
        if result is None and values and not (column.function == "stddev" and len(values) < 2):
            self.tally.nulls += 1
        return result

    def column_values(self, c: ComplexEvent, column: Column) -> list[Value]:
        """Return the values that a column aggregates: not NULL, in order."""
        events = self._events(c, column.variable)
        if column.path is None:
            return [True] * len(events)
        values = [event.value(column.path) for event in events]
        return [value for value in values if value is not None]


def _named(c: ComplexEvent, name: str) -> ComplexEvent:
    bound = frozenset((name, i) for i in c.support)
    return ComplexEvent(c.start, c.end, c.bindings | bound, c.computed)


def projected(c: ComplexEvent, names: frozenset[str]) -> ComplexEvent:
    """Keep the bindings of some variables only."""
    return ComplexEvent(
        c.start,
        c.end,
        frozenset(pair for pair in c.bindings if pair[0] in names),
        frozenset(pair for pair in c.computed if pair[0] in names),
    )


def _followed(left: Iterable[ComplexEvent], right: Meaning, contiguous: bool) -> Meaning:
    """Join what ends with what starts after it, or right after it."""
    if contiguous:
        by_start: dict[int, list[ComplexEvent]] = defaultdict(list)
        for b in right:
            by_start[b.start].append(b)
        found = {a.union(b) for a in left for b in by_start[a.end + 1] if a is not EMPTY}
    else:
        found = {a.union(b) for a in left for b in right if a is not EMPTY and a.end < b.start}
    if EMPTY in left:
        found |= right
    if EMPTY in right:
        found.update(left)
    return frozenset(found)


def _repeated(once: Meaning, contiguous: bool) -> Meaning:
    """Join one, two, three … of them until nothing new appears."""
    found, last = once, once
    while last:
        last = _followed(last, once, contiguous) - found
        found |= last
    return found


_TRENDS: dict[str, Callable[[Any, Any], bool]] = {
    "same": lambda a, b: a == b,
    "increasing": lambda a, b: a < b,
    "decreasing": lambda a, b: a > b,
    "nondecreasing": lambda a, b: a <= b,
    "nonincreasing": lambda a, b: a >= b,
}


def _follows_trend(values: list[Value], kind: str) -> bool:
    if None in values:
        return False
    return all(_TRENDS[kind](a, b) for a, b in pairwise(values))


def select(complex_events: Iterable[ComplexEvent], strategy: f.Strategy) -> set[ComplexEvent]:
    """Keep what a strategy selects among complex events."""
    if strategy == "START":
        return {c for c in complex_events if c.start == 0}
    if strategy == "STRICT":
        return {c for c in complex_events if _has_no_gap(c.support)}
    rivals: dict[tuple[int, int], set[ComplexEvent]] = defaultdict(set)
    for c in complex_events:
        rivals[c.start, c.end].add(c)
    beats = _BEATS[strategy]
    kept: set[ComplexEvent] = set()
    for group in rivals.values():
        supports = {c.support for c in group}
        kept |= {c for c in group if not any(beats(other, c.support) for other in supports)}
    return kept


def _has_no_gap(support: Positions) -> bool:
    return not support or max(support) - min(support) + 1 == len(support)


_BEATS: dict[str, Callable[[Positions, Positions], bool]] = {
    "NEXT": lambda better, worse: better != worse and min(better ^ worse) in better,
    "LAST": lambda better, worse: better != worse and max(better ^ worse) in better,
    "MAX": lambda better, worse: worse < better,
}
"""Whether the first support beats the second."""


# --- queries ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """What a query asks for, clause by clause."""

    formula: f.Formula
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: str = "NONE"
    limit: int | None = None
    totals: Totals | None = None
    every: Interval | None = None
    positions_only: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A match with positions of the whole stream, and the key of its partition."""

    key: tuple[Value, ...]
    match: ComplexEvent


@dataclass(frozen=True, slots=True)
class Row:
    """A row of count(*): where it was completed, or which interval, and the totals by name."""

    event: int
    """The position of an event that completed one of the matches."""
    time: int
    totals: Mapping[str, Value]


@dataclass(slots=True)
class Answer:
    """Everything a query says about a stream."""

    matches: list[Found]
    rows: list[Row]
    tally: Tally


def answer(plan: Plan, stream: Sequence[Event]) -> Answer:
    """Evaluate a query on a whole stream."""
    tally = Tally()
    found: list[Found] = []
    for key, positions in partition(plan, stream).items():
        found += found_in(plan, key, positions, Reference([stream[i] for i in positions], tally))
    found = consumed(in_order(found), plan.consume, forgotten_nothing())
    if plan.totals is None:
        return Answer(limited(found, plan.limit), [], tally)
    gathering = Gathering(plan, plan.totals)
    gathering.add(found, Reference(stream, tally))
    return Answer([], gathering.take(None), tally)


def partition(plan: Plan, stream: Sequence[Event]) -> dict[tuple[Value, ...], list[int]]:
    """Split a stream by its partition attributes; events with a NULL there are left out."""
    substreams: dict[tuple[Value, ...], list[int]] = defaultdict(list)
    for i, event in enumerate(stream):
        key = tuple(event.value(path) for path in plan.partition)
        if None not in key:
            substreams[key].append(i)
    return substreams


def found_in(
    plan: Plan,
    key: tuple[Value, ...],
    positions: Sequence[int],
    reference: Reference,
    since: int = 0,
) -> list[Found]:
    """Return the matches in a substream that end at its event number `since` or later."""
    complex_events: Iterable[ComplexEvent] = reference.meaning(plan.formula)
    if plan.positions_only:
        complex_events = {support_only(c) for c in complex_events}
    return [
        Found(key, _translated(c, positions))
        for c in complex_events
        if c.end >= since and _within(c, plan.window, reference.stream)
    ]


def in_order(found: Iterable[Found]) -> list[Found]:
    """Sort matches by their ends, the latest start first."""
    return sorted(found, key=lambda each: (each.match.end, -each.match.start, _order(each.match)))


def support_only(c: ComplexEvent) -> ComplexEvent:
    """Forget which variable an event is bound to, and computed events."""
    return ComplexEvent(c.start, c.end, frozenset(("", i) for i in c.support))


def _within(c: ComplexEvent, window: Window | None, stream: Sequence[Event]) -> bool:
    if window is None:
        return True
    if window.kind == "events":
        return c.end - c.start <= window.size
    return stream[c.end].time - stream[c.start].time <= window.size


def _translated(c: ComplexEvent, positions: Sequence[int]) -> ComplexEvent:
    """Give positions of a substream as those of the whole stream."""
    return ComplexEvent(
        positions[c.start],
        positions[c.end],
        frozenset((name, positions[i]) for name, i in c.bindings),
        frozenset((name, y._replace(end=positions[y.end])) for name, y in c.computed),
    )


def _order(c: ComplexEvent) -> tuple[Any, ...]:
    """Any fixed order, so that results do not depend on hashing."""
    return sorted(c.bindings), sorted((name, y.place, y.end, repr(y)) for name, y in c.computed)


Forgotten = dict[tuple[Value, ...], int]
"""Up to where everything is forgotten, by key."""


def forgotten_nothing() -> Forgotten:
    """Begin with nothing forgotten."""
    return defaultdict(lambda: -1)


def consumed(found: list[Found], consume: str, forgotten: Forgotten) -> list[Found]:
    """Forget, at each event that completes a match, everything up to it."""
    if consume == "NONE":
        return found
    kept: list[Found] = []
    for end, group in groupby(found, key=lambda each: each.match.end):
        completed = list(group)
        key = completed[0].key if consume == "PARTITION" else ()
        alive = [each for each in completed if each.match.start > forgotten[key]]
        if alive:
            forgotten[key] = end
            kept += alive
    return kept


def limited(found: list[Found], limit: int | None) -> list[Found]:
    """Keep the first matches of each completing event."""
    if limit is None:
        return found
    return [
        each
        for _, group in groupby(found, key=lambda each: each.match.end)
        for each in islice(group, limit)
    ]


@dataclass(slots=True)
class Group:
    """Matches of one completing event or interval: how many, and the values they bind."""

    event: int
    time: int
    number: int
    """Of the interval; of the event where there is none."""
    count: int = 0
    values: dict[str, list[Value]] = field(default_factory=dict)


@dataclass(slots=True)
class Gathering:
    """Rows of count(*) in the making, by completing event or by interval, and by key."""

    plan: Plan
    totals: Totals
    groups: dict[tuple[Any, ...], Group] = field(default_factory=dict)

    def add(self, found: Iterable[Found], whole: Reference) -> None:
        """Count matches, and gather what they bind."""
        every = self.plan.every
        for each in found:
            end = each.match.end
            number, time = end, whole.stream[end].time
            if every is not None:
                number = time * every.unit // every.length
                time = number * every.length // every.unit
            group = self.groups.setdefault((number, each.key), Group(end, time, number))
            group.count += 1
            for column in self.totals.columns:
                values = group.values.setdefault(column.name, [])
                values += whole.column_values(each.match, column)

    def take(self, before: int | None) -> list[Row]:
        """Return the rows that are complete when time has reached `before` (None: all)."""
        every = self.plan.every
        ready = list(self.groups.items())
        if every is not None and before is not None:
            now = before * every.unit // every.length
            ready = [(key, group) for key, group in ready if group.number < now]
        for key, _ in ready:
            del self.groups[key]
        return [Row(group.event, group.time, self._totals(group)) for _, group in ready]

    def _totals(self, group: Group) -> dict[str, Value]:
        result: dict[str, Value] = {self.totals.count: group.count}
        for column in self.totals.columns:
            result[column.name] = aggregate(column.function, group.values.get(column.name, []))
        return {name: result[name] for name in self.totals.order}
