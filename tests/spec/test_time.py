"""Section 1: order, lateness, ties, and times that are wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import NINE, Event, clocked, plain, run, spans, stream, timed


def test_without_a_column_time_is_the_position() -> None:
    table = run("A ; B", stream("X A B")).to_arrow()
    assert table.select(["start_time", "end_time"]).to_pylist() == [
        {"start_time": 1, "end_time": 2}
    ]


def test_equal_times_keep_their_order() -> None:
    assert spans("A ; B", timed("B A B", [5, 5, 5]), time="t") == [(1, 2)]


def test_a_tiebreak_alone_does_not_change_the_order() -> None:
    events = [{"type": "A", "t": 1, "n": 2}, {"type": "B", "t": 1, "n": 1}]
    assert spans("A ; B", events, time="t", tiebreak="n") == [(0, 1)]


# wrong times


def test_time_that_decreases_is_an_error_that_names_the_row() -> None:
    with pytest.raises(ensue.EventError, match=r"(?s)\b2\b.*\bt\b|\bt\b.*\b2\b"):
        run("A", timed("A A A", [1, 7, 6]), time="t")


@pytest.mark.parametrize("events", [clocked("A A", [1, 0]), clocked("A A", [0.5, 0.25])])
def test_timestamps_that_decrease_are_an_error(events: list[Event]) -> None:
    with pytest.raises(ensue.EventError, match="ts"):
        run("A", events, time="ts")


def test_the_attribute_of_within_must_not_decrease() -> None:
    events = timed("A A", [2, 1])
    assert run("A", events).count == 2
    with pytest.raises(ensue.EventError, match="'t'"):
        run("A WITHIN 5 [t]", events)


def test_time_must_not_decrease_in_other_partitions_either() -> None:
    events = [{"type": "A", "t": 2, "k": 1}, {"type": "A", "t": 1, "k": 2}]
    with pytest.raises(ensue.EventError):
        run("A PARTITION BY [k] WITHIN 5 [t]", events)


@pytest.mark.parametrize("lateness", [None, 5])
def test_a_time_of_null_is_an_error_that_names_the_row(lateness: int | None) -> None:
    events = [*timed("A A", [1, 2]), {"type": "A", "t": None}]
    with pytest.raises(ensue.EventError, match=r"row 2\b.*NULL"):
        run("A", events, time="t", lateness=lateness)


@pytest.mark.parametrize("values", [["1", "2"], [True, False]], ids=["strings", "booleans"])
def test_a_time_of_another_type_is_an_error(values: list[Any]) -> None:
    table = pa.table({"type": ["A", "A"], "t": values})
    with pytest.raises(ensue.EventError, match=r"'t'.*(integers|timestamps)"):
        run("A", table, time="t")


def test_a_time_beyond_64_bits_is_an_error() -> None:
    table = pa.table({"type": ["A"], "t": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(ensue.EventError, match="t"):
        run("A", table, time="t")


def test_a_missing_time_column_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ensue.EventError, match="did you mean 'time'"):
        run("A", pa.table({"type": ["A"], "time": [1]}), time="tme")


def test_a_missing_type_column_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ensue.EventError, match="did you mean 'kind'"):
        run("A", pa.table({"kind": ["A"], "v": [1]}), type="knd")


@pytest.mark.parametrize("values", [[1, 2], [1.5, 2.5], [True, False]])
def test_types_that_are_not_strings_are_an_error(values: list[Any]) -> None:
    with pytest.raises(ensue.EventError, match=r"'type'.*strings"):
        run("A", pa.table({"type": values}))


def test_an_unknown_time_unit_is_an_error() -> None:
    with pytest.raises(ValueError, match="time_unit"):
        run("A", timed("A", [1]), time="t", time_unit="seconds")


# lateness


def test_events_are_put_in_order_within_the_bound() -> None:
    events = timed("B A B C", [12, 10, 11, 13])
    matches = run("A ; B", events, time="t", lateness=5)
    assert plain(matches) == [
        (0, 1, {"A": [0], "B": [1]}),
        (0, 2, {"A": [0], "B": [2]}),
    ]
    assert [m.events("B")[0]["t"] for m in matches] == [11, 12]
    assert matches.stats["late"] == 0


def test_what_comes_too_late_gets_no_position_and_is_counted_and_kept() -> None:
    # 13 comes when 20 was seen, 7 late; 16 comes 4 late
    events = timed("A A1 A2 A", [10, 20, 13, 16])
    matches = run("A", events, time="t", lateness=5)
    assert matches.to_arrow().column("start_time").to_pylist() == [10, 16, 20]
    assert [m.start for m in matches] == [0, 1, 2]
    assert matches.stats["late"] == 1
    assert matches.stats["events"] == 3
    assert matches.late.select(["type", "t", "v"]).to_pylist() == [{"type": "A", "t": 13, "v": 2}]


def test_an_event_as_late_as_the_bound_is_not_too_late() -> None:
    matches = run("A", timed("A A A", [20, 15, 14]), time="t", lateness=5)
    assert matches.to_arrow().column("start_time").to_pylist() == [15, 20]
    assert matches.late.column("t").to_pylist() == [14]


def test_a_late_event_does_not_move_the_bound() -> None:
    # 4 is late after 20; 15 is measured against 20 all the same
    matches = run("A", timed("A A A", [20, 4, 15]), time="t", lateness=5)
    assert matches.to_arrow().column("start_time").to_pylist() == [15, 20]


def test_with_no_lateness_allowed_what_goes_back_is_late_not_an_error() -> None:
    matches = run("A", timed("A A A A", [1, 3, 2, 3]), time="t", lateness=0)
    assert matches.to_arrow().column("start_time").to_pylist() == [1, 3, 3]
    assert matches.late.column("t").to_pylist() == [2]


@pytest.mark.parametrize("lateness", ["10 seconds", "10s", "10 s", timedelta(seconds=10)])
def test_lateness_on_timestamps_is_a_duration(lateness: str | timedelta) -> None:
    events = clocked("A A A", [20, 10, 9])
    matches = run("A", events, time="ts", lateness=lateness)
    assert matches.late.column("ts").to_pylist() == [NINE + timedelta(seconds=9)]


@pytest.mark.parametrize("lateness", [10_000, "10 seconds", timedelta(seconds=10)])
def test_lateness_on_integers_is_in_their_unit(lateness: object) -> None:
    events = timed("A A A", [20_000, 10_000, 9_999])
    matches = run("A", events, time="t", time_unit="ms", lateness=lateness)
    assert matches.late.column("t").to_pylist() == [9_999]


def test_ties_are_broken_by_the_column_that_is_named() -> None:
    events = [
        {"type": "C", "t": 2, "n": 2},
        {"type": "B", "t": 2, "n": 1},
        {"type": "X", "t": 3, "n": 0},
        {"type": "A", "t": 1, "n": 9},
    ]
    assert spans("A : B : C : X", events, time="t", lateness=5, tiebreak="n") == [(0, 3)]


def test_without_a_tiebreak_ties_keep_the_order_of_arrival() -> None:
    events = timed("C B A", [2, 2, 1])
    assert spans("A : C : B", events, time="t", lateness=5) == [(0, 2)]
    assert spans("A : B : C", events, time="t", lateness=5) == []


def test_the_same_tiebreak_keeps_the_order_of_arrival() -> None:
    events = [{**event, "n": 1} for event in timed("C B A", [2, 2, 1])]
    assert spans("A : C : B", events, time="t", lateness=5, tiebreak="n") == [(0, 2)]


def test_lateness_goes_by_the_attribute_of_within() -> None:
    events = timed("B A X", [3, 1, 2])
    assert spans("A ; B WITHIN 2 [t]", events, lateness=5) == [(0, 2)]


def test_reordered_events_give_the_matches_of_sorted_ones() -> None:
    arriving = timed("A1 B2 A3 B4 A5 B6", [1, 3, 2, 6, 4, 5])
    in_order = sorted(arriving, key=lambda event: event["t"])
    pattern = "A ; B WITHIN 3 [t]"
    reordered = run(pattern, arriving, lateness=3)
    sorted_ = run(pattern, in_order)
    assert plain(reordered) == plain(sorted_)
    assert {m.id for m in reordered} == {m.id for m in sorted_}


def test_lateness_without_a_time_is_an_error() -> None:
    with pytest.raises(ensue.EventError, match="time"):
        run("A", stream("A"), lateness=5)


@pytest.mark.parametrize("lateness", ["soon", "5", "5 parsecs"])
def test_lateness_that_is_no_duration_is_an_error(lateness: str) -> None:
    with pytest.raises(ValueError, match="lateness"):
        run("A", clocked("A", [0]), time="ts", lateness=lateness)


def test_a_missing_tiebreak_column_is_an_error() -> None:
    with pytest.raises(ensue.EventError, match="tiebreak"):
        run("A", timed("A", [0]), time="t", lateness=5, tiebreak="n")


def test_dicts_may_have_their_times_as_text() -> None:
    """As `json.loads` gives them."""
    query = ensue.compile("SELECT * FROM S WHERE A AS a ; B AS b WITHIN 2 SECONDS")
    rows = [
        {"type": "A", "t": "2026-01-31T09:30:00Z"},
        {"type": "A", "t": "2026-01-31T10:30:01.5+01:00"},
        {"type": "B", "t": "2026-01-31T09:30:03Z"},
    ]
    (match,) = query.run(rows, time="t")
    assert (match.start, match.end_time) == (1, datetime(2026, 1, 31, 9, 30, 3, tzinfo=UTC))
    session = query.open(time="t")
    assert [len(session.push(row)) for row in rows] == [0, 0, 1]
    with pytest.raises(ensue.EventError, match=r"without a zone|give all times a zone"):
        session.push({"type": "B", "t": "2026-01-31T09:30:04"})
    with pytest.raises(ensue.EventError, match="'soon'"):
        session.push({"type": "B", "t": "soon"})
