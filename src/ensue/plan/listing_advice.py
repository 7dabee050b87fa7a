"""Warnings about queries that may have to go through exponentially many matches to refuse them."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import AllOf, AnyOf, Condition
from ensue.errors import Diagnostic, Span
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from ensue.options import DEFAULT_LIMITS
from ensue.plan.physical import make_plan, repeated_parts


def listing_warnings(bound: BoundQuery) -> tuple[Diagnostic, ...]:
    """Warn of conditions that only listing decides, over a repetition that makes matches many."""
    formula = to_formula(bound)
    if not repeated_parts(formula) or not _may_list(bound, formula):
        return ()
    residual = make_plan(bound, assume_numbers=True).residual
    if residual is None or not residual.refuses_unbounded:
        return ()
    why = ", ".join(residual.unbounded)
    return (
        Diagnostic(
            "W521",
            _place(bound, residual.unbounded),
            f"only listing decides {why}, and any number of events may be chosen for "
            f"{residual.repeated}: where few matches are left, exponentially many are refused",
            f"the query stops where one event completes more than {DEFAULT_LIMITS.matches:,} "
            "(max_matches); a short WITHIN, ':+' or {1,3} in place of '+', or conditions on single "
            "events keep them few",
        ),
    )


def _may_list(bound: BoundQuery, formula: f.Formula) -> bool:
    """Tell, without an automaton, whether something may be left to listing."""
    if bound.strategy is not None:
        return True
    return any(isinstance(each, f.Aggregate) for each in f.subformulas(formula)) or not f.is_unary(
        formula
    )


def _place(bound: BoundQuery, texts: tuple[str, ...]) -> Span:
    """Return where the first of some conditions is written; else the whole pattern."""
    spans = [
        span
        for span, condition in bound.conditions.items()
        if any(text in texts for text in _texts(condition))
    ]
    return min(spans, default=bound.tree.pattern.span)


def _texts(condition: Condition) -> Iterator[str]:
    if isinstance(condition, AllOf | AnyOf):
        for each in condition.conditions:
            yield from _texts(each)
    else:
        yield condition.text


def all_warnings(bound: BoundQuery) -> tuple[Diagnostic, ...]:
    """Return everything that a query is warned of, in the order of its text."""
    every = (*bound.warnings, *listing_warnings(bound))
    return tuple(sorted(every, key=lambda each: each.span))
