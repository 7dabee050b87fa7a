"""Readers of Parquet and Arrow files, whose schema is part of the format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import Position, ReadBatch, Reader
from ensue.io.files import reason
from ensue.io.kinds import first_difference

_BATCH_ROWS = 1 << 16


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files under a folder by name, without hidden and _temporary ones."""
    files = [
        path
        for path in sorted(folder.rglob("*.parquet"))
        if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not files:
        raise EventError(f"{folder}: there is no .parquet file in this folder")
    return files


def read_parquet(files: Sequence[Path], start: Position | None = None) -> Reader:
    """Read Parquet files one after the other, with the columns of all of them."""
    from pyarrow import parquet

    schema, rows = pa.schema([]), 0
    for path in files:
        try:
            metadata = parquet.read_metadata(path)
            rows += metadata.num_rows
            own = metadata.schema.to_arrow_schema().remove_metadata()
            schema = pa.unify_schemas([schema, own], promote_options="permissive")
        except pa.ArrowTypeError as error:
            raise EventError(
                f"{path}: a column has another type than in the files before it: "
                f"{first_difference([schema, own])}"
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise EventError(f"{path}: cannot be read as Parquet: {reason(error)}") from error

    def read_batches(names: Collection[str] | None) -> Iterator[ReadBatch]:
        wanted = _selected(schema, names)
        at, done = (0, 0) if start is None else (start["file"], start["rows"])
        for number, path in enumerate(files[at:], at):
            for batch in _parquet_batches(path, wanted.names, done):
                done += batch.num_rows
                locate = partial(_in_file, str(path))
                yield ReadBatch(
                    conform(batch, wanted), {"file": number, "rows": done}, locate=locate
                )
            done = 0

    return Reader(schema, True, read_batches, rows)


def _in_file(name: str, _: int) -> tuple[str, None]:
    return name, None


def _parquet_batches(path: Path, names: list[str], skip: int) -> Iterator[pa.RecordBatch]:
    """Read the rows of a file after the first `skip`; row groups to skip are not read at all."""
    from pyarrow import parquet

    # With pre_buffer, the default, Arrow keeps all of the file that it has read in memory.
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        metadata = file.metadata
        ends = list(accumulate(metadata.row_group(i).num_rows for i in range(file.num_row_groups)))
        groups = [group for group, end in enumerate(ends) if end > skip]
        if groups:
            skip -= ends[groups[0] - 1] if groups[0] else 0
        own = [name for name in names if name in file.schema_arrow.names]
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=own):
            kept = batch.slice(skip)
            skip -= batch.num_rows - kept.num_rows
            if kept.num_rows:
                yield kept


def _selected(schema: pa.Schema, names: Collection[str] | None) -> pa.Schema:
    """Select columns by name, at least one, because its length is the number of rows."""
    if names is None:
        return schema
    return pa.schema([each for each in schema if each.name in names] or list(schema)[:1])


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give a batch the columns of the schema: absent ones are NULL."""
    if batch.schema.equals(schema):
        return batch
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def read_arrow(path: Path, start: Position | None = None) -> Reader:
    """Read an Arrow file or stream; the file is mapped, not loaded."""
    source = pa.memory_map(str(path))
    try:
        reader: Any = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        return Reader(stream.schema, True, _arrow_batches(stream.schema, iter(stream), start))
    batches = (reader.get_batch(at) for at in range(reader.num_record_batches))
    return Reader(reader.schema, True, _arrow_batches(reader.schema, batches, start))


def read_arrow_stream(source: Any, start: Position | None = None) -> Reader:
    """Read an Arrow stream that comes through a pipe."""
    stream = pa.ipc.open_stream(source)
    return Reader(stream.schema, True, _arrow_batches(stream.schema, iter(stream), start))


def _arrow_batches(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], start: Position | None
) -> Any:
    def read_batches(names: Collection[str] | None) -> Iterator[ReadBatch]:
        wanted = _selected(schema, names).names
        skip = 0 if start is None else start["rows"]
        done = 0
        for batch in batches:
            kept = batch.slice(max(skip - done, 0)) if done < skip else batch
            done += batch.num_rows
            # Large batches would delay matches.
            for first in range(0, kept.num_rows, _BATCH_ROWS):
                some = kept.slice(first, _BATCH_ROWS)
                after = done - kept.num_rows + first + some.num_rows
                yield ReadBatch(some if names is None else some.select(wanted), {"rows": after})

    return read_batches
