"""A result chunk: matches found in a batch of events, and the events they need."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.kernels.memory import new_integers
from ensue.logic.clauses import Found, Row
from ensue.plan.result_schema import Path, ResultSchema
from ensue.predicates.arrow_values import arrow_type
from ensue.predicates.vectors import column_at
from ensue.results.aggregates import AggregatedMatches
from ensue.results.match_ids import MatchIds
from ensue.results.match_set import ListedMatches, MatchColumns, MatchSet
from ensue.results.residual_filter import ResidualFilter
from ensue.results.tables import Layout, table_of, totals_table
from ensue.results.totals import TotalRows, partition_columns, summed_rows
from ensue.stream.batch import EventBatch
from ensue.stream.ordinals import ordinals

_NO_POSITIONS = np.zeros(0, np.int64)


class Match:
    """A group of events that satisfies the query."""

    __slots__ = ("_found", "_of")

    def __init__(self, found: Found, of: ResultChunk) -> None:
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
    def query(self) -> str | None:
        """The name of the query, where it has one."""
        return self._of.schema.query

    @property
    def start_time(self) -> Any:
        """The time of the event where the match starts; its position where events have no time."""
        return self._of.time_at(self.start)

    @property
    def end_time(self) -> Any:
        """The time of the event that completed the match."""
        return self._of.time_at(self.end)

    @property
    def bindings(self) -> dict[str, list[int]]:
        """The positions bound to each variable, in order."""
        if self._of.schema.positions_only:
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
        schema = self._of.schema
        if variable is None:
            return self._of.rows(self.positions, None)
        if variable not in schema.variables:
            known = ", ".join(schema.variables) or "none"
            raise KeyError(f"no variable '{variable}' in the matches; the variables are {known}")
        return self._of.rows(self._found.match.positions(variable), schema.variables[variable])

    def computed(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events that AGGREGATE bound to a variable; without one, SELECT's columns."""
        return self._of.schema.computed_rows(self._found.match, variable)

    @property
    def id(self) -> str:
        """A stable name for this match: equal for the same match however it was found."""
        return self._of.identify(self._found)

    def __reduce__(self) -> tuple[type[Match], tuple[Found, ResultChunk]]:
        """Be pickled with the events that belong to the match, and no others."""
        return Match, (self._found, self._of.kept([self._found]))

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


@dataclass(frozen=True, slots=True)
class _Kept:
    """Events that are there already."""

    stream: EventBatch

    def __call__(self) -> EventBatch:
        return self.stream


@dataclass(frozen=True)
class ResultChunk:
    """Matches, or rows of totals, and the batch of events that holds their events."""

    schema: ResultSchema
    events: Callable[[], EventBatch] = field(repr=False)
    """Concatenates the batches on demand."""
    matches: MatchSet = field(repr=False)
    totals: Sequence[Row] | TotalRows = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.matches, ResidualFilter | AggregatedMatches):
            self.matches.events = self.events

    @cached_property
    def stream(self) -> EventBatch:
        """The batch of events that holds the events of the matches."""
        return self.events()

    @cached_property
    def summed(self) -> TotalRows:
        """The rows of totals."""
        if isinstance(self.totals, TotalRows):
            return self.totals
        schema = self.schema
        totals = schema.totals or {}
        return summed_rows(self.totals, self.stream, schema.partition, totals, schema.exact)

    @property
    def count(self) -> int:
        """How many matches (or rows of totals) there are."""
        return self.matches.count if self.schema.totals is None else len(self.totals)

    def __bool__(self) -> bool:
        return bool(self.matches) or bool(self.totals)

    def __iter__(self) -> Iterator[Any]:
        if self.schema.totals is not None:
            return self._rows_of_totals()
        return (Match(found, self) for found in self.matches)

    def _rows_of_totals(self) -> Iterator[Total]:
        times = self.times(self.summed.time).to_pylist()
        for time, (partition, values) in zip(times, self.summed.rows(), strict=True):
            yield Total(time, partition, values)

    def partition_at(self, position: int) -> dict[str, Any]:
        """Return the partition attributes of an event."""
        (row,) = self.stream.rows_at(np.array([position])).tolist()
        return {
            ".".join(path): column_at(self.stream.table, path)[row].as_py()
            for path in self.schema.partition
        }

    def time_at(self, position: int) -> Any:
        """Return the time of an event as Python has it, or its position."""
        times = pa.table({"time": self.times_at(np.array([position]))})
        return _as_python(times)[0]["time"]

    def kept(self, found: list[Found]) -> ResultChunk:
        """Return some of these matches with the events that they need, and no others."""
        stream = self.stream
        positions: set[int] = set()
        for each in found:
            match = each.match
            positions.update((match.start, match.end), match.support)
            positions.update(y.end for _, y in match.computed)
        rows = stream.rows_at(np.array(sorted(positions), np.int64))
        numbering = self.schema.numbering
        numbers = {numbering: ordinals(stream, rows, numbering)}
        return ResultChunk(
            self.schema, _Kept(replace(stream.take(rows), ordinals=numbers)), ListedMatches(found)
        )

    def settled(self) -> ResultChunk:
        """Return the same rows of totals, worked out, without events."""
        return ResultChunk(
            self.schema, _Kept(self.stream.take(_NO_POSITIONS)), ListedMatches([]), self.summed
        )

    # tables

    def tables(self, layout: Layout) -> Iterator[pa.Table]:
        """Give the matches as tables, many at a time."""
        if self.schema.totals is not None:
            if len(self.totals):
                yield totals_table(self, self.summed, layout)
            return
        for found in self.columns():
            yield table_of(self, found, layout)

    def columns(self) -> Iterator[MatchColumns]:
        """Give the matches as columns, many at a time."""
        return self.matches.columns(self.schema.names)

    def empty_table(self, layout: Layout) -> pa.Table:
        """Give a table of no matches, with all its columns."""
        if self.schema.totals is not None:
            return totals_table(self, self._no_totals(self.schema.totals), layout)
        no_lists = {name: pa.array([], pa.list_(pa.int64())) for name in self.schema.names}
        return table_of(
            self, MatchColumns(_NO_POSITIONS, _NO_POSITIONS, no_lists, listed=list), layout
        )

    def _no_totals(self, totals: Mapping[str, Type]) -> TotalRows:
        return TotalRows(
            _NO_POSITIONS,
            _NO_POSITIONS,
            partition_columns(self.stream, self.schema.partition, _NO_POSITIONS),
            {
                name: []
                if name in self.schema.exact
                else pa.array([], arrow_type(kind) or pa.null())
                for name, kind in totals.items()
            },
        )

    def times_at(self, positions: np.ndarray) -> pa.Array | pa.ChunkedArray:
        """Return the times of some events, or their positions where they have no times."""
        column = self.stream.time_column
        if column is None:
            return pa.array(positions)
        rows = self.stream.rows_at(positions)
        if column.type == pa.int64():
            times = np.take(self.stream.times, rows, out=new_integers(len(rows)), mode="clip")
            return pa.array(times)
        return column.take(pa.array(rows))

    def times(self, times: np.ndarray) -> pa.Array:
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
        return _as_python(taken)

    # identity

    def ids(self, found: MatchColumns) -> pa.Array:
        """Return the stable ids of some matches (see match_ids.py)."""
        return self._namer.ids(found, self.schema.names)

    def identify(self, found: Found) -> str:
        """Return the stable id of a match."""
        return self._namer.id(found.match)

    @cached_property
    def _namer(self) -> MatchIds:
        return MatchIds(self.stream, self.schema.fingerprint, self.schema.numbering)


def _as_python(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts."""
    for index, column in enumerate(table.schema):
        # Python's datetimes have no nanoseconds; Arrow would return those of pandas, or fail.
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            coarse = table.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
            table = table.set_column(index, column.name, coarse)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


ResultChunks = dict[str, list[ResultChunk]]
"""What some step completed, by query."""


_QUICK_STEPS = 1 << 14
"""What takes up to so many steps is counted at once."""

_MOST_BYTES_UNCOUNTED, _MOST_UNCOUNTED = 1 << 26, 256
"""So much is kept to be counted later."""


@dataclass(slots=True)
class MatchCount:
    """The number of matches of a query, counted without holding up its pushes.

    Counting the matches of an event walks the partial matches in its window, so dense ones are
    left until the number is read. Some are kept until then; of older ones that were not
    listed, each event that completed any counts as one.
    """

    known: int = 0
    _later: deque[MatchSet] = field(default_factory=deque)
    _bytes: int = 0

    def add(self, chunks: Iterable[ResultChunk]) -> None:
        """Add what a step completed."""
        for chunk in chunks:
            if not chunk:
                continue
            if chunk.schema.totals is not None or chunk.matches.effort <= _QUICK_STEPS:
                self.known += chunk.count
                continue
            self._later.append(chunk.matches)
            self._bytes += chunk.matches.nbytes
            while self._bytes > _MOST_BYTES_UNCOUNTED or len(self._later) > _MOST_UNCOUNTED:
                oldest = self._later.popleft()
                self._bytes -= oldest.nbytes
                self.known += oldest.least

    @property
    def total(self) -> int:
        """The number of matches so far."""
        self.known += sum(each.count for each in self._later)
        self._later.clear()
        self._bytes = 0
        return self.known
