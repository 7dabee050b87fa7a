"""What runs on the executors: sorted events in, rows of matches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.engine.block import below, part
from ensue.engine.piece import Piece
from ensue.engine.recogniser import Outcome, Recogniser
from ensue.engine.refine import Refined
from ensue.engine.store import Store
from ensue.engine.stream import Stream, column_at, repeated, times_of
from ensue.errors import EventError
from ensue.predicates.vectors import UnsupportedError
from ensue.spark import rows
from ensue.spark.program import Program

SLICE = "__ensue_slice"
"""The column that numbers slices of time."""

QUERY = "query"


@dataclass(frozen=True)
class Task:
    """What one task does: the queries, the rows to give, and how time is cut into slices."""

    programs: tuple[Program, ...]
    schema: pa.Schema
    """The columns of all rows."""
    names: bool
    """Whether a column tells the query of a row."""
    given: tuple[Mapping[int, int], ...]
    """For each query, the answers to predicates that come with the events."""
    slices: tuple[int, int] | None = None
    """Where the first slice begins and how long each is, as the engine counts time."""

    def function(self) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """Return what mapInArrow is to run."""

        def recognize(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return self.run(batches)

        return recognize

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the sorted events of a partition and give the rows of all queries."""
        tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
        if self.slices is None:
            yield from self._evaluate(tables, None)
            return
        first, length = self.slices
        for number, own in _by_slice(tables):
            yield from self._evaluate(own, first + number * length)

    def _evaluate(self, tables: Iterator[pa.Table], begin: int | None) -> Iterator[pa.RecordBatch]:
        runs: list[Run] = []
        for table in tables:
            # Where there are no events, nothing is compiled.
            runs = runs or self.open()
            for run in runs:
                for found in self.rows(run, run.push(table), begin):
                    yield from found.to_batches()
        for run in runs:
            for found in self.rows(run, run.finish(), begin):
                yield from found.to_batches()

    def open(self) -> list[Run]:
        """Make all queries ready for a stream."""
        return [
            Run(program, given) for program, given in zip(self.programs, self.given, strict=True)
        ]

    def rows(
        self, run: Run, pieces: Iterable[Piece], begin: int | None = None
    ) -> Iterator[pa.Table]:
        """Give what a query has found as rows; with `begin`, of matches that end then or later."""
        for piece in pieces:
            for table in rows.tables(piece, run.schema, begin):
                yield self.fitted(run.program.name, table)

    def fitted(self, name: str, table: pa.Table) -> pa.Table:
        """Give rows the columns that the rows of all queries have."""
        if not self.names:
            return table
        known = set(table.column_names)
        columns = [
            pa.repeat(pa.scalar(name), table.num_rows)
            if each.name == QUERY
            else widened(table.column(each.name), each.type)
            if each.name in known
            else pa.nulls(table.num_rows, each.type)
            for each in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def widened(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Give lists of records the attributes that other queries ask for; they are NULL here."""
    if column.type == kind:
        return column
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = pa.concat_arrays(lists.chunks)
    records = lists.values
    have = {each.name for each in records.type}
    fields = list(kind.value_type)
    arrays = [
        records.field(each.name) if each.name in have else pa.nulls(len(records), each.type)
        for each in fields
    ]
    records = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.chunked_array([pa.ListArray.from_arrays(lists.offsets, records).cast(kind)])


def _by_slice(tables: Iterator[pa.Table]) -> Iterator[tuple[int, Iterator[pa.Table]]]:
    """Split sorted events where the number of the slice changes."""

    def pieces() -> Iterator[tuple[int, pa.Table]]:
        for table in tables:
            numbers = table.column(SLICE).to_numpy()
            table = table.drop_columns([SLICE])
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for low, high in pairwise(cuts):
                yield int(numbers[low]), table.slice(low, high - low)

    for number, group in groupby(pieces(), key=lambda each: each[0]):
        yield number, (table for _, table in group)


@dataclass(slots=True)
class Run:
    """One query on one stream of sorted events."""

    program: Program
    given: Mapping[int, int]
    schema: pa.Schema = field(init=False)
    _recogniser: Recogniser = field(init=False)
    _store: Store = field(default_factory=Store)
    _next: int = 0
    _latest: int | None = None

    def __post_init__(self) -> None:
        self.schema = rows.schema_of(self.program)
        self._recogniser = self.program.recogniser(self.given)

    def push(self, table: pa.Table) -> Iterator[Piece]:
        """Read events and give what they complete."""
        stream = self._stream(table)
        self._store.add(stream)
        try:
            found = self._recogniser.push(stream)
        except UnsupportedError as error:
            raise EventError(
                f"a condition compares values that Spark's workers cannot keep ({error}); run the "
                "query locally on a table instead"
            ) from error
        self._next += table.num_rows
        if found:
            yield self._piece(found)
        self._forget()

    def advance(self, time: int) -> Iterator[Piece]:
        """Know that time has come so far, and give what that completes."""
        found = self._recogniser.advance(time)
        if found:
            yield self._piece(found)

    def finish(self) -> Iterator[Piece]:
        """Give what is known only when all events have been read."""
        found = self._recogniser.finish()
        if found:
            yield self._piece(found)

    def _forget(self) -> None:
        """Let go of rows that no partial match needs any more."""
        if self._store.has_grown:
            self._store.forget_before(self._recogniser.first_needed(self._next))
        if self._store.is_large:
            needed = self._recogniser.needed()
            if needed is not None:
                self._store.keep_only(needed, [self.program.shape.partition])

    # state between micro-batches

    def interval_end(self) -> int | None:
        """Return when the interval of EVERY is over that the last event lies in."""
        every = self.program.bound.every
        if every is None or self._latest is None:
            return None
        length = max(every.length // every.unit, 1)
        return (self._latest // length + 1) * length - 1

    def save(self) -> dict[str, Any]:
        """Write down where the query is."""
        saved = {"next": self._next, "latest": self._latest}
        saved |= below("query", self._recogniser.save())
        # After the query, which may have let go of something.
        self._forget()
        return saved | below("store", self._store.save())

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._next, self._latest = saved["next"], saved["latest"]
        if self._next:
            self._store.load(part(saved, "store"), self.program.time)
            self._recogniser.load(part(saved, "query"), self._store.view()())

    def _piece(self, found: Outcome) -> Piece:
        view = self._store.view()
        if isinstance(found.findings, Refined):
            found.findings.events = view
        return Piece(self.program.shape, view, *found)

    def _stream(self, table: pa.Table) -> Stream:
        program = self.program
        check_times(table, program.time)
        times = times_of(table, program.time)
        before = times[0] if self._latest is None else self._latest
        assert (np.diff(times, prepend=before) >= 0).all(), "Spark has not kept the order"
        self._latest = int(times[-1])
        name = program.options.type
        if name in table.column_names:
            types = table.column(name)
        else:
            types = pa.chunked_array([repeated(program.sources[0], table.num_rows)])
        return Stream(table, types, None, times, program.time, program.tiebreak, self._next)


def check_times(table: pa.Table, path: AttributePath) -> None:
    """Refuse an event without a time, and show it."""
    column = column_at(table, path)
    if column.null_count:
        at = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        shown = {
            name: value
            for name, value in table.slice(at, 1).to_pylist()[0].items()
            if not name.startswith("__ensue") and value is not None
        }
        raise EventError(
            f"the time '{'.'.join(path)}' of an event is NULL; every event needs a time. The "
            f"event is {shown}"
        )


def joined(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the columns of rows of several queries: all that any of them has."""
    fields: dict[str, pa.DataType] = {QUERY: pa.string()}
    for each in (column for schema in schemas for column in schema):
        known = fields.get(each.name)
        fields[each.name] = each.type if known is None else _both(each.name, known, each.type)
    return pa.schema(list(fields.items()))


def _both(name: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right:
        return left
    if pa.types.is_list(left) and pa.types.is_list(right):
        members = {each.name: each.type for each in left.value_type}
        for each in right.value_type:
            if members.setdefault(each.name, each.type) != each.type:
                break
        else:
            return pa.list_(pa.struct(list(members.items())))
    raise EventError(
        f"the queries give the column '{name}' different types, {left} and {right}; recognize "
        "them one by one"
    )
