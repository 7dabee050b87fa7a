"""Totals of matches that have to be listed: a budget, a warning, a state that stays intact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.operators.match import MatchOperator
from tests.equivalence.suite import stream
from tests.equivalence.test_engine import SCHEMA

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


QUIET, BURST, LARGER = "AXBXCXXX", "ABBBBBBBC", "ABBBBBBBBC"

LISTED = {
    "a filter on an aggregate": "(A ; (B AS b)+ ; C) AGGREGATE Y[s = sum(b.v)] FILTER Y[s > 0]"
    " WITHIN 11 EVENTS",
    "by key": "(A ; (B AS b)+ ; C) AGGREGATE Y[s = sum(b.v)] FILTER Y[s > 0]"
    " PARTITION BY [k] WITHIN 11 EVENTS",
    "consumption": "(A AS a ; (B AS b)+ ; C) FILTER a.v * b.v > a.v - b.v"
    " WITHIN 11 EVENTS CONSUME BY ANY",
    "an absence": "((A AS a ; (B AS b)+ ; C) FILTER a.v * b.v > a.v - b.v) UNLESS (D AS d ;"
    " E AS e FILTER d.v <= e.v) WITHIN 11 EVENTS",
}


@pytest.mark.parametrize("where", LISTED.values(), ids=LISTED)
def test_events_in_small_pushes_are_all_counted_after_a_budget_ran_out(where: str) -> None:
    # The burst begins before the first state is written down, and ends after it.
    word = QUIET * 127 + "XXXX" + BURST + "DXE" + QUIET * 3 + LARGER + QUIET
    events = [{"type": kind, "v": 1, "k": (at + 4) // 64} for at, kind in enumerate(word)]
    query = ensue.compile(f"SELECT count(*) AS n, sum(b.v) AS total FROM S WHERE {where}")
    expected = [row.values for row in query.run(events)]
    assert [row["n"] for row in expected if row["n"] > 1] == [127, 255]
    found, stops = [], 0
    session = query.open(max_matches=100)
    for at in range(0, len(events), 13):
        given = events[at : at + 13]
        while True:
            try:
                found += session.push(given)
                break
            except ensue.BudgetError as error:
                found += error.matches
                stops += 1
                # Where nothing has changed, it stops at the same event again.
                with pytest.raises(ensue.BudgetError) as again:
                    session.push([])
                assert not again.value.matches
                session = query.resume(session.snapshot(), max_matches=100 + 100 * stops)
                given = []
    found += session.finish()
    assert stops == 2
    assert [row.values for row in found] == expected


def test_a_push_does_not_write_down_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def save(
        fast: MatchOperator,
        original: Callable[[MatchOperator], dict[str, Any]] = MatchOperator.save,
    ) -> dict[str, Any]:
        written.append(fast.now)
        return original(fast)

    monkeypatch.setattr(MatchOperator, "save", save)
    session = ensue.compile(FILTERED.replace("100 EVENTS", "5000 EVENTS")).open()
    for _ in range(600):
        session.push(rows("AXXXX"))
    assert session.stats["events"] == 3000
    assert len(written) <= 3


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


@pytest.mark.parametrize(("words", "counts"), [("A Bp E Cq D", []), ("A Bq E Cp D", [1])])
def test_what_must_not_happen_is_remembered_by_snapshots(words: str, counts: list[int]) -> None:
    """A string in its order is compared as matches are listed, with an event from before."""
    query = ensue.compile(
        "SELECT count(*) AS n FROM S WHERE (A ; D) UNLESS (B AS b ; C AS c FILTER b.k < c.k)"
    )
    session, found = query.open(), []
    session.push(pa.Table.from_pylist([], SCHEMA))
    session = query.resume(session.snapshot())
    for event in stream(words):
        found += [row["n"] for row in session.push(event)]
        session = query.resume(session.snapshot())
    assert found == counts
