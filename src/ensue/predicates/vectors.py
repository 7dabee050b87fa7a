"""Columns of values with NULLs: NumPy arrays, strings dictionary-encoded.

A `Numbers` vector holds booleans, integers, doubles, or instants and durations in nanoseconds; a
`Strings` vector holds one code a row and the distinct strings, so that a predicate on strings is
evaluated once for each distinct string.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.predicates.values import flattened


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values, and a validity mask if some are NULL."""

    values: np.ndarray
    valid: np.ndarray | None = None

    def is_valid(self) -> np.ndarray:
        return np.ones(len(self.values), bool) if self.valid is None else self.valid


@dataclass(frozen=True, slots=True)
class Strings:
    """A code for each row and the string of each code; NULL has the last code."""

    codes: np.ndarray
    distinct: pa.Array
    """The string of each code; the last is NULL."""

    def take(self, answers: np.ndarray) -> np.ndarray:
        """Expand results of the distinct strings to the rows."""
        expanded: np.ndarray = answers[self.codes]
        return expanded

    def texts(self) -> list[str | None]:
        """Return the string of each row: cheap for few rows only."""
        distinct = self.distinct.to_pylist()
        return [distinct[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Lists:
    """The elements of all lists in order, and the row of each."""

    rows: np.ndarray
    items: Numbers | Strings
    valid: np.ndarray
    """A mask of the rows that are not NULL."""


Vector = Numbers | Strings | Lists


class UnsupportedError(Exception):
    """Raised for what has no vectorised form and is evaluated event by event."""


def vector_of(column: pa.ChunkedArray) -> Vector:
    """Return an Arrow column as a vector."""
    coded = _coded(column)
    if coded is not None:
        return coded
    kind = column.type
    if pa.types.is_dictionary(kind) or _is_string(kind):
        return _strings(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _numbers(column, _as_nanoseconds(column), np.int64)
    if pa.types.is_duration(kind):
        return _numbers(column, column.cast(pa.duration("ns")).cast(pa.int64()), np.int64)
    if pa.types.is_integer(kind):
        return _numbers(column, _as_int64(column), np.int64)
    if pa.types.is_boolean(kind):
        return _numbers(column, column, np.bool_)
    if pa.types.is_floating(kind):
        numbers = _numbers(column, column.cast(pa.float64()), np.float64)
        nan = np.isnan(numbers.values)
        return Numbers(numbers.values, numbers.is_valid() & ~nan) if nan.any() else numbers
    if pa.types.is_null(kind):
        return nulls(len(column))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(column)
    raise UnsupportedError(str(kind))


def _coded(column: pa.ChunkedArray) -> Strings | None:
    """Return a chunk of codes of distinct strings, none of them NULL, as it is; None: another."""
    if column.num_chunks != 1:
        return None
    chunk = column.chunk(0)
    if not isinstance(chunk, pa.DictionaryArray):
        return None
    codes, known = chunk.indices, _properties(chunk.dictionary)
    if codes.null_count or not known.is_plain_text:
        return None
    return Strings(codes.to_numpy(), known.distinct)


def _lists(column: pa.ChunkedArray) -> Lists:
    items = vector_of(flattened(column))
    if isinstance(items, Lists):
        raise UnsupportedError("lists of lists")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return Lists(np.repeat(np.arange(len(column)), lengths), items, column.is_valid().to_numpy())


def nulls(length: int) -> Numbers:
    """Return a vector of NULLs."""
    return Numbers(np.zeros(length, np.int64), np.zeros(length, bool))


def _as_nanoseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.timestamp("ns")).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise UnsupportedError(str(error)) from error


def _as_int64(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise UnsupportedError(str(error)) from error


def _numbers(column: pa.ChunkedArray, plain: pa.ChunkedArray, kind: Any) -> Numbers:
    if column.null_count == 0:
        return Numbers(plain.to_numpy().astype(kind, copy=False))
    valid = column.is_valid().to_numpy()
    values = pc.fill_null(plain, False if kind is np.bool_ else 0).to_numpy()
    return Numbers(values.astype(kind, copy=False), valid)


def _is_string(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def plain_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a dictionary column whose dictionary has a NULL or a value twice."""
    if not pa.types.is_dictionary(column.type):
        return column
    if all(_properties(chunk.dictionary).is_plain for chunk in column.chunks):
        return column
    return column.cast(column.type.value_type)


@dataclass
class _Dictionary:
    """Properties of a dictionary; it holds the dictionary, so that its address stays taken."""

    values: pa.Array

    @cached_property
    def is_plain(self) -> bool:
        """Whether it has no NULL and no value twice."""
        values = self.values
        return not values.null_count and len(values.unique()) == len(values)

    @cached_property
    def is_plain_text(self) -> bool:
        """Whether its values are strings as well."""
        return _is_string(self.values.type) and self.is_plain

    @cached_property
    def distinct(self) -> pa.Array:
        """The strings, followed by NULL."""
        return pa.concat_arrays([self.values.cast(pa.string()), pa.array([None], pa.string())])

    @cached_property
    def plain(self) -> list[Any]:
        """The values as Python objects."""
        return cast(list[Any], self.values.to_pylist())


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a short column as Python objects."""
    if column.num_chunks != 1:
        return cast(list[Any], column.to_pylist())
    chunk = column.chunk(0)
    if not isinstance(chunk, pa.DictionaryArray) or chunk.null_count:
        return cast(list[Any], chunk.to_pylist())
    values = chunk.dictionary
    if len(values) <= len(chunk):  # it was made for these rows and is not reused
        return cast(list[Any], chunk.to_pylist())
    known = _properties(values).plain
    return [known[index] for index in chunk.indices.to_pylist()]


_RECENT: dict[tuple[Any, ...], _Dictionary] = {}
"""Recently used dictionaries by address: the batches of a stream often share one."""

_RECENT_LOCK = Lock()
"""Sessions in several threads share the cache."""

_CACHED_DICTIONARIES, _LONGEST_CACHED = 16, 4096

_LATEST: tuple[_Dictionary, ...] = ()
"""Short dictionaries that were used last: comparing them takes less than finding their place."""

_COMPARED, _LONGEST_COMPARED = 4, 64


def _properties(values: pa.Array) -> _Dictionary:
    """Return the properties of a dictionary, from the cache if it is short."""
    if len(values) <= _LONGEST_COMPARED:
        return _short_properties(values)
    if len(values) > _LONGEST_CACHED:
        return _Dictionary(values)
    places = [0 if each is None else each.address for each in values.buffers()]
    key = (*places, values.offset, len(values))
    with _RECENT_LOCK:
        found = _RECENT.get(key)
        if found is None or not found.values.type.equals(values.type):
            if len(_RECENT) >= _CACHED_DICTIONARIES:
                _RECENT.pop(next(iter(_RECENT)))
            found = _RECENT[key] = _Dictionary(values)
    return found


def _short_properties(values: pa.Array) -> _Dictionary:
    """Return the properties of a short dictionary; equal ones share them."""
    global _LATEST
    for each in _LATEST:
        if each.values.equals(values):
            return each
    found = _Dictionary(values)
    # Threads may replace each other's entry, which is made again then.
    _LATEST = (found, *_LATEST[: _COMPARED - 1])
    return found


def _strings(column: pa.ChunkedArray) -> Vector:
    column = plain_dictionary(column)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()) if pa.types.is_string_view(column.type) else column
        if not _is_string(column.type):
            return vector_of(column)
        column = column.dictionary_encode()
    elif column.num_chunks > 1:
        column = column.unify_dictionaries()
    if not _is_string(column.type.value_type):
        return vector_of(column.cast(column.type.value_type))
    array = single_chunk(column)
    distinct = _properties(array.dictionary).distinct
    codes = array.indices
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int64()), len(distinct) - 1)
    return Strings(codes.to_numpy(zero_copy_only=False), distinct)


def single_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    return array


def path_column(table: pa.Table, path: AttributePath) -> pa.ChunkedArray | None:
    """Return a column or a nested field, or None if the table has none."""
    index = table.schema.get_field_index(path[0])
    if index < 0:
        return None
    column = table.column(index)
    for name in path[1:]:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        column = pc.struct_field(column, name)
    return column


def column_at(table: pa.Table, path: tuple[str, ...]) -> pa.ChunkedArray:
    """Return a column, or a field of a struct column; an attribute that no event has is NULL."""
    column = path_column(table, path)
    return pa.chunked_array([pa.nulls(table.num_rows)]) if column is None else column
