"""Sessions: what is pushed, what comes back, what is kept, what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ensue

SEQUENCE = "SELECT * FROM S WHERE A ; B WITHIN 5 [t]"


def events(words: str, times: list[int] | None = None) -> list[dict[str, Any]]:
    """Spell events: types, at the times given or one after the other."""
    kinds = words.split()
    return [{"type": k, "t": t} for k, t in zip(kinds, times or range(len(kinds)), strict=True)]


def opened(text: str = SEQUENCE, **options: Any) -> ensue.Session:
    return ensue.compile(text).open(**options)


# pushing


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda rows: rows,
        lambda rows: iter(rows),
        lambda rows: pa.Table.from_pylist(rows),
        lambda rows: pa.Table.from_pylist(rows).to_batches()[0],
        lambda rows: pa.Table.from_pylist(rows).to_reader(),
        lambda rows: pa.Table.from_pylist(rows).to_pandas(),
    ],
    ids=["list", "iterator", "table", "batch", "reader", "pandas"],
)
def test_whatever_can_be_run_can_be_pushed(wrapped: Any) -> None:
    session = opened()
    assert session.push(wrapped(events("A C"))).count == 0
    found = session.push(wrapped(events("B B", [2, 6])))
    assert [(m.start, m.end) for m in found] == [(0, 2)]
    assert session.finish().count == 0


def test_a_single_event_is_a_dict() -> None:
    session = opened()
    assert [session.push(event).count for event in events("A B C B")] == [0, 1, 0, 1]


def test_nothing_can_be_pushed_before_and_between_events() -> None:
    session = opened()
    assert session.push([]).to_arrow().num_rows == 0
    session.push(events("A"))
    assert session.push([]).count == 0
    assert session.push(events("B", [1])).count == 1


def test_a_match_hands_back_its_events_however_long_ago_they_came() -> None:
    session = opened("SELECT * FROM S WHERE A AS a ; B AS b")
    session.push([{"type": "A", "name": "first"}])
    for _ in range(100):
        session.push([{"type": "C", "name": "other"}] * 50)
    (match,) = session.push([{"type": "B", "name": "last"}])
    assert match.events("a") == [{"type": "A", "name": "first"}]
    assert (match.start, match.end) == (0, 5001)


def test_matches_outlive_what_is_pushed_later() -> None:
    session = opened()
    session.push(events("A A"))
    found = session.push(events("B", [2]))
    for time in range(3, 5000, 100):
        session.push(events("A B " * 50, list(range(time, time + 100))))
    assert found.to_arrow(events=True).column("A").to_pylist() == [
        [{"type": "A", "t": 1}],
        [{"type": "A", "t": 0}],
    ]


def test_rows_that_no_partial_match_needs_are_not_kept() -> None:
    session = opened()
    for time in range(0, 20_000, 100):
        session.push(events("A C " * 50, list(range(time, time + 100))))
    assert session.stats["rows"] < 500


def test_nothing_can_be_pushed_after_the_end() -> None:
    session = opened()
    session.push(events("A"))
    session.finish()
    for late_call in (
        lambda: session.push(events("B")),
        session.finish,
        lambda: session.advance(9),
    ):
        with pytest.raises(ensue.EventError, match="finished"):
            late_call()


def test_a_session_may_end_before_it_began() -> None:
    assert opened(time="t").finish().count == 0


# types


def test_the_first_events_fix_the_types_of_columns() -> None:
    session = opened("SELECT * FROM S WHERE A AS x FILTER x[v > 1.5]")
    session.push([{"type": "A", "v": 1.25}])
    assert session.push([{"type": "A", "v": 2}]).count == 1
    assert session.push(pa.table({"type": ["A"], "v": pa.array([3], pa.int8())})).count == 1


def test_a_column_that_had_no_value_yet_gets_its_type_later() -> None:
    session = opened("SELECT * FROM S WHERE A AS x FILTER x[v > 1.5]")
    assert session.push([{"type": "A", "v": None}]).count == 0
    assert session.push([{"type": "A", "v": 2.5}]).count == 1
    with pytest.raises(ensue.EventError, match="'v'"):
        session.push([{"type": "A", "v": "high"}])


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([{"type": "A", "v": "one"}], r"row 0, column 'v': 'one' is of type string"),
        (pa.table({"type": ["A"], "v": pa.array([2**64 - 1], pa.uint64())}), "column 'v'"),
        ([{"type": "A", "n": {"x": "one"}}], r"column 'n.x': 'one'"),
    ],
)
def test_another_type_later_is_an_error_that_names_column_and_row(bad: Any, told: str) -> None:
    session = opened("SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v <= y.v AND x[n.x > 0]")
    session.push([{"type": "A", "v": 1, "n": {"x": 1}}])
    with pytest.raises(ensue.EventError, match=told):
        session.push(bad)
    assert session.push([{"type": "B", "v": 1}]).count == 1
    assert session.stats["events"] == 2


def test_dictionaries_and_strings_are_the_same_to_a_session() -> None:
    session = opened("SELECT * FROM S WHERE A AS a ; A AS b FILTER a.name = b.name")
    plain = pa.table({"type": ["A", "A"], "name": ["x", "y"]})
    coded = pa.table({name: plain.column(name).dictionary_encode() for name in plain.column_names})
    session.push(coded)
    found = session.push(plain)
    assert [(m.start, m.end, m.events("a")) for m in found] == [
        (0, 2, [{"type": "A", "name": "x"}]),
        (1, 3, [{"type": "A", "name": "y"}]),
    ]
    assert session.push(coded).count == 4


# the number of matches


def test_matches_are_counted_when_somebody_asks() -> None:
    session = opened("SELECT * FROM S WHERE ANY+ ; B")
    session.push([{"type": "A"}] * 2000)
    assert session.push([{"type": "B"}] * 30)
    expected = sum(2 ** (2000 + n) - 1 for n in range(30))
    assert session.stats["matches"] == expected
    assert session.stats["matches"] == expected


def test_matches_that_nobody_listed_count_as_one_an_event_when_there_are_too_many() -> None:
    session = opened("SELECT * FROM S WHERE A ; B")
    session.push([{"type": "A"}] * 20_000)
    for _ in range(100):
        session.push({"type": "B"})
    assert 100 < session.stats["matches"] < 100 * 20_000
    listed = opened("SELECT * FROM S WHERE A ; B")
    listed.push([{"type": "A"}] * 20_000)
    for _ in range(100):
        listed.push({"type": "B"}).to_arrow()
    assert listed.stats["matches"] == 100 * 20_000


# time


def test_events_wait_until_nothing_earlier_can_come() -> None:
    session = opened(lateness=3)
    assert session.push(events("B A", [4, 2])).count == 0
    assert session.stats["waiting"] == 2
    assert session.stats["watermark"] == 1
    assert session.push(events("C", [8])).count == 1
    assert session.stats["events"] == 2
    assert session.finish().count == 0


@pytest.mark.parametrize("listed", ["*", "count(*) AS n"])
def test_a_push_that_releases_nothing_gives_a_table_of_the_same_columns(listed: str) -> None:
    session = opened(f"SELECT {listed} FROM S WHERE A PARTITION BY [type]", time="t", lateness=3)
    waiting = session.push(events("A", [2])).to_arrow()
    again = ensue.compile(session.query.text).resume(session.snapshot())
    nothing = again.advance(3).to_arrow()
    found = again.push(events("A", [8])).to_arrow()
    assert (waiting.num_rows, nothing.num_rows, found.num_rows) == (0, 0, 1)
    assert waiting.schema == nothing.schema == found.schema


def test_what_comes_too_late_is_kept_and_counted() -> None:
    session = opened(lateness=3)
    session.push(events("A B", [4, 9]))
    found = session.push(events("A A", [5, 7]))
    assert found.late.to_pylist() == session.late.to_pylist() == events("A", [5])
    session.push(events("A", [5]))
    assert session.stats["late"] == session.late.num_rows == 2


def test_time_passes_without_events() -> None:
    session = opened(lateness=3)
    session.push(events("B A", [4, 2]))
    assert session.advance(7).count == 0
    assert session.advance(8).count == 1
    assert session.advance(1).count == 0
    assert session.stats["watermark"] == 5
    session.push(events("B", [5]))
    assert session.push(events("B", [4])).late.num_rows == 1


def test_what_comes_before_a_time_that_has_passed_is_an_error() -> None:
    session = opened()
    session.push(events("A", [2]))
    session.advance(5)
    with pytest.raises(ensue.EventError, match="4 after 5"):
        session.push(events("B", [4]))
    assert session.push(events("B", [5])).count == 1


def test_time_passes_in_timestamps_too() -> None:
    nine = datetime(2026, 1, 31, 9, tzinfo=UTC)
    session = opened(
        "SELECT * FROM S WHERE A ; B WITHIN 5 SECONDS", time="ts", lateness="3 seconds"
    )
    rows = [{"type": kind, "ts": nine + timedelta(seconds=s)} for kind, s in (("B", 2), ("A", 1))]
    assert session.push(rows).count == 0
    with pytest.raises(ensue.EventError, match="datetime"):
        session.advance(6)
    assert session.advance(nine + timedelta(seconds=6)).count == 1
    assert session.stats["watermark"] == nine + timedelta(seconds=3)


def test_time_cannot_pass_without_a_time_column() -> None:
    session = opened("SELECT * FROM S WHERE A")
    session.push([{"type": "A"}])
    with pytest.raises(ensue.EventError, match="time column"):
        session.advance(1)


def test_an_interval_is_told_when_time_has_passed_it() -> None:
    text = "SELECT count(*) AS n FROM S WHERE A ; B WITHIN 5 [t] EVERY 10 SECONDS"
    session = opened(text, time_unit="s")
    assert session.push(events("A B B", [1, 2, 9])).count == 0
    assert session.advance(9).count == 0
    assert [(row.time, row["n"]) for row in session.advance(10)] == [(0, 1)]
    session.push(events("A B", [11, 12]))
    assert [(row.time, row["n"]) for row in session.finish()] == [(10, 1)]


# several streams


def test_streams_are_merged_as_they_come() -> None:
    session = opened("SELECT * FROM S1, S2 WHERE A ; B", time="t")
    assert session.push({"S1": events("A B", [1, 4])}).count == 0
    found = session.push({"S2": events("A C", [2, 4])})
    assert (found.count, session.stats["events"]) == (0, 2)
    found = session.push({"S1": events("C", [5]), "S2": events("C", [5])})
    assert [(m.start, m.end) for m in found] == [(1, 2), (0, 2)]
    with pytest.raises(ensue.EventError, match="of S1: 't' is 3 after 5"):
        session.push({"S1": events("A", [3])})
    session.finish()
    assert session.stats["events"] == 6


def test_a_stream_that_is_silent_does_not_hold_up_time_that_is_known_to_pass() -> None:
    session = opened("SELECT * FROM S1, S2 WHERE A ; B", time="t")
    session.push({"S1": events("A B", [1, 4])})
    assert session.advance(5).count == 1


def test_an_unknown_stream_is_an_error() -> None:
    with pytest.raises(ensue.EventError, match="'S3' is not among the streams"):
        opened("SELECT * FROM S1, S2 WHERE A ; B", time="t").push({"S3": events("A")})


def test_a_named_stream_needs_no_time_until_another_one_comes() -> None:
    session = opened("SELECT * FROM S, T WHERE A ; B")
    assert session.push({"S": [{"type": "A"}, {"type": "B"}]}).count == 1
    assert session.push({"S": [{"type": "B"}]}).count == 1
    with pytest.raises(ensue.EventError, match="merging several streams needs a time column"):
        session.push({"T": [{"type": "B"}]})
