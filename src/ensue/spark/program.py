"""What a Spark job needs to know of a query: picklable, bound anew wherever it arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.bound import BoundQuery, Window
from ensue.analysis.derived import Level
from ensue.analysis.schema import AttributePath
from ensue.automata.compiled import Compiled, Predicate
from ensue.engine.binding import bind_levels_to
from ensue.engine.derived import DerivedOperator
from ensue.engine.instances import open_derived
from ensue.engine.query import Query
from ensue.errors import EnsueError, EventError
from ensue.logic.evaluate import Tally
from ensue.logic.required import NO_REQUIREMENT, Requirement, requirement
from ensue.messages import Message, Option
from ensue.operators.factory import open_operator
from ensue.operators.operator import Operator
from ensue.options import DEFAULT_LIMITS, Limits, ReadOptions
from ensue.plan.columns import columns_read
from ensue.plan.distribution import Distribution, shared_distribution
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import PhysicalPlan, make_plan
from ensue.plan.result_schema import ResultSchema, result_schema
from ensue.predicates.vectors import path_column
from ensue.stream.batch import EventBatch, path_of
from ensue.stream.conform import load
from ensue.stream.reorder import times_of


@dataclass(frozen=True)
class Program:
    """A query on events of known columns."""

    name: str
    query: Query
    columns: pa.Schema
    """All columns of the events."""
    options: ReadOptions
    positions_only: bool = False
    limits: Limits = DEFAULT_LIMITS

    def __reduce__(self) -> tuple[Any, ...]:
        # What is worked out below is worked out again, not shipped.
        arguments = (self.name, self.query, self.columns, self.options, self.positions_only)
        return Program, (*arguments, self.limits)

    @property
    def sources(self) -> list[str]:
        """The streams of FROM."""
        return self.query.streams

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The query and its derived streams, those first, bound to the columns.

        All that is wrong with the query or the columns is an error here.
        """
        loaded = load(self.columns.empty_table(), self.sources, self.options, self.query.schema)
        levels = bind_levels_to(self.query, loaded, self.options)
        time = levels[0].bound.clock.column
        if time is None:
            raise EventError(
                Message(
                    "the rows of a DataFrame have no order of their own: pass ",
                    Option("time"),
                    ", the column with the events' times",
                )
            )
        times_of(loaded.table, time)
        return levels

    @property
    def bound(self) -> BoundQuery:
        """The query bound to what it reads."""
        return self.levels[-1].bound

    @property
    def deadlines(self) -> list[Window]:
        """The deadlines of NOT FOLLOWED BY, of all levels."""
        every = (level.bound.not_followed for level in self.levels)
        return [each.window for each in every if each is not None]

    @property
    def is_derived(self) -> bool:
        """Whether there are derived streams."""
        return len(self.levels) > 1

    @property
    def time(self) -> AttributePath:
        """The time column."""
        column = self.levels[0].bound.clock.column
        assert column is not None
        return column

    @property
    def distribution(self) -> Distribution:
        """How events may be spread over tasks, for all levels of the query."""
        if self.is_derived:
            return shared_distribution([level.bound for level in self.levels])
        return self.plan.distribution

    @property
    def required(self) -> Requirement:
        """What events must have for the query to find anything."""
        return NO_REQUIREMENT if self.is_derived else requirement(self.bound)

    def open(self, tally: Tally, given: Mapping[int, int]) -> Operator:
        """Return a fresh operator; `given` are predicates that are answered with the events."""
        if not self.is_derived:
            return open_operator(self.plan, tally, given)
        schema = result_schema(self.bound, self.query.fingerprint, self.positions_only)
        return open_derived(self.query, self.levels, self.plan.mode, schema, tally, self.options)

    @cached_property
    def shown_columns(self) -> pa.Schema:
        """The columns of the events that matches have: of derived ones too, where there are."""
        operator = self.open(Tally(), {}) if self.is_derived else None
        if not isinstance(operator, DerivedOperator):
            return self.columns
        types = pa.chunked_array([], pa.string())
        times = np.zeros(0, np.int64)
        table = self.columns.empty_table()
        operator.push(EventBatch(table, types, None, times, self.time, self.tiebreak, 0))
        return operator.columns

    @cached_property
    def type_path(self) -> AttributePath | None:
        """The column with the types of events, or a field of a struct; None: there is none."""
        name = self.options.type
        return next(
            (
                path
                for path in ((name,), tuple(name.split(".")))
                if path_column(self.columns.empty_table(), path) is not None
            ),
            None,
        )

    @cached_property
    def tiebreak(self) -> AttributePath | None:
        """The column that orders events of one time."""
        name = self.options.tiebreak
        return None if name is None else path_of(name, self.columns.empty_table(), "tiebreak")

    @cached_property
    def plan(self) -> PhysicalPlan:
        """How the query is evaluated."""
        return make_plan(self.bound, ExecutionMode(self.positions_only, self.limits, warns=False))

    @property
    def automaton(self) -> Compiled | None:
        """The automaton whose predicates Spark may answer; None: Python answers them all."""
        decided = self.plan.operator == "match" and not self.is_derived
        return self.plan.compiled if decided else None

    @cached_property
    def result_schema(self) -> ResultSchema:
        """The variables and columns of matches; attributes of interest are all spelt out."""
        schema = result_schema(self.bound, self.query.fingerprint, self.positions_only)
        every = tuple((name,) for name in self.shown_columns.names)
        variables = {
            name: every if paths is None else paths for name, paths in schema.variables.items()
        }
        if self.positions_only:
            variables = {"": every}
        return replace(schema, variables=variables)

    # columns

    def columns_read(self, answered: frozenset[Predicate] = frozenset()) -> list[str]:
        """List the columns that workers need when some predicates are evaluated before them."""
        if self.is_derived:
            return list(self.columns.names)
        wanted = columns_read(self.plan, self.options, self.result_schema, answered)
        return [name for name in self.columns.names if wanted is None or name in wanted]


def refuse_deadlines(programs: Sequence[Program]) -> None:
    """Refuse NOT FOLLOWED BY where nobody knows how far time has come in all events."""
    for program in programs:
        if any(each.kind != "events" for each in program.deadlines):
            raise EnsueError(
                f"{program.name}: NOT FOLLOWED BY has to know how far time has come in all events, "
                "and a table function sees those of one partition: call ensue.spark.recognize"
            )


def arrow_type_at(columns: pa.Schema, path: AttributePath) -> pa.DataType:
    """Return the Arrow type of a column or of a field of a struct."""
    column = path_column(columns.empty_table(), path)
    return pa.null() if column is None else column.type
