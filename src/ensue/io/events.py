"""Open whatever a user calls events as a stream of Arrow batches.

Nothing is read before it is asked for, except what tells the columns: a footer, the first block
of a CSV file, the first rows of dicts or JSON lines. From then on a column keeps its type; one
that had no values yet is of type null and takes the type of its first values. Rows are counted
from 0, as positions are; lines of files from 1.

Arrow converts more than we want in silence (1.5 to the integer 1, a time of day away from a
date), so dicts are typed here, value by value type, and handed to Arrow when nothing can be lost.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from types import NoneType
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from ensue.errors import EventError

_CHUNK_ROWS = 4096
_CHUNK_LINES = 16384
_BATCH_ROWS = 65536
_CSV_BLOCK = 4 << 20
_DEEPEST = 100

Types = Mapping[str, pa.DataType]


@dataclass(frozen=True, slots=True)
class EventSource:
    """Events as Arrow batches, to be read once.

    Batches that are not `closed` may bring new columns, and give a type to those of type null.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    closed: bool
    """Whether the columns are fixed by the format, so that a name not among them is a mistake."""
    rows: int | None
    """How many events there are, where that is known in advance."""


def open_events(
    events: object, *, stream: str | None = None, types: Types | None = None
) -> EventSource:
    """Open tables, frames, dicts or a file as a stream of Arrow batches.

    `types` are declared types of columns: dicts, JSON lines and CSV are read by them (text as
    timestamps and dates too); inputs that have types of their own keep these.

    >>> source = open_events([{"type": "BUY", "price": 27}, {"type": "SELL", "price": 27.5}])
    >>> source.schema.field("price").type
    DataType(double)
    """
    if isinstance(events, str | os.PathLike):
        return _open_path(Path(events), types or {})
    of_stream = f" of {stream}" if stream else ""
    if frame := _frame_library(events):
        table = _from_pandas(events, of_stream) if frame == "pandas" else _from_polars(events)
        return _from_table(table, of_stream)
    if isinstance(events, pa.Table):
        return _from_table(events, of_stream)
    if isinstance(events, pa.RecordBatch):
        return _closed(events.schema, [events], events.num_rows, f"events{of_stream}")
    if isinstance(events, pa.RecordBatchReader):
        return _closed(events.schema, events, None, f"events{of_stream}")
    if hasattr(events, "__arrow_c_stream__"):
        return _from_stream(events, of_stream)
    if isinstance(events, Iterable) and not isinstance(events, Mapping | bytes | bytearray):
        return _from_iterable(events, of_stream, types or {})
    raise EventError(
        "events must be a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an "
        "iterable of dicts, or a path to CSV, JSON lines, Parquet or Arrow, "
        f"not a {type(events).__name__}"
    )


def _closed(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], rows: int | None, where: str
) -> EventSource:
    """Make a source of fixed columns, whose names must differ."""
    _refuse_same_names(schema, where)
    return EventSource(schema, _without_arrow_errors(batches, where), closed=True, rows=rows)


def _refuse_same_names(schema: pa.Schema, where: str) -> None:
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise EventError(f"{where}: two columns are named {name!r}; rename one of them")


def _without_arrow_errors(
    batches: Iterable[pa.RecordBatch], where: str
) -> Iterator[pa.RecordBatch]:
    """Hand on the batches that have rows; say where it was when Arrow cannot read on."""
    try:
        for batch in batches:
            if batch.num_rows:
                yield batch
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{where}: cannot be read any further: {_reason(error)}") from error


# Tables and frames


def _frame_library(events: object) -> str | None:
    """Tell whose data frame this is, importing nothing."""
    for each in type(events).__mro__:
        library = each.__module__.partition(".")[0]
        if library in ("pandas", "polars") and each.__name__ in ("DataFrame", "LazyFrame"):
            return library
    return None


def _from_table(table: pa.Table, of_stream: str) -> EventSource:
    return _closed(table.schema, table.to_batches(), table.num_rows, f"events{of_stream}")


def _from_stream(events: Any, of_stream: str) -> EventSource:
    try:
        reader = pa.RecordBatchReader.from_stream(events)
    except pa.ArrowException as error:
        name = type(events).__name__
        raise EventError(f"a {name} is not a table; put it into one, with a column name") from error
    return _closed(reader.schema, reader, None, f"events{of_stream}")


def _from_polars(frame: Any) -> pa.Table:
    # Not __arrow_c_stream__: it gives string views, which few Arrow functions take.
    collected = frame.collect() if hasattr(frame, "collect") else frame
    table: pa.Table = collected.to_arrow()
    return table


def _from_pandas(frame: Any, of_stream: str) -> pa.Table:
    """Convert a frame without its index, columns of mixed objects by the rules of dicts."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) == len(names):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            pass
    place = _Place("row ", of_stream, range(len(frame)))
    columns = [
        _array(list(frame.iloc[:, at]), pa.null(), place.within(name))
        for at, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=names)


def _from_iterable(events: Iterable[object], of_stream: str, types: Types) -> EventSource:
    """Open rows: a sequence as one batch, anything else chunk by chunk."""
    rows = len(events) if isinstance(events, Sequence) else None
    rest = iter(events)
    first = list(islice(rest, 1))
    whole = chain(first, rest)
    if first and isinstance(first[0], pa.RecordBatch):
        schema, where = first[0].schema, f"events{of_stream}"
        return _closed(schema, _of_one_schema(whole, schema, where), None, where)
    chunks = _row_chunks(whole, _CHUNK_ROWS if rows is None else rows, of_stream)
    return _from_chunks(chunks, rows, types)


def _of_one_schema(
    batches: Iterable[object], schema: pa.Schema, where: str
) -> Iterator[pa.RecordBatch]:
    """Hand on the batches as long as they look like the first."""
    for number, batch in enumerate(batches):
        if not isinstance(batch, pa.RecordBatch):
            name = type(batch).__name__
            raise EventError(
                f"{where}: item {number} is a {name}, not a RecordBatch like the first"
            )
        if not batch.schema.equals(schema):
            changed = sorted({f"{f.name}: {f.type}" for f in (set(batch.schema) ^ set(schema))})
            raise EventError(
                f"{where}: batch {number} has other columns than the first ({', '.join(changed)}); "
                "cast all batches to one schema"
            )
        yield batch


# Rows of Python values


@dataclass(frozen=True, slots=True)
class _Place:
    """Where values of one column stand, for the sentences of errors."""

    before: str
    after: str
    numbers: Sequence[int]
    column: str = ""
    depth: int = 0

    def within(self, name: str) -> _Place:
        column = f"{self.column}.{name}" if self.depth else name
        return replace(self, column=column, depth=self.depth + 1)

    def error(self, index: int, problem: str) -> EventError:
        column = f", column {_show(self.column)}" if self.depth else ""
        return EventError(f"{self.before}{self.numbers[index]}{self.after}{column}: {problem}")


_Chunk = tuple[list[Any], _Place]

_KINDS: dict[type, str] = {
    NoneType: "null",
    bool: "boolean",
    int: "int",
    float: "double",
    str: "string",
    datetime: "timestamp",
    date: "date",
    Decimal: "decimal",
    dict: "record",
}
_ARROW_TYPES: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us"),
    "timestamp with time zone": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
}
_KNOWN_KINDS = {*_ARROW_TYPES, "decimal", "record"}
_WAYS_OUT = {
    "int": "integers have 64 bits, so pass such numbers as strings or as doubles",
    "double": "as a double it would not be exact, so pass such numbers as strings or as doubles",
    "decimal": "decimals have at most 38 digits and keep the digits after the point that the "
    "first ones had; pass all rows as a list, or declare the type",
    "string": "text must be valid Unicode",
}


def _from_chunks(chunks: Iterator[_Chunk], rows: int | None, types: Types) -> EventSource:
    batches = _batches(chunks, types)
    first = next(batches, None)
    if first is None:
        return EventSource(pa.schema([]), iter(()), closed=False, rows=rows)
    return EventSource(first.schema, chain([first], batches), closed=False, rows=rows)


def _batches(chunks: Iterator[_Chunk], types: Types) -> Iterator[pa.RecordBatch]:
    """Turn each chunk of rows into a batch that fits the ones before."""
    known: Iterable[pa.Field[Any]] = ()
    for rows, place in chunks:
        record = _record(rows, known, place, types)
        batch = pa.RecordBatch.from_struct_array(record)
        known = batch.schema
        yield batch


def _row_chunks(rows: Iterable[object], size: int, of_stream: str) -> Iterator[_Chunk]:
    rest, start = iter(rows), 0
    while chunk := list(islice(rest, size)):
        place = _Place("row ", of_stream, range(start, start + len(chunk)))
        for each in set(map(type, chunk)):
            if _kind(each) != "record":
                index = next(at for at, row in enumerate(chunk) if type(row) is each)
                name = each.__name__
                raise place.error(index, f"events are dicts of attributes, and this is a {name}")
        yield chunk, place
        start += len(chunk)


def _record(
    rows: list[Any], known: Iterable[pa.Field[Any]], place: _Place, declared: Types | None = None
) -> pa.StructArray:
    """Turn dicts, or None, into a struct array: known fields first, then new ones."""
    if place.depth > _DEEPEST:
        index = next(at for at, row in enumerate(rows) if row is not None)
        raise place.error(index, f"dicts are nested more than {_DEEPEST} deep; flatten them")
    types = {field.name: field.type for field in known}
    arrays = []
    for name in dict.fromkeys(chain(types, chain.from_iterable(filter(None, rows)))):
        if not isinstance(name, str):
            index = next(at for at, row in enumerate(rows) if row and name in row)
            raise place.error(index, f"attributes have names, and {_show(name)} is not a string")
        inner = place.within(name)
        column = [None if row is None else row.get(name) for row in rows]
        wanted = declared.get(name) if declared else None
        if wanted is not None:
            column = _as_declared(column, wanted, inner)
        held = types.get(name, pa.null() if wanted is None else wanted)
        arrays.append((name, _array(column, held, inner)))
    return pa.StructArray.from_arrays(
        [array for _, array in arrays],
        fields=[pa.field(name, array.type) for name, array in arrays],
        mask=pa.array([row is None for row in rows], pa.bool_()),
    )


def _array(values: list[Any], known: pa.DataType, place: _Place) -> pa.Array[Any]:
    """Turn the values of one column into an array, of the known type if there is one."""
    values, kinds = _clean(values)
    held = _kind_of_type(known)
    kind = _join(held, kinds)
    if kind is None and "double" in kinds:
        # NaN reads as NULL, also among strings: this is how frames write what is missing.
        values, kinds = _clean([None if _is_nan(value) else value for value in values])
        kind = _join(held, kinds)
    if kind is None or kind not in _KNOWN_KINDS:
        raise _misfit(values, held, place)
    if kind == "record":
        return _record(values, known if isinstance(known, pa.StructType) else (), place)
    if held == "null":
        known = _decimal_type(values) if kind == "decimal" else _ARROW_TYPES[kind]
    return _convert(values, known, kind, place)


def _clean(values: list[Any]) -> tuple[list[Any], set[str]]:
    """Unwrap NumPy's and pandas' scalars; tell the kinds of values that remain."""
    types = set(map(type, values))
    if any(each.__module__.partition(".")[0] in ("numpy", "pandas") for each in types):
        values = [_unwrap(value) for value in values]
        types = set(map(type, values))
    kinds = {_kind(each) for each in types}
    if "timestamp" in kinds:
        kinds = {_kind_of_value(value) for value in values}
    if "decimal" in kinds:
        values = [None if isinstance(v, Decimal) and v.is_nan() else v for v in values]
    return values, kinds


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _unwrap(value: Any) -> Any:
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if not isinstance(value, np.generic):
        return value
    item = value.item()
    if isinstance(value, np.datetime64) and isinstance(item, int):
        return value.astype("datetime64[us]").item()
    return item


@cache
def _kind(python_type: type) -> str:
    """Name the CEQL type of a Python type, or else the Python type."""
    for each in python_type.__mro__:
        if each in _KINDS:
            return _KINDS[each]
    return "record" if issubclass(python_type, Mapping) else python_type.__name__


def _kind_of_value(value: Any) -> str:
    python_type: type = type(value)
    aware = isinstance(value, datetime) and value.tzinfo is not None
    return "timestamp with time zone" if aware else _kind(python_type)


def _kind_of_type(arrow: pa.DataType) -> str:
    """Name the CEQL type of an Arrow type, or else the Arrow type."""
    if isinstance(arrow, pa.DictionaryType):
        return _kind_of_type(arrow.value_type)
    if isinstance(arrow, pa.TimestampType):
        return "timestamp with time zone" if arrow.tz else "timestamp"
    for kind, test in _TYPE_TESTS.items():
        if test(arrow):
            return kind
    return str(arrow)


_TYPE_TESTS: dict[str, Callable[[pa.DataType], bool]] = {
    "null": pa.types.is_null,
    "boolean": pa.types.is_boolean,
    "int": pa.types.is_integer,
    "double": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "string": lambda arrow: (
        pa.types.is_string(arrow)
        or pa.types.is_large_string(arrow)
        or pa.types.is_string_view(arrow)
    ),
    "date": pa.types.is_date,
    "record": pa.types.is_struct,
}


def _fits(kind: str, wanted: str) -> bool:
    """Tell whether values of a kind can stand in a column of another without a loss."""
    return kind in (wanted, "null") or (kind == "int" and wanted in ("double", "decimal"))


def _join(held: str, kinds: Iterable[str]) -> str | None:
    """Return the kind in which all kinds fit: the one held so far, if there is one."""
    joined = held
    for kind in kinds:
        if _fits(kind, joined):
            continue
        if held != "null" or not _fits(joined, kind):
            return None
        joined = kind
    return joined


def _misfit(values: list[Any], held: str, place: _Place) -> EventError:
    """Find the first value that does not go with those before it, and say so."""
    so_far: str = held
    for index, value in enumerate(values):
        kind = _kind_of_value(value)
        if kind not in _KNOWN_KINDS:
            way_out = "flatten it" if isinstance(value, list | tuple) else "convert or drop it"
            return place.error(index, f"a {kind} cannot be an attribute's value; {way_out}")
        joined = _join(held, {kind}) if held != "null" else _join("null", {so_far, kind})
        if joined is None:
            return place.error(
                index,
                f"{_show(value)} is of type {kind}, but the column is of type {so_far}; "
                "give it one type, or declare one that holds both",
            )
        so_far = joined
    raise AssertionError("called on values that fit")


def _decimal_type(values: list[Any]) -> pa.DataType:
    finite = [v for v in values if isinstance(v, Decimal) and v.is_finite()]
    scale = max((-int(value.as_tuple().exponent) for value in finite), default=0)
    return pa.decimal128(38, min(max(scale, 0), 38))


def _as_declared(values: list[Any], wanted: pa.DataType, place: _Place) -> list[Any]:
    """Read text as the declared timestamp, date or decimal, which JSON has no other way to say."""
    if isinstance(wanted, pa.TimestampType):
        parsed = _parsed(values, datetime.fromisoformat, "2026-01-31T09:30:00", place)
        return [_in_zone(value, wanted.tz is not None) for value in parsed]
    if pa.types.is_date(wanted):
        return _parsed(values, date.fromisoformat, "2026-01-31", place)
    if pa.types.is_decimal(wanted):
        # The shortest text of a double is what was written, up to 15 digits.
        texts = [repr(value) if isinstance(value, float) else value for value in values]
        return _parsed(texts, Decimal, "27.85", place)
    return values


def _in_zone(value: Any, aware: bool) -> Any:
    if not isinstance(value, datetime) or (value.tzinfo is not None) == aware:
        return value
    return value.replace(tzinfo=UTC) if aware else value.astimezone(UTC).replace(tzinfo=None)


def _parsed(
    values: list[Any], parse: Callable[[str], object], example: str, place: _Place
) -> list[Any]:
    """Parse those values that are strings."""
    parsed = list(values)
    for index, value in enumerate(values):
        if isinstance(value, str):
            try:
                parsed[index] = parse(value)
            except (ValueError, ArithmeticError) as error:
                problem = f"{_show(value)} is not written like {example}"
                raise place.error(index, problem) from error
    return parsed


def _convert(values: list[Any], arrow: pa.DataType, kind: str, place: _Place) -> pa.Array[Any]:
    failures = (pa.ArrowException, OverflowError, ValueError, TypeError)
    try:
        return pa.array(values, type=arrow)
    except failures as error:
        for index, value in enumerate(values):
            try:
                pa.array([value], type=arrow)
            except failures:
                way_out = _WAYS_OUT.get(kind, "convert it first")
                problem = f"{_show(value)} does not fit into the type {kind} ({arrow}); {way_out}"
                raise place.error(index, problem) from error
        raise


def _show(value: object) -> str:
    """Write a value so that it fits into a sentence."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of {math.ceil(value.bit_length() * math.log10(2))} digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


# Files


def _open_path(path: Path, types: Types) -> EventSource:
    """Open a file by its suffix, or a folder of Parquet files."""
    try:
        if path.is_dir():
            return _read_parquet(_parquet_files(path), path)
        if not path.exists():
            raise EventError(f"{path}: there is no such file")
        return _reader(path)(path, types)
    except (pa.ArrowException, OSError) as error:
        raise EventError(f"{path}: cannot be read: {_reason(error)}") from error


def _reader(path: Path) -> Callable[[Path, Types], EventSource]:
    name = path.name.lower()
    for suffixes, reader in _READERS.items():
        if name.endswith(suffixes):
            return reader
    known = ", ".join(chain.from_iterable(_READERS))
    raise EventError(
        f"{path}: events are read from files that end in {known}; rename or convert it"
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.partition(" Detail:")[0]
    return str(error)


_UNREADABLE = (OSError, EOFError, zlib.error, csv.Error)


def _open_binary(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    return path.open("rb")


def _read_json(path: Path, types: Types) -> EventSource:
    return _from_chunks(_json_chunks(path), None, types)


def _json_chunks(path: Path) -> Iterator[_Chunk]:
    """Read JSON lines; Python's parser, for it tells the line and leaves text as it is."""
    rows: list[Any] = []
    numbers: list[int] = []
    try:
        with _open_binary(path) as file:
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                rows.append(_json_object(line, number, path))
                numbers.append(number)
                if len(rows) == _CHUNK_LINES:
                    yield rows, _Place(f"{path}, line ", "", numbers)
                    rows, numbers = [], []
    except _UNREADABLE as error:
        raise EventError(f"{path}: cannot be read any further: {_reason(error)}") from error
    if rows:
        yield rows, _Place(f"{path}, line ", "", numbers)


def _json_object(line: bytes, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise EventError(f"{path}, line {number}: not UTF-8; convert the file first") from error
    except (ValueError, RecursionError) as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise EventError(
            f"{path}, line {number}: not JSON{where} ({reason}); every line must hold one object"
        ) from error
    if isinstance(row, dict):
        return row
    raise EventError(
        f"{path}, line {number}: every line must hold one object {{…}}, not a {type(row).__name__}"
    )


def _parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files under a folder by name, without hidden and _temporary ones."""
    files = [
        path
        for path in sorted(folder.rglob("*.parquet"))
        if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not files:
        raise EventError(f"{folder}: there is no .parquet file in this folder")
    return files


def _read_parquet(files: Sequence[Path], where: Path) -> EventSource:
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
            raise EventError(f"{path}: cannot be read as Parquet: {_reason(error)}") from error
    batches = (
        _conform(batch, schema)
        for path in files
        for batch in parquet.ParquetFile(path).iter_batches(_BATCH_ROWS)
    )
    return _closed(schema, batches, rows, str(where))


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


def _read_ipc(path: Path) -> EventSource:
    """Read an Arrow file or stream; the file is mapped, not loaded."""
    source = pa.memory_map(str(path))
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        return _closed(stream.schema, stream, None, str(path))
    batches = (reader.get_batch(at) for at in range(reader.num_record_batches))
    return _closed(reader.schema, batches, None, str(path))


# CSV


def _read_csv(path: Path, types: Types) -> EventSource:
    """Read CSV with the types of its first block, or the declared ones.

    An empty field is NULL, a quoted empty one is an empty string. The first block is read twice,
    for its guesses can be too narrow for what follows: times of whole seconds, empty columns.
    """
    try:
        with _open_csv(path, {}) as reader:
            guessed = reader.schema
        _refuse_same_names(guessed, str(path))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _csv_error(path, {}, error) from error
    columns = {each.name: _csv_type(each, types, path) for each in guessed}
    empty = {each.name for each in guessed if each.name not in types and each.type == pa.null()}
    schema = pa.schema(
        [(name, pa.null() if name in empty else arrow) for name, arrow in columns.items()]
    )
    return _closed(schema, _csv_batches(path, columns, empty, set(types)), None, str(path))


def _open_csv(path: Path, columns: Types) -> arrow_csv.CSVStreamingReader:
    zipped = path.suffix.lower() == ".gz"
    source: Any = pa.input_stream(str(path), compression="gzip") if zipped else path
    return arrow_csv.open_csv(
        source,
        read_options=arrow_csv.ReadOptions(block_size=_CSV_BLOCK),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict(columns),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _csv_type(field: pa.Field[Any], types: Types, path: Path) -> pa.DataType:
    """Choose the type to read a column by: the guess, widened, unless another is declared."""
    guess: pa.DataType = field.type
    declared = types.get(field.name, guess)
    if isinstance(guess, pa.TimestampType) and isinstance(declared, pa.TimestampType):
        return pa.timestamp("us" if guess.unit == "s" else "ns", guess.tz)
    if field.name in types:
        return declared
    if pa.types.is_binary(guess):
        raise _not_utf8(path)
    return pa.string() if pa.types.is_null(guess) or pa.types.is_time(guess) else guess


def _csv_batches(
    path: Path, columns: Types, empty: set[str], declared: set[str]
) -> Iterator[pa.RecordBatch]:
    """Read the batches; columns that were empty so far get a type with their first values."""
    settled: dict[str, pa.DataType] = dict.fromkeys(sorted(empty), pa.null())
    unsure = {name for name, arrow in columns.items() if arrow == pa.float64()} - declared
    batch = None
    try:
        with _open_csv(path, columns) as reader:
            for batch in reader:
                _refuse_long_integers(batch, unsure, path)
                yield _settle(batch, settled, path)
    except pa.ArrowInvalid as error:
        raise _csv_error(path, columns, error) from error
    if batch is not None:
        _refuse_open_quote(batch, path)


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
            raise _csv_misfit(path, at, name, settled[name], text) from error
        batch = batch.set_column(at, name, array)
    return batch


def _casts(texts: pa.Array[Any] | pa.Scalar[Any], arrow: pa.DataType) -> bool:
    try:
        texts.cast(arrow)
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_long_integers(batch: pa.RecordBatch, unsure: set[str], path: Path) -> None:
    """Stop at integers of more than 64 bits, of which Arrow would make inexact doubles."""
    from pyarrow import compute

    for name in sorted(unsure):
        bounds: Any = compute.min_max(batch.column(name)).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) < 2**63:
            continue
        unsure.discard(name)
        test = partial(_is_long_integer, at=batch.schema.get_field_index(name))
        if place := _csv_find(path, test):
            raise EventError(
                f"{place}, column {name!r}: an integer does not fit into 64 bits; "
                "declare the column as string or double"
            )


def _is_long_integer(record: list[str], at: int) -> bool:
    text = record[at] if at < len(record) else ""
    if not _DIGITS.fullmatch(text):
        return False
    return len(text.lstrip("+-0")) > 19 or not -(2**63) <= int(text) < 2**63


def _refuse_open_quote(last: pa.RecordBatch, path: Path) -> None:
    """Stop when the last row swallowed the rest of the file: Arrow closes a quote left open."""
    row = [column[-1].as_py() for column in last.columns]
    if any(isinstance(value, str) and "\n" in value for value in row):
        with _csv_records(path, strict=True) as records:
            start = 1
            try:
                for _ in records:
                    start = records.line_num + 1
            except csv.Error as error:
                if "end of data" in str(error):
                    problem = "a quote is opened and never closed"
                    raise EventError(f"{path}, line {start}: {problem}") from error


@contextmanager
def _csv_records(path: Path, *, strict: bool = False) -> Iterator[Any]:
    with (
        _open_binary(path) as binary,
        io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline="") as text,
    ):
        yield csv.reader(text, strict=strict)


def _csv_find(path: Path, wrong: Callable[[list[str]], bool]) -> str | None:
    """Look for the line of the first wrong record: slow, but done for errors only."""
    with _csv_records(path) as records:
        try:
            next(records, None)
            start = records.line_num + 1
            for record in records:
                if record and wrong(record):
                    return f"{path}, line {start}"
                start = records.line_num + 1
        except _UNREADABLE:
            pass
    return None


def _csv_misfit(path: Path, at: int, name: str, arrow: pa.DataType, text: str) -> EventError:
    place = _csv_find(path, lambda record: len(record) > at and record[at] == text) or path
    return EventError(
        f"{place}, column {name!r}: {_show(text)} is not of type {_kind_of_type(arrow)}, as the "
        "column is; declare a type that holds all of its values"
    )


def _csv_error(path: Path, columns: Types, error: Exception) -> EventError:
    """Say in our words what Arrow found wrong with a CSV file, and on which line."""
    text = str(error)
    if found := re.search(r"column #(\d+): .*: invalid value '(.*)'", text, re.DOTALL):
        at = int(found[1])
        name = list(columns)[at]
        return _csv_misfit(path, at, name, columns[name], found[2])
    if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
        width = int(found[1])
        place = _csv_find(path, lambda record: len(record) != width) or path
        return EventError(
            f"{place}: the header names {width} columns, and here are {found[2]}; quote values "
            "that contain commas"
        )
    if "UTF8" in text or isinstance(error, UnicodeDecodeError):
        return _not_utf8(path)
    if "straddling" in text:
        problem = f"a row is longer than {_CSV_BLOCK >> 20} MB; a quote may have been left open"
        return EventError(f"{path}: {problem}")
    if "Empty CSV" in text:
        return EventError(f"{path}: a CSV file starts with a line of column names, then a newline")
    return EventError(f"{path}: not a CSV file: {text}")


def _not_utf8(path: Path) -> EventError:
    place = _csv_find(path, lambda record: any(map(_ESCAPED.search, record))) or path
    return EventError(f"{place}: not UTF-8; convert the file first")


_DIGITS = re.compile(r"[+-]?\d{19,}")
_ESCAPED = re.compile("[\udc80-\udcff]")
_GUESSES = (pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.string())

_READERS: dict[tuple[str, ...], Callable[[Path, Types], EventSource]] = {
    (".csv", ".csv.gz"): _read_csv,
    (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"): _read_json,
    (".parquet", ".pq"): lambda path, _: _read_parquet([path], path),
    (".arrow", ".feather"): lambda path, _: _read_ipc(path),
}
