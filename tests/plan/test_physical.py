"""The physical plan: which operator evaluates a query, what is left to listing, how it spreads."""

from __future__ import annotations

import pytest
from hypothesis import given

import ensue
from ensue.analysis.context import Clock
from ensue.logic.evaluate import Tally
from ensue.operators.factory import open_operator
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair, pairs
from tests.strategies import Language

PATTERN = "(A AS a ; (B AS b)+)"


def plan(select: str, where: str, clauses: str = "WITHIN 10 EVENTS") -> str:
    return str(ensue.compile(f"SELECT {select} FROM S WHERE {where} {clauses}").plan)


@pytest.mark.parametrize(
    ("select", "where", "operator"),
    [
        ("*", PATTERN, "match"),
        ("*", f"{PATTERN} FILTER b.v > a.v", "match"),
        ("count(*)", PATTERN, "count"),
        ("count(*)", f"{PATTERN} FILTER b.v > a.v", "count on the graph"),
        ("MAX count(*)", f"{PATTERN} FILTER b.v > a.v", "count by listing"),
        ("*", "NEXT(A AS a ; B AS b FILTER b.v > a.v) ; C", "reference"),
    ],
)
def test_the_operator_follows_from_the_query(select: str, where: str, operator: str) -> None:
    query = ensue.compile(f"SELECT {select} FROM S WHERE {where} WITHIN 10 EVENTS")
    assert query.plan.operator == operator
    assert str(query.plan).startswith(f"operator: {operator}")


def test_a_plan_prints_operator_residual_columns_and_distribution() -> None:
    text = plan("a, max(b.v) AS top", f"{PATTERN} FILTER a[w > 1]", "PARTITION BY [k] WITHIN 5 [t]")
    assert text == (
        "operator: match\n"
        "automaton: 3 predicates on single events\n"
        "left to listing: top, the projection\n"
        "columns: k, t, type, v, w\n"
        "distribution: by key (k): no match has events of two keys"
    )


@pytest.mark.parametrize(
    ("clauses", "kind"),
    [
        ("PARTITION BY [k] WITHIN 5 [t]", "keys"),
        ("WITHIN 5 [t]", "slices"),
        ("WITHIN 5 EVENTS", "one"),
        ("", "one"),
        ("WITHIN 5 [t] CONSUME BY ANY", "one"),
    ],
)
def test_the_distribution_follows_from_the_clauses(clauses: str, kind: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE A ; B {clauses}")
    assert query.plan.distribution.kind == kind
    assert query.plan.distribution.why in query.explain()


@given(pair=pairs(Language(conditions=True, aggregates=True)))
def test_the_operator_that_a_plan_names_is_opened(pair: Pair) -> None:
    query = compiled(pair.query)
    if query is None:
        return
    bound = query.bind(query.schema, Clock())
    for mode in (ExecutionMode(), ExecutionMode(defers=True), ExecutionMode(by_definition=True)):
        chosen = make_plan(bound, mode, assume_numbers=True)
        assert open_operator(chosen, Tally()).tag == chosen.operator
