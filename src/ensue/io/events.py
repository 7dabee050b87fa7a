"""Open any accepted input as a stream of Arrow batches.

Nothing is read in advance, except what gives the schema: a footer, the first block of a CSV file,
the first rows of dicts or JSON lines. From then on a column keeps its type; one without values so
far has type null and gets the type of its first values. Rows are counted
from 0, as positions are; lines of files from 1.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import FixedColumns, Reader, TextOptions, Types, refuse_same_names
from ensue.io.dicts import batches_of_chunks, chunks_of_rows
from ensue.io.files import reason
from ensue.io.readers import files_of, open_files
from ensue.io.rejected import Reject
from ensue.io.tables import of_one_schema, read_table

_CHUNK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class EventSource:
    """Events as Arrow batches, to be read once if they are an iterator.

    If the source is not `closed`, later batches may add columns and give types to null columns.
    """

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    closed: bool
    """Whether the format fixes the columns, so that any other name is an error."""
    rows: int | None = None
    """The number of events, if known in advance."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.batches)


def open_events(
    events: object,
    *,
    stream: str | None = None,
    types: Types | None = None,
    reject: Reject | None = None,
    options: TextOptions | None = None,
) -> EventSource:
    """Open tables, frames, dicts or a file as a stream of Arrow batches.

    `types` are declared types of columns: dicts, JSON lines and CSV are read by them (text as
    timestamps and dates too); inputs with a schema keep theirs. With `reject`, lines of files that
    cannot be read are passed to it, and reading continues. `options` of text formats replace
    `types`.

    >>> source = open_events([{"type": "BUY", "price": 27}, {"type": "SELL", "price": 27.5}])
    >>> source.schema.field("price").type
    DataType(double)
    """
    if isinstance(events, EventSource):
        return events
    options = options or TextOptions(types or {})
    if isinstance(events, str | os.PathLike):
        if not str(events):
            raise EventError("the name of the file with the events is empty")
        collecting = replace(options, collect=reject is not None)
        return _open_path(Path(events), collecting, reject)
    of_stream = f" of {stream}" if stream else ""
    table = read_table(events, of_stream)
    if table is not None:
        return _closed(table, f"events{of_stream}")
    if isinstance(events, Iterable) and not isinstance(events, Mapping | bytes | bytearray):
        return _open_iterable(events, of_stream, options)
    raise EventError(
        "events must be a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an "
        "iterable of dicts, or a path to CSV, JSON lines, Parquet or Arrow, "
        f"not a {type(events).__name__}"
    )


def _open_path(path: Path, options: TextOptions, reject: Reject | None) -> EventSource:
    """Open a file by its suffix, a folder of Parquet files, or the files that fit a pattern."""
    return of_reader(open_files(files_of(path), options), reject=reject)


def of_reader(
    reader: Reader, names: Collection[str] | None = None, reject: Reject | None = None
) -> EventSource:
    """Read the columns of these names, or all of them."""

    def batches() -> Iterator[pa.RecordBatch]:
        for read in reader.read_batches(names):
            if reject is not None:
                for each in read.rejected:
                    reject(each)
            if read.batch.num_rows:
                yield read.batch

    return EventSource(reader.schema, batches(), reader.closed, reader.rows)


def _open_iterable(events: Iterable[object], of_stream: str, options: TextOptions) -> EventSource:
    """Open batches, or rows: a sequence as one batch, anything else chunk by chunk."""
    rows = len(events) if isinstance(events, Sequence) else None
    rest = iter(events)
    first = list(islice(rest, 1))
    whole = chain(first, rest)
    if first and isinstance(first[0], pa.RecordBatch):
        schema, where = first[0].schema, f"events{of_stream}"
        return _closed(FixedColumns(schema, of_one_schema(whole, schema, where)), where)
    chunks = chunks_of_rows(whole, _CHUNK_ROWS if rows is None else rows, of_stream)
    return _growing(batches_of_chunks(chunks, options), rows)


def _closed(columns: FixedColumns, where: str) -> EventSource:
    """Return a source with a fixed schema, whose names must be distinct."""
    refuse_same_names(columns.schema, where)
    batches = _without_arrow_errors(columns.batches, where)
    return EventSource(columns.schema, batches, closed=True, rows=columns.rows)


def _without_arrow_errors(
    batches: Iterable[pa.RecordBatch], where: str
) -> Iterator[pa.RecordBatch]:
    """Yield the batches that have rows; name the input in errors of Arrow."""
    try:
        for batch in batches:
            if batch.num_rows:
                yield batch
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{where}: cannot be read any further: {reason(error)}") from error


def _growing(batches: Iterator[pa.RecordBatch], rows: int | None) -> EventSource:
    """Return a source with the schema of its first batch, to which others may add columns."""
    first = next(batches, None)
    if first is None:
        return EventSource(pa.schema([]), iter(()), closed=False, rows=rows)
    return EventSource(first.schema, chain([first], batches), closed=False, rows=rows)
