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
from typing import Literal, TypedDict

from ensue.analysis.bound import BoundQuery, Window
from ensue.analysis.types import Type
from ensue.automata.build import compile_formula
from ensue.automata.compiled import Compiled, NotUnaryError, TypeOf
from ensue.automata.first_windows import Clock
from ensue.automata.machine import Support
from ensue.logic import formula as f
from ensue.logic.build import choice_of, to_absence, to_formula
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
    absence: f.NotFollowed | None = None
    """What must not follow a match; None: anything may."""
    following: Compiled | None = None
    """Its automaton, where it names no events of the match; else it is one of those beside φ."""
    choice: f.Choice | None = None
    """What SELECT chooses on the match graph, before anything is listed; None: nothing."""

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
            choice_of(bound),
            self.absence,
        )

    def __str__(self) -> str:
        from ensue.plan.explain import describe_plan

        return describe_plan(self)


class _How(TypedDict):
    """How automata are compiled."""

    assume_numbers: bool
    defers: bool
    late: frozenset[str]


def make_plan(
    bound: BoundQuery, mode: ExecutionMode | None = None, *, assume_numbers: bool = False
) -> PhysicalPlan:
    """Choose how to evaluate a query.

    With `assume_numbers` attributes of unknown type are taken for numbers, so that a query can be
    explained before there are events.
    """
    mode = mode or ExecutionMode()
    formula = to_formula(bound)
    absence = to_absence(bound)
    core, operators = take_off(formula if absence is None else automaton_formula(formula, absence))
    distribution = distribution_of(bound, formula)
    choice = _choice(bound, formula)
    if choice == "MAX" and adds_only(operators) and f.is_unary(core):
        # Who is beaten by a match of the same start is none in the end: the automaton drops it.
        core = f.Select(core, "MAX")
    following: Compiled | None = None

    def plan(
        operator: OperatorTag,
        why: str,
        compiled: Compiled | None,
        residual: Residual | None = None,
        on_graph: f.Choice | None = None,
    ) -> PhysicalPlan:
        return PhysicalPlan(
            bound,
            mode,
            formula,
            operator,
            why,
            compiled,
            residual,
            operators,
            distribution,
            absence,
            following,
            on_graph,
        )

    if mode.by_definition:
        return plan("reference", "the evaluation by definition, which was asked for", None)
    how: _How = {
        "assume_numbers": assume_numbers,
        "defers": mode.defers,
        "late": mode.late,
    }
    try:
        compiled = compile_formula(
            core,
            attribute_types(bound),
            adjoins=asks_neighbours(operators),
            clock=None if choice or absence is not None else _clock(bound.window),
            **how,
        )
        if absence is not None and not absence.outer:
            types = attribute_types(bound)
            following = compile_formula(absence.absent, types, intervals_only=True, **how)
    except NotUnaryError as error:
        return plan("reference", str(error), None)
    on_graph = choice if _chooses_on_graph(choice, compiled, operators) else None
    if absence is not None and bound.consume != "NONE" and choice != "FIRST":
        # What was consumed by then is no rival, which is known when a match is decided.
        on_graph = None
    late = None if on_graph else choice
    if absence is not None and late == "FIRST":
        why = "FIRST over conditions, which is decided on listing, and NOT FOLLOWED BY"
        return plan("reference", why, None)
    if bound.totals is not None and not mode.defers and late is None:
        if choice is None and _counts_runs(bound, compiled, operators, mode):
            return plan("count", "", positions_only(compiled) if mode.positions_only else compiled)
        if _counts_paths(bound, compiled, operators, mode):
            why = "conditions between events" if choice is None else f"SELECT {choice}"
            if choice is None and not compiled.plan.instances:
                why = "aggregates of the user"
            if absence is not None:
                why = "NOT FOLLOWED BY"
            return plan("count on the graph", why, compiled, None, on_graph)
    residual = _residual(bound, compiled, operators, mode, late, repeated_parts(formula))
    if residual is None and mode.positions_only:
        compiled = positions_only(compiled)
    if bound.totals is None:
        return plan("match", "", compiled, residual, on_graph)
    why = "only listing tells what is a match"
    return plan("count by listing", why, compiled, residual, on_graph)


def automaton_formula(formula: f.Formula, absence: f.NotFollowed) -> f.Formula:
    """Return the formula of which an automaton is made, where something must not follow.

    If it names events of φ, these are marked; otherwise it has an automaton of its own.
    """
    if not absence.outer:
        return formula
    strict = isinstance(formula, f.Select) and formula.strategy == "STRICT"
    made: f.Formula = f.Unless(absence.formula, absence.absent, absence.outer, after=True)
    for operator in absence.shown:
        made = replace(operator, formula=made)
    return f.Select(made, "STRICT") if strict else made


def _clock(window: Window | None) -> Clock | None:
    """Return what starts of runs are measured on, where a window bounds how many there are."""
    if window is None:
        return None
    return "events" if window.kind == "events" else "time"


def _choice(bound: BoundQuery, formula: f.Formula) -> f.Choice | None:
    """Return what SELECT has to choose; of supports of one size none is part of another."""
    choice = choice_of(bound)
    return None if choice == "MAX" and f.fixed_events(formula) is not None else choice


def _chooses_on_graph(
    choice: f.Choice | None, compiled: Compiled, operators: tuple[ResidualOperator, ...]
) -> bool:
    """Tell whether all paths of the match graph are matches, so that a choice can be made there.

    MAX has to see all supports that no other has; they are listed.
    """
    register_plan = compiled.plan
    # Clipped nodes have some of the starts below them, which only listing looks at.
    decided = not (register_plan.deferred or register_plan.intervals or register_plan.clips)
    plain = all(isinstance(each, f.Aggregate | f.Project) for each in operators)
    return choice in ("NEXT", "LAST", "FIRST") and decided and plain


def _counts_runs(
    bound: BoundQuery,
    compiled: Compiled,
    operators: tuple[ResidualOperator, ...],
    mode: ExecutionMode,
) -> bool:
    """Tell whether matches can be counted as runs of the automaton, without a graph."""
    if not _one_run_a_match(bound, compiled, operators) or compiled.plan.instances:
        return False
    if bound.not_followed is not None or _folds(bound):
        return False
    return not mode.positions_only or not (bound.totals and bound.totals.columns)


def _counts_paths(
    bound: BoundQuery,
    compiled: Compiled,
    operators: tuple[ResidualOperator, ...],
    mode: ExecutionMode,
) -> bool:
    """Tell whether matches can be counted as paths of the match graph."""
    if bound.not_followed is not None and bound.consume != "NONE":
        # What is consumed is known when a match is decided.
        return False
    if _folds(bound) and (bound.every is not None or mode.exact or compiled.plan.clips):
        # Elements of the user's aggregates are no state that could be saved.
        return False
    return _one_run_a_match(bound, compiled, operators) and not mode.positions_only


def _folds(bound: BoundQuery) -> bool:
    """Tell whether aggregates of the user are asked for over all matches."""
    return bound.totals is not None and any(each.user for each in bound.totals.columns)


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
    choice: f.Choice | None,
    repeated: str,
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
        () if compiled.plan.clips else aggregate_bounds(operators, compiled),
        adjoined=compiled.adjoined,
        choice=choice,
        repeated=repeated,
    )
    if residual.refuses or (bound.not_followed is not None and bound.consume != "NONE"):
        return replace(residual, consume=consumption(bound))
    merges = mode.positions_only and bool(compiled.plan.registers)
    return residual if operators or compiled.hides or merges or residual.choice else None


def repeated_parts(formula: f.Formula) -> str:
    """Name the parts of a pattern that any number of events may be chosen for."""
    match formula:
        case f.Repeat(contiguous=False):
            return f.describe(formula)
        case f.Unless(formula=inner):
            return repeated_parts(inner)
        case _:
            every = map(repeated_parts, f.children(formula))
            return " and ".join(dict.fromkeys(each for each in every if each))


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
