"""Section 5, the strategies of SELECT: which matches compete, and which are kept."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import found, run, spans, stream, supports

Supports = set[tuple[int, ...]]

AABB = stream("A A B B")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("NEXT", {(0, 2), (0, 3)}),
        ("LAST", {(1, 2), (1, 3)}),
        ("MAX", {(0, 2), (1, 2), (0, 3), (1, 3)}),
        ("STRICT", {(1, 2)}),
        ("FIRST", {(0, 2), (1, 2)}),
    ],
)
def test_all_matches_of_a_completing_event_compete(strategy: str, expected: Supports) -> None:
    assert supports("A ; B", AABB, select=f"{strategy} *") == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("NEXT", {(0, 1, 2, 4)}),
        ("LAST", {(1, 2, 3, 4)}),
        ("MAX", {(0, 1, 2, 4), (0, 1, 3, 4), (0, 2, 3, 4), (1, 2, 3, 4)}),
        ("FIRST", {(0, 1, 2, 4), (1, 2, 3, 4)}),
    ],
)
def test_longer_matches_win_where_they_have_the_event_that_decides(
    strategy: str, expected: Supports
) -> None:
    assert supports("A{1,3} ; B", stream("A A A A B"), select=f"{strategy} *") == (
        expected if strategy != "FIRST" else expected | {(2, 3, 4), (3, 4)}
    )


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "FIRST"])
def test_of_one_start_and_one_end_one_support_is_left(strategy: str) -> None:
    got = [(m.start, m.end) for m in run("A ; B+ ; C", stream("A B B C"), select=f"{strategy} *")]
    assert got == [(0, 3)]


@pytest.mark.parametrize(("strategy", "start"), [("NEXT", 2), ("LAST", 3), ("FIRST", 2)])
def test_what_is_consumed_beats_nothing(strategy: str, start: int) -> None:
    # B at 1 consumes A at 0, which would be the earliest of those that B at 4 completes
    events = stream("A B A A B")
    got = supports("A ; B CONSUME BY ANY", events, select=f"{strategy} *")
    assert got >= {(0, 1), (start, 4)}
    assert (0, 4) not in got


def test_matches_of_different_partitions_do_not_compete() -> None:
    events = [{**event, "k": at % 2} for at, event in enumerate(stream("A A A A B B"))]
    assert supports("A ; B PARTITION BY [k]", events, select="LAST *") == {(2, 4), (3, 5)}
    assert supports("A ; B PARTITION BY [k]", events, select="NEXT *") == {(0, 4), (1, 5)}


def test_first_gives_each_start_one_choice() -> None:
    assert spans("A ; B", stream("A B B A B"), select="FIRST *") == [(0, 1), (3, 4)]


def test_first_looks_for_the_first_end_inside_the_window() -> None:
    # the C at 2 ends a match of the first A; the one at 4 is too late for it
    pattern = "A ; B? ; C WITHIN 3 EVENTS"
    assert spans(pattern, stream("A A C B C"), select="FIRST *") == [(1, 2), (0, 2)]
    assert spans("A ; C WITHIN 1 EVENTS", stream("A A C C"), select="FIRST *") == [(1, 2)]


def test_first_prefers_what_next_prefers_among_matches_that_end_first() -> None:
    assert supports("A ; B ; C", stream("A B B C C"), select="FIRST *") == {(0, 1, 3)}
    assert supports("A ; B+ ; C", stream("A B B C C"), select="FIRST *") == {(0, 1, 2, 3)}


def test_first_is_one_choice_for_each_start_that_nothing_is_bound_at() -> None:
    # every event that is no B may be the start, and is not bound
    events = stream("X X B B")
    assert found("NOT(B) ; B", events, select="FIRST *") == [(0, 2, {"B": [2]}), (1, 2, {"B": [2]})]
    assert found("NOT(B) ; B", events, select="NEXT *") == [
        (0, 2, {"B": [2]}),
        (1, 2, {"B": [2]}),
        (0, 3, {"B": [3]}),
        (1, 3, {"B": [3]}),
    ]


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "FIRST"])
def test_equal_supports_under_different_names_are_all_kept(strategy: str) -> None:
    got = found("(A AS x OR A AS y) ; (B AS x OR B AS y)", AABB[1:3], select=f"{strategy} *")
    assert len(got) == 4


@pytest.mark.parametrize(
    ("strategy", "rows"),
    [
        ("NEXT", [{"n": 1, "s": 1}, {"n": 1, "s": 1}]),
        ("LAST", [{"n": 1, "s": 2}, {"n": 1, "s": 2}]),
        ("MAX", [{"n": 2, "s": 3}, {"n": 2, "s": 3}]),
        ("FIRST", [{"n": 2, "s": 3}]),
    ],
)
def test_counts_are_taken_after_the_strategy(strategy: str, rows: list[dict[str, int]]) -> None:
    select = f"{strategy} count(*) AS n, sum(A.v) AS s"
    got = run("A ; B", stream("A1 A2 B B"), select=select)
    assert [row.values for row in got] == rows


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX", "FIRST"])
def test_a_session_chooses_as_a_run_does(strategy: str) -> None:
    query = ensue.compile(f"SELECT {strategy} * FROM S WHERE A ; B+ ; C WITHIN 5 EVENTS")
    events = stream("A B A B C B C A C B C")
    session = query.open()
    live = [(m.start, m.end, m.positions) for event in events for m in session.push([event])]
    assert live == [(m.start, m.end, m.positions) for m in query.run(events)]


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "FIRST"])
def test_limit_keeps_some_of_the_chosen_matches(strategy: str) -> None:
    pattern = "(A AS x OR A AS y) ; (B AS x OR B AS y) LIMIT 3"
    assert run(pattern, AABB[1:3], select=f"{strategy} *").count == 3


def test_limited_choices_of_starts_have_the_latest_start_among_them() -> None:
    assert spans("A ; B LIMIT 1", AABB, select="FIRST *") == [(1, 2)]
    assert spans("A ; B LIMIT 2", stream("A A A B"), select="FIRST *")[0] == (2, 3)


def test_listing_for_max_has_a_budget() -> None:
    events = stream("A1 A2 A3 A4 A5 A6 B")
    pattern = "(A+ AS x ; B) FILTER x[increasing(v)]"
    assert supports(pattern, events, select="MAX *") == {(0, 1, 2, 3, 4, 5, 6)}
    with pytest.raises(ensue.BudgetError, match="SELECT MAX"):
        list(run(pattern, events, select="MAX *", max_matches=10))


@pytest.mark.parametrize(
    ("select", "pattern", "told"),
    [
        ("NEXT", "A ; B", "NEXT:  chosen on the match graph"),
        ("FIRST", "(A ; B) FILTER A.v < B.v", "FIRST:  chosen on the match graph"),
        ("LAST", "(A ; B ; C) FILTER A.v + B.v = C.v", "LAST:  chosen among the listed matches"),
        ("MAX", "A+ ; B", "MAX:  chosen among the listed matches"),
        ("MAX", "A ; B", "MAX:  nothing to choose"),
    ],
)
def test_explain_says_how_the_choice_is_made(select: str, pattern: str, told: str) -> None:
    query = ensue.compile(f"SELECT {select} * FROM S WHERE {pattern} WITHIN 9 EVENTS")
    assert told in query.explain()
