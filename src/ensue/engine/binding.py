"""Queries bound to the columns of the events that they read."""

from __future__ import annotations

from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import OPEN
from ensue.engine.query import Query
from ensue.options import ReadOptions
from ensue.stream.batch import InputBatch, check_declared, time_path


def bind_to(query: Query, loaded: InputBatch, options: ReadOptions) -> BoundQuery:
    """Bind a query to the columns of some events."""
    declared = query.schema
    schema = loaded.schema() if declared is OPEN else check_declared(declared, loaded)
    column = None
    if options.time is not None:
        # Of no events at all, nobody knows whether they have the column.
        known = loaded.table.num_columns > 0
        column = time_path(options.time, loaded.table) if known else (options.time,)
    return query.bind(schema, Clock(column, options.time_unit, known=True))
