"""The state of an operator whose columns have got other types: a first one, or doubles.

The first events may have no value of a column, and integers become doubles. The query is bound
again to the columns as they are now, and a new operator goes on from the state of the old one. The
automaton is the same, because the types of attributes decide nothing about it. Registers hold the
same values as doubles. A condition for whose registers integers were added, subtracted or
rounded, such as x.a - y.a > 5, is decided on listing from then on: what it has ruled out so far
stays ruled out.
Matches that were counted on the graph are then counted by listing them.
One that was deferred because its attributes had no type stays deferred. Totals keep their sums of
doubles and drop those of whole numbers. Times that were integers are timestamps from then on:
clocks are multiplied, in operators/rescaling.py.

Integers beyond 2^53 are no doubles: where a register or a bound has one, UnsupportedError says so,
and nothing has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.types import Type
from ensue.automata.registers import Instance, RegisterPlan
from ensue.kernels.count.weights import NO_VALUE, Weights, load_weights, save_weights
from ensue.kernels.layout import EMPTY, NULL
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.count import CountOperator
from ensue.operators.graph_count import GraphCountOperator
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator
from ensue.operators.rescaling import holds_times, rescaled
from ensue.predicates.encode import as_doubles
from ensue.predicates.sortable import to_sortable
from ensue.predicates.vectors import UnsupportedError
from ensue.results.total_terms import Adder
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.time_scale import TimeScale

_EXACT = 2**53

State = dict[str, Any]


def deferred_by(operator: object) -> frozenset[str]:
    """Return the texts of the conditions that an operator decides on listing.

    So will those be whose registers hold what only integers make of them.
    """
    match operator:
        case MatchOperator():
            plan = operator.compiled.plan
            own = frozenset(each.condition.text for each in plan.deferred)
            own |= {each.text for each in plan.instances if each.integers_only}
            return own.union(*(deferred_by(each.engine) for each in operator.absences))
        case AggregatingOperator():
            return deferred_by(operator.matching)
        case _:
            return frozenset()


def carry_over(
    old: Operator, new: Operator, kept: EventBatch, scale: TimeScale | None = None
) -> None:
    """Let a fresh operator, bound to doubles, go on from the state of one bound to integers.

    `scale` says how times are counted anew, and `kept` has events that are.
    """
    # The old one stays in use, should the push that brings doubles fail.
    saved = {
        name: each.copy() if isinstance(each, np.ndarray) else each
        for name, each in old.save().items()
    }
    if scale is not None:
        saved = rescaled(new, saved, scale)
    new.load(_widened(old, new, saved, scale), kept)


def _widened(old: Operator, new: Operator, saved: State, scale: TimeScale | None) -> State:
    match old, new:
        case MatchOperator(), MatchOperator():
            return _match_state(old, new, saved, scale)
        case CountOperator(), CountOperator():
            adders = old.adder, new.adder, scale
            counter = part(saved, "counter")
            for weights in ("pairs", "nodes"):
                counter = _replaced(counter, weights, _weights(*adders, part(counter, weights)))
            saved = _replaced(saved, "counter", counter) | _ranks(old.adder, new.adder)
            return _replaced(saved, "gathering", _weights(*adders, part(saved, "gathering")))
        case AggregatingOperator(), AggregatingOperator():
            saved = _replaced(
                saved, "fast", _match_state(old.matching, new.matching, part(saved, "fast"), scale)
            )
            if isinstance(old, GraphCountOperator) and isinstance(new, GraphCountOperator):
                rows = _weights(old.adder, new.adder, scale, part(saved, "gathering"))
                saved = _replaced(saved, "gathering", rows) | _ranks(old.adder, new.adder)
            elif isinstance(old, GraphCountOperator):
                if old.gathering.weights is not None:
                    raise UnsupportedError("an interval of EVERY has totals of integers")
                saved |= {"groups": {}, "listed": 0}
            return saved
        case _:
            return saved


def _match_state(
    old: MatchOperator, new: MatchOperator, saved: State, scale: TimeScale | None
) -> State:
    plans = old.compiled.plan, new.compiled.plan
    widened = {**saved, "slots/registers": _registers(*plans, saved["slots/registers"], scale)}
    for number, (mine, theirs) in enumerate(zip(old.absences, new.absences, strict=True)):
        assert isinstance(mine.engine, MatchOperator)
        assert isinstance(theirs.engine, MatchOperator)
        absence = part(saved, f"absent/{number}")
        for name, each in absence.items():
            if isinstance(each, pa.Table) and name.startswith("happened/"):
                _check_exact(each)
        engine = _match_state(mine.engine, theirs.engine, part(absence, "engine"), scale)
        widened = _replaced(widened, f"absent/{number}", _replaced(absence, "engine", engine))
    return widened


def _registers(
    old: RegisterPlan, new: RegisterPlan, held: np.ndarray, scale: TimeScale | None
) -> np.ndarray:
    """Write what the registers of a plan hold into those of another, which may have fewer."""
    found = np.full((len(held), new.registers), EMPTY, np.int64)
    before = iter(old.instances)
    for instance in new.instances:
        source = next(each for each in before if _identity(each) == _identity(instance))
        for mine, theirs in zip(instance.watches, source.watches, strict=True):
            values = held[:, theirs.register]
            if scale is not None and holds_times(old.columns[theirs.column], scale):
                known = values > NULL
                values = np.where(known, scale.times(np.where(known, values, 0)), values)
            domains = {new.columns[mine.column].domain, old.columns[theirs.column].domain}
            if "decimal" in domains and len(domains) > 1:
                raise UnsupportedError("decimals in the place of other numbers")
            if len(domains) > 1:
                values = as_doubles(values)
            found[:, mine.register] = values
    return found


def _identity(instance: Instance) -> tuple[Any, ...]:
    return instance.text, instance.marker, tuple(each.bit for each in instance.watches)


def _weights(old: Adder, new: Adder, scale: TimeScale | None, saved: State) -> State:
    """Write weights with the terms of an adder as those of another, which may have fewer."""
    if "whole" not in saved:
        return saved
    weights = load_weights(saved)
    whole = [0, *(1 + old.whole.index(each) for each in new.whole)]
    real = [0, *(1 + old.real.index(each) for each in new.real)]
    least = weights.least[:, [old.least.index(each) for each in new.least]]
    for number, term in enumerate(new.least):
        if new.kind(term.argument) is Type.DOUBLE is not old.kind(term.argument):
            least[:, number] = _bounds(least[:, number], largest=term.kind == "max")
        elif scale is not None and new.kind(term.argument) is Type.TIMESTAMP is not old.kind(
            term.argument
        ):
            least[:, number] = _times(least[:, number], scale, largest=term.kind == "max")
    return saved | save_weights(Weights(weights.whole[:, whole], weights.real[:, real], least))


def _ranks(old: Adder, new: Adder) -> State:
    """Return the values that are known by their ranks, also of terms that now have strings."""
    return {"ranks": tuple((number, tuple(old.ranks.get(number, ()))) for number in new.ranks)}


def _bounds(codes: np.ndarray, *, largest: bool) -> np.ndarray:
    """Write least integers, or largest ones by their complement, as doubles in their order."""
    known = codes != NO_VALUE
    values = np.where(known, ~codes if largest else codes, 0)
    if len(values) and max(int(values.max()), -int(values.min())) > _EXACT:
        raise UnsupportedError("integers beyond 2^53 beside doubles")
    sortable = to_sortable(values.astype(np.float64))
    bounds: np.ndarray = np.where(known, ~sortable if largest else sortable, NO_VALUE)
    return bounds


def _times(codes: np.ndarray, scale: TimeScale, *, largest: bool) -> np.ndarray:
    """Write least times, or largest ones by their complement, in nanoseconds."""
    known = codes != NO_VALUE
    times = scale.times(np.where(known, ~codes if largest else codes, 0))
    found: np.ndarray = np.where(known, ~times if largest else times, NO_VALUE)
    return found


def _check_exact(table: pa.Table) -> None:
    for column in table.columns:
        if pa.types.is_integer(column.type) and len(column):
            bounds = pc.min_max(column).as_py().values()
            if any(each is not None and abs(each) > _EXACT for each in bounds):
                raise UnsupportedError("integers beyond 2^53 beside doubles")


def _replaced(saved: Mapping[str, Any], name: str, content: Mapping[str, Any]) -> State:
    """Put another part in the place of one."""
    return {**saved, **below(name, content)}
