"""Open whatever a user calls events as a stream of Arrow batches.

Nothing is read before it is asked for, except what tells the columns: a footer, the first block
of a CSV file, the first rows of dicts or JSON lines. From then on a column keeps its type; one
that had no values yet is of type null and takes the type of its first values. Rows are counted
from 0, as positions are; lines of files from 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.arrow import parquet_files, read_arrow, read_parquet
from ensue.io.columns import FixedColumns, Types, refuse_same_names
from ensue.io.csv import read_csv
from ensue.io.dicts import batches_of_chunks, chunks_of_rows
from ensue.io.files import reason
from ensue.io.jsonl import chunks_of_json
from ensue.io.tables import of_one_schema, read_table

_CHUNK_ROWS = 4096
_CSV = (".csv", ".csv.gz")
_JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather")


@dataclass(frozen=True, slots=True)
class EventSource:
    """Events as Arrow batches, to be read once.

    Batches that are not `closed` may bring new columns, and give a type to those of type null.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    closed: bool
    """Whether the columns are fixed by the format, so that a name not among them is a mistake."""
    rows: int | None
    """How many events there are, where that is known in advance."""


def open_events(
    events: object, *, stream: str | None = None, types: Types | None = None
) -> EventSource:
    """Open tables, frames, dicts or a file as a stream of Arrow batches.

    `types` are declared types of columns: dicts, JSON lines and CSV are read by them (text as
    timestamps and dates too); inputs that have types of their own keep these.

    >>> source = open_events([{"type": "BUY", "price": 27}, {"type": "SELL", "price": 27.5}])
    >>> source.schema.field("price").type
    DataType(double)
    """
    if isinstance(events, str | os.PathLike):
        return _open_path(Path(events), types or {})
    of_stream = f" of {stream}" if stream else ""
    table = read_table(events, of_stream)
    if table is not None:
        return _closed(table, f"events{of_stream}")
    if isinstance(events, Iterable) and not isinstance(events, Mapping | bytes | bytearray):
        return _open_iterable(events, of_stream, types or {})
    raise EventError(
        "events must be a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an "
        "iterable of dicts, or a path to CSV, JSON lines, Parquet or Arrow, "
        f"not a {type(events).__name__}"
    )


def _open_path(path: Path, types: Types) -> EventSource:
    """Open a file by its suffix, or a folder of Parquet files."""
    try:
        if path.is_dir():
            return _closed(read_parquet(parquet_files(path)), str(path))
        if not path.exists():
            raise EventError(f"{path}: there is no such file")
        return _open_file(path, types)
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{path}: cannot be read: {reason(error)}") from error


def _open_file(path: Path, types: Types) -> EventSource:
    name = path.name.lower()
    if name.endswith(_CSV):
        return _closed(read_csv(path, types), str(path))
    if name.endswith(_JSON):
        return _growing(batches_of_chunks(chunks_of_json(path), types), None)
    if name.endswith(_PARQUET):
        return _closed(read_parquet([path]), str(path))
    if name.endswith(_ARROW):
        return _closed(read_arrow(path), str(path))
    known = ", ".join((*_CSV, *_JSON, *_PARQUET, *_ARROW))
    raise EventError(
        f"{path}: events are read from files that end in {known}; rename or convert it"
    )


def _open_iterable(events: Iterable[object], of_stream: str, types: Types) -> EventSource:
    """Open batches, or rows: a sequence as one batch, anything else chunk by chunk."""
    rows = len(events) if isinstance(events, Sequence) else None
    rest = iter(events)
    first = list(islice(rest, 1))
    whole = chain(first, rest)
    if first and isinstance(first[0], pa.RecordBatch):
        schema, where = first[0].schema, f"events{of_stream}"
        return _closed(FixedColumns(schema, of_one_schema(whole, schema, where)), where)
    chunks = chunks_of_rows(whole, _CHUNK_ROWS if rows is None else rows, of_stream)
    return _growing(batches_of_chunks(chunks, types), rows)


def _closed(columns: FixedColumns, where: str) -> EventSource:
    """Make a source of fixed columns, whose names must differ."""
    refuse_same_names(columns.schema, where)
    batches = _without_arrow_errors(columns.batches, where)
    return EventSource(columns.schema, batches, closed=True, rows=columns.rows)


def _without_arrow_errors(
    batches: Iterable[pa.RecordBatch], where: str
) -> Iterator[pa.RecordBatch]:
    """Hand on the batches that have rows; say where it was when Arrow cannot read on."""
    try:
        for batch in batches:
            if batch.num_rows:
                yield batch
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{where}: cannot be read any further: {reason(error)}") from error


def _growing(batches: Iterator[pa.RecordBatch], rows: int | None) -> EventSource:
    """Make a source whose columns are those of its first batch, until others come."""
    first = next(batches, None)
    if first is None:
        return EventSource(pa.schema([]), iter(()), closed=False, rows=rows)
    return EventSource(first.schema, chain([first], batches), closed=False, rows=rows)
