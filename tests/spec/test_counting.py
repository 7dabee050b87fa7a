"""Section 6: SELECT count(*) and what may stand beside it, per event and EVERY so often."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import NINE, clocked, rows, run, stream, timed, valued

ALL = "count(*) AS n, sum(x.v) AS s, avg(x.v) AS a, min(x.v) AS low, max(x.v) AS high"


def test_an_event_counts_once_for_each_match_that_binds_it() -> None:
    # the matches that end in B bind {0}, {1} and {0, 1} to x
    assert rows("A+ AS x ; B", stream("A1 A2 B"), select=ALL) == [
        {"time": 2, "n": 3, "s": 6, "a": 1.5, "low": 1, "high": 2}
    ]


def test_there_is_one_row_for_each_completing_event() -> None:
    assert rows("A ; B", stream("A B X A B"), select="count(*) AS n") == [
        {"time": 1, "n": 1},
        {"time": 4, "n": 2},
    ]


def test_without_a_match_there_is_no_row() -> None:
    assert rows("A ; B", stream("B A"), select="count(*) AS n") == []


def test_the_name_of_the_count_may_be_left_out() -> None:
    table = run("A+", stream("A A"), select="count(*)").to_arrow()
    assert table.num_columns == 2
    assert table.column(1).to_pylist() == [1, 2]


def test_nulls_are_ignored_by_sums_but_their_matches_count() -> None:
    # x is {0}, {1}, {0, 1}, and the A at 1 has no v
    assert rows("A+ AS x ; B", stream("A4 A B"), select=ALL) == [
        {"time": 2, "n": 3, "s": 8, "a": 4.0, "low": 4, "high": 4}
    ]


def test_on_nothing_the_sum_is_zero_and_the_others_are_null() -> None:
    events = [{"type": "A", "v": None}, {"type": "B", "v": 5}]
    assert rows("A AS x ; B", events, select=ALL) == [
        {"time": 1, "n": 1, "s": 0, "a": None, "low": None, "high": None}
    ]


def test_sums_are_about_the_named_variable() -> None:
    # (0, 2) and (1, 2): B is bound by both
    columns = "count(*) AS n, sum(x.v) AS xs, sum(y.v) AS ys, avg(y.v) AS mean"
    assert rows("A AS x ; B AS y", stream("A1 A2 B10"), select=columns) == [
        {"time": 2, "n": 2, "xs": 3, "ys": 20, "mean": 10.0}
    ]


def test_a_variable_that_is_sometimes_absent() -> None:
    # B alone, and A with B
    columns = "count(*) AS n, sum(x.v) AS s, min(x.v) AS low"
    assert rows("(A AS x)? ; B", stream("A3 B"), select=columns) == [
        {"time": 1, "n": 2, "s": 3, "low": 3}
    ]


def test_several_ways_to_one_match_count_once() -> None:
    assert rows("(A OR A) ; B", stream("A B"), select="count(*) AS n") == [{"time": 1, "n": 1}]
    assert rows("A* ; A* ; B", stream("A A B"), select="count(*) AS n") == [{"time": 2, "n": 4}]


def test_matches_are_counted_after_the_strategy() -> None:
    # {0, 1, 2} beats {0, 2} and {1, 2}
    assert rows("A+ AS x ; B", stream("A1 A2 B"), select=f"MAX {ALL}") == [
        {"time": 2, "n": 1, "s": 3, "a": 1.5, "low": 1, "high": 2}
    ]


def test_matches_are_counted_after_the_window() -> None:
    select = "count(*) AS n, sum(A.v) AS s"
    events = stream("A1 A2 B")
    assert rows("A ; B WITHIN 1 EVENTS", events, select=select) == [{"time": 2, "n": 1, "s": 2}]


def test_matches_are_counted_after_consumption() -> None:
    events = stream("A A B B A B")
    assert rows("A ; B CONSUME BY ANY", events, select="count(*) AS n") == [
        {"time": 2, "n": 2},
        {"time": 5, "n": 1},
    ]


def test_counts_grow_with_the_subsets() -> None:
    table = run("A+", stream("A " * 12), select="count(*) AS n").to_arrow()
    assert table.column("n").to_pylist() == [2**i for i in range(12)]


def test_conditions_and_counts_go_together() -> None:
    # pairs with a smaller A before: (0, 2), (0, 3), (1, 3)
    pattern = "A AS x ; B AS y FILTER x.v < y.v"
    assert rows(pattern, stream("A1 A3 B2 B5"), select="count(*) AS n, sum(x.v) AS s") == [
        {"time": 2, "n": 1, "s": 1},
        {"time": 3, "n": 2, "s": 4},
    ]


def test_rows_have_the_partition_attributes() -> None:
    events = [
        {**event, "k": k, "j": 0}
        for event, k in zip(stream("A1 A2 B B A4 B"), "xyxyxx", strict=True)
    ]
    pattern = "A ; B PARTITION BY [k], [j]"
    assert rows(pattern, events, select="count(*) AS n, sum(A.v) AS s") == [
        {"time": 2, "k": "x", "j": 0, "n": 1, "s": 1},
        {"time": 3, "k": "y", "j": 0, "n": 1, "s": 2},
        {"time": 5, "k": "x", "j": 0, "n": 2, "s": 5},
    ]


def test_the_time_of_a_row_is_that_of_the_completing_event() -> None:
    assert rows("A ; B", timed("A B", [10, 30]), select="count(*) AS n", time="t") == [
        {"time": 30, "n": 1}
    ]
    assert rows("A ; B", clocked("A B", [0, 30]), select="count(*) AS n", time="ts") == [
        {"time": NINE + timedelta(seconds=30), "n": 1}
    ]


def test_doubles_and_decimals_are_summed_as_doubles() -> None:
    table = pa.table(
        {
            "type": ["A", "A"],
            "v": pa.array([0.5, 0.25], pa.float64()),
            "d": pa.array(["0.50", "0.25"]).cast(pa.decimal128(5, 2)),
        }
    )
    columns = "count(*) AS n, sum(A.v) AS s, sum(A.d) AS d, avg(A.d) AS a"
    assert rows("A{2}", table, select=columns) == [
        {"time": 1, "n": 1, "s": 0.75, "d": 0.75, "a": 0.375}
    ]


def test_the_smallest_and_largest_may_be_strings_and_times() -> None:
    noon = datetime(2026, 1, 31, 12)
    events = [
        {"type": "A", "name": "b", "at": noon},
        {"type": "A", "name": "a", "at": noon + timedelta(hours=1)},
    ]
    columns = "count(*) AS n, min(A.name) AS low, max(A.at) AS latest"
    assert rows("A{2}", events, select=columns) == [
        {"time": 1, "n": 1, "low": "a", "latest": noon + timedelta(hours=1)}
    ]


def test_a_row_is_an_object_too() -> None:
    events = [{**event, "k": "x"} for event in timed("A A", [10, 20])]
    matches = run("A PARTITION BY [k]", events, select="count(*) AS n", time="t")
    assert [(row.time, row.partition, row["n"]) for row in matches] == [
        (10, {"k": "x"}, 1),
        (20, {"k": "x"}, 1),
    ]


# every


def test_every_gives_one_row_for_each_interval_from_the_epoch() -> None:
    # B ends matches at 09:00:50 (one), 09:01:00 (one) and 09:01:59 (one); none in 09:02
    events = clocked("A1 B B B X", [10, 50, 60, 119, 130])
    got = rows("A ; B EVERY 1 MINUTE", events, select="count(*) AS n, sum(A.v) AS s", time="ts")
    assert got == [
        {"time": NINE, "n": 1, "s": 1},
        {"time": NINE + timedelta(minutes=1), "n": 2, "s": 2},
    ]


def test_every_does_not_begin_with_the_first_event() -> None:
    # 50 and 70 seconds are 20 apart, yet in two minutes
    events = clocked("B B", [50, 70])
    got = rows("B EVERY 1 MINUTE", events, select="count(*) AS n", time="ts")
    assert [row["n"] for row in got] == [1, 1]


@pytest.mark.parametrize(
    ("every", "unit", "expected"),
    [
        ("10 SECONDS", "s", {0: 2, 10: 1, 20: 1}),
        ("10 MILLISECONDS", "ms", {0: 2, 10: 1, 20: 1}),
        ("20 SECONDS", "s", {0: 3, 20: 1}),
        ("1 MINUTE 40 SECONDS", "s", {0: 4}),
        ("1 SECOND", "s", {3: 1, 9: 1, 10: 1, 25: 1}),
    ],
)
def test_every_counts_integer_times_from_zero(
    every: str, unit: str, expected: dict[int, int]
) -> None:
    events = timed("B B B B", [3, 9, 10, 25])
    got = rows(f"B EVERY {every}", events, select="count(*) AS n", time="t", time_unit=unit)
    assert {row["time"]: row["n"] for row in got} == expected


def test_intervals_before_zero_are_as_long_as_the_others() -> None:
    events = timed("B B B B", [-11, -10, -1, 0])
    got = rows("B EVERY 10 SECONDS", events, select="count(*) AS n", time="t", time_unit="s")
    assert [row["n"] for row in got] == [1, 2, 1]


def test_every_totals_all_matches_of_an_interval() -> None:
    # ended in [0, 10): {0} and {1}, {0, 1}; in [10, 20): {3}, {0, 3}, {1, 3}, {0, 1, 3}
    events = timed("A1 A2 X A4", [0, 5, 9, 12])
    got = rows("A+ AS x EVERY 10 SECONDS", events, select=ALL, time="t", time_unit="s")
    assert got == [
        {"time": 0, "n": 3, "s": 6, "a": 1.5, "low": 1, "high": 2},
        {"time": 10, "n": 4, "s": 22, "a": 22 / 8, "low": 1, "high": 4},
    ]


def test_every_gives_one_row_for_each_interval_and_partition() -> None:
    events = [
        {**event, "k": k}
        for event, k in zip(timed("B1 B2 B4 B8", [1, 2, 3, 14]), "xyxx", strict=True)
    ]
    got = rows(
        "B PARTITION BY [k] EVERY 10 SECONDS",
        events,
        select="count(*) AS n, sum(B.v) AS s",
        time="t",
        time_unit="s",
    )
    assert sorted(got, key=lambda row: (row["time"], row["k"])) == [
        {"time": 0, "k": "x", "n": 2, "s": 5},
        {"time": 0, "k": "y", "n": 1, "s": 2},
        {"time": 10, "k": "x", "n": 1, "s": 8},
    ]


def test_every_comes_after_the_window_and_consumption() -> None:
    events = timed("A A B B A B", [0, 1, 2, 3, 14, 15])
    got = rows(
        "A ; B WITHIN 1 SECOND CONSUME BY ANY EVERY 10 SECONDS",
        events,
        select="count(*) AS n",
        time="t",
        time_unit="s",
    )
    assert [row["n"] for row in got] == [1, 1]


def test_every_goes_by_the_time_of_within() -> None:
    got = rows(
        "B WITHIN 5 SECONDS [t] EVERY 10 SECONDS",
        timed("B B", [9, 10]),
        select="count(*) AS n",
        time_unit="s",
    )
    assert [row["n"] for row in got] == [1, 1]


@pytest.mark.parametrize(
    ("every", "expected"),
    [("1500 MILLISECONDS", [2, 1, 2]), ("500 MILLISECONDS", [1, 1, 1, 1, 1])],
)
def test_an_interval_need_not_be_a_multiple_of_the_unit(every: str, expected: list[int]) -> None:
    # [0, 1.5) has 0 and 1, [1.5, 3) has 2, [3, 4.5) has 3 and 4
    events = timed("B B B B B", [0, 1, 2, 3, 4])
    got = rows(f"B EVERY {every}", events, select="count(*) AS n", time="t", time_unit="s")
    assert [row["n"] for row in got] == expected


# errors


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM S WHERE A LIMIT 3",
        "SELECT A, count(*) AS n FROM S WHERE A",
        "SELECT count(*) AS n, A FROM S WHERE A",
        "SELECT *, count(*) AS n FROM S WHERE A",
        "SELECT sum(*) AS n FROM S WHERE A",
        "SELECT count(*) AS n, sum(B.v) AS s FROM S WHERE A",
        "SELECT count(*) AS n FROM S WHERE A EVERY 5",
        "SELECT count(*) AS n FROM S WHERE A EVERY 0 SECONDS",
        "SELECT count(*) AS n, max(A.v) AS n FROM S WHERE A",
    ],
)
def test_what_does_not_go_with_counting_is_an_error(text: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(text)


@pytest.mark.parametrize("options", [{}, {"time": "t"}])
def test_every_needs_a_time_with_a_unit(options: dict[str, Any]) -> None:
    with pytest.raises(ensue.CeqlError):
        run("A EVERY 1 MINUTE", timed("A", [1]), select="count(*) AS n", **options)


def test_the_sum_of_strings_beside_a_count_is_a_type_error() -> None:
    with pytest.raises(ensue.CeqlTypeError):
        run("A", valued(["x"]), select="count(*) AS n, sum(A.v) AS s")


@pytest.mark.parametrize(
    "pattern",
    [
        "A AS x ; B",
        "(A AS x ; B AS y) FILTER x.v < y.v",
        "(A AS x ; B) AGGREGATE Y[s = sum(x.v)] FILTER Y[s > 0]",
    ],
)
def test_exact_counts_have_one_type_however_they_are_counted(pattern: str) -> None:
    """On the automaton, on the graph, by listing; also where there is nothing to count yet."""
    query = ensue.compile(
        f"SELECT count(*) AS n, count(x) AS c, sum(x.v) AS s FROM S WHERE {pattern}"
    )
    session = query.open(exact=True)
    tables = [session.push(each).to_arrow() for each in stream("A1 B2")]
    assert [each.num_rows for each in tables] == [0, 1]
    for table in tables:
        kinds = [table.schema.field(name).type for name in ("n", "c", "s")]
        assert kinds == [pa.decimal256(76, 0), pa.decimal256(76, 0), pa.int64()]
