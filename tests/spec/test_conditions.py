"""Section 4.2 and 4.3: conditions between events, where the ready-made cases stop."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest

import ensue
from tests.spec.helpers import clocked, stream, supports, timed, valued

TWO = "A AS a ; B AS b FILTER "


@pytest.mark.parametrize(
    ("condition", "seconds", "holds"),
    [
        ("b.ts - a.ts < 5 MINUTES", 299, True),
        ("b.ts - a.ts < 5 MINUTES", 300, False),
        ("b.ts - a.ts <= 5 MINUTES", 300, True),
        ("b.ts - a.ts > 1 HOUR 30 MINUTES", 5400, False),
        ("b.ts - a.ts > 1 HOUR 30 MINUTES", 5401, True),
        ("b.ts < a.ts + 10 SECONDS", 9, True),
        ("b.ts < a.ts + 10 SECONDS", 10, False),
        ("b.ts - 10 SECONDS < a.ts", 9, True),
        ("b.ts - a.ts = 1 DAY", 86400, True),
        ("b.ts - a.ts < 1 SECOND", 0.5, True),
        ("abs(hour(b.ts) - hour(a.ts)) < 2", 3600, True),
        ("abs(hour(b.ts) - hour(a.ts)) < 2", 7200, False),
    ],
)
def test_durations_between_timestamps_of_two_events(
    condition: str, seconds: float, holds: bool
) -> None:
    assert bool(supports(TWO + condition, clocked("A B", [0, seconds]))) is holds


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_durations_between_integer_times_are_in_their_unit(unit: str, second: int) -> None:
    events = timed("A B B", [0, 300 * second - 1, 300 * second])
    pattern = TWO + "b.t - a.t < 5 MINUTES"
    assert supports(pattern, events, time="t", time_unit=unit) == {(0, 1)}


def test_a_duration_beside_integer_times_of_no_unit_is_a_type_error() -> None:
    with pytest.raises(ensue.CeqlTypeError):
        supports(TWO + "b.t - a.t < 5 MINUTES", timed("A B", [0, 1]), time="t")


def test_a_duration_beside_a_plain_number_is_a_type_error() -> None:
    events = [{**event, "t": i} for i, event in enumerate(stream("A1 B2"))]
    with pytest.raises(ensue.CeqlTypeError):
        supports(TWO + "b.v - a.v < 5 MINUTES", events, time="t", time_unit="s")


@pytest.mark.parametrize(
    "condition", ["a.v < b.v", "a.v != b.v", "a.v = b.v", "abs(a.v - b.v) < 9"]
)
@pytest.mark.parametrize("words", ["A B1", "A1 B"])
def test_a_condition_with_null_does_not_hold(condition: str, words: str) -> None:
    assert supports(TWO + condition, [*stream(words), {"type": "X", "v": 0}]) == set()


def test_a_condition_with_nan_does_not_hold() -> None:
    events = [{"type": "A", "v": math.nan}, {"type": "B", "v": math.nan}]
    assert supports(TWO + "a.v = b.v", events) == set()
    assert supports(TWO + "a.v != b.v", events) == set()


def test_no_two_events_of_which_one_is_null_are_the_same() -> None:
    events = valued([1, None, 1])
    assert supports("A+ AS x FILTER x[same(v)]", events) == {(0,), (2,), (0, 2)}
    assert supports("A+ AS x FILTER x[nondecreasing(v)]", events) == {(0,), (2,), (0, 2)}


def test_a_condition_on_one_variable_is_about_each_of_its_events() -> None:
    events = stream("A1 A2 A3")
    assert supports("A+ AS x FILTER x.v > 1", events) == {(1,), (2,), (1, 2)}
    assert supports("A AS x FILTER x.v IS NULL", stream("A A1")) == {(0,)}
    assert supports("A AS x FILTER x.v IN (1, 3)", events) == {(0,), (2,)}
    assert supports("A AS x FILTER x.v BETWEEN 2 AND 3", events) == {(1,), (2,)}


def test_a_condition_may_be_about_three_variables() -> None:
    pattern = "A AS a ; B AS b ; C AS c FILTER a.v + b.v > c.v"
    assert supports(pattern, stream("A1 B2 C2")) == {(0, 1, 2)}
    assert supports(pattern, stream("A1 B2 C3")) == set()


def test_a_condition_that_does_not_split_holds_for_all_events_of_the_iterated_variable() -> None:
    pattern = "(A AS x)+ ; B AS y FILTER x.v * y.v > 3"
    assert supports(pattern, stream("A1 A2 A3 B2")) == {(1, 3), (2, 3), (1, 2, 3)}


def test_a_condition_that_does_not_split_names_at_most_one_iterated_variable() -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile("SELECT * FROM S WHERE A+ AS x ; B+ AS y FILTER x.v * y.v > 3")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x.v < y.v", {(0, 2)}),
        ("abs(x.v - y.v) < 2", {(0, 2)}),
        ("abs(x.v - y.v) > 2", {(1, 2)}),
        ("x.v + 1 = y.v", {(0, 2)}),
        ("x.v - y.v > 1", {(1, 2)}),
        ("x.v != y.v", {(0, 2), (1, 2), (0, 1, 2)}),
    ],
)
def test_a_condition_that_splits_may_name_two_iterated_variables(
    condition: str, expected: set[tuple[int, ...]]
) -> None:
    assert supports(f"A+ AS x ; B+ AS y FILTER {condition}", stream("A1 A5 B2")) == expected


def test_an_event_bound_to_both_variables_is_compared_with_itself() -> None:
    events = stream("A1 A1 A2")
    assert supports("A+ AS x FILTER x.v <= A.v", events) == {(0,), (1,), (2,), (0, 1)}
    assert supports("A+ AS x FILTER x.v < A.v", events) == set()


def test_strings_and_times_are_compared_between_events() -> None:
    noon = datetime(2026, 1, 31, 12)
    events = [
        {"type": "A", "name": "x", "at": noon},
        {"type": "B", "name": "y", "at": noon},
        {"type": "B", "name": "x", "at": noon - timedelta(seconds=1)},
    ]
    assert supports(TWO + "a.name = b.name", events) == {(0, 2)}
    assert supports(TWO + "a.name < b.name", events) == {(0, 1)}
    assert supports(TWO + "a.at <= b.at", events) == {(0, 1)}
    assert supports(TWO + "lower(a.name) = lower(b.name) AND a.at > b.at", events) == {(0, 2)}


def test_or_between_conditions_is_either_of_them() -> None:
    pattern = TWO + "a.v = b.v OR b.v > 5"
    assert supports(pattern, stream("A1 B1 B2 B7")) == {(0, 1), (0, 3)}


def test_events_are_compared_when_they_come_in_the_other_order_too() -> None:
    pattern = "A AS a ALL B AS b FILTER a.v < b.v"
    assert supports(pattern, stream("B2 A1 A3 B5")) == {(0, 1), (1, 3), (2, 3)}


def test_partition_by_inside_a_pattern_leaves_null_out() -> None:
    events = [
        {"type": "A", "k": None, "j": 1},
        {"type": "A", "k": 1, "j": None},
        {"type": "B", "k": 1, "j": 1},
        {"type": "B", "k": None, "j": 1},
    ]
    assert supports("A AS a ; B AS b PARTITION BY [a.k, b.k]", events) == {(1, 2)}
    assert supports("A AS a ; B AS b PARTITION BY [a.j, b.j]", events) == {(0, 2), (0, 3)}
    assert supports("A AS a ; B AS b PARTITION BY [a.k, b.j]", events) == {(1, 2), (1, 3)}


def test_partition_by_inside_a_pattern_must_cover_every_event() -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile("SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [a.k]")


def test_conditions_hold_on_computed_events() -> None:
    pattern = "(A+ AS x AGGREGATE Y[m = max(x.v)]) ; B AS b FILTER b.v > Y.m"
    assert supports(pattern, stream("A1 A3 B2")) == {(0, 2)}
