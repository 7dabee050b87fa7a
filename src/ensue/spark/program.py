"""What a Spark job needs to know of a query: picklable, bound anew wherever it arrives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from ensue.analysis.bound import BoundQuery
from ensue.analysis.schema import AttributePath
from ensue.automata.compiled import Compiled, Predicate
from ensue.engine.binding import bind_to
from ensue.engine.query import Query
from ensue.errors import EventError
from ensue.messages import Message, Option
from ensue.options import DEFAULT_LIMITS, Limits, ReadOptions
from ensue.plan.columns import columns_read
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import PhysicalPlan, make_plan
from ensue.plan.result_schema import ResultSchema, result_schema
from ensue.predicates.vectors import path_column
from ensue.stream.batch import path_of
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
        return [word.text for word in self.query.tree.sources]

    @cached_property
    def bound(self) -> BoundQuery:
        """The query bound to the columns; all that is wrong with either is an error here."""
        loaded = load(self.columns.empty_table(), self.sources, self.options, self.query.schema)
        bound = bind_to(self.query, loaded, self.options)
        if bound.clock.column is None:
            raise EventError(
                Message(
                    "the rows of a DataFrame have no order of their own: pass ",
                    Option("time"),
                    ", the column with the events' times",
                )
            )
        times_of(loaded.table, bound.clock.column)
        return bound

    @property
    def time(self) -> AttributePath:
        """The time column."""
        assert self.bound.clock.column is not None
        return self.bound.clock.column

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
        return self.plan.compiled if self.plan.operator == "match" else None

    @cached_property
    def result_schema(self) -> ResultSchema:
        """The variables and columns of matches; attributes of interest are all spelt out."""
        schema = result_schema(self.bound, self.query.fingerprint, self.positions_only)
        every = tuple((name,) for name in self.columns.names)
        variables = {
            name: every if paths is None else paths for name, paths in schema.variables.items()
        }
        if self.positions_only:
            variables = {"": every}
        return replace(schema, variables=variables)

    # columns

    def columns_read(self, answered: frozenset[Predicate] = frozenset()) -> list[str]:
        """List the columns that workers need when some predicates are evaluated before them."""
        wanted = columns_read(self.plan, self.options, self.result_schema, answered)
        return [name for name in self.columns.names if wanted is None or name in wanted]


def arrow_type_at(columns: pa.Schema, path: AttributePath) -> pa.DataType:
    """Return the Arrow type of a column or of a field of a struct."""
    column = path_column(columns.empty_table(), path)
    return pa.null() if column is None else column.type
