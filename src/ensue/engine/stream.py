"""Events put in order: one table, with type, stream, time and position for every row.

Whatever the user calls events is read, merged where there are several streams, checked, put in
order where a lateness bound allows it, and from then on a row's index is its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.context import nearest
from ensue.analysis.schema import OPEN, AttributePath, Schema, from_arrow_schema
from ensue.analysis.types import NANOSECONDS, TIME_UNITS, Type, from_arrow, joined
from ensue.engine.convert import arrow_type
from ensue.errors import EventError
from ensue.io.events import EventSource, open_events
from ensue.predicates.values import to_nanoseconds
from ensue.predicates.vectors import path_column

_STREAM = "\0stream"
"""The column that remembers the stream of a row while streams are merged."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to read events: the options of `run`."""

    type: str = "type"
    time: str | None = None
    time_unit: str | None = None
    tiebreak: str | None = None
    lateness: int | str | timedelta | None = None

    def __post_init__(self) -> None:
        if self.time_unit is not None and self.time_unit not in TIME_UNITS:
            raise ValueError(f"time_unit must be 's', 'ms', 'us' or 'ns', not {self.time_unit!r}")


@dataclass(frozen=True)
class Stream:
    """Events in the order of their positions."""

    table: pa.Table
    types: pa.ChunkedArray
    streams: pa.ChunkedArray | None
    times: np.ndarray
    """Units of an integer time column, nanoseconds of timestamps, or positions."""
    time_path: AttributePath | None
    tiebreak_path: AttributePath | None
    first: int
    """The position of the first row."""
    late: pa.Table
    """Events that came later than the lateness bound allows, in the order of arrival."""

    @cached_property
    def time_column(self) -> pa.ChunkedArray | None:
        """The time column as it was given."""
        return None if self.time_path is None else column_at(self.table, self.time_path)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Events as they arrived, before their order is checked."""

    table: pa.Table
    closed: bool
    types: pa.ChunkedArray
    streams: pa.ChunkedArray | None

    def schema(self) -> Schema:
        """Describe the columns."""
        return from_arrow_schema(self.table.schema, closed=self.closed)


def load(
    events: object, sources: Sequence[str], options: Options, declared: Schema = OPEN
) -> Loaded:
    """Read events, or several streams of events, into one table."""
    columns = _declared_columns(declared)
    if not isinstance(events, Mapping):
        table, closed = _read(events, None, columns)
        return Loaded(table, closed, _types(table, sources, options), None)
    missing = [name for name in sources if name not in events]
    unknown = [name for name in events if name not in sources]
    if missing or unknown:
        name = (missing or unknown)[0]
        verb = "has no events" if missing else "is not among the streams of FROM"
        raise EventError(f"the stream '{name}' {verb}; FROM has {', '.join(sources)}")
    tables, types, streams = [], [], []
    closed = True
    for name in sources:
        table, fixed = _read(events[name], name, columns)
        closed = closed and fixed
        tables.append(table)
        types += _types(table, [name], options).chunks
        streams.append(_repeated(name, table.num_rows))
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise EventError(f"the streams do not fit together: {error}") from error
    return Loaded(
        whole,
        closed,
        pa.chunked_array([chunk.cast(_NAMES) for chunk in types], _NAMES).unify_dictionaries(),
        pa.chunked_array(streams, _NAMES).unify_dictionaries(),
    )


_NAMES = pa.dictionary(pa.int32(), pa.string())


def batches_of(
    events: object, sources: Sequence[str], options: Options, declared: Schema
) -> Iterator[Loaded] | None:
    """Return events that come bit by bit as such; None for those that are there as a whole."""
    lazy = isinstance(events, str | PathLike | Iterator) or hasattr(events, "read_next_batch")
    if not lazy or isinstance(events, Mapping):
        return None
    source = open_events(events, types=_declared_columns(declared))
    return _loaded(source, sources, options)


def _loaded(source: EventSource, sources: Sequence[str], options: Options) -> Iterator[Loaded]:
    none = True
    for batch in source.batches:
        none = False
        table = pa.Table.from_batches([batch])
        yield Loaded(table, source.closed, _types(table, sources, options), None)
    if none:
        table = source.schema.empty_table()
        yield Loaded(table, source.closed, _types(table, sources, options), None)


def _repeated(name: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([name]))


def _declared_columns(declared: Schema) -> dict[str, pa.DataType]:
    """Return the declared types of plain columns, for inputs that have none of their own."""
    columns: dict[str, pa.DataType] = {}
    for attributes in (declared.common, *(declared.events or {}).values()):
        for path, kind in attributes.items():
            known = arrow_type(kind)
            if len(path) == 1 and known is not None:
                columns[path[0]] = known
    return columns


def _read(
    events: object, stream: str | None, columns: Mapping[str, pa.DataType]
) -> tuple[pa.Table, bool]:
    source = open_events(events, stream=stream, types=columns)
    batches = [pa.Table.from_batches([batch]) for batch in source.batches]
    if not batches:
        return source.schema.empty_table(), source.closed
    return pa.concat_tables(batches, promote_options="default"), source.closed


def read_once(events: object) -> object:
    """Turn events that can be read only once into something that several queries can read."""
    if isinstance(events, Mapping):
        return {name: read_once(each) for name, each in events.items()}
    if isinstance(events, Iterator):
        return list(events)
    return _read(events, None, {})[0] if hasattr(events, "read_next_batch") else events


def _types(table: pa.Table, sources: Sequence[str], options: Options) -> pa.ChunkedArray:
    """Return the type of every event; without a type column it is the stream's name."""
    if options.type not in table.column_names:
        if options.type == "type" and len(sources) == 1:
            return pa.chunked_array([_repeated(sources[0], table.num_rows)])
        raise EventError(_missing("type", options.type, table))
    column = table.column(options.type)
    if from_arrow(column.type) not in (Type.STRING, Type.UNKNOWN):
        raise EventError(f"the type column '{options.type}' must hold strings, not {column.type}")
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def _missing(role: str, name: str, table: pa.Table) -> str:
    near = nearest(name, table.column_names)
    hint = f"did you mean '{near}'?" if near else f"there are {', '.join(table.column_names)}"
    return f"the {role} column '{name}' is not among the columns of the events; {hint}"


def order(loaded: Loaded, time_path: AttributePath | None, options: Options) -> Stream:
    """Check the order of events by time, or with a lateness bound put them in order."""
    table = loaded.table
    tiebreak = None if options.tiebreak is None else _path(options.tiebreak, table, "tiebreak")
    rows: np.ndarray | None = None
    late: np.ndarray | None = None
    if time_path is None:
        if options.lateness is not None:
            raise EventError("lateness= needs a time column: pass time=")
        if loaded.streams is not None and len(loaded.streams.unique()) > 1:
            raise EventError("merging several streams needs a time column: pass time=")
        times = np.arange(table.num_rows)
    else:
        times = _times(table, time_path)
        if options.lateness is not None:
            rows, late = _reordered(loaded, times, time_path, tiebreak, options)
        elif loaded.streams is not None:
            for name, own in _by_stream(loaded.streams, len(times)):
                column = column_at(table, time_path).take(own)
                _check_order(times[own], column, time_path, f" of {name}")
            rows = np.argsort(times, kind="stable")
        else:
            _check_order(times, column_at(table, time_path), time_path, "")
    return Stream(
        table if rows is None else table.take(rows),
        loaded.types if rows is None else loaded.types.take(rows),
        loaded.streams if rows is None or loaded.streams is None else loaded.streams.take(rows),
        times if rows is None else times[rows],
        time_path,
        tiebreak,
        0,
        table.slice(0, 0) if late is None else table.take(late),
    )


def _by_stream(streams: pa.ChunkedArray | None, count: int) -> list[tuple[str, np.ndarray]]:
    """Return the rows of each stream, in the order of arrival."""
    if streams is None:
        return [("", np.arange(count))]
    return [
        (name, np.flatnonzero(pc.equal(streams.cast(pa.string()), name).to_numpy()))
        for name in streams.unique().to_pylist()
    ]


def _check_order(
    times: np.ndarray, column: pa.ChunkedArray, path: AttributePath, of_stream: str
) -> None:
    back = np.flatnonzero(times[1:] < times[:-1])
    if len(back):
        row = int(back[0]) + 1
        raise EventError(
            f"time goes back at row {row}{of_stream}: '{'.'.join(path)}' is {column[row]} after "
            f"{column[row - 1]}; sort the events, or pass lateness= to have them put in order"
        )


def check_next(before: Stream, after: Stream) -> None:
    """Check that time does not go back from one stretch to the next."""
    if len(before.times) and len(after.times) and after.times[0] < before.times[-1]:
        assert after.time_path is not None
        path = after.time_path
        last, first = column_at(before.table, path)[-1], column_at(after.table, path)[0]
        raise EventError(
            f"time goes back at row {after.first}: '{'.'.join(path)}' is {first} after {last}; "
            "sort the events, or pass lateness= to have them put in order"
        )


def _times(table: pa.Table, path: AttributePath) -> np.ndarray:
    """Return the time column as integers."""
    name = ".".join(path)
    if table.num_rows and path_column(table, path) is None:
        raise EventError(_missing("time", name, table))
    column = column_at(table, path)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise EventError(f"the time '{name}' of row {row} is NULL; every event needs a time")
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            units: np.ndarray = column.cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid as error:
            raise EventError(f"a time '{name}' does not fit into 64 bits: {error}") from error
        return units
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return to_nanoseconds(column)
    if pa.types.is_null(kind) and table.num_rows == 0:
        return np.zeros(0, np.int64)
    raise EventError(f"the time column '{name}' must hold integers or timestamps, not {kind}")


def column_at(table: pa.Table, path: AttributePath) -> pa.ChunkedArray:
    """Return a column, or a field of a struct column; an attribute nobody has is NULL."""
    column = path_column(table, path)
    return pa.chunked_array([pa.nulls(table.num_rows)]) if column is None else column


def _path(name: str, table: pa.Table, role: str) -> AttributePath:
    if name in table.column_names:
        return (name,)
    path = tuple(name.split("."))
    if path_column(table, path) is None:
        raise EventError(_missing(role, name, table))
    return path


def time_path(name: str, table: pa.Table) -> AttributePath:
    """Find the declared time column."""
    return _path(name, table, "time")


def _reordered(
    loaded: Loaded,
    times: np.ndarray,
    path: AttributePath,
    tiebreak: AttributePath | None,
    options: Options,
) -> tuple[np.ndarray, np.ndarray]:
    """Sort by (time, tiebreak, arrival); what comes too late stays out and is returned apart.

    Late is what comes after an event of the same stream that is more than the bound ahead.
    """
    assert options.lateness is not None
    table = loaded.table
    bound = lateness_in_units(options.lateness, column_at(table, path).type, options.time_unit)
    on_time = np.ones(len(times), bool)
    for _, own in _by_stream(loaded.streams, len(times)):
        latest = np.maximum.accumulate(times[own])
        on_time[own] = times[own] >= latest - bound
    rows = np.flatnonzero(on_time)
    keys = {"time": pa.array(times[rows]), "row": pa.array(rows)}
    sorting = [("time", "ascending")]
    if tiebreak is not None:
        keys["tiebreak"] = column_at(table, tiebreak).take(pa.array(rows))
        sorting.append(("tiebreak", "ascending"))
    sorting.append(("row", "ascending"))
    ordered = pc.sort_indices(pa.table(keys), sort_keys=sorting).to_numpy()
    return rows[ordered], np.flatnonzero(~on_time)


_LATENESS = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*")
_SHORT = {"h": "HOUR", "m": "MINUTE", "min": "MINUTE", "d": "DAY", "sec": "SECOND"}


def lateness_in_units(
    lateness: int | str | timedelta, kind: pa.DataType, time_unit: str | None
) -> int:
    """Return a lateness bound in the units that times are counted in.

    >>> lateness_in_units("10 seconds", pa.int64(), "ms"), lateness_in_units(5, pa.int64(), None)
    (10000, 5)
    """
    if isinstance(lateness, int):
        if pa.types.is_integer(kind):
            return lateness
        raise EventError(f"lateness={lateness} has no unit; write '{lateness} seconds'")
    nanoseconds = _nanoseconds(lateness)
    if not pa.types.is_integer(kind):
        return nanoseconds
    if time_unit is None:
        raise EventError("a lateness in time on an integer column needs time_unit=")
    return nanoseconds // TIME_UNITS[time_unit]


def _nanoseconds(lateness: Any) -> int:
    if isinstance(lateness, timedelta):
        return lateness // timedelta(microseconds=1) * 1000
    found = _LATENESS.fullmatch(lateness)
    if found is not None:
        unit = found[2]
        if unit in TIME_UNITS:
            return int(float(found[1]) * TIME_UNITS[unit])
        singular = _SHORT.get(unit, unit.upper().removesuffix("S"))
        if singular in NANOSECONDS:
            return int(float(found[1]) * NANOSECONDS[singular])
    raise EventError(f"lateness={lateness!r} is not a duration; write '10 seconds' or '500 ms'")


def check_declared(declared: Schema, loaded: Loaded) -> Schema:
    """Compare declared types with those of the data and describe both together."""
    actual = loaded.schema()
    everything = [declared.common, *(declared.events or {}).values()]
    for attributes in everything:
        for path, kind in attributes.items():
            found = actual.common.get(path)
            if found is not None and joined(kind, found) is None:
                raise EventError(
                    f"the attribute '{'.'.join(path)}' is declared as {kind}, but the events "
                    f"have {found}"
                )
    common = {**actual.common, **declared.common}
    for attributes in everything[1:]:
        for path in attributes:
            common.pop(path, None)
    return Schema(common, declared.events, closed=True)
