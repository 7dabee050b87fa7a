"""Tables of events and rows as Arrow messages in one binary column.

So they pass through Spark without being converted to pandas or to rows.
"""

from __future__ import annotations

import pyarrow as pa


def message_of(table: pa.Table) -> bytes:
    """Write a table as one Arrow message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(message: bytes) -> pa.Table:
    """Read an Arrow message."""
    with pa.ipc.open_stream(message) as reader:
        return reader.read_all()
