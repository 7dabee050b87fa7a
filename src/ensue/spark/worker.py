"""What runs on the executors: sorted events in, rows of matches out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, pairwise

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.results.joining import widened
from ensue.spark import rows
from ensue.spark.columns import QUERY
from ensue.spark.kernels import Shipped
from ensue.spark.order import Key
from ensue.spark.pipeline import Found, SortedPipeline
from ensue.spark.program import Program
from ensue.spark.rules.rows import rule_rows
from ensue.spark.skew import Skew

SLICE = "__ensue_slice"
"""The column that numbers slices of time."""


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
    order: tuple[Key, ...]
    """What events are sorted by."""
    slices: tuple[int, int] | None = None
    """Where the first slice begins and how long each is, as the engine counts time."""
    keys: tuple[AttributePath, ...] = ()
    """What tells events of one task from those of another."""
    until: int | None = None
    """The time that has come after the last event of all, where something waits for it."""
    kernels: Shipped | None = None
    """Compiled kernels that came with the job."""
    versions: Mapping[str, str] | None = None
    """The version of each rule, where they are rules and not queries."""

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
        pipeline: SortedPipeline | None = None
        skew = Skew(self.keys)
        for table in tables:
            # Where there are no events, nothing is compiled.
            pipeline = pipeline or self.open()
            if self.keys:
                skew.look(table)
            for found in self.rows(pipeline.push(table), begin):
                yield from found.to_batches()
        skew.report()
        if pipeline is None:
            return
        later: Found = iter(()) if self.until is None else pipeline.advance(self.until)
        for found in self.rows(chain(later, pipeline.finish()), begin):
            yield from found.to_batches()

    def open(self) -> SortedPipeline:
        """Make all queries ready for a stream."""
        if self.kernels is not None:
            self.kernels.adopt()
        return SortedPipeline(self.programs, self.given)

    def rows(self, found: Found, begin: int | None = None) -> Iterator[pa.Table]:
        """Give what was found as rows; with `begin`, of matches that end then or later."""
        for program, chunk in found:
            for table in rows.tables(chunk, self._row_schemas[program.name], begin):
                if self.versions is None:
                    yield self.fitted(program.name, table)
                else:
                    yield rule_rows(program, self.versions[program.name], table, self.schema)

    @cached_property
    def _row_schemas(self) -> dict[str, pa.Schema]:
        """The columns of the rows of each query."""
        return {program.name: rows.schema_of(program) for program in self.programs}

    def query_of(self, table: pa.Table) -> str:
        """Return the name of the query that some rows, at least one, are of."""
        name = table.column(QUERY)[0].as_py() if self.names else self.programs[0].name
        assert isinstance(name, str)
        return name

    def fitted(self, name: str, table: pa.Table) -> pa.Table:
        """Give rows the columns that the rows of all queries have."""
        if table.schema.equals(self.schema):
            return table
        known = set(table.column_names)
        columns = [
            pa.repeat(pa.scalar(name), table.num_rows)
            if self.names and each.name == QUERY
            else widened(table.column(each.name), each.type)
            if each.name in known
            else pa.nulls(table.num_rows, each.type)
            for each in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _by_slice(tables: Iterator[pa.Table]) -> Iterator[tuple[int, Iterator[pa.Table]]]:
    """Split sorted events where the number of the slice changes."""

    def chunks() -> Iterator[tuple[int, pa.Table]]:
        for table in tables:
            numbers = table.column(SLICE).to_numpy()
            table = table.drop_columns([SLICE])
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for low, high in pairwise(cuts):
                yield int(numbers[low]), table.slice(low, high - low)

    for number, group in groupby(chunks(), key=lambda each: each[0]):
        yield number, (table for _, table in group)
