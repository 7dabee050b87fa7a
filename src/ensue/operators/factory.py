"""From a physical plan to the operator that carries it out."""

from __future__ import annotations

from collections.abc import Mapping

from ensue.logic.evaluate import Tally
from ensue.operators.automaton import Automaton
from ensue.operators.count import CountOperator
from ensue.operators.graph_count import GraphCountOperator
from ensue.operators.listing_count import ListingCountOperator
from ensue.operators.match import MatchOperator
from ensue.operators.operator import Operator
from ensue.operators.reference import ReferenceOperator
from ensue.plan.physical import PhysicalPlan


def open_operator(
    plan: PhysicalPlan,
    tally: Tally,
    given: Mapping[int, int] | None = None,
    automaton: Automaton | None = None,
) -> Operator:
    """Return a fresh operator for one stream of events.

    Args:
        plan: what it carries out.
        tally: where it counts NULLs from arithmetic.
        given: predicates whose answers come with the events, and their bits there.
        automaton: that of the plan, where other operators have learnt or will learn of it.
    """
    mode, bound = plan.mode, plan.bound
    if plan.compiled is None:
        return ReferenceOperator(plan.clauses, tally, mode.warns, plan.why)
    if plan.operator == "count":
        return CountOperator(plan.compiled, bound, mode.limits, tally, mode.exact, automaton)
    match = MatchOperator(
        plan.compiled,
        bound,
        mode.limits,
        tally,
        plan.residual,
        mode.compact_always,
        given or {},
        plan.following,
        choice=plan.choice,
        automaton=automaton,
    )
    if plan.operator == "count on the graph":
        return GraphCountOperator(match, mode.exact)
    if plan.operator == "count by listing":
        return ListingCountOperator(match, plan.clauses, mode.warns)
    return match
