"""Matches as rows: what a result chunk becomes in a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ensue.analysis.types import Type
from ensue.logic.build import SELECTED
from ensue.predicates.arrow_values import arrow_type
from ensue.results.chunk import ResultChunk
from ensue.results.tables import Layout, table_of
from ensue.spark.program import Program, arrow_type_at

EVENTS = "events"
"""The column with all events of a match when variables are forgotten."""


def schema_of(program: Program) -> pa.Schema:
    """Return the columns of a query's rows: partition attributes first, then what was found.

    Names that differ in their case alone are one name to Spark.
    """
    result, columns = program.result_schema, program.shown_columns
    fields: dict[str, pa.DataType] = {}
    taken: set[str] = set()

    def add(name: str, kind: pa.DataType) -> None:
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        fields[name] = kind

    for path in result.partition:
        add(".".join(path), arrow_type_at(columns, path))
    time = arrow_type_at(columns, program.bound.clock.column or program.time)
    if result.totals is not None:
        add("time", pa.int64() if pa.types.is_integer(time) else time)
        for name, kind in result.totals.items():
            add(name, _written(kind))
        return pa.schema(list(fields.items()))
    add("start_time", time)
    add("end_time", time)
    if result.has_deadlines:
        add("deadline", pa.int64() if pa.types.is_integer(time) else time)
    add("match_id", pa.string())
    for name, paths in result.variables.items():
        members = [(".".join(path), arrow_type_at(columns, path)) for path in paths or ()]
        add(name or EVENTS, pa.list_(pa.struct(members)))
    for name, types in result.computed.items():
        members = [(column, _written(kind)) for column, kind in types.items()]
        if name == SELECTED:
            for column, written in members:
                add(column, written)
        else:
            add(name, pa.list_(pa.struct(members)))
    return pa.schema(list(fields.items()))


def _written(kind: Type) -> pa.DataType:
    """Return the type of a computed column; an unknown type has no values but NULL."""
    return arrow_type(kind) or pa.string()


def tables(chunk: ResultChunk, schema: pa.Schema, begin: int | None = None) -> Iterator[pa.Table]:
    """Give the rows of a chunk; with `begin` only of matches that end at that time or later."""
    if chunk.schema.totals is not None:
        yield from _totals(chunk, schema, begin)
        return
    layout = Layout(events=True, without=frozenset({"query", "start", "end"}))
    for found in chunk.columns():
        late = None
        if begin is not None:
            late = chunk.stream.times[chunk.stream.rows_at(found.end)] >= begin
            if not late.any():
                continue
        columns = table_of(chunk, found, layout).columns
        if chunk.schema.positions_only:
            columns[-1] = chunk.structs(found.bound[""], chunk.schema.variables[""])
        rows = _cast(columns, schema)
        yield rows if late is None or late.all() else rows.filter(pa.array(late))


def _totals(chunk: ResultChunk, schema: pa.Schema, begin: int | None) -> Iterator[pa.Table]:
    if not len(chunk.totals):
        return
    (table,) = chunk.tables(Layout(without=frozenset({"query"})))
    rows = _cast(table.columns, schema)
    if begin is not None:
        rows = rows.filter(pa.array(chunk.summed.ended >= begin))
    yield rows


def _cast(columns: Sequence[Any], schema: pa.Schema) -> pa.Table:
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
