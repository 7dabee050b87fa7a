"""Matches written for other programs: JSON lines, CSV, Parquet."""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.errors import EventError


def write_table(table: pa.Table, kind: str, path: Path | None) -> None:
    """Write a table of matches to a file or to standard output."""
    try:
        with _sink(path) as sink:
            if kind == "json":
                _write_json(table, sink)
            elif kind == "csv":
                arrow_csv.write_csv(_flat(table), sink)
            else:
                from pyarrow import parquet

                parquet.write_table(table, sink)
    except pa.ArrowException as error:
        raise EventError(f"the matches cannot be written as {kind}: {error}") from error


@contextmanager
def _sink(path: Path | None) -> Iterator[IO[bytes]]:
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
    elif path.suffix.lower() == ".gz":
        # No time of writing in the header: the same matches make the same file.
        with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as file:
            yield cast(IO[bytes], file)
    else:
        with path.open("wb") as file:
            yield file


def _write_json(table: pa.Table, sink: IO[bytes]) -> None:
    for batch in _with_instants_as_text(table).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            sink.write(f"{_encode(row)}\n".encode())


def _flat(table: pa.Table) -> pa.Table:
    """Write lists and records as JSON text: CSV has no other way to hold them."""
    table = _with_instants_as_text(table)
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [_encode(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(texts, pa.string()))
    return table


def _with_instants_as_text(table: pa.Table) -> pa.Table:
    """Replace timestamps, for Python's datetime does not hold nanoseconds."""
    return table.cast(pa.schema([(field.name, _textual(field.type)) for field in table.schema]))


def _textual(kind: Any) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_textual(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _textual(field.type)) for field in kind.fields])
    return pa.string() if pa.types.is_timestamp(kind) else cast(pa.DataType, kind)


def _encode(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except ValueError:
        return _encoder.encode(_without_infinities(value))


def _without_infinities(value: Any) -> Any:
    """Replace numbers that JSON has no word for: NaN is null, an infinity its name."""
    if isinstance(value, dict):
        return {name: _without_infinities(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_infinities(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)
