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
from ensue.errors import BudgetError
from ensue.kernels.memory import new_integers
from ensue.logic.clauses import Found, Row
from ensue.plan.result_schema import Path, ResultSchema
from ensue.predicates.arrow_values import arrow_type
from ensue.predicates.vectors import column_at
from ensue.results.aggregates import AggregatedMatches
from ensue.results.deadlines import Deadlines
from ensue.results.match import Match, Total
from ensue.results.match_ids import MatchIds
from ensue.results.match_set import UNKNOWN, ListedMatches, MatchColumns, MatchSet
from ensue.results.residual_filter import ResidualFilter
from ensue.results.tables import Layout, python_rows, table_of, totals_table, typed_times
from ensue.results.totals import TotalRows, partition_columns, summed_rows
from ensue.stream.batch import EventBatch
from ensue.stream.ordinals import ordinals

_NEED_EVENTS = ResidualFilter, AggregatedMatches
_NO_POSITIONS = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Events that are there already."""

    stream: EventBatch

    def __call__(self) -> EventBatch:
        return self.stream


@dataclass(eq=False)
class ResultChunk:
    """Matches, or rows of totals, and the batch of events that holds their events.

    It is not changed. Every push makes one, so it is not frozen: that takes several times as long.
    """

    schema: ResultSchema
    events: Callable[[], EventBatch] = field(repr=False)
    """Concatenates the batches on demand."""
    matches: MatchSet = field(repr=False)
    totals: Sequence[Row] | TotalRows = field(default=(), repr=False)
    deadlines: Deadlines | None = field(default=None, repr=False)
    """Until when nothing must have followed the matches."""

    def __post_init__(self) -> None:
        if isinstance(self.matches, _NEED_EVENTS):
            self.matches.events = self.events
            self.matches.found.query = self.schema.query

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
        return python_rows(times)[0]["time"]

    def deadlines_at(self, ends: np.ndarray) -> pa.Array:
        """Return the deadlines of matches with these ends, with the type of the time column."""
        known = self.deadlines
        return self.times(_NO_POSITIONS if known is None or not len(ends) else known.at(ends))

    def deadline_at(self, end: int) -> Any:
        """Return the deadline of a match as Python has it, if it has one."""
        if self.deadlines is None:
            return None
        return python_rows(pa.table({"deadline": self.deadlines_at(np.array([end]))}))[0][
            "deadline"
        ]

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
            self.schema,
            _Kept(replace(stream.take(rows), ordinals=numbers)),
            ListedMatches(found),
            deadlines=self.deadlines,
        )

    def with_budget(self, most: int) -> ResultChunk:
        """Return the same matches, of which more, or fewer, may be listed."""
        matches = self.matches
        if not isinstance(matches, ResidualFilter | AggregatedMatches):
            return self
        found = replace(matches.found, most=most)
        return replace(self, matches=replace(matches, found=found))

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
            return totals_table(self, self.no_totals(self.schema.totals), layout)
        no_lists = {name: pa.array([], pa.list_(pa.int64())) for name in self.schema.names}
        return table_of(
            self, MatchColumns(_NO_POSITIONS, _NO_POSITIONS, no_lists, listed=list), layout
        )

    def no_totals(self, totals: Mapping[str, Type]) -> TotalRows:
        """Return no rows of totals, with the types of their columns."""
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
            _NO_POSITIONS,
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
        return typed_times(times, pa.int64() if column is None else column.type)

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
        return python_rows(taken)

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
        """The number of matches so far; of those that are too many to be listed, none counts."""
        gives_up = False
        for each in self._later:
            if gives_up and each.effort == UNKNOWN:
                self.known += each.least
                continue
            try:
                self.known += each.count
            except BudgetError:
                gives_up = True
                self.known += each.least
        self._later.clear()
        self._bytes = 0
        return self.known
