"""Queries bound to the columns of the events, each with its operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from ensue.analysis.derived import Level
from ensue.analysis.expressions import Operation
from ensue.analysis.schema import AttributePath
from ensue.engine.binding import bind_levels_to
from ensue.engine.derived import DerivedOperator, LevelExecution
from ensue.engine.execution import QueryInstance
from ensue.engine.query import Query
from ensue.engine.slicing import slicing_of
from ensue.engine.user_calls import calls_on_events
from ensue.logic.evaluate import Tally
from ensue.logic.required import NO_REQUIREMENT, Requirement, requirement
from ensue.operators.automaton import Automaton
from ensue.operators.factory import open_operator
from ensue.operators.widening import carry_over, deferred_by
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import PhysicalPlan, make_plan
from ensue.plan.result_schema import ResultSchema, result_schema
from ensue.stream.batch import EventBatch, InputBatch
from ensue.stream.time_scale import TimeScale


@dataclass(slots=True)
class BoundInstance(QueryInstance):
    """A query instance with what it was bound to."""

    columns: InputBatch = field(kw_only=True)
    """No rows, but the columns that the query was bound to."""
    required: Requirement = field(kw_only=True)
    """What events must have for the query to find anything."""
    calls: tuple[Operation, ...] = field(kw_only=True)
    """Those of the user's functions on single events."""
    late: frozenset[str] = field(kw_only=True)
    """Conditions that are decided on listing because their attributes had no type at first."""
    time_path: AttributePath | None = field(kw_only=True)
    """The time column of the events."""


def bind_instance(
    name: str,
    query: Query,
    columns: InputBatch,
    options: ReadOptions,
    mode: ExecutionMode,
    tally: Tally | None = None,
) -> BoundInstance:
    """Bind a query to the columns of some events, and open its operator."""
    key = (columns.table.schema, columns.closed, options, mode)
    ready = query.plans.get(key, lambda: _prepare(query, columns, options, mode))
    *derived, last = ready.levels
    tally = Tally() if tally is None else tally
    automaton, schema = ready.automaton, ready.schema
    operator = open_operator(ready.plan, tally, automaton=automaton)
    slicing = slicing_of(ready.plan, automaton)
    required, clock = ready.required, last.bound.clock
    if derived:
        operator = open_derived(query, ready.levels, mode, schema, tally, options)
        # Whether events of the input are required depends on all levels together.
        required, clock, slicing = NO_REQUIREMENT, derived[0].bound.clock, None
    return BoundInstance(
        replace(schema, query=name or query.name),
        operator,
        tally,
        slicing,
        columns=ready.columns,
        required=required,
        calls=ready.calls,
        late=mode.late,
        time_path=clock.column,
    )


class _Prepared(NamedTuple):
    """What follows from a query, the columns of the events and the options alone."""

    levels: tuple[Level, ...]
    schema: ResultSchema
    plan: PhysicalPlan
    automaton: Automaton | None
    required: Requirement
    calls: tuple[Operation, ...]
    columns: InputBatch


def _prepare(
    query: Query, columns: InputBatch, options: ReadOptions, mode: ExecutionMode
) -> _Prepared:
    """Bind a query and plan it."""
    levels = bind_levels_to(query, columns, options)
    bound = levels[-1].bound
    plan = make_plan(bound, mode)
    calls = (call for level in levels if level.given for call in calls_on_events(level.bound))
    return _Prepared(
        levels,
        result_schema(bound, query.fingerprint, mode.positions_only, mode.exact),
        plan,
        None if plan.compiled is None else Automaton(plan.compiled),
        requirement(bound),
        tuple(calls),
        columns.columns_only(),
    )


def open_derived(
    query: Query,
    levels: Sequence[Level],
    mode: ExecutionMode,
    schema: ResultSchema,
    tally: Tally,
    options: ReadOptions,
) -> DerivedOperator:
    """Open the operators of derived streams, which list their matches, and of the query itself."""
    plain = replace(mode, positions_only=False, exact=False)

    def open_levels() -> list[LevelExecution]:
        opened = []
        for level in levels:
            own, how = schema, mode
            if level.name:
                own = result_schema(level.bound, query.fingerprint_of(level.tree), False)
                how = plain
            operator = open_operator(make_plan(level.bound, how), tally)
            opened.append(LevelExecution(level, QueryInstance(own, operator, tally)))
        return opened

    return DerivedOperator(open_levels, query.streams, options.type)


def rebind_instance(
    name: str,
    query: Query,
    instance: BoundInstance,
    types: Mapping[str, pa.DataType],
    options: ReadOptions,
    mode: ExecutionMode,
    kept: EventBatch,
    scale: TimeScale | None = None,
) -> BoundInstance:
    """Bind a query to columns some of which have other types now, and carry its state over.

    `scale` says how times are counted anew, where integer times have become timestamps.
    """
    known = {each.name: each.type for each in instance.columns.table.schema}
    schema = pa.schema([*{**known, **types}.items()])
    columns = instance.columns._replace(table=schema.empty_table())
    by_definition = mode.by_definition or instance.operator.tag == "reference"
    old = instance.operator
    late = old.deferred if isinstance(old, DerivedOperator) else deferred_by(old)
    mode = replace(mode, by_definition=by_definition, late=late)
    new = bind_instance(name, query, columns, options, mode, instance.tally)
    if isinstance(old, DerivedOperator) and isinstance(new.operator, DerivedOperator):
        new.operator.take_over(old, scale)
    else:
        carry_over(old, new.operator, kept, scale)
    new.schema = replace(new.schema, since=instance.schema.since)
    return new


_TAGS_OF_CLASSES = {
    "Fast": "match",
    "ByDefinition": "reference",
    "Counting": "count",
    "GraphCounting": "count on the graph",
    "ListCounting": "count by listing",
}
"""Snapshots of version 0.1 name the operators by their classes."""


def operator_tag(saved: str) -> str:
    """Return the tag of an operator as a snapshot names it."""
    return _TAGS_OF_CLASSES.get(saved, saved)
