"""Rows of Arrow tables as events for the reference evaluator."""

from __future__ import annotations

from ensue.logic.complex_event import Event
from ensue.predicates.values import python_values
from ensue.stream.batch import EventBatch


def to_events(stream: EventBatch) -> list[Event]:
    """Return a stream's rows as events: instants in nanoseconds, NaN as NULL."""
    table = stream.table
    columns = {name: python_values(table.column(name)) for name in table.column_names}
    types = stream.types.to_pylist()
    streams = None if stream.streams is None else stream.streams.to_pylist()
    return [
        Event(
            types[row],
            {name: values[row] for name, values in columns.items()},
            int(stream.times[row]),
            None if streams is None else streams[row],
        )
        for row in range(len(types))
    ]
