"""Writers of events: CSV, JSON lines, Parquet."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.errors import EventError
from ensue.io.files import create_binary, with_compressed
from ensue.io.instants import as_text
from ensue.io.replacing import replacing

_Write = Callable[[pa.RecordBatch], object]


def write_events(
    batches: Iterable[pa.RecordBatch],
    path: str | os.PathLike[str],
    *,
    schema: pa.Schema | None = None,
) -> int:
    """Write CSV, JSON lines or Parquet, by the suffix of the path; return the number of rows.

    The columns are those of the first batch, unless a schema is given, which also serves when
    there is no batch at all. JSON lines takes batches that bring new columns; the others do not.
    The file is replaced when the new one is complete: an error leaves the old one.
    """
    target = Path(path)
    opener = _opener(target)
    rest = iter(batches)
    first = list(islice(rest, 1))
    columns = schema or (first[0].schema if first else pa.schema([]))
    rows = 0
    try:
        with replacing(target) as new, opener(new, columns, target) as write:
            for batch in chain(first, rest):
                write(batch)
                rows += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EventError(f"{target}: cannot be written: {reason}") from error
    return rows


def _opener(path: Path) -> Callable[[Path, pa.Schema, Path], AbstractContextManager[_Write]]:
    name = path.name.lower()
    for suffixes, opener in _OPENERS.items():
        if name.endswith(suffixes):
            return opener
    raise EventError(
        f"{path}: events are written to files that end in .csv, .jsonl, .ndjson, .parquet or .pq, "
        "or in .gz or .zst after one of the first three; choose one of them"
    )


@contextmanager
def _csv_file(path: Path, schema: pa.Schema, name: Path) -> Iterator[_Write]:
    for field in schema:
        if pa.types.is_nested(field.type):
            raise EventError(
                f"{name}: column {field.name!r} is nested, which CSV cannot hold; "
                "write JSON lines or Parquet"
            )
    with create_binary(path) as sink, arrow_csv.CSVWriter(sink, schema) as writer:
        yield _of_columns(schema, writer.write_batch, name)


@contextmanager
def _parquet_file(path: Path, schema: pa.Schema, name: Path) -> Iterator[_Write]:
    from pyarrow import parquet

    with parquet.ParquetWriter(str(path), schema) as writer:
        yield _of_columns(schema, writer.write_batch, name)


def _of_columns(schema: pa.Schema, write: _Write, path: Path) -> _Write:
    """Write only batches with the columns of the schema."""

    def checked(batch: pa.RecordBatch) -> None:
        if not batch.schema.equals(schema):
            changed = sorted(
                f"{each.name}: {each.type}" for each in set(batch.schema) ^ set(schema)
            )
            raise EventError(
                f"{path}: a batch has other columns than the file ({', '.join(changed)}); "
                "cast all batches to one schema, or write JSON lines"
            )
        write(batch)

    return checked


@contextmanager
def _json_file(path: Path, _: pa.Schema, name: Path) -> Iterator[_Write]:
    with create_binary(path) as sink:
        yield partial(_write_json, sink, name)


def _write_json(sink: IO[bytes], path: Path, batch: pa.RecordBatch) -> None:
    """Write one object a line; NULL and NaN are null, times and decimals text."""
    columns = [_decoded(column) for column in batch.columns]
    for row in pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist():
        try:
            line = _encode(row)
        except (ValueError, TypeError):
            line = _encode(_json_value(row, path, ""))
        sink.write(f"{line}\n".encode())


def _decoded(column: pa.Array[Any]) -> pa.Array[Any]:
    """Decode dictionaries and times in Arrow: faster, and exact to the nanosecond."""
    text: pa.Array[Any] = as_text(column)
    return text


def _json_value(value: Any, path: Path, column: str) -> Any:
    """Convert values that JSON does not have."""
    if isinstance(value, dict):
        return {key: _json_value(item, path, column or key) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(item, path, column) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        raise EventError(f"{path}: column {column!r} holds {value}, and JSON has no infinity")
    if isinstance(value, str | int | float | None):
        return value
    raise EventError(
        f"{path}: column {column!r} holds a {type(value).__name__}, which JSON cannot hold; "
        "write Parquet"
    )


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_OPENERS = {
    with_compressed(".csv"): _csv_file,
    with_compressed(".jsonl", ".ndjson"): _json_file,
    (".parquet", ".pq"): _parquet_file,
}
