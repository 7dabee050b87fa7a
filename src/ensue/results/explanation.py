"""Why a match is one: its events, the variables that they are bound to, and what held with values.

Conditions are evaluated once more, on the events of the match, by the reference's own functions. A
variable that SELECT does not show is not known of a match, so what is about it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    Operation,
    Value,
    subexpressions,
)
from ensue.drawing.html import view
from ensue.logic.complex_event import Computed, Event
from ensue.logic.evaluate import evaluate
from ensue.logic.formula import Atomic, condition_variables
from ensue.logic.reference import follows_trend
from ensue.plan.satisfied import Satisfied
from ensue.predicates.arrow_values import python_value
from ensue.predicates.vectors import column_at
from ensue.stream.reference_events import to_events

if TYPE_CHECKING:
    from ensue.results.match import Match

_MOST_CHOICES = 1_000
"""Of the choices of events that a condition compares, so many are looked at."""

_MOST_SHOWN = 3
"""Of the values that a condition held with, so many are shown."""

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class BoundEvent:
    """An event of a match, and the variables that it is bound to."""

    position: int
    variables: tuple[str, ...]
    type: str | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeldCondition:
    """A condition that a match satisfies, and the values that it held with."""

    text: str
    values: tuple[str, ...]
    """Such as '28.5 > 27.3'; one for each choice of events, as far as they are shown."""
    more: int = 0
    """How many more choices of events it held for."""

    def __str__(self) -> str:
        rest = f", and {self.more:,} more" if self.more else ""
        return f"{self.text}:  {', '.join(self.values)}{rest}"


@dataclass(frozen=True, slots=True)
class MatchExplanation:
    """Why a match is one; print() shows it."""

    start: int
    end: int
    start_time: Any
    end_time: Any
    events: tuple[BoundEvent, ...]
    conditions: tuple[HeldCondition, ...]
    window: str = ""
    """The window, and how much of it the match took."""
    absences: tuple[str, ...] = field(default=())
    """What did not happen inside the match."""

    def __str__(self) -> str:
        times = ""
        if (self.start_time, self.end_time) != (self.start, self.end):
            times = f", {shown(self.start_time)} to {shown(self.end_time)}"
        lines = [f"match {self.start}..{self.end}{times}"]
        lines += [f"  {line}" for line in _event_lines(self.events)]
        lines += [f"  {each}" for each in self.conditions]
        lines += [f"  {self.window}"] if self.window else []
        lines += [f"  no {each} in between" for each in self.absences]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return view(f"<pre>{escape(str(self))}</pre>")


def _event_lines(events: Sequence[BoundEvent]) -> Iterator[str]:
    names = [", ".join(each.variables) for each in events]
    width = max(map(len, names), default=0)
    digits = max((len(str(each.position)) for each in events), default=0)
    for each, name in zip(events, names, strict=True):
        values = "  ".join(f"{key}={shown(value)}" for key, value in each.attributes.items())
        yield f"{each.position:>{digits}}  {name:<{width}}  {values}".rstrip()


def explain_match(match: Match) -> MatchExplanation:
    """Say why a match is one."""
    chunk = match.chunk
    bound: dict[int, list[str]] = {position: [] for position in match.positions}
    for name, positions in match.bindings.items():
        for position in positions:
            bound[position].append(name)
    rows = chunk.stream.rows_at(np.array([*bound], np.int64))
    types = chunk.stream.types.take(pa.array(rows)).to_pylist()
    shown_events = tuple(
        BoundEvent(position, own_names(names, kind), kind, row)
        for (position, names), kind, row in zip(
            bound.items(), types, chunk.rows([*bound], None), strict=True
        )
    )
    satisfied = chunk.schema.satisfied
    return MatchExplanation(
        match.start,
        match.end,
        match.start_time,
        match.end_time,
        shown_events,
        tuple(held_conditions(satisfied, events_of(match))),
        _window_used(satisfied, match),
        satisfied.absences,
    )


def events_of(match: Match) -> Given:
    """Return the events bound to each variable, also computed ones, for the reference."""
    chunk, positions = match.chunk, match.positions
    rows = chunk.stream.take(chunk.stream.rows_at(np.array(positions, np.int64)))
    events = dict(zip(positions, to_events(rows), strict=True))
    given: dict[str, Sequence[Event | Computed]] = {
        name: [events[at] for at in some] for name, some in match.bindings.items()
    }
    return given | {name: match.computed_events(name) for name in chunk.schema.computed}


def rows_inside(match: Match, most: int) -> np.ndarray:
    """Return which rows of its batch lie inside a match, of its own partition; at most so many.

    Of a live stream, only those are there that partial matches needed.
    """
    chunk, table = match.chunk, match.chunk.stream.table
    begin, end = chunk.stream.rows_at(np.array([match.start, match.end])).tolist()
    rows = np.arange(begin, min(end + 1, begin + most))
    for path in chunk.schema.partition:
        column = column_at(table, path)
        same = pc.fill_null(pc.equal(column.take(pa.array(rows)), column[end]), False)
        rows = rows[same.to_numpy().astype(bool)]
    return rows


def own_names(names: Sequence[str], kind: str | None) -> tuple[str, ...]:
    """Leave out the variable that is named like the event's type, where there are others."""
    own = tuple(name for name in names if name not in (kind, "ANY"))
    return own or tuple(names)


def _window_used(satisfied: Satisfied, match: Match) -> str:
    window = satisfied.window
    if window is None:
        return ""
    if window.kind == "events":
        return f"{satisfied.window_text}:  from {match.start} to {match.end}"
    took = match.end_time - match.start_time
    return f"{satisfied.window_text}:  took {shown(took)}"


# Conditions


Given = Mapping[str, Sequence[Event | Computed]]
"""The events bound to each variable, in order."""


def held_conditions(satisfied: Satisfied, given: Given) -> Iterator[HeldCondition]:
    """Give the conditions that hold for the events of a match, with values."""
    for required in satisfied.conditions:
        condition = required.condition
        if any(not given.get(name) for name in condition_variables(condition)):
            continue
        choices = list(islice(checked_choices(condition, given), _MOST_CHOICES))
        held = [each.values for each in choices if each.holds]
        # In an iterated scope a condition holds round by round, beside an OR perhaps nowhere.
        if held:
            distinct = list(dict.fromkeys(held))
            more = len(distinct) - _MOST_SHOWN
            yield HeldCondition(condition.text, tuple(distinct[:_MOST_SHOWN]), max(more, 0))


@dataclass(frozen=True, slots=True)
class Checked:
    """A condition, checked for one choice of events."""

    holds: bool
    values: str
    event_of: Callable[[Any], Any] = field(compare=False, repr=False)
    """Returns the event that was chosen for a variable."""


def checked_choices(condition: Atomic, given: Given) -> Iterator[Checked]:
    """Check a condition for every choice of events: does it hold, and with which values."""
    match condition:
        case Each(variable=name, predicate=predicate):
            for event in given[name]:
                yield _checked(predicate, {None: event, name: event}.__getitem__)
        case Relation(variables=names, predicate=predicate):
            for choice in product(*(given[name] for name in names)):
                yield _checked(predicate, dict(zip(names, choice, strict=True)).__getitem__)
        case Trend(variable=name, kind=kind, path=path):
            values = [event.value(path) for event in given[name]]
            text = ", ".join(map(shown, values[:10])) + ("…" if len(values) > 10 else "")
            yield Checked(follows_trend(values, kind), text, given.__getitem__)
        case SameKey(keys=keys):
            found = {event.value(path) for name, path in keys for event in given[name]}
            text = ", ".join(map(shown, sorted(found, key=str)))
            yield Checked(len(found) == 1 and None not in found, text, given.__getitem__)


def _checked(predicate: Expression, event_of: Callable[[Any], Any]) -> Checked:
    lookup = lookup_in(event_of)
    holds = evaluate(predicate, lookup) is True
    return Checked(holds, values_text(predicate, lookup), event_of)


def lookup_in(event_of: Callable[[Any], Any]) -> Callable[[Attribute | EventType], Value]:
    """Return what finds the values of attributes, given the event of each variable."""

    def lookup(name: Attribute | EventType) -> Value:
        event = event_of(name.variable)
        value: Value = event.type if isinstance(name, EventType) else event.value(name.path)
        return value

    return lookup


def values_text(predicate: Expression, lookup: Callable[[Attribute | EventType], Value]) -> str:
    """Write a predicate with values in place of its attributes, or the attributes' values.

    >>> from ensue.analysis.expressions import Constant
    >>> from ensue.analysis.types import Type
    >>> price = Attribute(("price",), Type.DOUBLE)
    >>> above = Operation(">", (price, Constant(25, Type.INT)), Type.BOOLEAN)
    >>> values_text(above, lambda name: 26.5)
    '26.5 > 25'
    """
    if isinstance(predicate, Operation) and predicate.name in COMPARISONS:
        sides = [
            shown(python_value(evaluate(each, lookup), each.type)) for each in predicate.arguments
        ]
        return f" {predicate.name} ".join(sides)
    names: dict[str, str] = {}
    for each in subexpressions(predicate):
        if isinstance(each, Attribute):
            path = ".".join((*([each.variable] if each.variable else []), *each.path))
            names[path] = shown(python_value(lookup(each), each.type))
        elif isinstance(each, EventType):
            names["type"] = shown(lookup(each))
    return ", ".join(f"{name} = {value}" for name, value in names.items()) or "true"


def shown(value: Any) -> str:
    """Write a value as a query would.

    >>> shown("MSFT"), shown(0.1 + 0.2), shown(None), shown(True)
    ("'MSFT'", '0.3', 'NULL', 'true')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.12g}"
        case str():
            return repr(value)
        case _:
            return str(value)
