"""Section 5, WITHIN: events, units of a column, durations on timestamps and on integers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import clocked, run, spans, stream, supports, timed

_DURATIONS = [
    ("500 MILLISECONDS", timedelta(milliseconds=500)),
    ("1 MILLISECOND", timedelta(milliseconds=1)),
    ("1 SECOND", timedelta(seconds=1)),
    ("90 SECONDS", timedelta(seconds=90)),
    ("1 MINUTE", timedelta(minutes=1)),
    ("10 minutes", timedelta(minutes=10)),
    ("1 HOUR 30 MINUTES", timedelta(hours=1, minutes=30)),
    ("2 Hours", timedelta(hours=2)),
    ("1 DAY", timedelta(days=1)),
    ("2 DAYS 1 HOUR 1 SECOND", timedelta(days=2, hours=1, seconds=1)),
    ("30 MINUTES 1 HOUR", timedelta(hours=1, minutes=30)),
]


@pytest.mark.parametrize(("duration", "length"), _DURATIONS)
@pytest.mark.parametrize("column", ["", " [ts]"])
def test_a_duration_on_timestamps_includes_its_end(
    duration: str, length: timedelta, column: str
) -> None:
    nine = datetime(2026, 1, 31, 9)
    times = [nine, nine + length, nine + length + timedelta(microseconds=1)]
    events = [{**event, "ts": ts} for event, ts in zip(stream("A B B"), times, strict=True)]
    time = None if column else "ts"
    assert spans(f"A ; B WITHIN {duration}{column}", events, time=time) == [(0, 1)]


def test_timestamps_count_to_the_nanosecond() -> None:
    table = pa.table(
        {"type": ["A", "B", "B"], "ts": pa.array([0, 10**9, 10**9 + 1], pa.timestamp("ns"))}
    )
    assert spans("A ; B WITHIN 1 SECOND", table, time="ts") == [(0, 1)]


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("column", ["", " [t]"])
def test_a_duration_on_integers_is_in_their_unit(unit: str, second: int, column: str) -> None:
    events = timed("A B B", [7, 10 * second + 7, 10 * second + 8])
    time = None if column else "t"
    pattern = f"A ; B WITHIN 10 SECONDS{column}"
    assert spans(pattern, events, time=time, time_unit=unit) == [(0, 1)]


def test_a_duration_finer_than_the_unit_is_not_rounded_up() -> None:
    events = timed("A B B", [0, 1, 2])
    pattern = "A ; B WITHIN 1500 MILLISECONDS"
    assert spans(pattern, events, time="t", time_unit="s") == [(0, 1)]


def test_a_duration_on_integers_of_no_unit_is_a_type_error() -> None:
    for column, time in (("", "t"), (" [t]", None)):
        with pytest.raises(ensue.CeqlTypeError):
            run(f"A ; B WITHIN 10 SECONDS{column}", timed("A B", [0, 1]), time=time)


def test_a_number_before_an_attribute_is_in_its_own_unit() -> None:
    events = timed("A B B", [100, 110, 111])
    assert spans("A ; B WITHIN 10 [t]", events) == [(0, 1)]


def test_the_attribute_of_within_becomes_the_time_of_the_query() -> None:
    events = [{**event, "ts": i} for i, event in enumerate(timed("A B", [100, 130]))]
    matches = run("A ; B WITHIN 50 [t]", events, time="ts")
    assert matches.to_arrow().select(["start_time", "end_time"]).to_pylist() == [
        {"start_time": 100, "end_time": 130}
    ]
    assert run("A ; B WITHIN 20 [t]", events, time="ts").count == 0


def test_the_attribute_may_be_nested() -> None:
    events = [
        {"type": event["type"], "meta": {"ts": event["ts"], "n": i}}
        for i, event in enumerate(clocked("A B B", [0, 300, 301]))
    ]
    assert spans("A ; B WITHIN 5 MINUTES [meta.ts]", events) == [(0, 1)]
    assert spans("A ; B WITHIN 5 MINUTES", events, time="meta.ts") == [(0, 1)]
    assert spans("A ; B WITHIN 1 [meta.n]", events) == [(0, 1)]


def test_events_count_positions() -> None:
    assert spans("A ; B WITHIN 2 EVENTS", stream("A X B B")) == [(0, 2)]
    assert spans("A ; B WITHIN 1 EVENTS", stream("A X B B")) == []
    assert spans("A WITHIN 0 EVENTS", stream("A A")) == [(0, 0), (1, 1)]


def test_events_of_a_partition_count_positions_of_its_substream() -> None:
    events = [{**event, "k": k} for event, k in zip(stream("A X X B A B"), "122121", strict=True)]
    # the substream of 1 has positions 0, 3, 5, that of 2 has 1, 2, 4
    pattern = "A ; B PARTITION BY [k] WITHIN 1 EVENTS"
    assert spans(pattern, events) == [(0, 3)]
    pattern = "A ; B PARTITION BY [k] WITHIN 2 EVENTS"
    assert spans(pattern, events) == [(0, 3), (0, 5)]


def test_without_a_window_everything_is_kept() -> None:
    assert spans("A ; B", timed("A B", [0, 10**15]), time="t") == [(0, 1)]


def test_equal_times_are_within_any_window() -> None:
    assert spans("A ; B WITHIN 0 [t]", timed("A B B", [5, 5, 6])) == [(0, 1)]


def test_a_window_is_about_the_whole_interval_not_about_what_is_bound() -> None:
    events = timed("A B C", [0, 1, 20])
    pattern = "(A ; B AS b ; C) PROJECT [b] WITHIN 10 [t]"
    assert spans(pattern, events) == []


def test_only_matches_inside_the_window_compete() -> None:
    # {0, 2, 3} comes before {1, 2, 3}, but is too long for the window
    events = stream("A A B C")
    assert supports("(A ; B ; C) WITHIN 2 EVENTS", events, select="NEXT *") == {(1, 2, 3)}
    assert supports("(A ; B ; C)", events, select="NEXT *") == {(0, 2, 3)}


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("5", ensue.CeqlError),
        ("5 FORTNIGHTS", ensue.CeqlError),
        ("5 MINUTES [tz]", ensue.CeqlNameError),
        ("5 [tt]", ensue.CeqlNameError),
        ("5 MINUTES [name]", ensue.CeqlError),
        ("5 [name]", ensue.CeqlError),
        ("5 [ts]", ensue.CeqlError),
    ],
)
def test_a_window_on_the_wrong_thing_is_an_error(window: str, kind: type[ensue.CeqlError]) -> None:
    schema = {"t": "int", "ts": "timestamp", "name": "string"}
    with pytest.raises(kind):
        ensue.compile(f"SELECT * FROM S WHERE A ; B WITHIN {window}", schema)


def test_a_duration_without_a_time_column_is_an_error() -> None:
    with pytest.raises(ensue.CeqlError):
        run("A ; B WITHIN 5 MINUTES", stream("A B"))
