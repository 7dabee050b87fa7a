"""Totals of matches that have to be listed: a budget, a warning, a state that stays intact."""

from __future__ import annotations

import pytest

import ensue

FILTERED = """
    SELECT count(*) AS n, sum(b.v) AS total FROM S
    WHERE (A ; (B AS b)+ ; C) AGGREGATE Y[mean = avg(b.v)] FILTER Y[mean > 0]
    WITHIN 100 EVENTS
"""


def rows(word: str) -> list[dict[str, object]]:
    return [{"type": kind, "v": 1} for kind in word]


def test_they_are_counted() -> None:
    found = list(ensue.run(FILTERED, rows("ABBBCBC")))
    assert [row.values for row in found] == [{"n": 7, "total": 12}, {"n": 15, "total": 32}]


def test_a_budget_names_the_event_and_the_way_out() -> None:
    hint = r"position 11 completes more than 500 matches.*WITHIN.*max_matches="
    with pytest.raises(ensue.BudgetError, match=hint):
        list(ensue.run(FILTERED, rows("ABBCBBBBBBBC"), max_matches=500))
    found = ensue.run(FILTERED, rows("ABBCBBBBBBBC"), max_matches=511)
    assert [row["n"] for row in found] == [3, 511]


def test_a_session_goes_on_from_before_the_budget_ran_out() -> None:
    query = ensue.compile(FILTERED)
    session = query.open(max_matches=500)
    with pytest.raises(ensue.BudgetError) as raised:
        session.push(rows("ABBCBBBBBBBCB"))
    assert [row["n"] for row in raised.value.matches] == [3]
    session = query.resume(session.snapshot(), max_matches=10_000)
    found = [*session.push(rows("C")), *session.finish()]
    assert [row["n"] for row in found] == [511, 1023]


def test_many_of_them_are_worth_a_warning() -> None:
    with pytest.warns(ensue.CeqlWarning, match=r"lists its matches to count them, 16,383 so far"):
        found = list(ensue.run(FILTERED, rows("A" + "B" * 14 + "C")))
    assert found[0]["n"] == 2**14 - 1


def test_totals_of_computed_events() -> None:
    text = """
        SELECT count(*) AS n, sum(Y.k) AS k, max(Y.k) AS top FROM S
        WHERE (A ; (B AS b)+ ; C) AGGREGATE Y[k = count(b)] WITHIN 100 EVENTS
    """
    (row,) = ensue.run(text, rows("ABBBC"))
    assert row.values == {"n": 7, "k": 12, "top": 3}
