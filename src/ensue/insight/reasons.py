"""Why a match of a relaxed query is none of the query: what was needed, and what there was."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa

from ensue.analysis.conditions import Each, Relation
from ensue.analysis.context import Clock
from ensue.analysis.expressions import Expression, Operation
from ensue.engine.query import Query
from ensue.insight.obstacles import Obstacle
from ensue.logic.build import to_formula
from ensue.logic.complex_event import ComplexEvent
from ensue.logic.evaluate import evaluate
from ensue.logic.formula import Atomic, Unless, children, condition_variables
from ensue.logic.formula import Formula as LogicFormula
from ensue.logic.reference import Reference
from ensue.plan.satisfied import Satisfied
from ensue.results.explanation import (
    COMPARISONS,
    Checked,
    checked_choices,
    events_of,
    lookup_in,
    rows_inside,
    shown,
)
from ensue.results.match import Match
from ensue.stream.reference_events import to_events

_MOST_CHOICES = 1_000
_MOST_EVENTS = 300
"""So many events inside a near miss are looked at by the reference."""

_MOST_BETWEEN = 100_000
"""So many events inside a near miss are looked through for those between."""

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Reason:
    """What was needed and what there was."""

    text: str
    gap: float = 0.0
    """By how much it was missed, where that is a number."""
    actual: str = ""
    """Of a condition: the values that it did not hold with."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Finds the reasons for near misses of a query."""

    query: Query
    satisfied: Satisfied

    def of(self, obstacle: Obstacle, match: Match) -> Reason:
        """Say why an obstacle keeps events from being a match."""
        match obstacle.kind:
            case "condition":
                return self._condition(obstacle, match)
            case "window" if obstacle.node is None:
                return self._window(obstacle, match)
            case "contiguity":
                return Reason(f"needed {obstacle.text}, but {self._gaps(match)}")
            case "UNLESS":
                return Reason(f"{obstacle.text}: {self._happened(match)}")
            case "NOT FOLLOWED BY":
                return Reason(f"{obstacle.text}: it was followed, or the time is not over yet")
            case "strategy" | "CONSUME" | "LIMIT":
                return Reason(f"left out by {obstacle.text}")
            case _:
                return Reason(f"needed {obstacle.text}")

    def _condition(self, obstacle: Obstacle, match: Match) -> Reason:
        given = events_of(match)
        for required in self.satisfied.conditions:
            condition = required.condition
            names = condition_variables(condition)
            if condition.text != obstacle.text or any(not given.get(name) for name in names):
                continue
            choices = islice(checked_choices(condition, given), _MOST_CHOICES)
            missed = [(_gap(condition, each), each) for each in choices if not each.holds]
            if missed:
                gap, worst = max(missed, key=lambda each: each[0])
                at = f" at {shown(match.end_time)}" if match.chunk.stream.time_column else ""
                actual = f"{_not(condition, worst)}{at}"
                return Reason(f"needed {obstacle.text}, but {actual}", gap, actual)
        return Reason(f"needed {obstacle.text}")

    def _window(self, obstacle: Obstacle, match: Match) -> Reason:
        window = self.satisfied.window
        if window is None or window.kind == "events":
            return Reason(
                f"needed {obstacle.text}, but it goes from {match.start} to {match.end}",
                match.end - match.start,
            )
        took = match.end_time - match.start_time
        gap = took.total_seconds() if isinstance(took, timedelta) else float(took)
        return Reason(f"needed {obstacle.text}, but it took {shown(took)}", gap)

    def _gaps(self, match: Match) -> str:
        """Say which events came between those of a near miss."""
        rows, types = _inside(match)
        between = [
            f"{kind} at {position}"
            for a, b in pairwise(match.positions)
            for position, kind in zip(rows, types, strict=True)
            if a < position < b
        ]
        more = f" and {len(between) - _MOST_NAMED} more" if len(between) > _MOST_NAMED else ""
        return f"between came {', '.join(between[:_MOST_NAMED]) or 'nothing'}{more}"

    def _happened(self, match: Match) -> str:
        """Find what must not happen inside a near miss, by the reference on its own events."""
        positions, types = _inside(match)
        if len(positions) > _MOST_EVENTS:
            return "it happened in between"
        stream = match.chunk.stream
        events = to_events(stream.take(stream.rows_at(np.array(positions, np.int64))))
        place = {position: number for number, position in enumerate(positions)}
        bound = frozenset((name, place[at]) for name, some in match.bindings.items() for at in some)
        whole = ComplexEvent(0, len(positions) - 1, bound)
        reference = Reference(events)
        formula = to_formula(self.query.bind(self.query.schema, Clock()))
        found: dict[int, None] = {}
        for unless in _absences(formula):
            for each in reference.given(whole, unless.outer).meaning(unless.absent):
                found.update(dict.fromkeys(sorted(each.support or {each.start})))
        named = [f"{types[at]} at {positions[at]}" for at in sorted(found)][:_MOST_NAMED]
        return ", ".join(named) or "it happened in between"


def _absences(formula: LogicFormula) -> Iterator[Unless]:
    if isinstance(formula, Unless):
        yield formula
        yield from _absences(formula.formula)
    else:
        for child in children(formula):
            yield from _absences(child)


def _inside(match: Match) -> tuple[list[int], list[str]]:
    """Return the positions and types of the events inside a match, of its own partition."""
    stream = match.chunk.stream
    rows = rows_inside(match, _MOST_BETWEEN)
    types = stream.types.take(pa.array(rows)).to_pylist()
    return stream.all_positions()[rows].tolist(), types


def _not(condition: Atomic, checked: Checked) -> str:
    """Say with values that a condition does not hold."""
    predicate = condition.predicate if isinstance(condition, Each | Relation) else None
    if isinstance(predicate, Operation) and predicate.name in COMPARISONS:
        sign = f" {predicate.name} "
        return checked.values.replace(sign, f" is not{sign}", 1)
    return f"there was {checked.values}"


def _gap(condition: Atomic, checked: Checked) -> float:
    """Return by how much a comparison of numbers does not hold."""
    predicate: Expression | None = None
    if isinstance(condition, Each | Relation):
        predicate = condition.predicate
    if not isinstance(predicate, Operation) or len(predicate.arguments) != 2:
        return math.inf
    lookup = lookup_in(checked.event_of)
    left, right = (evaluate(each, lookup) for each in predicate.arguments)
    try:
        return abs(float(left) - float(right))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.inf
