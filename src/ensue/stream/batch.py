"""Events put in order: one table, with type, stream, time and position for every row.

Whatever the user calls events is read, merged where there are several streams, checked, put in
order where a lateness bound allows it, and from then on a row's index is its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.context import nearest
from ensue.analysis.schema import AttributePath, Schema, from_arrow_schema
from ensue.analysis.types import joined
from ensue.errors import EventError
from ensue.io.columns import TextOptions
from ensue.io.events import EventSource, open_events
from ensue.io.rejected import Reject, Rejected
from ensue.plan.result_schema import Numbering
from ensue.predicates.arrow_values import arrow_type
from ensue.predicates.vectors import column_at, path_column
from ensue.stream.ties import Ties

NAMES = pa.dictionary(pa.int32(), pa.string())
"""The type of the column that names the stream of each event, wherever that column comes from."""


@dataclass(eq=False)
class EventBatch:
    """Events in the order of their positions.

    It is not changed. Every push makes one, so it is not frozen: that takes several times as long.
    """

    table: pa.Table
    types: pa.ChunkedArray
    streams: pa.ChunkedArray | None
    """The stream of each row, as NAMES; NULL where it came without one."""
    times: np.ndarray
    """Units of an integer time column, nanoseconds of timestamps, or positions."""
    time_path: AttributePath | None
    tiebreak_path: AttributePath | None
    first: int
    """The position of the first row."""
    positions: np.ndarray | None = None
    """The position of every row, where they do not follow one another."""
    ordinals: Mapping[Numbering, np.ndarray] = field(default_factory=dict)
    """The ordinals (see ordinals.py) of rows whose neighbours may be missing; -1 for the others."""
    ties: Ties | None = None
    """How many events of one time came before a position, of which rows may be missing."""

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """Return where the rows at some positions stand in the table."""
        if self.positions is None:
            return positions if self.first == 0 else positions - self.first
        rows: np.ndarray = np.searchsorted(self.positions, positions)
        return rows

    def all_positions(self) -> np.ndarray:
        """Return the position of every row."""
        if self.positions is not None:
            return self.positions
        return np.arange(self.first, self.first + len(self.times))

    def only(self, rows: np.ndarray, names: Iterable[str]) -> EventBatch:
        """Choose times and positions of some rows, and some of their columns."""
        known = dict.fromkeys(each for each in names if each in self.table.column_names)
        return replace(
            self,
            table=self.table.select(list(known)).take(pa.array(rows)),
            types=self.types.slice(0, 0),
            times=self.times[rows],
            positions=self.first + rows,
        )

    def take(self, rows: np.ndarray) -> EventBatch:
        """Choose some rows, in order."""
        chosen = pa.array(rows)
        return replace(
            self,
            table=self.table.take(chosen),
            types=self.types.take(chosen),
            streams=None if self.streams is None else self.streams.take(chosen),
            times=self.times[rows],
            positions=self.all_positions()[rows],
            ordinals={each: known[rows] for each, known in self.ordinals.items()},
        )

    def slice(self, begin: int, end: int) -> EventBatch:
        """Choose the rows from one to before another."""
        count = end - begin
        streams = self.streams
        return replace(
            self,
            table=self.table.slice(begin, count),
            types=self.types.slice(begin, count),
            streams=None if streams is None else streams.slice(begin, count),
            times=self.times[begin:end],
            first=self.first + begin,
            positions=None if self.positions is None else self.positions[begin:end],
            ordinals={each: known[begin:end] for each, known in self.ordinals.items()},
        )

    @cached_property
    def time_column(self) -> pa.ChunkedArray | None:
        """The time column as it was given."""
        return None if self.time_path is None else column_at(self.table, self.time_path)


class InputBatch(NamedTuple):
    """Events as they arrived, before their order is checked."""

    table: pa.Table
    closed: bool
    types: pa.ChunkedArray
    streams: np.ndarray | None
    """The number of each row's stream in FROM, where streams come separately."""
    rows: np.ndarray | None = None
    """The number that each row had in its push, where some were rejected."""

    def schema(self) -> Schema:
        """Describe the columns."""
        return from_arrow_schema(self.table.schema, closed=self.closed)

    def columns_only(self) -> InputBatch:
        """Return the columns without their rows."""
        return InputBatch(
            self.table.schema.empty_table(), self.closed, self.types.slice(0, 0), None
        )

    def take(self, rows: np.ndarray) -> InputBatch:
        """Choose some rows."""
        streams = None if self.streams is None else self.streams[rows]
        types = self.types.take(pa.array(rows))
        numbers = rows if self.rows is None else self.rows[rows]
        return InputBatch(self.table.take(pa.array(rows)), self.closed, types, streams, numbers)

    def rejected(self, row: int, reason: str) -> Rejected:
        """Reject a row of the table."""
        number = row if self.rows is None else int(self.rows[row])
        return Rejected(self.table.slice(row, 1).to_pylist()[0], reason, row=number)


def repeated(name: str, count: int) -> pa.DictionaryArray:
    """Return a column that says the same of every row."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([name]))


def declared_columns(declared: Schema) -> dict[str, pa.DataType]:
    """Return the declared types of plain columns, for inputs that have none of their own."""
    columns: dict[str, pa.DataType] = {}
    for attributes in (declared.common, *(declared.events or {}).values()):
        for path, kind in attributes.items():
            known = arrow_type(kind)
            if len(path) == 1 and known is not None:
                columns[path[0]] = known
    return columns


def read_table(
    events: object,
    stream: str | None,
    options: TextOptions,
    reject: Reject | None = None,
) -> tuple[pa.Table, bool]:
    """Read events into a table; tell whether their format fixes the columns."""
    source = open_events(events, stream=stream, options=options, reject=reject)
    batches = [pa.Table.from_batches([batch]) for batch in source.batches]
    if not batches:
        return source.schema.empty_table(), source.closed
    return pa.concat_tables(batches, promote_options="default"), source.closed


def read_once(events: object) -> object:
    """Turn events that can be read only once into something that several queries can read."""
    if isinstance(events, Mapping):
        return {name: read_once(each) for name, each in events.items()}
    if isinstance(events, EventSource):
        return replace(events, batches=tuple(events.batches))
    if isinstance(events, Iterator):
        return list(events)
    return (
        read_table(events, None, TextOptions())[0] if hasattr(events, "read_next_batch") else events
    )


def missing_column(role: str, name: str, table: pa.Table) -> str:
    """Say that a column is missing, with the nearest one that is there."""
    near = nearest(name, table.column_names)
    hint = f"did you mean '{near}'?" if near else f"there are {', '.join(table.column_names)}"
    return f"the {role} column '{name}' is not among the columns of the events; {hint}"


def path_of(name: str, table: pa.Table, role: str) -> AttributePath:
    """Find a column by its name, dotted where it is a field of a struct."""
    if name in table.column_names:
        return (name,)
    path = tuple(name.split("."))
    if path_column(table, path) is None:
        raise EventError(missing_column(role, name, table))
    return path


def time_path(name: str, table: pa.Table) -> AttributePath:
    """Find the declared time column."""
    return path_of(name, table, "time")


def check_declared(declared: Schema, loaded: InputBatch) -> Schema:
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
    return Schema(common, declared.events, closed=loaded.closed)
