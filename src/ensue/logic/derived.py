"""Derived streams in the reference semantics: the matches of a query as events of a stream.

Each query is evaluated on the whole of what it reads, streams before those that read them. Events
of all streams have places in one order: an event of the input its number, and a derived event the
place of the event that completed it, then the number of its stream and that of the match. So it
comes right after the event that completed it, before the next one. Where time decides that nothing
has followed, a derived event comes after all of the input that is not later than the deadline. It
is known then, and so is what it completes; beside other streams that is its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

from ensue.analysis.expressions import Value
from ensue.logic.build import SELECTED
from ensue.logic.clauses import Answer, Clauses, Found, Row, answer
from ensue.logic.complex_event import Event

Place = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A query, by the name of the stream that it makes, and the streams that it reads."""

    name: str
    clauses: Clauses
    given: frozenset[str]
    derived: tuple[str, ...]


class Placed(NamedTuple):
    """An event with its place in the order of all streams, and when it is known."""

    place: Place
    event: Event
    known: int


Identify = Callable[[str, Found], str]
"""Returns the id of a match, given the stream that it is an event of."""


def answer_stages(stages: Sequence[Stage], stream: Sequence[Event], identify: Identify) -> Answer:
    """Evaluate queries, each of which may read those before it, and return what the last finds."""
    made: dict[str, list[Placed]] = {}
    lags: dict[str, int | None] = {}
    for number, stage in enumerate(stages):
        own = [
            Placed((at,), event, event.time)
            for at, event in enumerate(stream)
            if stage.given and event.stream in (None, *stage.given)
        ]
        derived = [placed for name in stage.derived for placed in made[name]]
        lag: int | None = 0
        if len(stage.given) + len(stage.derived) > 1:
            derived = [
                placed._replace(event=replace(placed.event, time=placed.known))
                for placed in derived
            ]
        elif derived or stage.derived:
            lag = lags[stage.derived[0]]
        read = sorted([*own, *derived], key=lambda each: each.place)
        until = None
        if not stage.given and lag is not None and stream:
            until = stream[-1].time - lag
        found = answer(stage.clauses, [each.event for each in read], until)
        if stage.clauses.totals is None:
            made[stage.name] = _events(stage, number, found.matches, read, lag, stream, identify)
        else:
            made[stage.name] = _rows(stage, number, found.rows, read, lag, stream)
        lags[stage.name] = _lag(stage.clauses, lag)
    return found


def _lag(clauses: Clauses, lag: int | None) -> int | None:
    """Return how late, at most, matches are known, after their ends; None: that is not known."""
    if clauses.absence is None or lag is None:
        return lag
    window = clauses.absence.window
    return None if window.kind == "events" else lag + window.size


def _events(
    stage: Stage,
    number: int,
    found: Sequence[Found],
    read: Sequence[Placed],
    lag: int | None,
    stream: Sequence[Event],
    identify: Identify,
) -> list[Placed]:
    """Return matches as events, in their order; what it leaves open, ids decide."""

    def order(each: Found) -> tuple[Any, ...]:
        deadline = each.match.end if each.deadline is None else each.deadline.order
        return deadline, each.match.end, -each.match.start, identify(stage.name, each)

    events = []
    for at, each in enumerate(sorted(found, key=order)):
        start, end = read[each.match.start].event.time, read[each.match.end].event.time
        attributes = _partition(stage.clauses, each.key) | {
            "start_time": start,
            "end_time": end,
            "match_id": identify(stage.name, each),
        }
        for variable, computed in each.match.computed:
            if variable == SELECTED:
                attributes |= dict(computed.columns)
        deadline = None
        if each.deadline is not None:
            attributes["deadline"] = deadline = each.deadline.time
        place, known = _placed(read[each.match.end], deadline, lag, stream)
        event = Event(stage.name, attributes, end, stage.name)
        events.append(Placed((*place, number, at), event, known))
    return events


def _rows(
    stage: Stage,
    number: int,
    rows: Sequence[Row],
    read: Sequence[Placed],
    lag: int | None,
    stream: Sequence[Event],
) -> list[Placed]:
    """Return rows of count(*) as events: what one event completes is one event."""
    absence, events = stage.clauses.absence, []
    for at, row in enumerate(rows):
        completing = read[row.event]
        deadline = None
        if absence is not None:
            # One in EVENTS gives no place among other streams, and nothing asks for one.
            deadline = row.time + (0 if absence.window.kind == "events" else absence.window.size)
        key = tuple(map(completing.event.value, stage.clauses.partition))
        attributes = _partition(stage.clauses, key) | {"end_time": row.time, **row.totals}
        place, known = _placed(completing, deadline, lag, stream)
        event = Event(stage.name, attributes, row.time, stage.name)
        events.append(Placed((*place, number, at), event, known))
    return events


def _partition(clauses: Clauses, key: tuple[Value, ...]) -> dict[str, Any]:
    """Return the partition attributes with their values, nested ones inside each other."""
    attributes: dict[str, Any] = {}
    for path, value in zip(clauses.partition, key, strict=True):
        inner = attributes
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return attributes


def _placed(
    completing: Placed, deadline: int | None, lag: int | None, stream: Sequence[Event]
) -> tuple[Place, int]:
    """Return where something comes that an event completes, or time decides; and when."""
    if deadline is None:
        return completing.place, completing.known
    known = deadline + (lag or 0)
    last = sum(event.time <= known for event in stream) - 1
    return (last, inf, known), known
