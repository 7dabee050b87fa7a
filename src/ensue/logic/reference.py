"""The reference semantics of formulas: slow, and what every other evaluation is tested against.

`Reference.meaning` returns [[φ]](S), the set of complex events of a formula on a (sub)stream,
operator by operator as the specification defines them. Positions are those of the substream;
clauses.py translates them to the stream and adds the clauses of a query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

from ensue.analysis.bound import Column, Window
from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import Attribute, EventType, Value
from ensue.logic import formula as f
from ensue.logic.aggregates import aggregated, derived, value_of
from ensue.logic.complex_event import EMPTY, ComplexEvent, Computed, Event, Meaning, Positions
from ensue.logic.evaluate import Tally, evaluate


@dataclass(slots=True)
class Reference:
    """Evaluates formulas on one (sub)stream; the result of a sub-formula is cached."""

    stream: Sequence[Event]
    tally: Tally = field(default_factory=Tally)
    opens: bool = True
    """Whether the first event here is the first of the (sub)stream, not just of those kept."""
    outer: Mapping[str, Sequence[Event | Computed]] = field(default_factory=dict)
    """The events of variables bound left of an UNLESS, for conditions on its right side."""
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
            case f.Within(formula=inner, window=window):
                return {c for c in self.meaning(inner) if fits(c, window, self.stream)}

    def given(self, c: ComplexEvent, variables: frozenset[str]) -> Reference:
        """Return the reference in which some variables have the events of a complex event."""
        if not variables:
            return self
        same = projected(c, variables)
        key = (variables, same.bindings, same.computed)
        if key not in self._given:
            events = {name: self._events(c, name) for name in variables}
            outer = {**self.outer, **events}
            self._given[key] = Reference(self.stream, self.tally, self.opens, outer)
        return self._given[key]

    def not_followed(self, absence: f.NotFollowed) -> set[ComplexEvent]:
        """Return the matches of φ that no match of ψ follows in time, as SELECT shows them."""
        kept: set[ComplexEvent] = set()
        for c in self.meaning(absence.formula):
            if any(
                d.start > c.end and within(c.end, d.end, absence.window, self.stream)
                for d in self.given(c, absence.outer).meaning(absence.absent)
            ):
                continue
            for operator in absence.shown:
                if isinstance(operator, f.Aggregate):
                    c = self.aggregated(c, operator)
                else:
                    c = projected(c, operator.variables)
            kept.add(c)
        return kept

    # conditions

    def satisfies(self, c: ComplexEvent, condition: f.Atomic) -> bool:
        """Return whether a complex event satisfies a condition."""
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
                return follows_trend([event.value(path) for event in self._events(c, name)], kind)
            case SameKey(keys=keys):
                found = {
                    event.value(path) for name, path in keys for event in self._events(c, name)
                }
                return len(found) <= 1 and None not in found

    def _events(self, c: ComplexEvent, variable: str) -> list[Event | Computed]:
        """Return the events bound to a variable, in order."""
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
        """Return a complex event with the event that an AGGREGATE computes added."""
        event = self.computed(c, formula)
        return ComplexEvent(c.start, c.end, c.bindings, c.computed | {(formula.variable, event)})

    def computed(self, c: ComplexEvent, formula: f.Aggregate) -> Computed:
        """Return the event that an AGGREGATE computes."""
        values = {column.name: self._total(c, column) for column in formula.columns}
        for each in formula.derived:
            values[each.name] = derived(each, values, self.tally)
        return Computed(formula.place, c.end, tuple((name, values[name]) for name in formula.names))

    def _total(self, c: ComplexEvent, column: Column) -> Value:
        values = self.column_values(c, column)
        result = aggregated(column, values)
        may_be_null = column.user is not None or (column.function == "stddev" and len(values) < 2)
        if result is None and values and not may_be_null:
            self.tally.nulls += 1
        return result

    def column_values(self, c: ComplexEvent, column: Column) -> list[Value]:
        """Return the values that a column aggregates: not NULL, in order."""
        events = self._events(c, column.variable)
        if column.argument is None:
            return [True] * len(events)
        values = [value_of(column.argument, event) for event in events]
        return [value for value in values if value is not None]


def within(first: int, last: int, window: Window, stream: Sequence[Event]) -> bool:
    """Return whether two events are no further apart than a window is long."""
    if window.kind == "events":
        return last - first <= window.size
    return stream[last].time - stream[first].time <= window.size


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


def fits(c: ComplexEvent, window: Window | None, stream: Sequence[Event]) -> bool:
    """Return whether time(end) - time(start) of a complex event is within a window."""
    return window is None or within(c.start, c.end, window, stream)


def _followed(left: Iterable[ComplexEvent], right: Meaning, contiguous: bool) -> Meaning:
    """Concatenate complex events, the second after the first, or right after it."""
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
    """Concatenate one, two, three … of them, up to the fixed point."""
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


def follows_trend(values: Sequence[Any], kind: str) -> bool:
    """Return whether values, each with the next, go the way that a trend says."""
    if None in values:
        return False
    return all(_TRENDS[kind](a, b) for a, b in pairwise(values))


def select(complex_events: Iterable[ComplexEvent], strategy: f.Strategy) -> set[ComplexEvent]:
    """Keep what a strategy, as an operator of patterns, selects: rivals have one start and end."""
    if strategy == "START":
        return {c for c in complex_events if c.start == 0}
    if strategy == "STRICT":
        return {c for c in complex_events if _has_no_gap(c.support)}
    rivals = _grouped(complex_events, lambda c: (c.start, c.end))
    return set().union(*(_unbeaten(group, strategy) for group in rivals))


def choose(complex_events: Iterable[ComplexEvent], choice: f.Choice) -> set[ComplexEvent]:
    """Keep what SELECT chooses among the complex events of one (sub)stream inside the window.

    NEXT, LAST and MAX compare all that end together, wherever they start. FIRST takes, of those
    with one start, the ones that end first and among these what NEXT prefers.
    """
    if choice == "FIRST":
        by_start = _grouped(complex_events, lambda c: c.start)
        ending_first = (
            [c for c in group if c.end == min(each.end for each in group)] for group in by_start
        )
        return set().union(*(_unbeaten(group, "NEXT") for group in ending_first))
    by_end = _grouped(complex_events, lambda c: c.end)
    return set().union(*(_unbeaten(group, choice) for group in by_end))


def _grouped(
    complex_events: Iterable[ComplexEvent], key: Callable[[ComplexEvent], object]
) -> Iterable[list[ComplexEvent]]:
    groups: dict[object, list[ComplexEvent]] = defaultdict(list)
    for c in complex_events:
        groups[key(c)].append(c)
    return groups.values()


def _unbeaten(group: Sequence[ComplexEvent], strategy: str) -> set[ComplexEvent]:
    """Keep the complex events that no other of their group beats."""
    beats = _BEATS[strategy]
    supports = {c.support for c in group}
    return {c for c in group if not any(beats(other, c.support) for other in supports)}


def _has_no_gap(support: Positions) -> bool:
    return not support or max(support) - min(support) + 1 == len(support)


_BEATS: dict[str, Callable[[Positions, Positions], bool]] = {
    "NEXT": lambda better, worse: better != worse and min(better ^ worse) in better,
    "LAST": lambda better, worse: better != worse and max(better ^ worse) in better,
    "MAX": lambda better, worse: worse < better,
}
"""Whether the first support beats the second."""
