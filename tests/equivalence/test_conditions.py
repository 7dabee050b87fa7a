"""Conditions between events: the engine against the meaning by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each
from ensue.analysis.context import Clock
from ensue.kernels.match import configurations
from ensue.logic import formula as f
from ensue.logic.clauses import answer
from ensue.logic.complex_event import Event
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from ensue.stream.conform import load
from tests.effort import broad
from tests.equivalence.test_engine import compiled, found, note, run
from tests.pairs import Pair, Row, collected, related_pairs

PATHS: Counter[bool] = Counter()


def bound_to(query: ensue.Query, rows: list[Row]) -> BoundQuery:
    return query.bind(load(rows, ["S"], ReadOptions()).schema(), Clock(known=True))


def takes_fast_path(query: ensue.Query, rows: list[Row], positions_only: bool = False) -> bool:
    plan = make_plan(bound_to(query, rows), ExecutionMode(positions_only))
    return plan.operator == "match"


@broad
@given(related_pairs(), st.booleans(), st.booleans(), st.sampled_from([0, 2, 64]))
def test_engine_eq_reference_with_conditions(
    pair: Pair, positions_only: bool, compact_always: bool, few: int
) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configurations, "SCAN_LIMIT", few)
        fast = run(ready, rows, positions_only=positions_only, compact_always=compact_always)
    note(expected)
    is_fast = takes_fast_path(ready, rows, positions_only)
    PATHS[is_fast] += 1
    event(f"fast path: {is_fast}")
    assert found(fast) == found(expected)
    assert fast.count == expected.count
    assert bool(fast) == bool(expected)


def _share() -> str:
    return f"{PATHS[True] / max(PATHS.total(), 1):.1%} of {PATHS.total():,} on the fast path"


test_engine_eq_reference_with_conditions.told = _share  # type: ignore[attr-defined]


def test_values_that_no_register_holds_are_compared_on_listing() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.w")
    rows = [
        {"type": "A", "v": 2**60 + 1, "w": 0.5},
        {"type": "B", "v": 0, "w": float(2**60)},
        {"type": "B", "v": 0, "w": float(2**61)},
    ]
    assert [(m.start, m.end) for m in query.run(rows)] == [(0, 2)]
    with pytest.raises(ensue.EventError, match="pass the events as a table"):
        list(query.run(iter(rows)))


NEXT_BELOW = "SELECT * FROM S WHERE NEXT(A AS a ; B AS b FILTER a.v < b.v) ; C"


def test_strategy_below_the_top_is_evaluated_by_definition_and_says_so() -> None:
    query = ensue.compile(NEXT_BELOW)
    why = (
        "NEXT below the top of the pattern, which chooses among matches by the condition a.v < b.v"
    )
    assert f"by definition, because of {why}" in query.explain()
    rows = [{"type": kind, "v": n} for n, kind in enumerate("ABBC" + 1000 * "D")]
    with pytest.warns(ensue.CeqlWarning, match=f"by definition.*because of {why}"):
        assert query.run(rows).count == 2


@pytest.mark.parametrize(
    "pattern",
    [
        "(A ; D) UNLESS (B AS b ; C AS c FILTER b.v != c.v)",
        "(A ; D) UNLESS (B AS b ; B AS e ; C AS c FILTER b.v + e.v < c.v)",
        "D UNLESS ((B AS b ; C AS c FILTER b.v < c.v) UNLESS (A AS a ; A AS e FILTER a.v < e.v))",
        "(A ; (B AS b ; C AS c UNLESS NEXT(B AS d ; B AS e FILTER d.v * e.v = 2)))+ ; D",
        "((A AS a ; B AS b FILTER a.v < b.v) OR C) ; D",
        "((A AS a ; B+ AS b FILTER a.v != b.v) ALL (C AS c ; D AS d FILTER c.k = d.k))",
        "(((A ; B AS b) PARTITION BY [A.v, b.v]) ; C) PARTITION BY [A.k, b.k, C.k]",
        "NEXT((A AS a ; B+ AS b ; C AS c) FILTER a.v + c.v < b.v)",
        "(A AS a ; C AS c) UNLESS (B AS b FILTER b.v = a.v AND b.v < c.v)",
        "((A AS a ; C) UNLESS (B AS b ; B AS e FILTER b.v = a.v AND b.v < e.v))+ ; D",
        "(A AS a ; C) UNLESS ((B AS b FILTER b.v = a.v) UNLESS (D AS d FILTER d.v = b.v))",
    ],
)
def test_every_other_shape_takes_the_fast_path(pattern: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {pattern}")
    assert "by definition" not in query.explain()
    assert takes_fast_path(query, [{"type": "A", "v": 1, "k": "p", "ts": 1}])


# --- what the random pairs are worth -----------------------------------------------------------


def _without_conditions(formula: f.Formula) -> f.Formula:
    """Leave out all conditions between events, wherever they are."""
    match formula:
        case f.Filter(formula=inner, conditions=conditions):
            kept = tuple(each for each in conditions if isinstance(each, Each))
            return f.Filter(_without_conditions(inner), kept)
        case f.Sequence(items=items) | f.Or(items=items) | f.And(items=items) | f.All(items=items):
            return replace(formula, items=tuple(map(_without_conditions, items)))
        case f.Unless(formula=inner, absent=absent):
            bare = _without_conditions(inner), _without_conditions(absent)
            return replace(formula, formula=bare[0], absent=bare[1])
        case f.Atom() | f.Empty():
            return formula
        case _:
            return replace(formula, formula=_without_conditions(formula.formula))


def _matters(query: ensue.Query, rows: list[Row]) -> bool:
    """Tell whether a query finds something else than it would without conditions."""
    plan = make_plan(bound_to(query, rows)).clauses
    bare = replace(plan, formula=_without_conditions(plan.formula))
    events = [
        Event(row["type"], {k: None if v != v else v for k, v in row.items()}, row["ts"])
        for row in rows
    ]
    return answer(plan, events).matches != answer(bare, events).matches


def _formula(query: ensue.Query, rows: list[Row]) -> f.Formula:
    return make_plan(bound_to(query, rows)).formula


@cache
def _drawn() -> list[tuple[ensue.Query, list[Row]]]:
    """Random queries with conditions between events, and their streams; the same in every run.

    Pairs that are drawn one after another are often alike, so they come from several draws.
    """
    drawn = [pair for seed in range(1, 4) for pair in collected(120, seed, drawn=related_pairs())]
    ready = [(compiled(pair.query), pair.rows) for pair in drawn]
    return [
        (query, rows)
        for query, rows in ready
        if query is not None and not f.is_unary(_formula(query, rows))
    ]


def _between(formula: f.Formula) -> Iterator[tuple[f.Filter, f.Atomic]]:
    """Give all conditions between events, each with its scope."""
    for each in f.subformulas(formula):
        if isinstance(each, f.Filter):
            yield from ((each, one) for one in each.conditions if not isinstance(one, Each))


def _shares_a_variable(formula: f.Formula) -> bool:
    """Tell whether several conditions are about one variable."""
    every = [name for _, one in _between(formula) for name in set(f.condition_variables(one))]
    return len(set(every)) < len(every)


def _one_side_binds(formula: f.Formula) -> bool:
    """Tell whether a condition spans an OR of which one side binds its variable, one does not."""
    return any(
        len({f.bindings_of(item, name) > 0 for item in each.items}) == 2
        for scope, one in _between(formula)
        for name in f.condition_variables(one)
        for each in f.subformulas(scope.formula)
        if isinstance(each, f.Or)
    )


def _forbids_conditions(formula: f.Formula) -> bool:
    """Tell whether conditions stand on the right of an UNLESS."""
    every = (each for each in f.subformulas(formula) if isinstance(each, f.Unless))
    return any(not f.is_unary(each.absent) for each in every)


def _is_correlated(formula: f.Formula) -> bool:
    """Tell whether conditions on the right of an UNLESS name variables of its left."""
    return any(isinstance(each, f.Unless) and each.outer for each in f.subformulas(formula))


@pytest.mark.adequacy
def test_random_pairs_have_what_makes_conditions_hard() -> None:
    known = _drawn()
    formulas = [_formula(query, rows) for query, rows in known]
    assert sum(map(_shares_a_variable, formulas)) > 25
    assert sum(map(_one_side_binds, formulas)) > 10
    assert sum(map(_forbids_conditions, formulas)) > 25
    assert sum(map(_is_correlated, formulas)) > 5
    streams = [rows for _, rows in known]
    assert sum(any(row["v"] is None for row in rows) for rows in streams) > 25
    assert sum(any(a["ts"] == b["ts"] for a, b in pairwise(rows)) for rows in streams) > 25


@pytest.mark.adequacy
def test_many_conditions_matter_and_nearly_all_take_the_fast_path() -> None:
    """A third at least: what happens right of an UNLESS seldom decides by its conditions alone."""
    known = _drawn()
    assert len(known) > 100
    matter = sum(_matters(query, rows) for query, rows in known)
    fast = sum(takes_fast_path(query, rows) for query, rows in known)
    assert matter >= len(known) / 3, f"{matter} of {len(known)} find the same without conditions"
    assert fast >= 0.95 * len(known), f"{fast} of {len(known)} take the fast path"
