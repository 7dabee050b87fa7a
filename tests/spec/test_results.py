"""Design, section 3: Match and Matches, as objects, tables and frames."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import clocked, run, stream, timed

EVENTS = [
    {"type": "A", "v": 1, "name": "x"},
    {"type": "X", "v": 2, "name": "y"},
    {"type": "B", "v": 3, "name": "z"},
]


def only(matches: ensue.Matches) -> ensue.Match:
    (match,) = matches
    assert isinstance(match, ensue.Match)
    return match


# a match


def test_a_match_has_start_end_and_bindings() -> None:
    match = only(run("A AS a ; B", EVENTS))
    assert (match.start, match.end) == (0, 2)
    assert match.bindings == {"A": [0], "a": [0], "B": [2]}


def test_bindings_are_in_the_order_of_positions() -> None:
    match = only(run("A{3} AS x", stream("A A X A")))
    assert match.bindings == {"A": [0, 1, 3], "x": [0, 1, 3]}


def test_events_are_the_rows_bound_to_a_variable() -> None:
    match = only(run("A AS a ; B", EVENTS))
    assert match.events("a") == [EVENTS[0]]
    assert match.events("B") == [EVENTS[2]]


def test_events_of_a_variable_that_is_absent_are_none() -> None:
    match = only(run("(C AS c)? ; A ; B", EVENTS))
    assert match.events("c") == []


@pytest.mark.parametrize("name", ["c", "b"])
def test_events_of_an_unknown_variable_are_a_key_error(name: str) -> None:
    match = only(run("A AS a ; B", EVENTS))
    with pytest.raises(KeyError, match=name):
        match.events(name)
    with pytest.raises(KeyError, match=name):
        match.computed(name)


def test_computed_events_are_dicts() -> None:
    match = only(run("A{2} AS x AGGREGATE Y[s = sum(x.v)]", stream("A1 A2")))
    assert match.computed("Y") == [{"s": 3}]


def test_values_of_events_have_their_python_types() -> None:
    match = only(run("A", clocked("A", [0]), time="ts"))
    assert match.events("A") == [{"type": "A", "ts": datetime(2026, 1, 31, 9)}]


# identity


def ids(pattern: str, events: object, **options: Any) -> list[str]:
    return [m.id for m in run(pattern, events, **options)]


def test_ids_are_different_for_different_matches_and_the_same_in_every_run() -> None:
    events = stream("A1 A2 B3 B4")
    first = ids("A+ AS x ; B", events)
    assert len(first) == len(set(first)) == 6
    assert sorted(first) == sorted(ids("A+ AS x ; B", events))


def test_ids_go_by_time_not_by_position() -> None:
    before = timed("X A B", [1, 2, 3])
    without = timed("A B", [2, 3])
    assert ids("A ; B", before, time="t") == ids("A ; B", without, time="t")


def test_ids_go_by_the_key_and_not_by_other_keys() -> None:
    mine = [{**event, "k": 1} for event in timed("A B", [1, 2])]
    other = [{**event, "k": 2} for event in timed("A B", [1, 2])]
    pattern = "A ; B PARTITION BY [k]"
    (one,) = ids(pattern, mine, time="t")
    (two,) = ids(pattern, other, time="t")
    assert one != two
    mixed = [other[0], mine[0], other[1], mine[1]]
    assert set(ids(pattern, mixed, time="t")) == {one, two}


def test_ids_of_another_query_are_others() -> None:
    events = timed("A B", [1, 2])
    assert ids("A ; B", events, time="t") != ids("A : B", events, time="t")


def test_ids_tell_events_of_equal_time_apart() -> None:
    found = ids("A ; B", timed("A A B", [1, 1, 2]), time="t")
    assert len(set(found)) == 2


_TELL_ID = """
import ensue
text = "SELECT * FROM S WHERE A FILTER A[v IN $names]"
(match,) = ensue.run(text, [{"type": "A", "v": "a"}], params={"names": {"a", "b", "c", "d"}})
print(match.id)
"""


def test_ids_are_the_same_in_every_process() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", _TELL_ID],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


# all of them


def test_count_and_len_agree() -> None:
    matches = run("A+", stream("A A A"))
    assert matches.count == len(matches) == 7
    assert isinstance(matches.count, int)
    assert len(list(matches)) == 7
    assert len(list(matches)) == 7, "matches can be listed again"


def test_stats_tell_events_matches_late_ones_and_nulls() -> None:
    stats = run("A ; B", stream("A X B")).stats
    assert {name: stats[name] for name in ("events", "matches", "late", "nulls")} == {
        "events": 3,
        "matches": 1,
        "late": 0,
        "nulls": 0,
    }


def test_a_query_can_be_run_again_and_again() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    assert isinstance(query, ensue.Query)
    assert query.run(stream("A B")).count == 1
    assert query.run(stream("A B B")).count == 2
    assert query.run(stream("A B")).count == 1


def test_matches_own_what_they_need() -> None:
    events = [dict(event) for event in EVENTS]
    match = only(run("A AS a ; B", events))
    events[0]["v"] = 99
    events.clear()
    assert match.events("a") == [EVENTS[0]]


# tables


def test_the_table_has_one_row_a_match() -> None:
    table = run("A AS x ; B", stream("A A B")).to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names[:5] == ["start_time", "end_time", "match_id", "start", "end"]
    assert set(table.column_names[5:]) == {"A", "x", "B"}
    assert table.column("start").type == pa.int64()
    assert table.column("x").type == pa.list_(pa.int64())
    assert table.select(["start", "end", "x", "B"]).to_pylist() == [
        {"start": 1, "end": 2, "x": [1], "B": [2]},
        {"start": 0, "end": 2, "x": [0], "B": [2]},
    ]


def test_the_times_of_the_table_have_the_type_of_the_time_column() -> None:
    for unit in ("s", "ms", "us", "ns"):
        kind = pa.timestamp(unit, tz="UTC")
        times = pa.array([1, 2], pa.int64()).cast(kind)
        events = pa.table({"type": ["A", "B"], "ts": times})
        table = run("A ; B", events, time="ts").to_arrow()
        assert table.column("start_time").type == kind
        assert table.column("start_time").combine_chunks() == times[:1]
        assert table.column("end_time").combine_chunks() == times[1:]


def test_an_absent_variable_is_an_empty_list_in_the_table() -> None:
    table = run("A ; (B AS b)? ; C", stream("A C")).to_arrow()
    assert table.column("b").to_pylist() == [[]]
    assert table.column("b").type == pa.list_(pa.int64())


def test_the_table_of_events_has_lists_of_structs() -> None:
    table = run("A AS x ; B", EVENTS).to_arrow(events=True)
    assert table.column("x").to_pylist() == [[EVENTS[0]]]
    assert table.column("B").to_pylist() == [[EVENTS[2]]]
    assert table.column("start").to_pylist() == [0]


def test_the_table_of_no_matches_has_the_same_columns() -> None:
    some = run("A AS x ; B", EVENTS)
    none = run("A AS x ; B", EVENTS[:2])
    for events in (False, True):
        table = none.to_arrow(events=events)
        assert table.num_rows == 0
        assert table.schema == some.to_arrow(events=events).schema


def test_computed_columns_are_columns_and_computed_events_lists_of_structs() -> None:
    pattern = "A{2} AS x AGGREGATE Y[s = sum(x.v)]"
    table = run(pattern, stream("A1 A2"), select="*, max(x.v) AS top").to_arrow()
    assert table.column("top").to_pylist() == [2]
    assert table.column("Y").to_pylist() == [[{"s": 3}]]


def test_pandas_and_polars_frames_say_what_the_table_says() -> None:
    matches = run("A AS x ; B", stream("A A B"), select="x, count(x) AS n")
    as_pandas = matches.to_pandas()
    assert isinstance(as_pandas, pd.DataFrame)
    assert as_pandas["start"].tolist() == [1, 0]
    assert [list(each) for each in as_pandas["x"]] == [[1], [0]]
    assert as_pandas["n"].tolist() == [1, 1]
    as_polars = matches.to_polars()
    assert isinstance(as_polars, pl.DataFrame)
    assert as_polars.to_dicts() == matches.to_arrow().to_pylist()


def test_frames_of_events() -> None:
    matches = run("A AS x ; B", EVENTS)
    assert matches.to_polars(events=True)["x"].to_list() == [[EVENTS[0]]]
    (events,) = matches.to_pandas(events=True)["x"]
    assert list(events) == [EVENTS[0]]


def test_html_has_a_table_and_escapes_what_it_shows() -> None:
    events = [{"type": "<b>", "v": "<script>"}]
    html = run("`<b>` AS x", events, select="*, max(x.v) AS top")._repr_html_()
    assert "<table" in html
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html


def test_html_of_nothing_and_of_counts() -> None:
    assert "<table" in run("A ; B", stream("B"))._repr_html_()
    assert "<table" in run("A", stream("A"), select="count(*) AS n")._repr_html_()
