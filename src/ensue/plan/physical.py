"""The physical plan of a query: made once, read by run, sessions, explain and Spark.

It says which operator evaluates the query, what the operator's automaton decides, what is left to
be decided as matches are listed, and how events may be distributed. The choice between operators
stands here and nowhere else:

    match               an automaton finds the matches; what it cannot decide is left to listing
    count               SELECT count(*), …: runs of the automaton are added up, nothing is listed
    count on the graph  the same over conditions between events: paths of the match graph are
    count by listing    the same where only listing tells what is a match
    reference           the definition of the semantics, for what no automaton can decide
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ensue.analysis.bound import BoundQuery
from ensue.analysis.types import Type
from ensue.automata.build import compile_formula
from ensue.automata.compiled import Compiled, NotUnaryError, TypeOf
from ensue.automata.machine import Support
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from ensue.logic.clauses import Clauses
from ensue.plan.aggregate_bounds import aggregate_bounds
from ensue.plan.distribution import Distribution, distribution_of
from ensue.plan.mode import ExecutionMode
from ensue.plan.residual import Residual
from ensue.plan.residual_operators import ResidualOperator, adds_only, asks_neighbours, take_off

OperatorTag = Literal["match", "count", "count on the graph", "count by listing", "reference"]
"""Names an operator, in plans and in snapshots."""


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """How a bound query is evaluated."""

    bound: BoundQuery
    mode: ExecutionMode
    formula: f.Formula
    operator: OperatorTag
    why: str
    """Why this operator and no faster one; empty for the fastest."""
    compiled: Compiled | None
    """The automaton; None: there is none, the query is evaluated by definition."""
    residual: Residual | None
    """What is left to be decided as matches are listed; None: nothing."""
    operators: tuple[ResidualOperator, ...]
    """Operators at the top of the formula that the automaton leaves, innermost first."""
    distribution: Distribution

    @property
    def clauses(self) -> Clauses:
        """What the query asks for, clause by clause, for the evaluation by definition."""
        bound = self.bound
        return Clauses(
            self.formula,
            bound.partition,
            bound.window,
            bound.consume,
            bound.limit,
            bound.totals,
            bound.every,
            self.mode.positions_only,
        )

    def __str__(self) -> str:
        from ensue.plan.explain import describe_plan

        return describe_plan(self)


def make_plan(
    bound: BoundQuery, mode: ExecutionMode | None = None, *, assume_numbers: bool = False
) -> PhysicalPlan:
    """Choose how to evaluate a query.

    With `assume_numbers` attributes of unknown type are taken for numbers, so that a query can be
    explained before there are events.
    """
    mode = mode or ExecutionMode()
    formula = to_formula(bound)
    core, operators = take_off(formula)
    distribution = distribution_of(bound, formula)

    def plan(
        operator: OperatorTag, why: str, compiled: Compiled | None, residual: Residual | None = None
    ) -> PhysicalPlan:
        return PhysicalPlan(
            bound, mode, formula, operator, why, compiled, residual, operators, distribution
        )

    if mode.by_definition:
        return plan("reference", "the evaluation by definition, which was asked for", None)
    try:
        compiled = compile_formula(
            core,
            attribute_types(bound),
            assume_numbers=assume_numbers,
            defers=mode.defers,
            late=mode.late,
            adjoins=asks_neighbours(operators),
        )
    except NotUnaryError as error:
        return plan("reference", str(error), None)
    if bound.totals is not None and not mode.defers:
        if _counts_runs(bound, compiled, operators, mode):
            return plan("count", "", positions_only(compiled) if mode.positions_only else compiled)
        if _counts_paths(bound, compiled, operators, mode):
            return plan("count on the graph", "conditions between events", compiled)
    residual = _residual(bound, compiled, operators, mode)
    if residual is None and mode.positions_only:
        compiled = positions_only(compiled)
    if bound.totals is None:
        return plan("match", "", compiled, residual)
    return plan("count by listing", "only listing tells what is a match", compiled, residual)


def _counts_runs(
    bound: BoundQuery,
    compiled: Compiled,
    operators: tuple[ResidualOperator, ...],
    mode: ExecutionMode,
) -> bool:
    """Tell whether matches can be counted as runs of the automaton, without a graph."""
    if not _one_run_a_match(bound, compiled, operators) or compiled.plan.instances:
        return False
    return not mode.positions_only or not (bound.totals and bound.totals.columns)


def _counts_paths(
    bound: BoundQuery,
    compiled: Compiled,
    operators: tuple[ResidualOperator, ...],
    mode: ExecutionMode,
) -> bool:
    """Tell whether matches can be counted as paths of the match graph."""
    decided = _one_run_a_match(bound, compiled, operators)
    return decided and bool(compiled.plan.instances) and not mode.positions_only


def _one_run_a_match(
    bound: BoundQuery, compiled: Compiled, operators: tuple[ResidualOperator, ...]
) -> bool:
    """Tell whether every run of the automaton is one match, with all that totals ask for."""
    register_plan = compiled.plan
    if register_plan.deferred or register_plan.intervals or compiled.hides:
        return False
    columns = () if bound.totals is None else bound.totals.columns
    bound_variables = {column.variable for column in columns} <= set(compiled.variables)
    return adds_only(operators) and bound_variables


def _residual(
    bound: BoundQuery,
    compiled: Compiled,
    operators: tuple[ResidualOperator, ...],
    mode: ExecutionMode,
) -> Residual | None:
    """Return what is left to be decided as matches are listed; None: nothing."""
    if mode.positions_only and adds_only(operators):
        operators = ()
    residual = Residual(
        operators,
        mode.positions_only,
        bound.limit,
        tuple(compiled.plan.deferred),
        tuple(compiled.plan.intervals),
        tuple(compiled.plan.inner_aggregates),
        tuple(compiled.plan.shown),
        aggregate_bounds(operators, compiled),
        adjoined=compiled.adjoined,
    )
    if residual.refuses:
        return replace(residual, consume=consumption(bound))
    merges = mode.positions_only and bool(compiled.plan.registers)
    return residual if operators or compiled.hides or merges else None


def consumption(bound: BoundQuery) -> str:
    """Return what an event consumes; without partitions there is but one."""
    return bound.consume if bound.partition or bound.consume == "NONE" else "ANY"


def positions_only(compiled: Compiled) -> Compiled:
    """Forget which variable an event is bound to: one bit for all."""
    return replace(compiled, machine=Support(compiled.machine), variables=("",))


def attribute_types(bound: BoundQuery) -> TypeOf:
    """Tell the types of the attributes that a query reads."""

    def type_of(path: tuple[str, ...]) -> Type:
        if path == ("type",):
            return Type.UNKNOWN
        return bound.schema.type_of(path, None) or Type.UNKNOWN

    return type_of
