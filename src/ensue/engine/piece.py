"""A piece of an answer: matches found in a stretch of the stream, and the events they need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.engine.aggregating import Aggregating
from ensue.engine.convert import arrow_type, python_value
from ensue.engine.findings import Columns, Findings
from ensue.engine.ordinals import ordinals
from ensue.engine.refine import Refined
from ensue.engine.stream import Stream, column_at
from ensue.engine.ties import Numbering
from ensue.engine.totals import EXACT_COUNTS, Summed, partition_columns, summed_rows
from ensue.logic.build import SELECTED
from ensue.logic.reference import Found, Row
from ensue.runtime.memory import new_integers

Path = tuple[str, ...]

_NO_POSITIONS = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the rows of a query's matches look like."""

    fingerprint: str
    variables: Mapping[str, tuple[Path, ...] | None]
    """Variables of stream events, and the attributes of interest (None: all)."""
    computed: Mapping[str, Mapping[str, Type]]
    """Computed variables and their columns; under '' the computed columns of SELECT."""
    partition: tuple[Path, ...]
    time_path: Path | None
    totals: Mapping[str, Type] | None
    """The columns of SELECT count(*) …, or None for a query that lists matches."""
    positions_only: bool
    exact: bool = False
    """Whether counts have any size."""
    since: int = 0
    """The first position that the query sees."""

    @property
    def numbering(self) -> Numbering:
        """Which events ids number together."""
        return Numbering(self.partition, self.since)


class Match:
    """A group of events that satisfies the query."""

    __slots__ = ("_found", "_of")

    def __init__(self, found: Found, of: Piece) -> None:
        self._found = found
        self._of = of

    @property
    def start(self) -> int:
        """The position where the match starts."""
        return self._found.match.start

    @property
    def end(self) -> int:
        """The position of the event that completed the match."""
        return self._found.match.end

    @property
    def bindings(self) -> dict[str, list[int]]:
        """The positions bound to each variable, in order."""
        if self._of.shape.positions_only:
            return {}
        found: dict[str, list[int]] = {}
        for name, position in sorted(self._found.match.bindings):
            found.setdefault(name, []).append(position)
        return found

    @property
    def positions(self) -> list[int]:
        """All positions bound to some variable, in order."""
        return sorted(self._found.match.support)

    @property
    def partition(self) -> dict[str, Any]:
        """The values of the partition attributes."""
        return self._of.partition_at(self.end)

    def events(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events bound to a variable (or to any), as dicts in order."""
        shape = self._of.shape
        if variable is None:
            return self._of.rows(self.positions, None)
        if variable not in shape.variables:
            known = ", ".join(shape.variables) or "none"
            raise KeyError(f"no variable '{variable}' in the matches; the variables are {known}")
        return self._of.rows(self._found.match.positions(variable), shape.variables[variable])

    def computed(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events that AGGREGATE bound to a variable; without one, SELECT's columns."""
        name = SELECTED if variable is None else variable
        if name not in self._of.shape.computed:
            known = ", ".join(filter(None, self._of.shape.computed)) or "none"
            raise KeyError(f"no computed variable '{name}'; the computed variables are {known}")
        found = [y for each, y in self._found.match.computed if each == name]
        types = self._of.shape.computed[name]
        return [
            {
                column: python_value(dict(y.columns).get(column), kind)
                for column, kind in types.items()
            }
            for y in sorted(found, key=lambda y: (y.end, y.place))
        ]

    @property
    def id(self) -> str:
        """A stable name for this match: equal for the same match however it was found."""
        return self._of.identify(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found.match)

    def __repr__(self) -> str:
        bound = "".join(f", {name}={positions}" for name, positions in self.bindings.items())
        return f"Match({self.start}..{self.end}{bound})"


@dataclass(frozen=True, slots=True)
class Total:
    """One row of SELECT count(*) …: the completing event's time, or the start of the interval."""

    time: Any
    partition: dict[str, Any]
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Piece:
    """Matches, or rows of totals, and the stretch of the stream that holds their events."""

    shape: Shape
    events: Callable[[], Stream] = field(repr=False)
    """Puts the stretch together when somebody asks."""
    findings: Findings = field(repr=False)
    totals: Sequence[Row] | Summed = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.findings, Refined | Aggregating):
            self.findings.events = self.events

    @cached_property
    def stream(self) -> Stream:
        """The stretch of the stream that holds the events of the matches."""
        return self.events()

    @cached_property
    def summed(self) -> Summed:
        """The rows of totals."""
        if isinstance(self.totals, Summed):
            return self.totals
        shape = self.shape
        return summed_rows(self.totals, self.stream, shape.partition, shape.totals or {})

    @property
    def count(self) -> int:
        """How many matches (or rows of totals) there are."""
        return self.findings.count if self.shape.totals is None else len(self.totals)

    def __bool__(self) -> bool:
        return bool(self.findings) or bool(self.totals)

    def __iter__(self) -> Iterator[Any]:
        if self.shape.totals is not None:
            return self._rows_of_totals()
        return (Match(found, self) for found in self.findings)

    def _rows_of_totals(self) -> Iterator[Total]:
        times = self._times(self.summed.time).to_pylist()
        for time, (partition, values) in zip(times, self.summed.rows(), strict=True):
            yield Total(time, partition, values)

    def partition_at(self, position: int) -> dict[str, Any]:
        """Return the partition attributes of an event."""
        (row,) = self.stream.rows_at(np.array([position])).tolist()
        return {
            ".".join(path): column_at(self.stream.table, path)[row].as_py()
            for path in self.shape.partition
        }

    # tables

    def tables(self, *, events: bool) -> Iterator[pa.Table]:
        """Give the matches as tables, many at a time."""
        if self.shape.totals is not None:
            if len(self.totals):
                yield self._totals_table(self.summed)
            return
        for _, table in self.parts(events=events):
            yield table

    def parts(self, *, events: bool) -> Iterator[tuple[Columns, pa.Table]]:
        """Give the matches many at a time: where they are, and as a table."""
        names = [""] if self.shape.positions_only else list(self.shape.variables)
        for found in self.findings.columns(names):
            table = self._table(found, events)
            yield found, self._with_computed(table, found) if self.shape.computed else table

    def empty_table(self, *, events: bool) -> pa.Table:
        """Give a table of no matches, with all its columns."""
        if self.shape.totals is not None:
            return self._totals_table(self._no_totals(self.shape.totals))
        names = [""] if self.shape.positions_only else list(self.shape.variables)
        no_list = pa.array([], pa.list_(pa.int64()))
        no_lists = dict.fromkeys(names, no_list)
        none = Columns(_NO_POSITIONS, _NO_POSITIONS, no_lists, listed=list)
        table = self._table(none, events)
        return self._with_computed(table, none) if self.shape.computed else table

    def _table(self, found: Columns, events: bool) -> pa.Table:
        columns: dict[str, Any] = {
            "start": pa.array(found.start),
            "end": pa.array(found.end),
            "start_time": self._times_at(found.start),
            "end_time": self._times_at(found.end),
        }
        if self.shape.positions_only:
            columns["positions"] = found.bound[""]
            return pa.table(columns)
        for name, paths in self.shape.variables.items():
            lists = found.bound[name]
            columns[_free(name, columns)] = self.structs(lists, paths) if events else lists
        return pa.table(columns)

    def _with_computed(self, table: pa.Table, found: Columns) -> pa.Table:
        """Add computed events as lists of structs, and SELECT's columns as columns."""
        if found.computed is not None:
            return self._with_columns(table, found.computed)
        assert found.listed is not None
        matches = [Match(each, self) for each in found.listed()]
        for name, types in self.shape.computed.items():
            rows = [match.computed(name or None) for match in matches]
            kinds = {column: arrow_type(kind) for column, kind in types.items()}
            if name == SELECTED:
                for column, kind in kinds.items():
                    values = pa.array([row[0][column] if row else None for row in rows], kind)
                    table = table.append_column(_free(column, table.column_names), values)
            else:
                lists = pa.array(rows, pa.list_(pa.struct(list(kinds.items()))))
                table = table.append_column(_free(name, table.column_names), lists)
        return table

    def _with_columns(
        self, table: pa.Table, computed: Mapping[str, Mapping[str, pa.Array]]
    ) -> pa.Table:
        """Do so where every match has one of each, and they are columns already."""
        for name, types in self.shape.computed.items():
            arrays = {column: computed[name][column] for column in types}
            if name == SELECTED:
                for column, values in arrays.items():
                    table = table.append_column(_free(column, table.column_names), values)
            else:
                structs = pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
                offsets = pa.array(np.arange(len(structs) + 1, dtype=np.int32))
                lists = pa.ListArray.from_arrays(offsets, structs)
                table = table.append_column(_free(name, table.column_names), lists)
        return table

    def _totals_table(self, found: Summed) -> pa.Table:
        columns: dict[str, Any] = {"time": self._times(found.time)}
        for name, values in found.partition.items():
            columns[_free(name, columns)] = values
        for name, values in found.values.items():
            exact = isinstance(values, list)
            columns[_free(name, columns)] = pa.array(values, EXACT_COUNTS) if exact else values
        return pa.table(columns)

    def _no_totals(self, totals: Mapping[str, Type]) -> Summed:
        return Summed(
            _NO_POSITIONS,
            _NO_POSITIONS,
            partition_columns(self.stream, self.shape.partition, _NO_POSITIONS),
            {name: pa.array([], arrow_type(kind) or pa.null()) for name, kind in totals.items()},
        )

    def _times_at(self, positions: np.ndarray) -> pa.Array | pa.ChunkedArray:
        column = self.stream.time_column
        if column is None:
            return pa.array(positions)
        rows = self.stream.rows_at(positions)
        if column.type == pa.int64():
            times = np.take(self.stream.times, rows, out=new_integers(len(rows)), mode="clip")
            return pa.array(times)
        return column.take(pa.array(rows))

    def _times(self, times: np.ndarray) -> pa.Array:
        """Give times, as they are counted inside, the type of the time column."""
        column = self.stream.time_column
        if column is None or not pa.types.is_temporal(column.type):
            return pa.array(times, pa.int64())
        return pa.array(times, pa.int64()).cast(pa.timestamp("ns")).cast(column.type, safe=False)

    def structs(self, lists: pa.ListArray, paths: tuple[Path, ...] | None) -> pa.ListArray:
        """Replace positions by the rows there."""
        positions = lists.values.to_numpy(zero_copy_only=False)
        rows = self._payload(paths).take(pa.array(self.stream.rows_at(positions)))
        return pa.ListArray.from_arrays(lists.offsets, rows.to_struct_array().combine_chunks())

    def _payload(self, paths: tuple[Path, ...] | None) -> pa.Table:
        table = self.stream.table
        if paths is None:
            return table
        return pa.table({".".join(path): column_at(table, path) for path in paths})

    def rows(
        self, positions: Sequence[int], paths: tuple[Path, ...] | None
    ) -> list[dict[str, Any]]:
        """Return rows of the stream as dicts."""
        rows = self.stream.rows_at(np.asarray(positions, np.int64))
        taken = self._payload(paths).take(pa.array(rows))
        for index, column in enumerate(taken.schema):
            # Python's datetimes have no nanoseconds; Arrow would return those of pandas, or fail.
            if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
                coarse = taken.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
                taken = taken.set_column(index, column.name, coarse)
        found: list[dict[str, Any]] = taken.to_pylist()
        return found

    # identity

    def identify(self, found: Found) -> str:
        """Return the stable id of a match.

        It hashes the query's fingerprint, the partition key and, for every variable, the
        (time, tiebreak, ordinal among equal ones of the partition) of its events.
        """
        match = found.match
        bound = sorted(match.bindings)
        made = sorted(match.computed, key=lambda each: (each[0], each[1].place))
        told = self._names(
            [match.start, match.end, *(i for _, i in bound), *(y.end for _, y in made)]
        )
        names: dict[str, list[Any]] = {"": told[:2]}
        for (name, _), each in zip(bound, told[2:], strict=False):
            names.setdefault(f"${name}", []).append(each)
        computed = sorted(
            (name, y.place, each, [plain(value) for _, value in y.columns])
            for (name, y), each in zip(made, told[2 + len(bound) :], strict=True)
        )
        key = [plain(value) for value in self.partition_at(match.end).values()]
        text = json.dumps([self.shape.fingerprint, key, names, computed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _names(self, positions: list[int]) -> list[tuple[int, Any, int]]:
        """Name events by (time, tiebreak, ordinal); each is looked at once."""
        known = self._named
        new = np.array(sorted(set(positions) - known.keys()), np.int64)
        if len(new):
            stream = self.stream
            rows = stream.rows_at(new)
            ties: Sequence[Any] = [None] * len(rows)
            if stream.tiebreak_path is not None:
                column = column_at(stream.table, stream.tiebreak_path)
                ties = column.take(pa.array(rows)).to_pylist()
            numbers = ordinals(stream, rows, self.shape.numbering).tolist()
            names = zip(stream.times[rows].tolist(), map(plain, ties), numbers, strict=True)
            known.update(zip(new.tolist(), names, strict=True))
        return [known[position] for position in positions]

    @cached_property
    def _named(self) -> dict[int, tuple[int, Any, int]]:
        return {}


def _free(name: str, taken: Collection[str]) -> str:
    """Return a column name that is not taken yet."""
    while name in taken:
        name += "_"
    return name


def plain(value: Any) -> Any:
    """Write a value so that JSON says the same everywhere, an instant whatever its time zone."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return value.isoformat()
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


Pieces = dict[str, list[Piece]]
"""What some step completed, by query."""
