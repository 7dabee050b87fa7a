"""Reader of CSV, with types inferred from the first block or declared."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from ensue.errors import EventError
from ensue.io.columns import (
    Position,
    ReadBatch,
    Reader,
    TextOptions,
    Types,
    refuse_same_names,
    schema_from_text,
    schema_to_text,
)
from ensue.io.csv_collecting import collected, readable, types_of_most
from ensue.io.csv_errors import (
    csv_error,
    misfit,
    no_header,
    not_utf8,
    refuse_binary,
    refuse_long_integers,
    refuse_open_quote,
    refuse_other_delimiter,
    too_long,
    warn_of_odd_values,
)
from ensue.io.csv_records import end_of_records, records_of
from ensue.io.declared import formatted_times
from ensue.io.files import with_compressed
from ensue.io.follow import Origin
from ensue.io.places import Place
from ensue.io.text import Block, Text, as_text, origin_from

_BLOCK = 4 << 20
_INFERRED_TYPES = (
    pa.int64(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.string(),
)


def read_csv(text: Text, options: TextOptions, start: Position | None = None) -> Reader:
    """Open a CSV text, at its beginning or at a position.

    An empty field is NULL, a quoted empty one is an empty string. The first block is parsed twice,
    because its inferred types can be too narrow: times of whole seconds, empty columns.
    """
    types = options.types
    text.delimiter = options.delimiter or ("\t" if _is_tab_separated(text.name) else ",")
    text.nulls = options.nulls
    if start is None:
        blocks = _blocks(text, options)
        first = next(blocks, None)
        if first is not None:
            refuse_binary(text, first.data)
        if first is None or b"\n" not in first.data:
            raise no_header(text)
        sample = _sampled(text, first.data, options)
        guessed = sample.schema
        refuse_same_names(guessed, text.name)
        refuse_other_delimiter(guessed.names, text)
        columns = {each.name: _type_to_read(each, options, text) for each in guessed}
        if options.collect:
            data = first.data
            numbers = types_of_most(sample, lambda each: _sampled(text, data, options, each))
            columns |= {name: arrow for name, arrow in numbers.items() if name not in types}
        else:
            warn_of_odd_values(sample, set(types), text)
        empty = [each.name for each in guessed if each.name not in types and each.type == pa.null()]
        settled = dict.fromkeys(sorted(empty), pa.null())
        blocks = chain([first], blocks)
        lines = 0
    else:
        columns = {each.name: each.type for each in schema_from_text(start["columns"])}
        settled = {each.name: each.type for each in schema_from_text(start["settled"])}
        blocks = _blocks(text, options, start["bytes"], origin_from(start))
        lines = start.get("lines", 0)
    shown = {name: settled.get(name, arrow) for name, arrow in columns.items()}
    for name in shown.keys() - types.keys():
        format = options.format_of(name)
        if format is not None:
            settled.pop(name, None)
            shown[name] = pa.timestamp("us", "UTC" if "%z" in format else None)
    reading = _Reading(text, options, columns, dict(settled), lines)
    schema = pa.schema(list(shown.items()))
    return Reader(schema, True, lambda names: reading.read_batches(blocks, names, start is None))


@dataclass(slots=True)
class _Reading:
    """The types of columns, and the columns that get their type from their first values."""

    text: Text
    options: TextOptions
    columns: dict[str, pa.DataType]
    settled: dict[str, pa.DataType]
    lines: int
    """The number of lines read so far."""

    def read_batches(
        self, blocks: Iterator[Block], names: Collection[str] | None, header: bool
    ) -> Iterator[ReadBatch]:
        """Parse block by block; the first one may begin with the header."""
        # At least one column is read, because its length is the number of rows.
        every = list(self.columns)
        wanted = None if names is None else [n for n in every if n in names] or every[:1]
        unsure = {
            name: at
            for at, (name, arrow) in enumerate(self.columns.items())
            if arrow == pa.float64() and name not in self.options.types
            if wanted is None or name in wanted
        }
        for block in blocks:
            if block.fresh:
                self.lines = 0
            data, before = block.data, self.lines
            self.lines += data.count(b"\n")
            if block.fresh and self._has_header(data):
                data = _without_header(data, self.text)
                before += block.data.count(b"\n", 0, len(block.data) - len(data))
            if header and self.options.collect:
                head = _without_header(data, self.text)
                before += data.count(b"\n", 0, len(data) - len(head))
                data, header = head, False
            names_here = None if header else every
            header = False
            if data[:1] in (b"\n", b"\r", b"") and not data.strip(b"\r\n"):
                continue
            if self.options.collect:
                yield self._collected(data, before, wanted, unsure)._replace(
                    position=self._position(block)
                )
                continue
            batch = self._batch(self.text, data, names_here, wanted, unsure)
            yield ReadBatch(batch, self._position(block))

    def _batch(
        self,
        text: Text,
        data: bytes,
        names: list[str] | None,
        wanted: list[str] | None,
        unsure: dict[str, int],
    ) -> pa.RecordBatch:
        try:
            batch = _parsed(text, data, self.columns, names, wanted)
        except EventError:
            if not self._widen(data, names, wanted, unsure):
                raise
            batch = _parsed(text, data, self.columns, names, wanted)
        refuse_long_integers(batch, unsure, data, text)
        return self._settle(batch, text)

    def _widen(
        self,
        data: bytes,
        names: list[str] | None,
        wanted: list[str] | None,
        unsure: dict[str, int],
    ) -> bool:
        """Widen integer columns to doubles if that is enough to parse the block."""
        whole = {
            name: at
            for at, (name, arrow) in enumerate(self.columns.items())
            if arrow == pa.int64() and name not in self.options.types
            if wanted is None or name in wanted
        }
        doubles = {name: pa.float64() if name in whole else a for name, a in self.columns.items()}
        try:
            batch = _parsed(self.text.called(self.text.name), data, doubles, names, wanted)
        except EventError:
            return False
        for name, at in whole.items():
            column = batch.column(name)
            if not compute.all(compute.equal(compute.floor(column), column)).as_py():
                self.columns[name] = pa.float64()
                unsure[name] = at
        return True

    def _collected(
        self, data: bytes, before: int, wanted: list[str] | None, unsure: dict[str, int]
    ) -> ReadBatch:
        """Parse records without the header; collect those that cannot be read."""
        every = list(self.columns)
        name = self.text.name

        def parse(data: bytes, line: int | None) -> pa.RecordBatch:
            # A text without a path is not searched for the line: it is known, or not needed.
            text = self.text.called(name if line is None else f"{name}, line {line}")
            return self._batch(text, data, every, wanted, dict(unsure))

        return collected(data, before, self.text, parse)

    def _settle(self, batch: pa.RecordBatch, text: Text) -> pa.RecordBatch:
        """Infer the types of columns that were empty so far and were read as strings."""
        for name in self.settled:
            at = batch.schema.get_field_index(name)
            if at < 0:
                continue
            texts = batch.column(at)
            if self.settled[name] == pa.null() and texts.null_count < len(texts):
                self.settled[name] = next(
                    arrow for arrow in _INFERRED_TYPES if _casts(texts, arrow)
                )
            arrow = self.settled[name]
            try:
                array = pa.nulls(len(texts)) if arrow == pa.null() else texts.cast(arrow)
            except pa.ArrowInvalid as error:
                value = next(each for each in texts if not _casts(each, arrow)).as_py()
                place = list(self.columns).index(name)
                raise misfit(text, place, name, arrow, value) from error
            batch = batch.set_column(at, name, array)
        return self._with_times(batch, text)

    def _with_times(self, batch: pa.RecordBatch, text: Text) -> pa.RecordBatch:
        """Parse the times of columns with a format."""
        for at, name in enumerate(batch.schema.names):
            format = self.options.format_of(name)
            if format is not None and name not in self.options.types:
                # If a single record is read, its line is in the name of the text.
                place = Place(f"{text.name}, row ", "", range(batch.num_rows)).within(name)
                times = formatted_times(batch.column(at).to_pylist(), format, place)
                batch = batch.set_column(at, name, times)
        return batch

    def _has_header(self, data: bytes) -> bool:
        """Return whether a file that replaced another begins with the same header."""
        head = data[: len(data) - len(_without_header(data, self.text))].removeprefix(BOM_UTF8)
        names = next(csv.reader([as_text(head)], delimiter=self.text.delimiter), [])
        if names == list(self.columns):
            return True
        if set(names) & set(self.columns):
            raise EventError(
                f"{self.text.name}: the new file has other columns ({', '.join(names)}) than the "
                f"one before ({', '.join(self.columns)}); start again"
            )
        return False

    def _position(self, block: Block) -> Position:
        return {
            "bytes": block.end,
            "lines": self.lines,
            "origin": block.origin,
            "columns": schema_to_text(pa.schema(list(self.columns.items()))),
            "settled": schema_to_text(pa.schema(list(self.settled.items()))),
        }


def _sampled(
    text: Text, data: bytes, options: TextOptions, types: Types | None = None
) -> pa.RecordBatch:
    """Parse the first block to infer types; with `collect`, only its readable records."""
    if not options.collect:
        return _parsed(text, data, {}, None, None)
    head = data[: len(data) - len(_without_header(data, text))]
    return _parsed(text, head + readable(data[len(head) :], text), types or {}, None, None, _skip)


def _without_header(data: bytes, text: Text) -> bytes:
    records = records_of(data, text.delimiter.encode())
    return data[int(records.ends[0]) :] if len(records.ends) else b""


def _skip(_: object) -> Literal["skip"]:
    return "skip"


def _parsed(
    text: Text,
    data: bytes,
    columns: Types,
    names: list[str] | None,
    wanted: list[str] | None,
    on_ragged: Callable[[Any], Literal["skip", "error"]] | None = None,
) -> pa.RecordBatch:
    """Parse whole records; without names, the first one is the header."""
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            # One thread; the others evaluate the previous block.
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=text.delimiter,
                newlines_in_values=b'"' in data,
                invalid_row_handler=on_ragged,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(columns),
                include_columns=wanted,
                null_values=["", *text.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise csv_error(text, columns, error) from error


def _is_tab_separated(name: str) -> bool:
    return name.lower().endswith(with_compressed(".tsv"))


def _type_to_read(field: pa.Field[Any], options: TextOptions, text: Text) -> pa.DataType:
    """Return the type of a column: the declared one, or the inferred one, widened.

    A column that is compared with strings is read as strings and keeps leading zeros.
    """
    guess: pa.DataType = field.type
    types = options.types
    if field.name not in types:
        if pa.types.is_binary(guess):
            raise not_utf8(text)
        if field.name in options.strings or options.format_of(field.name) is not None:
            return pa.string()
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


def _blocks(
    text: Text, options: TextOptions, start: int = 0, origin: Origin | None = None
) -> Iterator[Block]:
    """Read blocks of whole records; a record longer than a block is an error."""

    def boundary(data: bytes) -> int:
        end = end_of_records(data, text.delimiter.encode())
        if not end and len(data) >= _BLOCK:
            # With `collect`, an open quote spoils its own line only.
            end = data.find(b"\n") + 1 if options.collect else 0
            if not end:
                raise too_long(text, _BLOCK)
        return end

    for block in text.blocks(_BLOCK, boundary, start, origin):
        if not block.whole and not options.collect:
            refuse_open_quote(block.data, text)
        yield block
