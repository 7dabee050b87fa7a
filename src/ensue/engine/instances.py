"""Queries bound to the columns of the events, each with its operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ensue.engine.binding import bind_to
from ensue.engine.execution import QueryInstance
from ensue.engine.query import Query
from ensue.logic.evaluate import Tally
from ensue.logic.required import Requirement, requirement
from ensue.operators.factory import open_operator
from ensue.operators.widening import carry_over, deferred_by
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from ensue.plan.result_schema import result_schema
from ensue.stream.batch import EventBatch, InputBatch


@dataclass(slots=True)
class BoundInstance(QueryInstance):
    """A query instance with what it was bound to."""

    columns: InputBatch = field(kw_only=True)
    """No rows, but the columns that the query was bound to."""
    required: Requirement = field(kw_only=True)
    """What events must have for the query to find anything."""
    late: frozenset[str] = field(kw_only=True)
    """Conditions that are decided on listing because their attributes had no type at first."""


def bind_instance(
    name: str,
    query: Query,
    columns: InputBatch,
    options: ReadOptions,
    mode: ExecutionMode,
    tally: Tally | None = None,
) -> BoundInstance:
    """Bind a query to the columns of some events, and open its operator."""
    bound = bind_to(query, columns, options)
    tally = Tally() if tally is None else tally
    schema = result_schema(bound, query.fingerprint, mode.positions_only, mode.exact)
    return BoundInstance(
        replace(schema, query=name or query.name),
        open_operator(make_plan(bound, mode), tally),
        tally,
        columns=columns.columns_only(),
        required=requirement(bound),
        late=mode.late,
    )


def rebind_instance(
    name: str,
    query: Query,
    instance: BoundInstance,
    types: Mapping[str, pa.DataType],
    options: ReadOptions,
    mode: ExecutionMode,
    kept: EventBatch,
) -> BoundInstance:
    """Bind a query to columns some of which have other types now, and carry its state over."""
    known = {each.name: each.type for each in instance.columns.table.schema}
    schema = pa.schema([*{**known, **types}.items()])
    columns = replace(instance.columns, table=schema.empty_table())
    by_definition = mode.by_definition or instance.operator.tag == "reference"
    mode = replace(mode, by_definition=by_definition, late=deferred_by(instance.operator))
    new = bind_instance(name, query, columns, options, mode, instance.tally)
    carry_over(instance.operator, new.operator, kept)
    new.schema = replace(new.schema, since=instance.schema.since)
    return new
