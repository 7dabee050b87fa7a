"""Queries bound to the columns of the events that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.derived import Level
from ensue.analysis.schema import OPEN, AttributePath, Schema
from ensue.analysis.types import Type
from ensue.engine.query import Query
from ensue.options import ReadOptions
from ensue.stream.batch import InputBatch, check_declared, declared_columns, time_path


def bind_to(query: Query, loaded: InputBatch, options: ReadOptions) -> BoundQuery:
    """Bind a query to the columns of some events."""
    return bind_levels_to(query, loaded, options)[-1].bound


def bind_levels_to(query: Query, loaded: InputBatch, options: ReadOptions) -> tuple[Level, ...]:
    """Bind a query and its derived streams to the columns of some events."""
    declared = query.schema if options.time is None else _with_instants(query.schema, options.time)
    schema = loaded.schema() if query.schema is OPEN else check_declared(declared, loaded)
    column = None
    if options.time is not None:
        # Without any events it is not known whether they have the column.
        known = loaded.table.num_columns > 0
        column = time_path(options.time, loaded.table) if known else (options.time,)
    return query.levels(schema, Clock(column, options.time_unit, known=True))


def _with_instants(declared: Schema, time: str) -> Schema:
    """Declare a time column of doubles as what it becomes: timestamps."""

    def instants(attributes: Mapping[AttributePath, Type]) -> dict[AttributePath, Type]:
        return {
            path: Type.TIMESTAMP if path == (time,) and kind is Type.DOUBLE else kind
            for path, kind in attributes.items()
        }

    events = declared.events
    if events is not None:
        events = {name: instants(each) for name, each in events.items()}
    return replace(declared, common=instants(declared.common), events=events)


def sharing_key(query: Query, options: ReadOptions) -> str:
    """Name what queries must have in common to share a pipeline."""

    def reads() -> str:
        clock = query.levels(query.schema, Clock())[0].bound.clock.column
        columns = sorted((name, str(kind)) for name, kind in declared_columns(query.schema).items())
        return repr((query.streams, clock, columns))

    return repr((query.plans.get("reads", reads), options))
