"""Reader of JSON lines, block by block."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from io import BytesIO
from itertools import chain
from secrets import token_hex
from typing import Any

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import (
    Position,
    ReadBatch,
    Reader,
    TextOptions,
    schema_from_text,
    schema_to_text,
)
from ensue.io.dicts import batch_of_rows
from ensue.io.places import Place
from ensue.io.rejected import Rejected
from ensue.io.text import Text, as_text, end_of_lines, origin_from

_BLOCK = 1 << 20
_CONVERTED_AT_ONCE = 256
"""The number of rows that are converted again when one of them is rejected."""


def read_json(text: Text, options: TextOptions, start: Position | None = None) -> Reader:
    """Open JSON lines, at their beginning or at a position.

    Python's parser is used because it reports the line and does not convert strings.
    """
    read_batches = _read_batches(text, options, start)
    if start is not None:
        return Reader(
            schema_from_text(start["columns"]), False, lambda names: _of(read_batches, names)
        )
    first = next(read_batches, None)
    if first is None:
        return Reader(pa.schema([]), False, lambda _: iter(()))
    return Reader(first.batch.schema, False, lambda names: _of(chain([first], read_batches), names))


def _of(read_batches: Iterator[ReadBatch], names: Collection[str] | None) -> Iterator[ReadBatch]:
    """Drop columns that are not selected; new columns may be among the selected."""
    for read in read_batches:
        if names is None:
            yield read
            continue
        batch = read.batch
        kept = [name for name in batch.schema.names if name in names]
        if not kept and batch.num_rows:
            kept = batch.schema.names[:1]
        yield read._replace(batch=batch.select(kept))


def _read_batches(text: Text, options: TextOptions, start: Position | None) -> Iterator[ReadBatch]:
    """Convert blocks of lines into batches, keeping the types of earlier ones."""
    offset = lines = 0
    origin = None
    known = pa.schema([])
    if start is not None:
        offset, lines, origin = start["bytes"], start["lines"], origin_from(start)
        known = schema_from_text(start["columns"])
    for block in text.blocks(_BLOCK, end_of_lines, offset, origin):
        if block.fresh:
            lines = 0
        some = BytesIO(block.data).readlines()
        if not lines:
            some[0] = some[0].removeprefix(BOM_UTF8)
        numbers = [at for at, line in enumerate(some, lines + 1) if line and not line.isspace()]
        wanted = [some[number - lines - 1] for number in numbers]
        lines += len(some)
        if numbers:
            parsing = _Lines(text.name, options, wanted, numbers)
            batch = parsing.batch(known)
            known = batch.schema
            position = {
                "bytes": block.end,
                "lines": lines,
                "columns": schema_to_text(known),
                "origin": block.origin,
            }
            yield ReadBatch(batch, position, tuple(parsing.rejected), parsing.locate)


class _Lines:
    """Lines that become one batch."""

    def __init__(
        self, name: str, options: TextOptions, lines: list[bytes], numbers: list[int]
    ) -> None:
        self._name = name
        self._options = options
        self._lines = lines
        self._numbers = numbers
        self.rejected: list[Rejected] = []

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file and the line of a row of the batch."""
        return self._name, self._numbers[row]

    def batch(self, known: pa.Schema) -> pa.RecordBatch:
        """Parse the lines and type their values; with `collect`, collect lines that do not fit."""
        rows = self._objects()
        try:
            return batch_of_rows(rows, known, self._place(), self._options, times=True)
        except EventError:
            if not self._options.collect:
                raise
        return self._without_misfits(rows, known)

    def _place(self) -> Place:
        return Place(f"{self._name}, line ", "", self._numbers)

    def _objects(self) -> list[dict[str, Any]]:
        rows = _at_once(self._lines)
        if rows is not None:
            return rows
        rows, kept = [], []
        for index, (line, number) in enumerate(zip(self._lines, self._numbers, strict=True)):
            try:
                rows.append(_object(line, number, self._name))
                kept.append(index)
            except EventError as error:
                if not self._options.collect:
                    raise
                self._reject(index, str(error))
        self._keep(kept)
        return rows

    def _without_misfits(self, rows: list[dict[str, Any]], known: pa.Schema) -> pa.RecordBatch:
        """Collect rows with values that do not fit the types of earlier ones."""
        widened, place, options = known, self._place(), self._options
        kept: list[int] = []
        for first in range(0, len(rows), _CONVERTED_AT_ONCE):
            some = list(range(first, min(first + _CONVERTED_AT_ONCE, len(rows))))
            while True:
                within = Place(place.before, place.after, [self._numbers[at] for at in some])
                try:
                    some_rows = [rows[at] for at in some]
                    batch = batch_of_rows(some_rows, widened, within, options, times=True)
                except EventError as error:
                    if error.row is None:
                        raise
                    self._reject(some.pop(error.row), str(error))
                    continue
                widened = batch.schema
                break
            kept += some
        self._keep(kept)
        good = [rows[at] for at in kept]
        return batch_of_rows(good, known, self._place(), options, times=True)

    def _reject(self, index: int, reason: str) -> None:
        event = as_text(self._lines[index])
        self.rejected.append(Rejected(event, reason, self._name, self._numbers[index]))

    def _keep(self, indexes: list[int]) -> None:
        self._lines = [self._lines[at] for at in indexes]
        self._numbers = [self._numbers[at] for at in indexes]


_SEPARATOR = token_hex()
"""Separates lines that are parsed together; random, so that no file contains it."""


def _at_once(lines: list[bytes]) -> list[dict[str, Any]] | None:
    """Parse all lines at once, which is fast; None if they must be parsed one by one.

    A value over two lines, or two values on one line, would displace the separators.
    """
    separator = f',"{_SEPARATOR}",'.encode()
    try:
        values = json.loads((b"[" + separator.join(lines) + b"]").decode())
    except (ValueError, RecursionError):
        return None
    rows: list[dict[str, Any]] = values[::2]
    whole = len(values) == 2 * len(lines) - 1 and all(each == _SEPARATOR for each in values[1::2])
    return rows if whole and all(type(row) is dict for row in rows) else None


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise EventError(f"{name}, line {number}: not UTF-8; convert the file first") from error
    except (ValueError, RecursionError) as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise EventError(
            f"{name}, line {number}: not JSON{where} ({problem}); every line must hold one object"
        ) from error
    if isinstance(row, dict):
        return row
    raise EventError(
        f"{name}, line {number}: every line must hold one object {{…}}, not a {type(row).__name__}"
    )
