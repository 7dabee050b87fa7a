"""Near misses: each becomes a match without the obstacle that it names, and is none with it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import ensue
from tests.insight.test_funnel import rows


def reasons(where: str, events: str, n: int = 5, clauses: str = "") -> list[str]:
    query = ensue.compile(f"SELECT * FROM S WHERE {where} {clauses}")
    return [miss.reason for miss in query.near_misses(rows(events), n=n)]


@pytest.mark.parametrize(
    ("where", "events", "expected"),
    [
        (
            "(A AS a ; B AS b) FILTER b.v > 2 * a.v",
            "A2 B1 X A2 B3",
            ["needed b.v > 2 * a.v, but 3 is not > 4", "needed b.v > 2 * a.v, but 3 is not > 4"],
        ),
        ("(A AS a ; B) FILTER a[v > 3 AND v < 9]", "A2 B", ["needed a[v > 3], but 2 is not > 3"]),
        ("A : B", "A X B", ["needed A : B, but between came X at 1"]),
        ("(A ; B) UNLESS (X OR Y)", "A X B", ["UNLESS X OR Y: X at 1"]),
        (
            "(A AS a ; B) UNLESS (X AS x FILTER x.v = a.v)",
            "A1 X2 X1 B",
            ["UNLESS X AS x FILTER x.v = a.v: X at 2"],
        ),
        ("A ; B ; C", "A B X", ["missing: step 3, C"]),
        (
            "(A AS a)+ FILTER a[increasing(v)]",
            "A3 A2",
            ["needed a[increasing(v)], but there was 3, 2"],
        ),
    ],
)
def test_the_reason_has_values(where: str, events: str, expected: list[str]) -> None:
    assert reasons(where, events, len(expected)) == expected


def test_the_nearest_value_comes_first() -> None:
    found = reasons("(A ; B AS b) FILTER b[v > 10]", "A B1 B9 B7")
    assert found[0] == "needed b[v > 10], but 9 is not > 10"


def test_windows_are_missed_by_time_and_by_events() -> None:
    assert reasons("A ; B", "A X X B", 1, "WITHIN 2 EVENTS") == [
        "needed WITHIN 2 EVENTS, but it goes from 0 to 3"
    ]
    start = datetime(2026, 1, 1)
    events = [{"type": "A", "at": start}, {"type": "B", "at": start + timedelta(seconds=70)}]
    query = ensue.compile("SELECT * FROM S WHERE A ; B WITHIN 1 MINUTE")
    (miss,) = query.near_misses(events, n=1, time="at")
    assert miss.reason == "needed WITHIN 1 MINUTE, but it took 0:01:10"


def test_what_a_clause_left_out_is_a_near_miss() -> None:
    assert reasons("A ; B", "A B A B", 1, "CONSUME BY ANY") == ["left out by CONSUME BY ANY"]
    assert reasons("A ; B", "A A B", 1, "LIMIT 1") == ["left out by LIMIT 1"]


def test_what_went_on_to_a_match_missed_nothing() -> None:
    assert reasons("A ; B ; C", "A B C") == []


def test_all_steps_come_before_fewer() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A ; B ; C AS c) FILTER c[v > 5]")
    found = query.near_misses(rows("A B X A B C1"), n=9)
    assert [miss.steps for miss in found] == sorted([miss.steps for miss in found], reverse=True)
    assert found[0].steps == 3
    assert "C1" not in str(found)
    assert "needed c[v > 5], but 1 is not > 5" in str(found)
    assert "<svg" in found._repr_html_()


def test_a_sample_is_said() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    found = query.near_misses(rows("A X X B"), most_events=2)
    assert found.sample.more
    assert "of the first 2 events; there are more" in str(found)


def test_what_is_not_tried_is_said() -> None:
    """Without its condition the pattern has a match for each subset of 16 events."""
    where = "((A AS a ; (B AS b)+ ; C AS c) FILTER b.v + a.v > c.v) UNLESS D"
    query = ensue.compile(f"SELECT MAX * FROM S WHERE {where}")
    found = query.near_misses(rows("A1" + " B1" * 16 + " D C1"))
    assert "UNLESS D" in found.not_known
    assert "not tried without UNLESS D: it needs too much" in str(found)
