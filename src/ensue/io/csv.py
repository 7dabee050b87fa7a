"""Read CSV with the types of its first block, or the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.io.columns import FixedColumns, Types, refuse_same_names
from ensue.io.csv_errors import (
    csv_error,
    misfit,
    not_utf8,
    refuse_long_integers,
    refuse_open_quote,
)

_BLOCK = 4 << 20
_GUESSES = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.string())


def read_csv(path: Path, types: Types) -> FixedColumns:
    """Open a CSV file, compressed or not.

    An empty field is NULL, a quoted empty one is an empty string. The first block is read twice,
    for its guesses can be too narrow for what follows: times of whole seconds, empty columns.
    """
    with _opened(path, {}) as reader:
        guessed = reader.schema
        refuse_same_names(guessed, str(path))
    columns = {each.name: _type_to_read(each, types, path) for each in guessed}
    empty = {each.name for each in guessed if each.name not in types and each.type == pa.null()}
    schema = pa.schema(
        [(name, pa.null() if name in empty else arrow) for name, arrow in columns.items()]
    )
    return FixedColumns(schema, _batches(path, columns, empty, set(types)))


@contextmanager
def _opened(path: Path, columns: Types) -> Iterator[arrow_csv.CSVStreamingReader]:
    zipped = path.suffix.lower() == ".gz"
    source: Any = pa.input_stream(str(path), compression="gzip") if zipped else path
    try:
        with arrow_csv.open_csv(
            source,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        ) as reader:
            yield reader
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise csv_error(path, columns, _BLOCK, error) from error


def _type_to_read(field: pa.Field[Any], types: Types, path: Path) -> pa.DataType:
    """Choose the type to read a column by: the guess, widened, unless another is declared."""
    guess: pa.DataType = field.type
    declared = types.get(field.name, guess)
    if isinstance(guess, pa.TimestampType) and isinstance(declared, pa.TimestampType):
        return pa.timestamp("us" if guess.unit == "s" else "ns", guess.tz)
    if field.name in types:
        return declared
    if pa.types.is_binary(guess):
        raise not_utf8(path)
    return pa.string() if pa.types.is_null(guess) or pa.types.is_time(guess) else guess


def _batches(
    path: Path, columns: Types, empty: set[str], declared: set[str]
) -> Iterator[pa.RecordBatch]:
    """Read the batches; columns that were empty so far get a type with their first values."""
    settled: dict[str, pa.DataType] = dict.fromkeys(sorted(empty), pa.null())
    unsure = {name for name, arrow in columns.items() if arrow == pa.float64()} - declared
    batch = None
    with _opened(path, columns) as reader:
        for batch in reader:
            refuse_long_integers(batch, unsure, path)
            yield _settle(batch, settled, path)
    if batch is not None:
        refuse_open_quote(batch, path)


def _settle(batch: pa.RecordBatch, settled: dict[str, pa.DataType], path: Path) -> pa.RecordBatch:
    """Give the columns that were read as text, because they were empty, the type they deserve."""
    for name in settled:
        at = batch.schema.get_field_index(name)
        texts = batch.column(at)
        if settled[name] == pa.null() and texts.null_count < len(texts):
            settled[name] = next(arrow for arrow in _GUESSES if _casts(texts, arrow))
        try:
            array = (
                texts.cast(settled[name]) if settled[name] != pa.null() else pa.nulls(len(texts))
            )
        except pa.ArrowInvalid as error:
            text = next(text for text in texts if not _casts(text, settled[name])).as_py()
            raise misfit(path, at, name, settled[name], text) from error
        batch = batch.set_column(at, name, array)
    return batch


def _casts(texts: pa.Array[Any] | pa.Scalar[Any], arrow: pa.DataType) -> bool:
    try:
        texts.cast(arrow)
    except pa.ArrowInvalid:
        return False
    return True
