"""How AGGREGATE, computed columns and totals are evaluated, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ensue.analysis.bound import BoundQuery
from ensue.automata.compiled import Compiled
from ensue.logic import formula as f
from ensue.logic.build import SELECTED
from ensue.options import DEFAULT_LIMITS
from ensue.plan.aggregate_bounds import aggregate_bounds
from ensue.plan.residual import is_columnar
from ensue.plan.residual_operators import ResidualOperator

ON_GRAPH = (
    "Matches are counted, not listed: for every completing event, the paths below its node of the "
    "match graph are added up. The cost follows the different register contents in the window, "
    "not the number of matches."
)

_INSIDE = "runs mark the events where it ends; one pass over its events in each match"
_BOUNDS = "bounds the listing: what cannot satisfy it any more is not listed"
_CHECKED = "checked on each match as it is listed"


def aggregates(compiled: Compiled, operators: Sequence[ResidualOperator]) -> str:
    """Tell how computed events are made and filtered; empty: there are none."""
    made = frozenset(each.formula.variable for each in compiled.plan.inner_aggregates)
    together = is_columnar(tuple(operators), made)
    lines = []
    for operator in operators:
        if isinstance(operator, f.Aggregate):
            how = "many matches at a time, as columns" if together else "match by match"
            name = aggregate_name(operator)
            lines.append(f"{name}:  one pass over the events of each listed match, {how}")
    lines += [
        f"{aggregate_name(inner_aggregate.formula)}:  {_INSIDE}"
        for inner_aggregate in compiled.plan.inner_aggregates
    ]
    bounded = {limit.text for limit in aggregate_bounds(operators, compiled)}
    for text in dict.fromkeys(_filters(compiled, operators)):
        lines.append(f"{text}:  {_BOUNDS if text in bounded else _CHECKED}")
    return "\n".join(lines)


def aggregate_name(formula: f.Aggregate) -> str:
    """Return how a query calls what an AGGREGATE computes."""
    if formula.variable == SELECTED:
        return ", ".join(formula.names)
    return f"AGGREGATE {formula.variable}"


def _filters(compiled: Compiled, operators: Sequence[ResidualOperator]) -> Iterator[str]:
    """Give the conditions on computed events."""
    for operator in operators:
        if isinstance(operator, f.Filter):
            yield from (condition.text for condition in operator.conditions)
    for deferred in compiled.plan.deferred:
        made = {
            compiled.plan.inner_aggregates[n].formula.variable for n in deferred.inner_aggregates
        }
        if made.intersection(f.condition_variables(deferred.condition)):
            yield deferred.condition.text


def why_listed(
    bound: BoundQuery,
    compiled: Compiled,
    operators: Sequence[ResidualOperator],
    choice: f.Choice | None,
) -> str:
    """Tell why the matches of a query cannot be counted without being listed; empty: they can."""
    reasons: list[str] = []
    for operator in operators:
        match operator:
            case f.Filter(conditions=conditions):
                reasons += [condition.text for condition in conditions]
            case f.Select(strategy=strategy):
                reasons.append(f"{strategy} over conditions between events")
            case f.Project():
                reasons.append("PROJECT over conditions between events")
            case f.Aggregate():
                pass
    reasons += [deferred.condition.text for deferred in compiled.plan.deferred]
    reasons += [
        f"{aggregate_name(inner_aggregate.formula)} inside the pattern"
        for inner_aggregate in compiled.plan.inner_aggregates
    ]
    if compiled.plan.intervals:
        reasons.append("UNLESS with conditions between events")
    if choice is not None:
        reasons.append(f"SELECT {choice}")
    columns = () if bound.totals is None else bound.totals.columns
    computed = {each.variable for each in operators if isinstance(each, f.Aggregate)}
    reasons += [f"{each.text} of computed events" for each in columns if each.variable in computed]
    if not reasons and compiled.hides:
        reasons.append("runs of which several may be one match")
    return ", ".join(dict.fromkeys(reasons))


def listing_cost(reasons: str) -> str:
    """Tell what it costs to count by listing."""
    return (
        f"Matches are listed to be counted, because of {reasons}. The time follows their number; "
        f"where one event completes more than {DEFAULT_LIMITS.matches:,}, the query stops "
        "(the option max_matches raises that budget)."
    )
