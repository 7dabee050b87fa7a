"""Matches written for other programs as they come: JSON lines, CSV, Parquet."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.errors import EventError
from ensue.io.files import create_binary
from ensue.io.instants import with_instants_as_text
from ensue.io.replacing import replacing
from ensue.results.tables import Layout

if TYPE_CHECKING:
    from ensue.cli.run.rules import RuleMatches
    from ensue.results.matches import Matches


class Sink(Protocol):
    """Where matches go."""

    def write(self, matches: Matches | RuleMatches) -> None:
        """Write matches, before others come."""

    def finish(self, last: Matches | RuleMatches | None) -> None:
        """Write what is left; `last` are the last matches, None where it was not to be the end."""


@contextmanager
def open_sink(
    kind: str, path: Path | None, *, layout: Layout, in_place: bool = False
) -> Iterator[Sink]:
    """Open a file or standard output for matches.

    The file takes its place, whole, when this is left without an error; with `in_place` it is
    written where it is, for those who read along.
    """
    if path is None:
        sys.stdout.flush()
        yield TextSink(kind, sys.stdout.buffer, layout)
        sys.stdout.buffer.flush()
        return
    with nullcontext(path) if in_place else replacing(path) as target:
        if kind == "parquet":
            with _ParquetSink(target, layout, path) as sink:
                yield sink
            return
        with create_binary(target) as stream:
            yield TextSink(kind, stream, layout)


class TextSink:
    """JSON lines or CSV: bytes after bytes."""

    def __init__(
        self, kind: str, stream: IO[bytes], layout: Layout, *, has_header: bool = False
    ) -> None:
        self._kind = kind
        self._stream = stream
        self._layout = layout
        self._has_header = has_header

    def write(self, matches: Matches | RuleMatches) -> None:
        """Write matches and hand them to the system at once."""
        written = False
        for table in matches.tables(self._layout):
            if table.num_rows:
                self._write(table)
                written = True
        if written:
            self._stream.flush()

    def finish(self, last: Matches | RuleMatches | None) -> None:
        """Write the header, if nothing was written so far."""
        if self._kind == "csv" and not self._has_header and last is not None:
            self._write(last.empty_table(self._layout))

    def _write(self, table: pa.Table) -> None:
        if self._kind == "json":
            for some in with_instants_as_text(table).to_batches(max_chunksize=4096):
                lines = [_encode(row) for row in some.to_pylist()]
                self._stream.write("".join(f"{line}\n" for line in lines).encode())
            return
        try:
            buffer = pa.BufferOutputStream()
            options = arrow_csv.WriteOptions(include_header=not self._has_header)
            arrow_csv.write_csv(_flat(table), buffer, options)
        except pa.ArrowException as error:
            raise EventError(f"the matches cannot be written as CSV: {error}") from error
        self._stream.write(buffer.getvalue())
        self._has_header = True

    def offset(self) -> int:
        """Return how many bytes were written, all of them on the disk."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()


class _ParquetSink:
    """A Parquet file; its columns are those of the first matches, so these wait for each other."""

    _MOST_BUFFERED = 50_000
    """How many matches are kept before they are written."""

    def __init__(self, path: Path, layout: Layout, name: Path) -> None:
        self._path = path
        self._layout = layout
        self._name = name
        """What errors call the file."""
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._writer: Any = None
        self._last: Matches | RuleMatches | None = None

    def __enter__(self) -> _ParquetSink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, matches: Matches | RuleMatches) -> None:
        """Keep matches until there are many, then write them."""
        self._last = matches
        for table in matches.tables(self._layout):
            if table.num_rows:
                self._tables.append(table)
                self._rows += table.num_rows
            if self._rows >= self._MOST_BUFFERED:
                self._write()

    def finish(self, last: Matches | RuleMatches | None) -> None:
        """Write what waits; a file without matches has columns too."""
        last = last or self._last
        if not self._tables and self._writer is None:
            empty = pa.table({}) if last is None else last.empty_table(self._layout)
            self._tables.append(empty.slice(0, 0))
        if self._tables:
            self._write()

    def _write(self) -> None:
        from pyarrow import parquet

        waiting, self._tables, self._rows = self._tables, [], 0
        try:
            if self._writer is None:
                table = pa.concat_tables(waiting, promote_options="permissive")
                self._writer = parquet.ParquetWriter(str(self._path), table.schema)
            else:
                schema = self._writer.schema
                empty = schema.empty_table()
                table = pa.concat_tables([empty, *waiting], promote_options="permissive")
                if not table.schema.equals(schema):
                    raise EventError(
                        f"{self._name}: the events have other columns now than at first, and a "
                        "Parquet file keeps its columns; write JSON lines, or declare the types "
                        "of all columns"
                    )
            self._writer.write_table(table)
        except pa.ArrowException as error:
            raise EventError(f"the matches cannot be written as Parquet: {error}") from error


def _flat(table: pa.Table) -> pa.Table:
    """Write lists and records as JSON text: CSV has no other way to hold them."""
    table = with_instants_as_text(table)
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            values = table.column(at).to_pylist()
            texts = [None if value is None else _encode(value) for value in values]
            table = table.set_column(at, field.name, pa.array(texts, pa.string()))
    return table


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
