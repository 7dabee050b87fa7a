"""What is pushed, read as columns that keep their types.

The first rows fix the type of a column, unless a schema was declared; later values are converted
where nothing is lost, and are an error that names column and row where something would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import OPEN, Schema
from ensue.analysis.types import TIME_UNITS
from ensue.errors import EventError
from ensue.io.columns import TextOptions
from ensue.io.dicts import UsualRows
from ensue.io.events import open_events
from ensue.io.kinds import advice, kind_of_type
from ensue.io.places import show
from ensue.io.rejected import Rejected
from ensue.options import ReadOptions
from ensue.stream.batch import (
    NAMES,
    InputBatch,
    declared_columns,
    read_table,
    types_of,
)

Fields = dict[str, pa.DataType]
_Rows = np.ndarray | None
"""The numbers that rows had in their push; None: all from 0."""


Aside = Rejected
"""The name it had before."""


@dataclass(frozen=True, slots=True)
class ConformedInput:
    """What was read from one push, before it is applied."""

    loaded: InputBatch
    fields: Fields
    """The types of all columns from now on."""
    aside: tuple[Rejected, ...] = ()


def load(
    events: object, sources: Sequence[str], options: ReadOptions, declared: Schema = OPEN
) -> InputBatch:
    """Read events, or {stream: events}, into one table."""
    intake = Conformer(sources, options, declared)
    read = intake.merge(events) if isinstance(events, Mapping) else intake.read(events)
    return read.loaded


@dataclass(slots=True)
class Conformer:
    """Reads events; `fields` has the types of the columns that have come so far."""

    sources: Sequence[str]
    options: ReadOptions
    declared: Schema
    lenient: bool = False
    """Reject rows that cannot be read instead of stopping."""
    fields: Fields = field(default_factory=dict)
    _same: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """The columns of the last batch, where nothing had to be done about them."""
    text: TextOptions | None = None
    """How events without types of their own are read; None: by the declared types alone."""
    kept: frozenset[str] = frozenset()
    """Columns whose values are kept by their type, in registers and totals. Integers in the others
    become doubles when the first double comes."""
    _rows: UsualRows | None = None
    _rows_of: Fields | None = None

    @property
    def _text(self) -> TextOptions:
        return self.text or TextOptions(declared_columns(self.declared), self.lenient)

    def read(self, events: object) -> ConformedInput:
        """Read events, a single one, or {stream: events}; nothing changes until `keep`."""
        if isinstance(events, pa.RecordBatch) and events.schema.equals(self._same):
            table = pa.Table.from_batches([events])
            types = types_of(table, self.sources, self.options)
            return ConformedInput(InputBatch(table, True, types, None), self.fields)
        streams = self._streams(events)
        if streams is not None:
            return self.merge(streams)
        aside: list[Rejected] = []
        if isinstance(events, Mapping):
            events = [events]
        quick = self._usual(events) if isinstance(events, list) else None
        if quick is not None:
            types = types_of(quick, self.sources, self.options)
            return ConformedInput(InputBatch(quick, False, types, None), self.fields)
        table, closed, rows = self._table(events, None, aside)
        table, fields, rows = self._conformed(table, self.fields, aside, rows)
        types = types_of(table, self.sources, self.options)
        return ConformedInput(InputBatch(table, closed, types, None, rows), fields, tuple(aside))

    def _usual(self, rows: list[object]) -> pa.Table | None:
        """Read rows that have the columns and types that are known, as most have; None: others."""
        if not self.fields or not rows:
            return None
        if self._rows is None or self._rows_of is not self.fields:
            self._rows, self._rows_of = UsualRows(self.fields), self.fields
        return self._rows.table(rows)

    def batches(self, events: object) -> Iterator[ConformedInput] | None:
        """Read events that come bit by bit as such; None for those that are there as a whole."""
        lazy = isinstance(events, str | PathLike | Iterator) or hasattr(events, "read_next_batch")
        if not lazy or isinstance(events, Mapping):
            return None
        return self._batches(events)

    def _batches(self, events: object) -> Iterator[ConformedInput]:
        aside: list[Rejected] = []
        reject = aside.append if self.lenient else None
        source = open_events(events, options=self._text, reject=reject)
        none = True
        for batch in source.batches:
            none = False
            table = pa.Table.from_batches([batch])
            table, fields, rows = self._conformed(table, self.fields, aside)
            types = types_of(table, self.sources, self.options)
            loaded = InputBatch(table, source.closed, types, None, rows)
            yield ConformedInput(loaded, fields, tuple(aside))
            aside.clear()
        if none or aside:
            table = source.schema.empty_table()
            types = types_of(table, self.sources, self.options)
            yield ConformedInput(
                InputBatch(table, source.closed, types, None), self.fields, tuple(aside)
            )

    def keep(self, read: ConformedInput) -> None:
        """Remember the types of the columns of a push that was applied."""
        self.fields = read.fields

    def _streams(self, events: object) -> Mapping[str, object] | None:
        """Tell {stream: events} from a single event that is a dict."""
        if not isinstance(events, Mapping):
            return None
        several = [type(each) not in _SCALARS and _is_several(each) for each in events.values()]
        unknown = [name for name in events if name not in self.sources]
        if unknown:
            if not several or not all(several):
                return None  # an event, some of whose attributes may be lists
            raise EventError(
                f"the stream '{unknown[0]}' is not among the streams of FROM; FROM has "
                f"{', '.join(self.sources)}"
            )
        records = bool(events) and all(isinstance(each, Mapping) for each in events.values())
        return events if any(several) or records else None

    def merge(self, events: Mapping[str, object]) -> ConformedInput:
        """Read several streams, in the order of FROM."""
        tables, types, streams, numbers = [], [], [], []
        aside: list[Rejected] = []
        fields, closed = self.fields, True
        for number, name in enumerate(self.sources):
            if name not in events:
                continue
            table, fixed, rows = self._table(events[name], name, aside)
            closed = closed and fixed
            table, fields, rows = self._conformed(table, fields, aside, rows)
            numbers.append(np.arange(table.num_rows) if rows is None else rows)
            tables.append(table)
            types += types_of(table, [name], self.options).chunks
            streams.append(np.full(table.num_rows, number, np.int32))
        whole = pa.concat_tables(tables, promote_options="permissive")
        loaded = InputBatch(
            whole,
            closed,
            pa.chunked_array([chunk.cast(NAMES) for chunk in types], NAMES).unify_dictionaries(),
            np.concatenate(streams),
            np.concatenate(numbers),
        )
        return ConformedInput(loaded, fields, tuple(aside))

    # columns

    def _table(
        self, events: object, stream: str | None, aside: list[Rejected]
    ) -> tuple[pa.Table, bool, _Rows]:
        columns = self._text
        reject = aside.append if self.lenient else None
        if not self.lenient or _is_columnar(events) or not isinstance(events, Iterable):
            return *read_table(events, stream, columns, reject), None
        rows = list(events)
        try:
            return *read_table(rows, stream, columns), None
        except EventError:
            pass
        fields, tables, numbers = self.fields, [], []
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            table, good = _without_bad_rows(some, first, stream, columns, aside)
            table, fields, kept = self._conformed(table, fields, aside, good)
            tables.append(table)
            numbers.append(good if kept is None else kept)
        whole = pa.concat_tables(tables, promote_options="permissive")
        return whole, False, np.concatenate(numbers)

    def _with_instants(self, table: pa.Table) -> pa.Table:
        """Make times of doubles in the time column: seconds, unless time_unit says otherwise."""
        unit = TIME_UNITS[self.options.time_unit or "s"] // 1000 or 1
        for at, each in enumerate(table.schema):
            if each.name in self._text.times and pa.types.is_floating(each.type):
                counted = pc.round(pc.multiply(table.column(at).cast(pa.float64()), float(unit)))
                whole = pc.if_else(pc.is_finite(counted), counted, None).cast(pa.int64())
                table = table.set_column(at, each.name, whole.cast(pa.timestamp("us")))
        return table

    def _conformed(
        self, table: pa.Table, known: Fields, aside: list[Rejected], rows: _Rows = None
    ) -> tuple[pa.Table, Fields, _Rows]:
        """Give every column the type that it has had so far; `rows` are numbers of the rows."""
        if known is self.fields and table.num_columns and table.schema.equals(self._same):
            return table, known, rows
        table = self._with_instants(table)
        fields = dict(known)
        arrays: list[pa.ChunkedArray] = []
        bad: dict[int, str] = {}
        for column in table.schema:
            array = table.column(column.name)
            held = fields.get(column.name)
            if held is not None and not pa.types.is_null(held) and held != column.type:
                kinds = kind_of_type(held), kind_of_type(column.type)
                if _widens(held, column.type) and column.name not in self.kept:
                    held = column.type
                elif self._text.is_used(column.name) or not {"list", "record"} & set(kinds):
                    array = _converted(array, held, column.name, bad, stop=not self.lenient)
                else:
                    array = _converted(array, held, column.name, {}, stop=False)
            fields[column.name] = _wider(held, array.type)
            arrays.append(array)
        conformed = pa.Table.from_arrays(arrays, names=table.column_names)
        if bad:
            numbers = np.arange(table.num_rows) if rows is None else rows
            for row, reason in sorted(bad.items()):
                event = table.slice(row, 1).to_pylist()[0]
                aside.append(Rejected(event, reason, row=int(numbers[row])))
            good = np.setdiff1d(np.arange(table.num_rows), list(bad))
            conformed, rows = conformed.take(good), numbers[good]
        elif conformed.schema.equals(table.schema):
            if fields != self.fields:
                return table, fields, rows
            self._same = table.schema
            return table, self.fields, rows
        return conformed, fields, rows


_SCALARS = {str, int, float, bool, type(None)}

_AT_ONCE = 256
"""So many rows are read again for each of them that is bad."""


def _is_several(value: object) -> bool:
    """Tell many events from a value of one."""
    if isinstance(value, str | bytes | Mapping):
        return False
    return isinstance(value, Iterable | PathLike) or _is_columnar(value)


def _is_columnar(events: object) -> bool:
    if isinstance(events, str | PathLike) or hasattr(events, "read_next_batch"):
        return True
    return hasattr(events, "__arrow_c_stream__") or hasattr(events, "columns")


def _without_bad_rows(
    rows: list[object],
    first: int,
    stream: str | None,
    columns: TextOptions,
    aside: list[Rejected],
) -> tuple[pa.Table, np.ndarray]:
    """Read rows; reject each that does not go with those before it; return the others' numbers."""
    numbers = np.arange(first, first + len(rows))
    while True:
        try:
            return read_table(rows, stream, columns)[0], numbers
        except EventError as error:
            if error.row is None:
                raise
            aside.append(Rejected(rows[error.row], str(error), row=int(numbers[error.row])))
            rows = rows[: error.row] + rows[error.row + 1 :]
            numbers = np.delete(numbers, error.row)


def _widens(held: pa.DataType, found: pa.DataType) -> bool:
    """Tell whether integers, or lists of them, have become doubles."""
    if pa.types.is_list(held) and pa.types.is_list(found):
        held, found = held.value_type, found.value_type
    return (kind_of_type(held), kind_of_type(found)) == ("int", "double")


def _wider(held: pa.DataType | None, found: pa.DataType) -> pa.DataType:
    """Return the type of a column from now on: structs may get new fields, lists their items."""
    if held is None or pa.types.is_null(held):
        return found
    if pa.types.is_list(held) and pa.types.is_list(found):
        return pa.list_(_wider(held.value_type, found.value_type))
    if not pa.types.is_struct(held) or not pa.types.is_struct(found):
        return held
    fields = {field.name: field.type for field in held}
    for each in found:
        fields[each.name] = _wider(fields.get(each.name), each.type)
    return pa.struct(list(fields.items()))


def _converted(
    column: pa.ChunkedArray, held: pa.DataType, name: str, bad: dict[int, str], *, stop: bool
) -> pa.ChunkedArray:
    """Convert a column to the type it has had, where nothing is lost."""
    if pa.types.is_struct(held) and pa.types.is_struct(column.type):
        return _converted_struct(column, held, name, bad, stop=stop)
    if pa.types.is_list(held) and pa.types.is_null(held.value_type):
        return column if pa.types.is_list(column.type) else column.cast(held)
    kinds = kind_of_type(column.type), kind_of_type(held)
    if kinds[0] == kinds[1] or kinds[0] == "null" or kinds in _LOSSLESS:
        try:
            return as_held(column, held)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    return _converted_rows(column, held, name, kinds, bad, stop=stop)


_LOSSLESS = {("int", "double"), ("int", "decimal"), ("double", "int"), ("decimal", "double")}
"""Kinds whose values may fit, value by value."""


def as_held(column: pa.ChunkedArray, held: pa.DataType) -> pa.ChunkedArray:
    """Convert a column to a type that its values fit into; ArrowInvalid where one does not."""
    if pa.types.is_dictionary(held) and not pa.types.is_dictionary(column.type):
        return column.cast(held.value_type).dictionary_encode().cast(held)
    cast = column.cast(held)
    if pa.types.is_integer(column.type) and pa.types.is_floating(held):
        changed = pc.any(pc.not_equal(cast.cast(column.type, safe=False), column))
        if changed.as_py():
            raise pa.ArrowInvalid("integers that are no doubles")
    return cast


def _converted_rows(
    column: pa.ChunkedArray,
    held: pa.DataType,
    name: str,
    kinds: tuple[str, str],
    bad: dict[int, str],
    *,
    stop: bool,
) -> pa.ChunkedArray:
    """Convert value by value, and say which ones do not fit."""
    values: list[Any] = []
    for row, value in enumerate(column.to_pylist()):
        converted = None
        if value is not None and value == value:
            try:
                if kinds[0] != kinds[1] and kinds not in _LOSSLESS:
                    raise pa.ArrowInvalid("another kind")
                converted = as_held(pa.chunked_array([pa.array([value], column.type)]), held)[0]
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                types = _described(column.type), _described(held)
                reason = (
                    f"row {row}, column {show(name)}: {show(value)} is of type {types[0]}, but "
                    f"the column is of type {types[1]} since the first events; {advice(kinds)}"
                )
                if stop:
                    raise EventError(reason) from None
                bad.setdefault(row, reason)
        values.append(None if converted is None else converted.as_py())
    return pa.chunked_array([pa.array(values, held)], held)


def _described(arrow: pa.DataType) -> str:
    kind = kind_of_type(arrow)
    return f"list<{kind_of_type(arrow.value_type)}>" if kind == "list" else kind


def _converted_struct(
    column: pa.ChunkedArray, held: pa.DataType, name: str, bad: dict[int, str], *, stop: bool
) -> pa.ChunkedArray:
    fields = {field.name: field.type for field in held}
    arrays: dict[str, pa.Array] = {}
    for each in column.type:
        inner = pc.struct_field(column, each.name)
        known = fields.get(each.name)
        if known is not None and known != each.type and not pa.types.is_null(known):
            inner = _converted(inner, known, f"{name}.{each.name}", bad, stop=stop)
        arrays[each.name] = inner.combine_chunks()
    mask = column.is_null().combine_chunks()
    return pa.chunked_array(
        [pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=mask)]
    )
