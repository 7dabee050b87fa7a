"""What a Spark job needs to know of a query: picklable, bound anew wherever it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    paths_of,
    subexpressions,
)
from ensue.analysis.schema import AttributePath
from ensue.analysis.types import Type
from ensue.automata.build import AtStart, Compiled, TypeTest
from ensue.engine.binding import bind_to
from ensue.engine.query import Query
from ensue.errors import EventError
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from ensue.logic.evaluate import Tally
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator
from ensue.options import DEFAULT_LIMITS, Limits, ReadOptions
from ensue.plan.program import compiled, needs_definition, recogniser, shape_of
from ensue.plan.result_schema import ResultSchema
from ensue.predicates.vectors import path_column
from ensue.results.residual_filter import Residual
from ensue.stream.batch import path_of, times_of
from ensue.stream.conform import load


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
        told = (self.name, self.query, self.columns, self.options, self.positions_only)
        return Program, (*told, self.limits)

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
                "the rows of a DataFrame have no order of their own: pass time=, the column with "
                "the events' times"
            )
        times_of(loaded.table, bound.clock.column)
        return bound

    @property
    def time(self) -> AttributePath:
        """The time column."""
        assert self.bound.clock.column is not None
        return self.bound.clock.column

    @cached_property
    def tiebreak(self) -> AttributePath | None:
        """The column that orders events of one time."""
        name = self.options.tiebreak
        return None if name is None else path_of(name, self.columns.empty_table(), "tiebreak")

    @cached_property
    def formula(self) -> f.Formula:
        """The query as a formula."""
        return to_formula(self.bound)

    @cached_property
    def ready(self) -> tuple[Compiled, Residual | None] | None:
        """The machine and what is left to do on enumeration; None: evaluated by definition."""
        return compiled(self.bound, self.positions_only)

    def recogniser(self, given: Mapping[int, int], tally: Tally) -> Operator:
        """Return what evaluates the query on one stream; some answers may come with the events."""
        if self.ready is None:
            return recogniser(
                self.bound, tally, self.limits, positions_only=self.positions_only, warns=False
            )
        machine, refinement = self.ready
        return MatchOperator(machine, self.bound, self.limits, tally, refinement, given=given)

    @property
    def by_definition(self) -> bool:
        """Whether no kernel evaluates the query."""
        return needs_definition(self.bound, self.positions_only)

    @cached_property
    def shape(self) -> ResultSchema:
        """The variables and columns of matches; attributes of interest are all spelt out."""
        shape = shape_of(self.bound, self.query.fingerprint, self.positions_only)
        every = tuple((name,) for name in self.columns.names)
        variables = {
            name: every if paths is None else paths for name, paths in shape.variables.items()
        }
        if self.positions_only:
            variables = {"": every}
        return ResultSchema(
            shape.fingerprint,
            variables,
            shape.computed,
            shape.partition,
            shape.time_path,
            shape.totals,
            shape.positions_only,
            shape.exact,
        )

    @property
    def asks_start(self) -> bool:
        """Whether the query asks for the first event of the stream, or of its partition."""
        return any(
            isinstance(each, f.Select) and each.strategy == "START"
            for each in f.subformulas(self.formula)
        )

    # columns

    def columns_read(self, pushed: frozenset[object] = frozenset()) -> list[str]:
        """List the columns that workers need when some predicates are evaluated before them."""
        paths = {self.time, *self.bound.partition}
        if self.tiebreak is not None:
            paths.add(self.tiebreak)
        if self.bound.totals is None:
            for shown in self.shape.variables.values():
                paths.update(shown or ())
        if self.ready is not None:
            # Machines of their own, such as that of an UNLESS, ask for themselves.
            own = {each for absent in self.ready[0].absent for each in absent.all_predicates()}
            pushed -= own
        types = False
        for predicate in self.predicates():
            if predicate in pushed or isinstance(predicate, AtStart):
                continue
            if isinstance(predicate, TypeTest):
                types = True
            else:
                paths |= paths_of(predicate)
                types = types or _asks_type(predicate)
        for expression in self._kept_expressions():
            paths |= paths_of(expression)
            types = types or _asks_type(expression)
        if types:
            paths.add((self.options.type,))
        wanted = {path[0] for path in paths}
        return [name for name in self.columns.names if name in wanted]

    def predicates(self) -> Iterator[TypeTest | AtStart | Expression]:
        """Give all predicates on single events."""
        if self.ready is not None:
            yield from self.ready[0].all_predicates()
            return
        for each in f.subformulas(self.formula):
            if isinstance(each, f.Atom):
                yield TypeTest(each.type, each.stream)
            elif isinstance(each, f.Filter):
                for condition in each.conditions:
                    if isinstance(condition, Each):
                        yield condition.predicate

    def _kept_expressions(self) -> Iterator[Expression]:
        """Give what is compared between events or aggregated, always by workers."""
        if self.ready is not None:
            yield from self.ready[0].all_expressions()
        for each in f.subformulas(self.formula):
            if isinstance(each, f.Filter) and self.ready is None:
                for condition in each.conditions:
                    yield from _sides(condition)
            elif isinstance(each, f.Aggregate):
                for computed in each.columns:
                    if computed.path is not None:
                        yield _attribute(computed.path)
        totals = self.bound.totals
        for total in () if totals is None else totals.columns:
            if total.path is not None:
                yield _attribute(total.path)


def _sides(condition: f.Atomic) -> Iterator[Expression]:
    """Give what a condition between events looks at."""
    match condition:
        case Each(predicate=predicate) | Relation(predicate=predicate):
            yield predicate
        case Trend(path=path):
            yield _attribute(path)
        case SameKey(keys=keys):
            for _, path in keys:
                yield _attribute(path)


def _attribute(path: AttributePath) -> Expression:
    return Attribute(path, Type.UNKNOWN)


def _asks_type(expression: Expression) -> bool:
    return any(isinstance(each, EventType) for each in subexpressions(expression))


def arrow_type_at(columns: pa.Schema, path: AttributePath) -> pa.DataType:
    """Return the Arrow type of a column or of a field of a struct."""
    column = path_column(columns.empty_table(), path)
    return pa.null() if column is None else column.type
