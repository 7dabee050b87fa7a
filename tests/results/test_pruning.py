"""Filters on aggregates that are looked at while matches are listed.

Each of these streams has more matches without the filter than anybody could list.
"""

from __future__ import annotations

from math import comb
from typing import Any

import pytest

import ensue
from ensue.analysis.context import Clock
from ensue.plan.physical import make_plan

EVENTS = 60
"""With so many B in a row, A ; B+ ; C has 2^60 - 1 matches."""


def stream(values: list[Any]) -> list[dict[str, Any]]:
    rows = [{"type": "A", "v": None}, *({"type": "B", "v": v} for v in values)]
    return [*rows, {"type": "C", "v": None}]


def query(column: str, condition: str, where: str) -> ensue.Query:
    made = f"AGGREGATE Y[r = {column}] FILTER Y[{condition}]"
    pattern = {
        "above": f"(A ; (B AS b)+ ; C) {made}",
        "inside": f"A ; ((B AS b)+ {made}) ; C",
        "in rounds": f"A ; (((B AS b) ; (B AS b)+) {made})+ ; C",
    }[where]
    return ensue.compile(f"SELECT * FROM S WHERE {pattern} WITHIN 1000 EVENTS")


RISING = list(range(EVENTS))


@pytest.mark.parametrize(
    ("column", "condition", "values", "count"),
    [
        ("count(b)", "r <= 2", RISING, EVENTS + comb(EVENTS, 2)),
        ("count(b)", "r >= 59", RISING, EVENTS + 1),
        ("count(b)", "58 < r AND r < 60", RISING, EVENTS),
        ("count(b)", "r IN (1, 2)", RISING, EVENTS + comb(EVENTS, 2)),
        ("count(b.v)", "r = 1", [1, None] + [2] * 58, None),
        ("sum(b.v)", "r BETWEEN 1 AND 2", RISING, 4),
        ("sum(b.v)", "r < 0.35", [0.1] * EVENTS, EVENTS + comb(EVENTS, 2) + comb(EVENTS, 3)),
        ("sum(b.v)", "r = -118", [-2] * 59 + [1], 1),
        ("min(b.v)", "r > 57", RISING, 3),
        ("max(b.v)", "r < 2", RISING, 3),
        ("max(b.v)", "r <= 0", [5] * 59 + [None], 0),
    ],
)
@pytest.mark.parametrize("where", ["above", "inside"])
def test_what_a_filter_refuses_is_not_listed(
    column: str, condition: str, values: list[Any], count: int | None, where: str
) -> None:
    if count is None:  # NULLs do not count: with or without the one of them
        count = 2 * (EVENTS - 1)
    matches = query(column, condition, where).run(stream(values))
    assert matches.count == count
    assert len(list(matches)) == count


def test_scopes_in_rounds_are_bounded_one_by_one() -> None:
    found = query("count(b)", "r <= 2", "in rounds").run(stream(RISING[:12]))
    # Rounds of two: any even number of the twelve, except none.
    assert found.count == sum(comb(12, 2 * k) for k in range(1, 7))


def test_a_window_bounds_what_a_sum_can_still_become() -> None:
    made = "AGGREGATE Y[n = count(b)] FILTER Y[n >= 59]"
    text = f"SELECT * FROM S WHERE (A ; (B AS b)+ ; C) {made} WITHIN 61 EVENTS"
    rows = stream(RISING)[:-1] * 20 + [{"type": "C", "v": None}]
    assert ensue.run(text, rows).count == EVENTS + 1


def test_a_strategy_between_looks_at_all_matches() -> None:
    made = "(A ; (B AS b)+) AGGREGATE Y[n = count(b)]"
    rows = stream(RISING[:6])
    bare = ensue.run(f"SELECT * FROM S WHERE MAX({made}) WITHIN 100 EVENTS", rows)
    text = f"SELECT * FROM S WHERE (MAX({made})) FILTER Y[n <= 2] WITHIN 100 EVENTS"
    assert ensue.run(text, rows).count == sum(m.computed("Y")[0]["n"] <= 2 for m in bare) == 2


@pytest.mark.parametrize(
    ("column", "condition"),
    [("avg(b.v)", "r < 3"), ("count(b)", "r != 3"), ("count(b)", "r < 3 OR r > 5")],
)
def test_other_filters_bound_nothing(column: str, condition: str) -> None:
    bound = query(column, condition, "above").bind(
        query(column, condition, "above").schema, Clock()
    )
    plan = make_plan(bound)
    assert plan.residual is not None
    assert plan.residual.bounds == ()


@pytest.mark.parametrize("where", ["above", "inside", "in rounds"])
@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("count(b)", "r >= 2"),
        ("count(b)", "r = 2"),
        ("sum(b.v)", "r > 0"),
        ("sum(b.v)", "r <= 1"),
        ("min(b.v)", "r >= 1"),
        ("max(b.v)", "r > 1"),
    ],
)
def test_what_has_left_the_window_refuses_nothing(column: str, condition: str, where: str) -> None:
    def found(condition: str) -> list[Any]:
        text = str(query(column, condition, where)).replace("1000 EVENTS", "7 EVENTS")
        return [(match.end, match.bindings) for match in ensue.run(text, rows)]

    rows = stream([1, 2, -1]) + stream([2, None]) * 2 + stream([]) + stream([3, 1, 0, 1]) * 2
    expected = found(f"{condition} OR r = 12345")
    assert len(expected) > 2
    assert found(condition) == expected
