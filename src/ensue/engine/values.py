"""Rows of Arrow tables as events for the reference evaluator."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ensue.engine.stream import Stream, to_nanoseconds
from ensue.logic.reference import Event


def to_events(stream: Stream) -> list[Event]:
    """Return a stream's rows as events: instants in nanoseconds, NaN as NULL."""
    table = stream.table
    columns = {name: _values(table.column(name)) for name in table.column_names}
    streams = stream.streams
    return [
        Event(
            stream.types[row],
            {name: values[row] for name, values in columns.items()},
            int(stream.times[row]),
            None if streams is None else streams[row],
        )
        for row in range(table.num_rows)
    ]


def _values(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_struct(kind):
        children = [_values(pc.struct_field(column, index)) for index in range(kind.num_fields)]
        names = [kind.field(index).name for index in range(kind.num_fields)]
        return [dict(zip(names, row, strict=True)) for row in zip(*children, strict=True)]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        nanoseconds = to_nanoseconds(column.drop_null())
        known = iter(nanoseconds.tolist())
        return [next(known) if valid else None for valid in column.is_valid().to_pylist()]
    if pa.types.is_duration(kind):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in values]
    return values
