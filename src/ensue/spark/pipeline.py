"""The pipeline of a task: events that are sorted already, and the queries that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.engine.execution import Execution, QueryInstance
from ensue.errors import EventError
from ensue.logic.evaluate import Tally
from ensue.operators.aggregating import AggregatingOperator
from ensue.operators.match import MatchOperator
from ensue.predicates.vectors import UnsupportedError, column_at, path_column
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.spark.program import Program
from ensue.stream.batch import InputBatch, repeated
from ensue.stream.reorder import times_of
from ensue.stream.sorted import SortedInput

Found = Iterator[tuple[Program, ResultChunk]]
"""Results, each with the program that they are of."""


@dataclass(slots=True)
class SortedPipeline:
    """Queries on one stream of sorted events."""

    programs: Sequence[Program]
    given: Sequence[Mapping[int, int]]
    """For each program, the answers to its predicates that come with the events."""
    input: SortedInput = field(init=False)
    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        self.input = SortedInput(self._program.time, self._program.tiebreak)
        for program, given in zip(self.programs, self.given, strict=True):
            tally = Tally()
            operator = program.open(tally, given)
            self.execution.add(program.name, QueryInstance(program.result_schema, operator, tally))

    @property
    def _program(self) -> Program:
        """Any of the programs: they agree on time and order."""
        return self.programs[0]

    @property
    def nulls(self) -> int:
        """How often arithmetic has had no value since the operators were built."""
        own = sum(each.tally.nulls for each in self.execution.instances.values())
        return own + self.execution.tally.nulls

    def read(self, table: pa.Table) -> tuple[InputBatch, np.ndarray]:
        """Return events with their types and times; EventError where one has no time."""
        check_times(table, self._program.time)
        return with_types(table, self._program), times_of(table, self._program.time)

    def push(self, table: pa.Table) -> Found:
        """Read events and give what they complete."""
        return self.push_batch(*self.read(table))

    def push_batch(self, batch: InputBatch, times: np.ndarray) -> Found:
        """Read events whose types and times are known."""
        try:
            found = self.execution.push(self.input.read(batch, times))
        except UnsupportedError as error:
            raise EventError(
                f"a condition compares values that Spark's workers cannot keep ({error}); run "
                "the query locally on a table instead"
            ) from error
        if self.execution.stopped is not None:
            raise self.execution.stopped
        return self._results(found)

    def advance(self, time: int) -> Found:
        """Let all queries know that no event before this time will come."""
        return self._results(self.execution.advance(time)) if self.input.next_position else iter(())

    def finish(self) -> Found:
        """Give what is known only when all events have been read."""
        return self._results(self.execution.finish())

    def _results(self, found: ResultChunks) -> Found:
        for program in self.programs:
            for chunk in found[program.name]:
                if chunk:
                    yield program, chunk

    # state between micro-batches

    def due_times(self) -> list[int]:
        """Return when there is something to do though no event comes.

        That is where intervals of EVERY are over that the last event lies in, and where deadlines
        of NOT FOLLOWED BY pass.
        """
        latest = self.input.latest
        if latest is None:
            return []
        due = []
        for program in self.programs:
            waits = [each.size for each in program.deadlines if each.kind != "events"]
            every = program.bound.every
            if every is not None:
                length = max(every.length // every.unit, 1)
                due.append((latest // length + 1) * length - 1 + sum(waits))
            if waits:
                operator = self.execution.instances[program.name].operator
                due += _deadlines(operator, latest + sum(waits))
        return due

    def save(self) -> dict[str, Any]:
        """Return the state of the queries, and the events that they need."""
        return {
            "next": self.input.next_position,
            "latest": self.input.latest,
            **self.execution.save(),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from a state that was saved."""
        self.input.next_position, self.input.latest = saved["next"], saved["latest"]
        if self.input.next_position:
            self.execution.load(saved, self.input.next_position, self._program.time)


def _deadlines(operator: object, last: int) -> list[int]:
    """Return the first deadline that an operator waits for, or else the last that there can be."""
    if isinstance(operator, AggregatingOperator):
        operator = operator.matching
    if isinstance(operator, MatchOperator) and operator.pending is not None:
        first = operator.pending.first_deadline()
        return [] if first is None else [first]
    return [last]


def with_types(table: pa.Table, program: Program) -> InputBatch:
    """Return events with their types, as a program has them."""
    path = program.type_path
    types = None if path is None else path_column(table, path)
    if types is None:
        # There is one type, or Spark has answered all that is asked about types.
        types = pa.chunked_array([repeated(program.sources[0], table.num_rows)])
    return InputBatch(table, True, types, None)


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
