"""Read Parquet and Arrow files, which bring their types along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import FixedColumns
from ensue.io.files import reason

_BATCH_ROWS = 65536


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


def read_parquet(files: Sequence[Path]) -> FixedColumns:
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
                f"{path}: a column has another type than in the files before it: {error}; "
                "write the files with one schema"
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise EventError(f"{path}: cannot be read as Parquet: {reason(error)}") from error
    batches = (
        _conform(batch, schema)
        for path in files
        for batch in parquet.ParquetFile(path).iter_batches(_BATCH_ROWS)
    )
    return FixedColumns(schema, batches, rows)


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
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


def read_arrow(path: Path) -> FixedColumns:
    """Read an Arrow file or stream; the file is mapped, not loaded."""
    source = pa.memory_map(str(path))
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        return FixedColumns(stream.schema, stream)
    batches = (reader.get_batch(at) for at in range(reader.num_record_batches))
    return FixedColumns(reader.schema, batches)
