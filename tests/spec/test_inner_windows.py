"""Section 3, (φ WITHIN w): windows of parts of patterns."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import clocked, run, spans, stream, supports, timed


def test_a_window_inside_a_pattern_bounds_its_part_alone() -> None:
    events = timed("A B C A B C", [0, 2, 50, 60, 69, 70])
    assert supports("(A ; B WITHIN 5 [t]) ; C", events) == {(0, 1, 2), (0, 1, 5)}


def test_the_limit_is_included() -> None:
    events = timed("A B C", [0, 5, 9])
    assert spans("(A ; B WITHIN 5 [t]) ; C", events) == [(0, 2)]
    assert spans("(A ; B WITHIN 4 [t]) ; C", events) == []


def test_events_are_counted_in_the_partition() -> None:
    kinds, keys = "A A X B X X B C C", "p q q p p p q p q"
    events = [
        {"type": kind, "k": key} for kind, key in zip(kinds.split(), keys.split(), strict=True)
    ]
    found = run("(A ; B WITHIN 1 EVENTS) ; C PARTITION BY [k] WITHIN 9 EVENTS", events)
    assert [m.positions for m in found] == [[0, 3, 7]]
    found = run("(A ; B WITHIN 2 EVENTS) ; C PARTITION BY [k] WITHIN 9 EVENTS", events)
    assert [m.positions for m in found] == [[0, 3, 7], [1, 6, 8]]


def test_durations_are_on_the_time_column() -> None:
    events = clocked("A B A B C", [0, 10, 11, 13, 90])
    pattern = "(A ; B WITHIN 5 SECONDS) ; C"
    assert supports(pattern, events, time="ts") == {(2, 3, 4)}
    assert supports("(A ; B WITHIN 5 SECONDS [ts]) ; C", events) == {(2, 3, 4)}


def test_every_round_of_a_repetition_has_a_window_of_its_own() -> None:
    events = timed("A B A B A B", [0, 1, 10, 11, 20, 25])
    pattern = "(A ; B WITHIN 2 [t]){2} WITHIN 100 [t]"
    assert supports(pattern, events) == {(0, 1, 2, 3)}


def test_windows_nest_and_mix_their_kinds() -> None:
    events = timed("A B X X C D", [0, 1, 2, 3, 4, 30])
    assert supports("((A ; B WITHIN 1 [t]) ; C WITHIN 4 EVENTS) ; D", events) == {(0, 1, 4, 5)}
    assert supports("((A ; B WITHIN 1 [t]) ; C WITHIN 3 EVENTS) ; D", events) == set()


def test_a_window_stands_beside_others() -> None:
    events = timed("A B C D", [0, 3, 10, 12])
    for pattern in ("(A ; B WITHIN 3 [t]) ; (C ; D WITHIN 2 [t])", "(A;B WITHIN 3 [t]) ALL D"):
        assert run(pattern, events).count == 1
    assert run("(A ; B WITHIN 3 [t]) ; (C ; D WITHIN 1 [t])", events).count == 0


def test_what_must_not_happen_may_have_a_window() -> None:
    pattern = "(A ; D) UNLESS (B ; C WITHIN 2 [t])"
    assert spans(pattern, timed("A B C D", [0, 1, 2, 9])) == []
    assert spans(pattern, timed("A B C D", [0, 1, 8, 9])) == [(0, 3)]


def test_a_strategy_below_the_top_chooses_among_what_fits() -> None:
    events = timed("A A B C", [0, 4, 5, 9])
    assert supports("NEXT((A+ ; B WITHIN 2 [t])) ; C", events) == {(1, 2, 3)}


def test_what_may_be_absent_may_have_a_window() -> None:
    events = timed("A B C A C", [0, 9, 10, 11, 12])
    assert supports("(A ; B WITHIN 5 [t])? ; C", events) == {(2,), (4,)}


@pytest.mark.parametrize(
    "pattern",
    [
        "(A+ ; B WITHIN 3 [t])",
        "(A+ ; B WITHIN 3 [t]) FILTER A[v IS NULL]",
        "NEXT((A+ ; B WITHIN 3 [t]))",
        "((A+ ; B WITHIN 5 [t]) WITHIN 3 [t])",
    ],
)
def test_a_window_around_the_whole_pattern_is_one_of_the_query(pattern: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {pattern}")
    assert not query.warnings
    assert query.plan.bound.window is not None
    assert query.plan.bound.window.size == 3
    assert not query.plan.bound.inner_windows


def test_a_clause_and_a_window_around_the_pattern_both_hold() -> None:
    events = timed("A B B B", [0, 2, 4, 6])
    assert spans("(A ; B WITHIN 4 [t]) WITHIN 3 [t]", events) == [(0, 1)]
    assert spans("(A ; B WITHIN 2 [t]) WITHIN 5 [t]", events) == [(0, 1)]
    assert spans("(A ; B WITHIN 5 [t]) WITHIN 1 EVENTS", events) == [(0, 1)]


def test_explain_says_how_a_window_is_decided() -> None:
    first = ensue.compile("SELECT * FROM S WHERE (A ; B WITHIN 5 SECONDS) ; C WITHIN 1 HOUR")
    assert "WITHIN 5 SECONDS:  on the match graph" in first.explain()
    later = ensue.compile("SELECT * FROM S WHERE C ; (A ; B WITHIN 5 SECONDS) WITHIN 1 HOUR")
    assert "WITHIN 5 SECONDS:  a register holds where the window began" in later.explain()
    nested = ensue.compile("SELECT * FROM S WHERE NEXT((A ; B WITHIN 5 SECONDS)) ; C WITHIN 1 HOUR")
    assert "by definition, because of NEXT below the top" in nested.explain()


def test_partial_matches_whose_window_is_over_are_dropped() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A ; B WITHIN 5 [t]) ; C")
    session = query.open(max_configurations=100)
    for first in range(0, 100_000, 1_000):
        session.push([{"type": "A", "t": first + n} for n in range(1_000)])
    session.push([{"type": "B", "t": 100_000}, {"type": "C", "t": 100_001}])
    assert session.stats["matches"] == 5


def test_counts_agree_with_lists() -> None:
    words = "A B C D " * 6
    events = timed(words, [0, 1, 5, 6, 8, 8, 9, 12, 13, 13, 13, 14, 20, 24, 25, 25, *range(26, 34)])
    pattern = "(A ; B WITHIN 4 [t]) ; (C ; D WITHIN 2 EVENTS) WITHIN 20 [t]"
    counted = ensue.run(f"SELECT count(*) AS n FROM S WHERE {pattern}", events)
    assert sum(row["n"] for row in counted) == len(list(run(pattern, events))) > 0


def test_windows_do_not_depend_on_where_batches_are_cut() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A ; B WITHIN 2 EVENTS)+ ; C WITHIN 9 EVENTS")
    events = stream("A B A X B C A B C B C")
    session = query.open()
    found = []
    for event in events:
        found += [m.positions for m in session.push([event])]
        session = query.resume(session.snapshot())
    assert sorted(found) == sorted(m.positions for m in query.run(events))
