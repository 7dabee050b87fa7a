"""The clocks of an operator's state in nanoseconds, where integer times have become timestamps.

A match graph knows the clock of each start, counted runs that of their starts, and matches that
wait for a deadline that of their end. Clocks that count events stay as they are. What an operator
keeps besides, such as matches that are not listed yet, may hold times in places that nobody knows
here: UnsupportedError says so, and nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ensue.analysis.bound import Window
from ensue.analysis.expressions import Attribute
from ensue.automata.relations import Column, EventClock
from ensue.kernels.layout import CLIP
from ensue.operators.absence import CorrelatedAbsenceOperator
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.count import CountOperator
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator
from ensue.operators.reference import ReferenceOperator
from ensue.predicates.vectors import UnsupportedError
from ensue.state.container import below, part
from ensue.stream.rows import load_rows, save_rows
from ensue.stream.time_scale import TimeScale

State = dict[str, Any]


def rescaled(new: Operator, saved: State, scale: TimeScale) -> State:
    """Return the state that an operator will go on from; it is bound to timestamps already."""
    match new:
        case MatchOperator():
            return _match_state(new, saved, scale)
        case CountOperator():
            _check_keys(new.bound.partition, scale)
            found = dict(saved)
            if _is_time(new.bound.window):
                found["now"] = scale.time(saved["now"])
                for name in ("nodes/clock", "runs/oldest", "runs/newest"):
                    found[f"counter/{name}"] = scale.times(saved[f"counter/{name}"])
            return found | _intervals(saved, scale)
        case AggregatingOperator():
            if part(saved, "uncounted"):
                raise UnsupportedError("matches wait to be counted")
            fast = _match_state(new.matching, part(saved, "fast"), scale)
            found = saved | below("fast", fast) | _intervals(saved, scale)
            rows = part(saved, "store")
            if rows:
                kept = scale.batch(load_rows(rows, new.matching.bound.clock.column))
                found |= below("store", save_rows(kept))
            return found | _groups(saved, scale)
        case ReferenceOperator():
            _check_keys(new.plan.partition, scale)
            now = saved["now"]
            return {
                **saved,
                "now": None if now is None else scale.time(now),
                **_groups(saved, scale),
            }
        case _:
            raise UnsupportedError(f"the {new.tag} operator keeps times")


def holds_times(column: Column, scale: TimeScale) -> bool:
    """Tell whether a register with values of a column holds times."""
    match column.expression:
        case EventClock(kind):
            return kind == "time"
        case Attribute():
            return len(column.expression.path) == 1 and scale.is_time(column.expression.path[0])
        case _:
            return False


def _match_state(new: MatchOperator, saved: State, scale: TimeScale) -> State:
    _check_keys(new.bound.partition, scale)
    if part(saved, "unlisted"):
        raise UnsupportedError("matches wait to be listed")
    found = dict(saved)
    if _is_time(new.bound.window):
        found["now"] = scale.time(saved["now"])
        found |= _graph(saved, scale)
    if new.pending is not None:
        waiting = part(saved, "pending")
        if _is_time(new.bound.window):
            waiting |= _graph(waiting, scale)
        if _is_time(new.pending.window):
            waiting["clock"] = scale.times(waiting["clock"])
        found |= below("pending", waiting)
    for number, absence in enumerate(new.absences):
        assert isinstance(absence.engine, MatchOperator)
        own = part(saved, f"absent/{number}")
        if isinstance(absence, CorrelatedAbsenceOperator):
            correlation = absence.happened.correlation
            for condition in (*correlation.equalities, *correlation.others):
                if any(scale.is_time(each.path[0]) for each in condition.inner):
                    raise UnsupportedError("what must not happen is compared by its time")
        engine = _match_state(absence.engine, part(own, "engine"), scale)
        found |= below(f"absent/{number}", own | below("engine", engine))
    return found


def _graph(saved: Mapping[str, Any], scale: TimeScale) -> State:
    """Return the clocks of a match graph: those of starts, and those that clip nodes compare."""
    positions = saved["graph/position"]
    clipped = saved["graph/label"] == CLIP
    if clipped.any():
        positions = np.where(clipped, scale.times(np.where(clipped, positions, 0)), positions)
    return {
        "graph/start_clock": scale.times(saved["graph/start_clock"]),
        "graph/position": positions,
    }


def _intervals(saved: Mapping[str, Any], scale: TimeScale) -> State:
    """Return the rows of EVERY that wait, with the times at which they ended."""
    if "gathering/ended" not in saved:
        return {}
    return {"gathering/ended": scale.times(saved["gathering/ended"])}


def _groups(saved: Mapping[str, Any], scale: TimeScale) -> State:
    """Return rows of totals in the making, with the times of their last events."""
    found: dict[Any, Any] = {}
    for key, (event, time, number, count, values) in saved.get("groups", {}).items():
        if values:
            raise UnsupportedError("an interval of EVERY has values that may be times")
        found[key] = event, scale.time(time), number, count, values
    return {"groups": found} if "groups" in saved else {}


def _check_keys(partition: Iterable[tuple[str, ...]], scale: TimeScale) -> None:
    if any(scale.is_time(path[0]) for path in partition):
        raise UnsupportedError("the events are partitioned by their time")


def _is_time(window: Window | None) -> bool:
    """Tell whether the clock of a window, or of a query without one, is that of times."""
    return window is None or window.kind != "events"
