"""What is pushed, read as columns that keep their types.

The first rows fix the type of a column, unless a schema was declared; later values are converted
where nothing is lost, and are an error that names column and row where something would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import OPEN, Schema
from ensue.analysis.types import TIME_UNITS, Type, from_arrow
from ensue.errors import EventError
from ensue.io.columns import TextOptions
from ensue.io.dicts import FastRows
from ensue.io.events import open_events
from ensue.io.kinds import kind_of_type
from ensue.io.rejected import Rejected
from ensue.options import ReadOptions
from ensue.predicates.vectors import path_column
from ensue.stream.bad_rows import without_bad_rows
from ensue.stream.batch import (
    NAMES,
    InputBatch,
    declared_columns,
    missing_column,
    read_table,
    repeated,
)
from ensue.stream.casts import converted, widens, wider_type
from ensue.stream.time_scale import TimeScale

Fields = dict[str, pa.DataType]
_Rows = np.ndarray | None
"""The numbers that rows had in their push; None: all from 0."""


class ConformedInput(NamedTuple):
    """What was read from one push, before it is applied."""

    batch: InputBatch
    fields: Fields
    """The types of all columns from now on."""
    rejected: tuple[Rejected, ...] = ()


def load(
    events: object, sources: Sequence[str], options: ReadOptions, declared: Schema = OPEN
) -> InputBatch:
    """Read events, or {stream: events}, into one table."""
    intake = Conformer(sources, options, declared)
    read = intake.merge(events) if isinstance(events, Mapping) else intake.read(events)
    return read.batch


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
    _types_at: int | None = None
    """Where these have a column of types."""
    text: TextOptions | None = None
    """How events without types of their own are read; None: by the declared types alone."""
    instants: frozenset[str] = frozenset()
    """Columns whose times came as doubles."""
    _new_instants: set[str] = field(default_factory=set)
    """Those of the push that is read."""
    _rows: FastRows | None = None
    _rows_of: Fields | None = None

    @property
    def _fixed(self) -> set[str]:
        """Columns that keep their types: those with times, and those that are declared.

        Integers in the others become doubles when the first double comes; so do those of a table
        whose column is declared as double.
        """
        every = (self.declared.common, *(self.declared.events or {}).values())
        times = {name.partition(".")[0] for name in self._text.times}
        return times | {
            path[0]
            for attributes in every
            for path, kind in attributes.items()
            if kind is not Type.DOUBLE
        }

    @property
    def _text(self) -> TextOptions:
        return self.text or TextOptions(declared_columns(self.declared), self.lenient)

    def read(self, events: object) -> ConformedInput:
        """Read events, a single one, or {stream: events}; nothing changes until `keep`."""
        self._new_instants.clear()
        if isinstance(events, pa.RecordBatch) and events.schema.equals(self._same):
            table = pa.Table.from_batches([events])
            if self._types_at is not None:
                types = table.column(self._types_at)
            else:
                types = types_of(table, self.sources, self.options)
            return ConformedInput(InputBatch(table, True, types, None), self.fields)
        streams = self._streams(events)
        if streams is not None:
            return self.merge(streams)
        rejected: list[Rejected] = []
        if isinstance(events, Mapping):
            events = [events]
        quick = self._usual(events) if isinstance(events, list) else None
        if quick is not None:
            types = types_of(quick, self.sources, self.options)
            return ConformedInput(InputBatch(quick, False, types, None), self.fields)
        table, closed, rows = self._table(events, None, rejected)
        table, fields, rows = self._conformed(table, self.fields, rejected, rows)
        types = types_of(table, self.sources, self.options)
        return ConformedInput(InputBatch(table, closed, types, None, rows), fields, tuple(rejected))

    def _usual(self, rows: list[object]) -> pa.Table | None:
        """Read rows that have the columns and types that are known, as most have; None: others."""
        if not self.fields or not rows:
            return None
        if self._rows is None or self._rows_of is not self.fields:
            self._rows, self._rows_of = FastRows(self.fields), self.fields
        return self._rows.table(rows)

    def batches(self, events: object) -> Iterator[ConformedInput] | None:
        """Read events that come bit by bit as such; None for those that are there as a whole."""
        lazy = isinstance(events, str | PathLike | Iterator) or hasattr(events, "read_next_batch")
        if not lazy or isinstance(events, Mapping):
            return None
        return self._batches(events)

    def _batches(self, events: object) -> Iterator[ConformedInput]:
        rejected: list[Rejected] = []
        reject = rejected.append if self.lenient else None
        source = open_events(events, options=self._text, reject=reject)
        none = True
        for record_batch in source.batches:
            none = False
            table = pa.Table.from_batches([record_batch])
            table, fields, rows = self._conformed(table, self.fields, rejected)
            types = types_of(table, self.sources, self.options)
            batch = InputBatch(table, source.closed, types, None, rows)
            yield ConformedInput(batch, fields, tuple(rejected))
            rejected.clear()
        if none or rejected:
            table = source.schema.empty_table()
            types = types_of(table, self.sources, self.options)
            yield ConformedInput(
                InputBatch(table, source.closed, types, None), self.fields, tuple(rejected)
            )

    def keep(self, read: ConformedInput) -> None:
        """Remember the types of the columns of a push that was applied."""
        if self._new_instants - self.instants:
            self.instants |= self._new_instants
        if read.fields is not self.fields:
            self._same = pa.schema([])
        self.fields = read.fields

    def widened(self, read: ConformedInput) -> list[str]:
        """Name the columns whose integers become doubles with a push."""
        known = [(name, held) for name, held in self.fields.items() if held != read.fields[name]]
        return [name for name, held in known if widens(held, read.fields[name])]

    def rescaled(self, read: ConformedInput) -> TimeScale | None:
        """Return how integer times are counted anew, should they become timestamps with a push."""
        unit = TIME_UNITS[self.options.time_unit or "s"]
        for name, held in self.fields.items():
            if pa.types.is_integer(held) and pa.types.is_timestamp(read.fields[name]):
                return TimeScale(name, read.fields[name], unit)
        return None

    def learnt(self, read: ConformedInput) -> list[str]:
        """Name the columns that matter and get their first type with a push."""
        return [
            name
            for name, kind in read.fields.items()
            if not pa.types.is_null(kind)
            and pa.types.is_null(self.fields.get(name, pa.null()))
            and self._text.is_used(name)
        ]

    def narrowed(self, read: ConformedInput, names: Sequence[str], hint: str) -> ConformedInput:
        """Let columns keep their integers: doubles that are none cannot be taken."""
        table, fields = read.batch.table, dict(read.fields)
        bad: dict[int, str] = {}
        for name in names:
            fields[name] = self.fields[name]
            at = table.column_names.index(name)
            stop, array = not self.lenient, table.column(at)
            if pa.types.is_timestamp(array.type):
                unit = TIME_UNITS[self.options.time_unit or "s"] / 1000
                array = pc.divide(array.cast(pa.int64()).cast(pa.float64(), safe=False), unit)
                self._new_instants.discard(name)
            array = converted(array, fields[name], name, bad, stop=stop, hint=hint)
            table = table.set_column(at, name, array)
        rejected = tuple(read.batch.rejected(row, reason) for row, reason in sorted(bad.items()))
        batch = read.batch._replace(table=table)
        if bad:
            batch = batch.take(np.setdiff1d(np.arange(table.num_rows), list(bad)))
        return ConformedInput(batch, fields, read.rejected + rejected)

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
        rejected: list[Rejected] = []
        fields, closed = self.fields, True
        for number, name in enumerate(self.sources):
            if name not in events:
                continue
            table, fixed, rows = self._table(events[name], name, rejected)
            closed = closed and fixed
            table, fields, rows = self._conformed(table, fields, rejected, rows)
            numbers.append(np.arange(table.num_rows) if rows is None else rows)
            tables.append(table)
            types += types_of(table, [name], self.options).chunks
            streams.append(np.full(table.num_rows, number, np.int32))
        # Where the times of one stream are doubles, those of all streams are timestamps.
        tables = [self._with_instants(each) for each in tables]
        whole = pa.concat_tables(tables, promote_options="permissive")
        batch = InputBatch(
            whole,
            closed,
            pa.chunked_array([chunk.cast(NAMES) for chunk in types], NAMES).unify_dictionaries(),
            np.concatenate(streams),
            np.concatenate(numbers),
        )
        return ConformedInput(batch, fields, tuple(rejected))

    # columns

    def _table(
        self, events: object, stream: str | None, rejected: list[Rejected]
    ) -> tuple[pa.Table, bool, _Rows]:
        columns = self._text
        reject = rejected.append if self.lenient else None
        if not self.lenient or _is_columnar(events) or not isinstance(events, Iterable):
            return *read_table(events, stream, columns, reject), None
        rows = list(events)
        try:
            return *read_table(rows, stream, columns), None
        except EventError:
            pass
        fields, tables, numbers = self.fields, [], []
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            table, good = without_bad_rows(some, first, stream, columns, rejected)
            table, fields, kept = self._conformed(table, fields, rejected, good)
            tables.append(table)
            numbers.append(good if kept is None else kept)
        whole = pa.concat_tables(tables, promote_options="permissive")
        return whole, False, np.concatenate(numbers)

    def _with_instants(self, table: pa.Table) -> pa.Table:
        """Make times of doubles in the time column: seconds, unless time_unit says otherwise.

        Where doubles came before, or are declared, integers are such times too.
        """
        unit = TIME_UNITS[self.options.time_unit or "s"] / 1000
        declared = declared_columns(self.declared)
        for at, each in enumerate(table.schema):
            if each.name not in self._text.times:
                continue
            known = each.name in self.instants or each.name in self._new_instants
            counts = known or declared.get(each.name) == pa.float64()
            if pa.types.is_floating(each.type) or (counts and pa.types.is_integer(each.type)):
                counted = pc.round(pc.multiply(table.column(at).cast(pa.float64()), unit))
                whole = pc.if_else(pc.is_finite(counted), counted, None).cast(pa.int64())
                table = table.set_column(at, each.name, whole.cast(pa.timestamp("us")))
                self._new_instants.add(each.name)
        return table

    def _become_instants(self, held: pa.DataType, column: pa.Field) -> bool:
        """Tell whether a time column of integers, which nobody declared, has brought doubles."""
        declared = declared_columns(self.declared)
        return (
            column.name in self._new_instants
            and column.name not in declared
            and pa.types.is_integer(held)
        )

    def _conformed(
        self, table: pa.Table, known: Fields, rejected: list[Rejected], rows: _Rows = None
    ) -> tuple[pa.Table, Fields, _Rows]:
        """Give every column the type that it has had so far; `rows` are numbers of the rows."""
        if known is self.fields and table.num_columns and table.schema.equals(self._same):
            return table, known, rows
        table = self._with_instants(table)
        fields = dict(known)
        arrays: list[pa.ChunkedArray] = []
        bad: dict[int, str] = {}
        stop = not self.lenient
        for column in table.schema:
            array = table.column(column.name)
            held = fields.get(column.name)
            if held is not None and not pa.types.is_null(held) and held != column.type:
                kinds = kind_of_type(held), kind_of_type(column.type)
                if self._become_instants(held, column):
                    held = None
                elif widens(held, column.type) and column.name not in self._fixed:
                    wide = wider_type(held, column.type)
                    array = converted(array, wide, column.name, bad, stop=stop)
                elif self._text.is_used(column.name) or not {"list", "record"} & set(kinds):
                    array = converted(array, held, column.name, bad, stop=stop)
                else:
                    array = converted(array, held, column.name, {}, stop=False)
            fields[column.name] = wider_type(held, array.type)
            arrays.append(array)
        conformed = pa.Table.from_arrays(arrays, names=table.column_names)
        if bad:
            numbers = np.arange(table.num_rows) if rows is None else rows
            for row, reason in sorted(bad.items()):
                event = table.slice(row, 1).to_pylist()[0]
                rejected.append(Rejected(event, reason, row=int(numbers[row])))
            good = np.setdiff1d(np.arange(table.num_rows), list(bad))
            conformed, rows = conformed.take(good), numbers[good]
        elif conformed.schema.equals(table.schema):
            if fields != self.fields:
                return table, fields, rows
            self._same, self._types_at = table.schema, _place_of_types(table.schema, self.options)
            return table, self.fields, rows
        return conformed, fields, rows


_SCALARS = {str, int, float, bool, type(None)}

_ROWS_AT_ONCE = 256
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


_TEXTS = (pa.string(), NAMES)


def _place_of_types(schema: pa.Schema, options: ReadOptions) -> int | None:
    """Return which column has the types of events as strings, if one has."""
    place: int = schema.get_field_index(options.type)
    return place if place >= 0 and schema.field(place).type in _TEXTS else None


def types_of(table: pa.Table, sources: Sequence[str], options: ReadOptions) -> pa.ChunkedArray:
    """Return the type of every event; without a type column it is the stream's name."""
    nested = None
    if table.schema.get_field_index(options.type) < 0 and "." in options.type:
        nested = path_column(table, tuple(options.type.split(".")))
    if table.schema.get_field_index(options.type) < 0 and nested is None:
        if options.type == "type" and len(sources) == 1:
            return pa.chunked_array([repeated(sources[0], table.num_rows)])
        if not table.num_rows and not table.num_columns:
            return pa.chunked_array([], pa.string())
        raise EventError(missing_column("type", options.type, table))
    column = table.column(options.type) if nested is None else nested
    if column.type not in _TEXTS and from_arrow(column.type) not in (Type.STRING, Type.UNKNOWN):
        raise EventError(f"the type column '{options.type}' must hold strings, not {column.type}")
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column
