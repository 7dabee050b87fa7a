"""From a bound query to what evaluates it, and to what its matches look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ensue.analysis.bound import BoundQuery
from ensue.analysis.types import Type
from ensue.analysis.variables import Variables
from ensue.automata.build import Compiled, NotUnaryError, TypeOf, compile_formula
from ensue.logic.build import SELECTED, to_formula
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Plan
from ensue.operators import match as match_operator
from ensue.operators.count import CountOperator
from ensue.operators.graph_count import GraphCountOperator
from ensue.operators.listing_count import ListingCountOperator
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator
from ensue.operators.reference import ReferenceOperator
from ensue.options import Limits
from ensue.plan.residual_operators import adds_only, asks_neighbours, take_off
from ensue.plan.result_schema import ResultSchema
from ensue.results.bounds import limits_of
from ensue.results.residual_filter import Residual


def recogniser(
    bound: BoundQuery,
    tally: Tally,
    limits: Limits,
    *,
    positions_only: bool,
    by_definition: bool = False,
    defers: bool = False,
    compact_always: bool = False,
    warns: bool = True,
    exact: bool = False,
) -> Operator:
    """Return what evaluates a query: the kernels, or the definition where they do not reach.

    With `defers`, registers hold nothing, and conditions are decided as matches are listed.
    """
    slow = by_definition or defers
    counted = None if slow else countable(bound, positions_only)
    if counted is not None:
        return CountOperator(counted, bound, limits, tally, exact)
    related = None if slow else countable_on_graph(bound, positions_only)
    if related is not None:
        return GraphCountOperator(
            MatchOperator(related, bound, limits, tally, None, compact_always), exact
        )
    ready = None if by_definition else _ready(bound, positions_only, defers=defers)
    if ready is None:
        why = why_by_definition(bound)
        return ReferenceOperator(plan_of(bound, positions_only), tally, warns, why)
    machine, refinement = ready
    fast = MatchOperator(machine, bound, limits, tally, refinement, compact_always)
    if bound.totals is None:
        return fast
    return ListingCountOperator(fast, plan_of(bound, positions_only), warns)


def compiled(
    bound: BoundQuery, positions_only: bool, *, defers: bool = False
) -> tuple[Compiled, Residual | None] | None:
    """Return the machine of a query and what is left to do on enumeration; None: no machine.

    Aggregates at the top, and over conditions between events projections and strategies, are left
    for later.
    """
    return None if bound.totals is not None else _ready(bound, positions_only, defers=defers)


def _ready(
    bound: BoundQuery, positions_only: bool, *, defers: bool
) -> tuple[Compiled, Residual | None] | None:
    formula, operators = take_off(to_formula(bound))
    try:
        ready = compile_formula(
            formula, _type_of(bound), defers=defers, adjoins=asks_neighbours(operators)
        )
    except NotUnaryError:
        return None
    if positions_only and adds_only(operators):
        operators = ()
    refinement = Residual(
        operators,
        positions_only,
        bound.limit,
        tuple(ready.plan.deferred),
        tuple(ready.plan.intervals),
        tuple(ready.plan.makers),
        tuple(ready.plan.shown),
        limits_of(operators, ready),
        adjoined=ready.adjoined,
    )
    if refinement.refuses:
        return ready, replace(refinement, consume=match_operator.consumption(bound))
    if operators or ready.hides or (positions_only and ready.plan.registers):
        return ready, refinement
    return (match_operator.positions_only(ready) if positions_only else ready), None


def needs_definition(bound: BoundQuery, positions_only: bool) -> bool:
    """Tell whether no kernel evaluates a query."""
    return _ready(bound, positions_only, defers=False) is None


def why_by_definition(bound: BoundQuery) -> str:
    """Say what keeps a query from the kernels."""
    try:
        compile_formula(take_off(to_formula(bound))[0], _type_of(bound))
    except NotUnaryError as error:
        return str(error)
    return "totals that are added up from listed matches"


def countable(bound: BoundQuery, positions_only: bool) -> Compiled | None:
    """Return the machine of a query whose matches are counted without being listed."""
    ready = _countable(bound)
    if bound.totals is None or ready is None or ready.plan.instances:
        return None
    if positions_only:
        return None if bound.totals.columns else match_operator.positions_only(ready)
    return ready


def countable_on_graph(bound: BoundQuery, positions_only: bool) -> Compiled | None:
    """Return the machine of a query with conditions whose matches are counted on their graph."""
    ready = _countable(bound)
    return None if ready is None or positions_only or not ready.plan.instances else ready


def _countable(bound: BoundQuery) -> Compiled | None:
    """Return the machine of a query each of whose runs is one match."""
    if bound.totals is None:
        return None
    formula, operators = take_off(to_formula(bound))
    if not adds_only(operators):
        return None
    try:
        ready = compile_formula(formula, _type_of(bound))
    except NotUnaryError:
        return None
    decided = not (ready.plan.deferred or ready.plan.intervals or ready.hides)
    variables = {column.variable for column in bound.totals.columns}
    return ready if decided and variables <= set(ready.variables) else None


def _type_of(bound: BoundQuery) -> TypeOf:
    def type_of(path: tuple[str, ...]) -> Type:
        if path == ("type",):
            return Type.UNKNOWN
        return bound.schema.type_of(path, None) or Type.UNKNOWN

    return type_of


def plan_of(bound: BoundQuery, positions_only: bool) -> Plan:
    """Return what a query asks for, for the evaluation by definition."""
    return Plan(
        to_formula(bound),
        bound.partition,
        bound.window,
        bound.consume,
        bound.limit,
        bound.totals,
        bound.every,
        positions_only,
    )


def shape_of(
    bound: BoundQuery, fingerprint: str, positions_only: bool, exact: bool = False
) -> ResultSchema:
    """Work out which variables and columns the matches of a query have."""
    known = Variables(dict(bound.column_types))
    pattern = bound.tree.pattern
    computed: dict[str, Any] = known.computed(pattern)
    names = [name for atom in known.atoms(pattern) for name in sorted(atom.variables)]
    variables: dict[str, Any] = dict.fromkeys(names)
    if bound.shown is not None:
        variables = {name: paths for name, paths in bound.shown.items() if name not in computed}
        computed = {
            name: _of_interest(each, bound.shown[name])
            for name, each in computed.items()
            if name in bound.shown
        }
    if bound.columns:
        computed[SELECTED] = {each.name: bound.selected_types[each.name] for each in bound.columns}
    if positions_only:
        variables, computed = {}, {}
    totals, counts = None, frozenset[str]()
    if bound.totals is not None:
        every = bound.totals.columns
        counts = frozenset({each.name for each in every if each.function == "count"})
        counts |= {bound.totals.count}
        totals = {name: bound.selected_types[name] for name in bound.totals.order}
    return ResultSchema(
        fingerprint,
        variables,
        computed,
        bound.partition,
        bound.clock.column,
        totals,
        positions_only,
        counts if exact else frozenset(),
    )


def _of_interest(
    columns: Mapping[str, Type], paths: tuple[tuple[str, ...], ...] | None
) -> Mapping[str, Type]:
    if paths is None:
        return columns
    return {".".join(path): columns[".".join(path)] for path in paths}
