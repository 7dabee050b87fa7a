"""Read JSON lines, block by block."""

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
from ensue.io.columns import Cut, Position, Reader, Types, schema_from_text, schema_to_text
from ensue.io.dicts import batch_of_rows
from ensue.io.places import Place
from ensue.io.text import Text, end_of_lines

_BLOCK = 1 << 20


def read_json(text: Text, types: Types, start: Position | None = None) -> Reader:
    """Open JSON lines, at their beginning or where a cut was made.

    Python's parser reads them, for it tells the line and leaves text as it is.
    """
    cuts = _cuts(text, types, start)
    if start is not None:
        return Reader(schema_from_text(start["columns"]), False, lambda names: _of(cuts, names))
    first = next(cuts, None)
    if first is None:
        return Reader(pa.schema([]), False, lambda _: iter(()))
    return Reader(first.batch.schema, False, lambda names: _of(chain([first], cuts), names))


def _of(cuts: Iterator[Cut], names: Collection[str] | None) -> Iterator[Cut]:
    """Leave out columns that nobody wants; new ones may be wanted."""
    for cut in cuts:
        if names is None:
            yield cut
            continue
        batch = cut.batch
        kept = [name for name in batch.schema.names if name in names]
        if kept or not batch.num_rows:
            yield Cut(batch.select(kept), cut.position)
        else:
            yield Cut(batch.select(batch.schema.names[:1]), cut.position)


def _cuts(text: Text, types: Types, start: Position | None) -> Iterator[Cut]:
    """Turn blocks of lines into batches that fit the ones before."""
    offset = lines = 0
    known = pa.schema([])
    if start is not None:
        offset, lines = start["bytes"], start["lines"]
        known = schema_from_text(start["columns"])
    for block in text.blocks(_BLOCK, end_of_lines, offset):
        some = BytesIO(block.data).readlines()
        if not lines:
            some[0] = some[0].removeprefix(BOM_UTF8)
        numbers = [at for at, line in enumerate(some, lines + 1) if line and not line.isspace()]
        wanted = [some[number - lines - 1] for number in numbers]
        lines += len(some)
        if numbers:
            place = Place(f"{text.name}, line ", "", numbers)
            batch = batch_of_rows(_objects(wanted, numbers, text.name), known, place, types)
            known = batch.schema
            told = {"bytes": block.end, "lines": lines, "columns": schema_to_text(known)}
            yield Cut(batch, told)


_BETWEEN = token_hex()
"""Stands between the lines that are parsed at once; no file can have it, for nobody knows it."""


def _objects(lines: list[bytes], numbers: list[int], name: str) -> list[dict[str, Any]]:
    """Parse all lines at once, which is fast; where that fails one by one, to tell which is wrong.

    What stands on two lines, or two on one line, would not come out between the right strings.
    """
    separator = f',"{_BETWEEN}",'.encode()
    try:
        values = json.loads((b"[" + separator.join(lines) + b"]").decode())
    except (ValueError, RecursionError):
        values = []
    rows: list[dict[str, Any]] = values[::2]
    whole = len(values) == 2 * len(lines) - 1 and all(each == _BETWEEN for each in values[1::2])
    if whole and all(type(row) is dict for row in rows):
        return rows
    return [_object(line, number, name) for line, number in zip(lines, numbers, strict=True)]


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
