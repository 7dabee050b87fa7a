"""Read CSV with the types of its first block, or the declared ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.io.columns import (
    Cut,
    Position,
    Reader,
    Types,
    refuse_same_names,
    schema_from_text,
    schema_to_text,
)
from ensue.io.csv_errors import (
    csv_error,
    misfit,
    no_header,
    not_utf8,
    refuse_long_integers,
    refuse_open_quote,
    too_long,
    warn_of_odd_values,
)
from ensue.io.text import Block, Text, end_of_lines

_BLOCK = 4 << 20
_GUESSES = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.string())


def read_csv(text: Text, types: Types, start: Position | None = None) -> Reader:
    """Open a CSV text, at its beginning or where a cut was made.

    An empty field is NULL, a quoted empty one is an empty string. The first block is parsed twice,
    for its guesses can be too narrow for what follows: times of whole seconds, empty columns.
    """
    if start is None:
        blocks = _blocks(text, 0)
        first = next(blocks, None)
        if first is None or b"\n" not in first.data:
            raise no_header(text)
        sample = _parsed(text, first.data, {}, None, None)
        guessed = sample.schema
        refuse_same_names(guessed, text.name)
        warn_of_odd_values(sample, set(types), text)
        columns = {each.name: _type_to_read(each, types, text) for each in guessed}
        empty = [each.name for each in guessed if each.name not in types and each.type == pa.null()]
        settled: Types = dict.fromkeys(sorted(empty), pa.null())
        blocks = chain([first], blocks)
    else:
        columns = {each.name: each.type for each in schema_from_text(start["columns"])}
        settled = {each.name: each.type for each in schema_from_text(start["settled"])}
        blocks = _blocks(text, start["bytes"])
    shown = {name: settled.get(name, arrow) for name, arrow in columns.items()}
    reading = _Reading(text, columns, dict(settled), set(types))
    schema = pa.schema(list(shown.items()))
    return Reader(schema, True, lambda names: reading.cuts(blocks, names, start is None))


@dataclass(slots=True)
class _Reading:
    """The types that columns are read by, and those that get one with their first values."""

    text: Text
    columns: Types
    settled: dict[str, pa.DataType]
    declared: set[str]

    def cuts(
        self, blocks: Iterator[Block], names: Collection[str] | None, header: bool
    ) -> Iterator[Cut]:
        """Parse block by block; the first one may begin with the header."""
        # At least one column is read: it tells the number of rows.
        every = list(self.columns)
        wanted = None if names is None else [n for n in every if n in names] or every[:1]
        unsure = {
            name: at
            for at, (name, arrow) in enumerate(self.columns.items())
            if arrow == pa.float64() and name not in self.declared
            if wanted is None or name in wanted
        }
        for block in blocks:
            names_here = None if header else every
            header = False
            if block.data[:1] in (b"\n", b"\r") and not block.data.strip(b"\r\n"):
                continue
            batch = _parsed(self.text, block.data, self.columns, names_here, wanted)
            refuse_long_integers(batch, unsure, block.data, self.text)
            yield Cut(self._settle(batch), self._position(block.end))

    def _settle(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give columns that were read as text, because they were empty, the type they deserve."""
        for name in self.settled:
            at = batch.schema.get_field_index(name)
            if at < 0:
                continue
            texts = batch.column(at)
            if self.settled[name] == pa.null() and texts.null_count < len(texts):
                self.settled[name] = next(arrow for arrow in _GUESSES if _casts(texts, arrow))
            arrow = self.settled[name]
            try:
                array = pa.nulls(len(texts)) if arrow == pa.null() else texts.cast(arrow)
            except pa.ArrowInvalid as error:
                value = next(each for each in texts if not _casts(each, arrow)).as_py()
                place = list(self.columns).index(name)
                raise misfit(self.text, place, name, arrow, value) from error
            batch = batch.set_column(at, name, array)
        return batch

    def _position(self, offset: int) -> Position:
        return {
            "bytes": offset,
            "columns": schema_to_text(pa.schema(list(self.columns.items()))),
            "settled": schema_to_text(pa.schema(list(self.settled.items()))),
        }


def _parsed(
    text: Text,
    data: bytes,
    columns: Types,
    names: list[str] | None,
    wanted: list[str] | None,
) -> pa.RecordBatch:
    """Parse whole records; without names, the first one is the header."""
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            # One thread, which leaves the others to whoever evaluates the block before.
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=b'"' in data),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(columns),
                include_columns=wanted,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise csv_error(text, columns, error) from error


def _type_to_read(field: pa.Field[Any], types: Types, text: Text) -> pa.DataType:
    """Choose the type to read a column by: the guess, widened, unless another is declared."""
    guess: pa.DataType = field.type
    declared = types.get(field.name, guess)
    if isinstance(guess, pa.TimestampType) and isinstance(declared, pa.TimestampType):
        return pa.timestamp("us" if guess.unit == "s" else "ns", guess.tz)
    if field.name in types:
        return declared
    if pa.types.is_binary(guess):
        raise not_utf8(text)
    return pa.string() if pa.types.is_null(guess) or pa.types.is_time(guess) else guess


def _casts(texts: pa.Array[Any] | pa.Scalar[Any], arrow: pa.DataType) -> bool:
    try:
        texts.cast(arrow)
    except pa.ArrowInvalid:
        return False
    return True


# Records


def _blocks(text: Text, start: int) -> Iterator[Block]:
    """Read blocks of whole records; a record longer than a block is an error."""

    def boundary(data: bytes) -> int:
        end = _end_of_records(data)
        if not end and len(data) >= _BLOCK:
            raise too_long(text, _BLOCK)
        return end

    for block in text.blocks(_BLOCK, boundary, start):
        if not block.whole:
            refuse_open_quote(block.data, text)
        yield block


_QUOTE = ord('"')
_MAY_OPEN = np.isin(np.arange(256), list(b',\n\r"'))
"""After which bytes a quote may open a field, or go on with one: it doubles the one before it."""

_QUOTED = re.compile(rb'(?:\A|(?<=[,\n\r]))"(?:[^"]|"")*+("?)')
"""A field in quotes, and whether it is closed."""


def _end_of_records(data: bytes) -> int:
    """Return where the last whole record ends: at a newline that is not inside quotes.

    >>> _end_of_records(b'1,"x\\ny"\\n2,"z\\n'), _end_of_records(b'1,5" pipe\\n2')
    (8, 10)
    """
    if b'"' not in data:
        return end_of_lines(data)
    end = end_of_lines(data)
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == _QUOTE)
    opening = quotes[::2]
    if not _MAY_OPEN[array[opening[opening > 0] - 1]].all():
        return _end_by_scanning(data, end)
    # All quotes mean something, so a place is inside quotes when an odd number comes before it.
    while end and np.searchsorted(quotes, end) % 2:
        end = end_of_lines(data[: int(quotes[np.searchsorted(quotes, end) - 1])])
    return end


def _end_by_scanning(data: bytes, end: int) -> int:
    """Return the same where quotes stand inside of fields: they mean nothing there."""
    spans = [(found.start(), found.end(), bool(found[1])) for found in _QUOTED.finditer(data)]
    for start, stop, closed in reversed(spans):
        if start < end and (end <= stop or not closed):
            end = end_of_lines(data[:start])
    return end
