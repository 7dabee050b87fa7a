"""Read JSON lines, block by block."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from io import BytesIO
from itertools import chain
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
        numbered = [
            (number, _object(line, number, text.name))
            for number, line in enumerate(some, lines + 1)
            if not line.isspace()
        ]
        lines += len(some)
        if numbered:
            place = Place(f"{text.name}, line ", "", [number for number, _ in numbered])
            batch = batch_of_rows([row for _, row in numbered], known, place, types)
            known = batch.schema
            told = {"bytes": block.end, "lines": lines, "columns": schema_to_text(known)}
            yield Cut(batch, told)


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
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
