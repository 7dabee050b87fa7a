"""Rows of Python values as Arrow batches.

Arrow converts silently with loss (1.5 to the integer 1, a datetime to a date), so values are typed
here, by their Python types, and converted by Arrow only where nothing is lost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import TextOptions, Types
from ensue.io.declared import as_declared, formatted_times, times_in
from ensue.io.kinds import (
    ARROW_TYPES,
    KNOWN_KINDS,
    advice,
    join,
    kind_of_class,
    kind_of_type,
    kind_of_value,
)
from ensue.io.places import Place, show

Chunk = tuple[list[Any], Place]
"""The rows of one batch, and their place for errors."""

_DEEPEST = 100
_ADVICE = {
    "int": "integers have 64 bits, so pass such numbers as strings or as doubles",
    "double": "as a double it would not be exact, so pass such numbers as strings or as doubles",
    "decimal": "decimals have at most 38 digits and keep the digits after the point that the "
    "first ones had; pass all rows as a list, or declare the type",
    "string": "text must be valid Unicode",
}


def chunks_of_rows(rows: Iterable[object], size: int, of_stream: str) -> Iterator[Chunk]:
    """Split rows into chunks, checking that all are dicts."""
    rest, start = iter(rows), 0
    while chunk := list(islice(rest, size)):
        place = Place("row ", of_stream, range(start, start + len(chunk)))
        for each in set(map(type, chunk)):
            if kind_of_class(each) != "record":
                index = next(at for at, row in enumerate(chunk) if type(row) is each)
                name = each.__name__
                raise place.error(index, f"events are dicts of attributes, and this is a {name}")
        yield chunk, place
        start += len(chunk)


def batches_of_chunks(chunks: Iterable[Chunk], options: TextOptions) -> Iterator[pa.RecordBatch]:
    """Turn each chunk of rows into a batch that fits the ones before."""
    known: Iterable[pa.Field[Any]] = ()
    for rows, place in chunks:
        batch = batch_of_rows(rows, known, place, options)
        known = batch.schema
        yield batch


def batch_of_rows(
    rows: list[Any],
    known: Iterable[pa.Field[Any]],
    place: Place,
    options: TextOptions,
    *,
    times: bool = False,
) -> pa.RecordBatch:
    """Turn rows into a batch: the known columns with their types first, then new ones.

    With `times`, strings that look like times are parsed as times if the options allow it, and
    always in the columns with the times of events.
    """
    types = {field.name: field.type for field in known}
    arrays: dict[str, pa.Array[Any]] = {}
    for name, column in _columns(rows, types, place).items():
        inner, held = place.within(name), types.get(name, pa.null())
        wanted = options.types.get(name)
        if options.nulls:
            column = [None if isinstance(v, str) and v in options.nulls else v for v in column]
        format = options.format_of(name)
        if format is not None and wanted is None:
            arrays[name] = formatted_times(column, format, inner)
            continue
        if wanted is not None:
            column = as_declared(column, wanted, inner)
            held = types.get(name, wanted)
        elif not options.is_used(name):
            arrays[name] = shown_array(column, held, inner)
            continue
        elif name in options.times or (times and options.finds_times(name)):
            found = times_in(column, held, inner)
            if found is not None:
                arrays[name] = found
                continue
        arrays[name] = array_of(column, held, inner)
    return pa.RecordBatch.from_struct_array(_struct(rows, arrays))


def shown_array(values: list[Any], known: pa.DataType, place: Place) -> pa.Array[Any]:
    """Convert a column that the query does not use; lists and dicts may be of any type.

    The first value that is not NULL decides the type, so that it does not depend on the batches. A
    list or dict without a common type becomes JSON text, as do those after a string; where nested
    and plain values mix otherwise, the later ones become NULL.
    """
    try:
        return array_of(values, known, place)
    except EventError:
        nested = any(isinstance(each, list | tuple | Mapping) for each in values)
        if not nested and kind_of_type(known) not in _NESTED:
            raise
    kept: list[Any] = []
    for index, value in enumerate(values):
        nested = kind_of_value(value) in _NESTED
        kept.append(value)
        if nested and kind_of_type(known) == "string":
            kept[-1] = _as_json(value)
            continue
        try:
            known = array_of([value], known, place.only(index)).type
        except EventError as error:
            if nested and pa.types.is_null(known):
                known, kept[-1] = pa.string(), _as_json(value)
            elif nested or kind_of_type(known) in _NESTED:
                kept[-1] = None
            else:
                raise EventError(str(error), index) from error
    return array_of(kept, known, place)


_NESTED = ("list", "record")


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
    return text.encode(errors="replace").decode()


def array_of(values: list[Any], known: pa.DataType, place: Place) -> pa.Array[Any]:
    """Turn the values of one column into an array, of the known type unless that is null."""
    values, kinds = _clean(values)
    held = kind_of_type(known)
    kind = join(held, kinds)
    if kind is None and "double" in kinds:
        # NaN is NULL, also among strings: data frames write missing values so.
        values, kinds = _clean([None if _is_nan(value) else value for value in values])
        kind = join(held, kinds)
    if kind is None or kind not in KNOWN_KINDS:
        raise _misfit(values, held, place)
    if kind == "record":
        return _record(values, known if isinstance(known, pa.StructType) else (), place)
    if kind == "list":
        return _list(values, pa.null() if held == "null" else known.value_type, place)
    if held == "null" or (held, kind) == ("int", "double"):
        known = _decimal_type(values) if kind == "decimal" else ARROW_TYPES[kind]
    return _convert(values, known, kind, place)


def _record(rows: list[Any], known: Iterable[pa.Field[Any]], place: Place) -> pa.StructArray:
    """Turn dicts, or None, into a struct array: known fields first, then new ones."""
    types = {field.name: field.type for field in known}
    arrays = {
        name: array_of(column, types.get(name, pa.null()), place.within(name))
        for name, column in _columns(rows, types, place).items()
    }
    return _struct(rows, arrays)


def _columns(rows: list[Any], known: Iterable[str], place: Place) -> dict[str, list[Any]]:
    """Return the values of each attribute: known ones first, then new ones."""
    if place.depth > _DEEPEST:
        index = next(at for at, row in enumerate(rows) if row is not None)
        raise place.error(index, f"dicts are nested more than {_DEEPEST} deep; flatten them")
    columns = {}
    for name in dict.fromkeys(chain(known, chain.from_iterable(filter(None, rows)))):
        if not isinstance(name, str):
            index = next(at for at, row in enumerate(rows) if row and name in row)
            raise place.error(index, f"attributes have names, and {show(name)} is not a string")
        columns[name] = [None if row is None else row.get(name) for row in rows]
    return columns


def _struct(rows: list[Any], arrays: dict[str, pa.Array[Any]]) -> pa.StructArray:
    return pa.StructArray.from_arrays(
        list(arrays.values()),
        fields=[pa.field(name, array.type) for name, array in arrays.items()],
        mask=pa.array([row is None for row in rows], pa.bool_()),
    )


def _list(values: list[Any], known: pa.DataType, place: Place) -> pa.Array[Any]:
    """Turn lists, or None, into a list array; all of their items have one type."""
    if place.depth > _DEEPEST:
        raise place.error(0, f"lists are nested more than {_DEEPEST} deep; flatten them")
    owners = [at for at, value in enumerate(values) for _ in value or ()]
    items = [item for value in values for item in value or ()]
    try:
        array = array_of(items, known, place.of(owners))
    except EventError as error:
        raise EventError(str(error), None if error.row is None else owners[error.row]) from error
    offsets = np.cumsum([0, *(len(value or ()) for value in values)]).astype(np.int32)
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), array, mask=mask)


def _clean(values: list[Any]) -> tuple[list[Any], set[str]]:
    """Unwrap NumPy's and pandas' scalars; return the values and their kinds."""
    types = set(map(type, values))
    if any(each.__module__.partition(".")[0] in ("numpy", "pandas") for each in types):
        values = [_unwrap(value) for value in values]
        types = set(map(type, values))
    kinds = {kind_of_class(each) for each in types}
    if "timestamp" in kinds:
        kinds = {kind_of_value(value) for value in values}
    if "decimal" in kinds:
        values = [None if isinstance(v, Decimal) and v.is_nan() else v for v in values]
    return values, kinds


def _unwrap(value: Any) -> Any:
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if not isinstance(value, np.generic):
        return value
    item = value.item()
    if isinstance(value, np.datetime64) and isinstance(item, int):
        return value.astype("datetime64[us]").item()
    return item


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _decimal_type(values: list[Any]) -> pa.DataType:
    finite = [v for v in values if isinstance(v, Decimal) and v.is_finite()]
    scale = max((-int(value.as_tuple().exponent) for value in finite), default=0)
    return pa.decimal128(38, min(max(scale, 0), 38))


def _misfit(values: list[Any], held: str, place: Place) -> EventError:
    """Return the error of the first value whose kind does not fit the earlier ones."""
    so_far = held
    for index, value in enumerate(values):
        kind = kind_of_value(value)
        if kind not in KNOWN_KINDS:
            problem = f"a {kind} cannot be an attribute's value; convert or drop it"
            return place.error(index, problem)
        joined = join(held, (so_far, kind))
        if joined is None:
            return place.error(
                index,
                f"{show(value)} is of type {kind}, but the column is of type {so_far}; "
                f"{advice((kind, so_far))}",
            )
        so_far = joined
    raise AssertionError("called on values that fit")


def _convert(values: list[Any], arrow: pa.DataType, kind: str, place: Place) -> pa.Array[Any]:
    failures = (pa.ArrowException, OverflowError, ValueError, TypeError)
    try:
        return pa.array(values, type=arrow)
    except failures as error:
        for index, value in enumerate(values):
            try:
                pa.array([value], type=arrow)
            except failures:
                hint = _ADVICE.get(kind, "convert it first")
                problem = f"{show(value)} does not fit into the type {kind} ({arrow}); {hint}"
                raise place.error(index, problem) from error
        raise


class FastRows:
    """Converts rows with known columns and types, on a fast path."""

    def __init__(self, known: Types) -> None:
        self._struct = pa.struct(list(known.items()))
        self._allowed = {name: _FAST_TYPES.get(_value_type(kind)) for name, kind in known.items()}

    def table(self, rows: list[Any]) -> pa.Table | None:
        """Return rows as a table, or None if one of them does not fit the fast path."""
        for row in rows:
            if type(row) is not dict:
                return None
            for name, value in row.items():
                allowed = self._allowed.get(name)
                if allowed is None or (value is not None and type(value) is not allowed):
                    return None
        try:
            batch = pa.RecordBatch.from_struct_array(pa.array(rows, self._struct))
        except (pa.ArrowException, OverflowError, ValueError):
            return None
        return pa.Table.from_batches([batch])


_FAST_TYPES: dict[pa.DataType, type] = {
    pa.string(): str,
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): bool,
}


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind
