"""Section 5: LIMIT, the order of matches, CONSUME."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import Event, found, run, spans, stream


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [(2, 3)]),
        (3, [(2, 3), (1, 3), (0, 3)]),
        (9, [(2, 3), (1, 3), (0, 3)]),
    ],
)
def test_limit_keeps_so_many_matches_of_a_completing_event(
    limit: int, expected: list[tuple[int, int]]
) -> None:
    got = spans(f"A ; B LIMIT {limit}", stream("A A A B"))
    assert got[0] == (2, 3)
    assert sorted(got) == sorted(expected)


def test_limit_keeps_one_with_the_latest_start() -> None:
    for limit in (1, 2, 5):
        got = spans(f"A+ ; B LIMIT {limit}", stream("A A A B"))
        assert len(got) == limit
        assert got[0] == (2, 3)
        assert set(got) <= {(2, 3), (1, 3), (0, 3)}


def test_limit_is_about_each_completing_event() -> None:
    assert spans("A ; B LIMIT 1", stream("A A B A B B")) == [(1, 2), (3, 4), (3, 5)]


def test_limit_comes_after_the_window() -> None:
    assert spans("A ; B WITHIN 2 EVENTS LIMIT 2", stream("A X A A B")) == [(3, 4), (2, 4)]


def test_limit_comes_after_the_projection() -> None:
    # four matches, two by two with the same x
    got = found("A AS x ; B ; C LIMIT 2", stream("A A B B C"), select="x")
    assert got == [(0, 4, {"x": [0]}), (1, 4, {"x": [1]})]


def test_limit_comes_after_consumption() -> None:
    pattern = "A ; B CONSUME BY ANY LIMIT 1"
    assert spans(pattern, stream("A A B B A B")) == [(1, 2), (4, 5)]


def test_limit_comes_after_the_strategy() -> None:
    got = found("A ; B+ ; C LIMIT 2", stream("A B B C"), select="MAX *")
    assert got == [(0, 3, {"A": [0], "B": [1, 2], "C": [3]})]


def test_limit_is_about_each_partition_of_its_own() -> None:
    events = keyed("A1 A2 A1 B1 B2")
    assert spans("A ; B PARTITION BY [k] LIMIT 1", events) == [(2, 3), (1, 4)]


def test_matches_come_in_the_order_of_their_end_latest_start_first() -> None:
    assert spans("A ; B", stream("A A B B")) == [(1, 2), (0, 2), (1, 3), (0, 3)]
    events = stream("A A A B A B")
    got = spans("A+ ; B", events)
    ends = [end for _, end in got]
    assert ends == sorted(ends)
    assert got[0] == (2, 3)
    assert got[ends.index(5)] == (4, 5)


def test_matches_of_different_partitions_come_in_the_order_of_their_end() -> None:
    events = keyed("A1 A2 B2 B1")
    assert spans("A ; B PARTITION BY [k]", events) == [(1, 2), (0, 3)]


@pytest.mark.parametrize("limit", ["-1", "1.5", "x", "$n"])
def test_limit_takes_a_whole_number(limit: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(f"SELECT * FROM S WHERE A LIMIT {limit}", params={"n": 1})


# consumption


def keyed(words: str) -> list[Event]:
    """Spell a stream in which the number is the key k."""
    return [{"type": event["type"], "k": event["v"]} for event in stream(words)]


def test_consume_by_any_reports_all_that_one_event_completes_and_forgets() -> None:
    events = stream("A A B B A B")
    assert spans("A ; B CONSUME BY ANY", events) == [(1, 2), (0, 2), (4, 5)]
    assert spans("A ; B CONSUME BY PARTITION", events) == [(1, 2), (0, 2), (4, 5)]


def test_consume_by_none_is_the_default() -> None:
    events = stream("A B B")
    assert spans("A ; B CONSUME BY NONE", events) == spans("A ; B", events) == [(0, 1), (0, 2)]


def test_consume_by_any_forgets_in_all_partitions() -> None:
    events = keyed("A1 A2 B1 B2 A2 B2")
    assert spans("A ; B PARTITION BY [k] CONSUME BY ANY", events) == [(0, 2), (4, 5)]


def test_consume_by_partition_forgets_in_its_own() -> None:
    events = keyed("A1 A2 B1 B2 B1 B2")
    assert spans("A ; B PARTITION BY [k] CONSUME BY PARTITION", events) == [(0, 2), (1, 3)]


def test_a_match_that_was_forgotten_consumes_nothing() -> None:
    # (0, 1) forgets 0 and 1; at 2 nothing is completed, so 2 can start (2, 3)
    assert spans("(A OR B) ; B CONSUME BY ANY", stream("A B B B")) == [(0, 1), (2, 3)]


def test_a_match_outside_the_window_consumes_nothing() -> None:
    # B at 3 completes nothing within 2 events of 0, so what started at 2 goes on
    pattern = "(A ; B) OR (C ; D) WITHIN 2 EVENTS CONSUME BY ANY"
    assert spans(pattern, stream("A X C B D")) == [(2, 4)]


def test_a_match_that_the_strategy_drops_consumes_nothing() -> None:
    # {0, 2} has a gap, so STRICT keeps only (2, 3)
    assert spans("(A OR B) ; B CONSUME BY ANY", stream("A X B B"), select="STRICT *") == [(2, 3)]


def test_start_still_means_the_first_event_of_the_stream() -> None:
    assert spans("START(A ; B) CONSUME BY ANY", stream("A B A B")) == [(0, 1)]


def test_what_was_limited_away_is_consumed_all_the_same() -> None:
    events = stream("A A B B")
    assert run("A ; B CONSUME BY ANY LIMIT 1", events).count == 1
