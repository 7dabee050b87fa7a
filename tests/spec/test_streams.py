"""Section 1: several streams, types of events, tables without them, nested attributes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import Event, found, kept, plain, run, spans, supports, timed


def both(text: str, events: object, **options: Any) -> list[Any]:
    return plain(ensue.run(text, events, **{"time": "t", **options}))


ONE, TWO = timed("A B", [1, 4]), timed("A B", [2, 3])


def test_streams_are_merged_by_time() -> None:
    # 1 and 4 are of S1, 2 and 3 of S2: the order is A A B B
    text = "SELECT * FROM S1, S2 WHERE A ; B"
    expected = [
        (0, 2, {"A": [0], "B": [2]}),
        (1, 2, {"A": [1], "B": [2]}),
        (0, 3, {"A": [0], "B": [3]}),
        (1, 3, {"A": [1], "B": [3]}),
    ]
    assert both(text, {"S1": ONE, "S2": TWO}) == expected
    assert both(text, {"S2": TWO, "S1": ONE}) == expected


def test_ties_are_in_the_order_of_from() -> None:
    events = {"S1": timed("B", [5]), "S2": timed("A", [5])}
    assert both("SELECT * FROM S1, S2 WHERE A ; B", events) == []
    assert both("SELECT * FROM S2, S1 WHERE A ; B", events) == [(0, 1, {"A": [0], "B": [1]})]


def test_ties_of_one_stream_keep_their_order() -> None:
    events = {"S1": timed("X C", [5, 5]), "S2": timed("A B", [5, 5])}
    assert both("SELECT * FROM S1, S2 WHERE X : C : A : B", events) == [
        (0, 3, {"X": [0], "C": [1], "A": [2], "B": [3]})
    ]


def test_a_type_of_a_stream() -> None:
    events = {"S1": ONE, "S2": TWO}
    text = "SELECT * FROM S1, S2 WHERE S1>A AS x ; S2>B AS y"
    assert both(text, events) == [(0, 2, {"A": [0], "x": [0], "B": [2], "y": [2]})]
    text = "SELECT * FROM S1, S2 WHERE S2>A ; S1>B"
    assert both(text, events) == [(1, 3, {"A": [1], "B": [3]})]


def test_a_stream_of_one_alone_may_be_given_by_name() -> None:
    assert both("SELECT * FROM S1 WHERE S1>A ; B", {"S1": ONE}) == [(0, 1, {"A": [0], "B": [1]})]


def test_the_stream_before_a_type_may_be_the_only_one() -> None:
    assert found("S>A ; B", timed("A B", [1, 2])) == [(0, 1, {"A": [0], "B": [1]})]


def test_streams_of_one_table_are_told_apart_by_their_types() -> None:
    events = timed("SELL BUY", [1, 2])
    assert both("SELECT * FROM Sales, Buys WHERE SELL ; BUY", events) == [
        (0, 1, {"SELL": [0], "BUY": [1]})
    ]


def test_streams_may_have_other_columns_and_be_of_other_libraries() -> None:
    import pandas as pd
    import polars as pl

    events = {
        "P": pd.DataFrame({"type": ["A"], "t": [1], "v": [10]}),
        "Q": pl.DataFrame({"type": ["B"], "t": [2], "w": [10]}),
        "R": [{"type": "C", "t": 3, "name": "x"}],
    }
    text = "SELECT * FROM P, Q, R WHERE A ; B ; C FILTER A.v = B.w AND C[name = 'x']"
    assert [(start, end) for start, end, _ in both(text, events)] == [(0, 2)]


def test_attributes_that_a_stream_does_not_have_are_null_there() -> None:
    events = {
        "S1": pa.table({"type": ["A"], "t": [1], "v": [1]}),
        "S2": pa.table({"type": ["A"], "t": [2], "w": [1]}),
    }
    text = "SELECT * FROM S1, S2 WHERE A FILTER A[v IS NULL]"
    assert both(text, events) == [(1, 1, {"A": [1]})]


@pytest.mark.parametrize(
    ("events", "name"), [({"S1": ONE}, "S2"), ({"S1": ONE, "S2": TWO, "S3": TWO}, "S3")]
)
def test_a_stream_that_is_missing_or_unknown_is_named(events: object, name: str) -> None:
    with pytest.raises(ensue.EventError, match=name):
        ensue.run("SELECT * FROM S1, S2 WHERE A", events, time="t")


def test_each_stream_must_be_in_order() -> None:
    events = {"S1": timed("A B", [5, 4]), "S2": TWO}
    with pytest.raises(ensue.EventError, match="S1"):
        ensue.run("SELECT * FROM S1, S2 WHERE A", events, time="t")


def test_streams_in_order_are_merged_with_a_lateness_bound_too() -> None:
    events = {"S1": timed("A A", [1, 100]), "S2": timed("B B", [2, 101])}
    matches = ensue.run("SELECT * FROM S1, S2 WHERE A ; B", events, time="t", lateness=5)
    assert [(m.start, m.end) for m in matches] == [(0, 1), (2, 3), (0, 3)]
    assert matches.stats["late"] == 0


def test_a_stream_that_from_does_not_name_is_a_name_error() -> None:
    with pytest.raises(ensue.CeqlNameError, match="did you mean 'Stocks'"):
        ensue.compile("SELECT * FROM Stocks WHERE Stcks>SELL")


# types of events


def test_a_table_without_types_has_one_type_the_name_of_the_stream() -> None:
    events = [{"v": 1}, {"v": 2}]
    text = "SELECT * FROM Trades WHERE Trades AS x ; Trades AS y FILTER x.v < y.v"
    assert plain(ensue.run(text, events)) == [(0, 1, {"Trades": [0, 1], "x": [0], "y": [1]})]
    assert ensue.run("SELECT * FROM Trades WHERE A", events).count == 0
    text = "SELECT * FROM Trades WHERE ANY FILTER ANY[type = 'Trades']"
    assert ensue.run(text, events).count == 2


def test_streams_without_types_have_each_their_own_name() -> None:
    events = {"Logins": [{"t": 1}, {"t": 4}], "Alarms": [{"t": 2}]}
    text = "SELECT * FROM Logins, Alarms WHERE Logins ; Alarms"
    assert both(text, events) == [(0, 1, {"Logins": [0], "Alarms": [1]})]


def test_the_type_column_may_have_another_name() -> None:
    events = [{"kind": "A", "type": 5}, {"kind": "B", "type": 6}]
    assert found("A ; B", events, type="kind") == [(0, 1, {"A": [0], "B": [1]})]


def test_types_may_be_dictionary_encoded() -> None:
    table = pa.table({"type": pa.array(["A", "B", "A"]).dictionary_encode(), "v": [1, 2, 3]})
    assert spans("A ; B", table) == [(0, 1)]


def test_types_need_not_be_plain_words() -> None:
    events = [{"type": "login failed"}, {"type": "é"}]
    assert spans("`login failed` ; é", events) == [(0, 1)]


# nested attributes


def process(name: str, parent: str | None, pid: int) -> Event:
    return {
        "type": "A",
        "process": {"pid": pid, "parent": None if parent is None else {"name": parent}},
        "name": name,
    }


TREE = [process("sh", "init", 1), process("ls", "sh", 2), process("top", None, 3), {"type": "A"}]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A FILTER A[process.parent.name = 'sh']", {(1,)}),
        ("A FILTER A.process.parent.name = 'sh'", {(1,)}),
        ("A FILTER A[process.pid > 1]", {(1,), (2,)}),
        ("A FILTER A[process.parent.name IS NULL]", {(2,), (3,)}),
        ("A FILTER A[process.pid IS NULL]", {(3,)}),
        ("A FILTER A[`process`.`pid` = 3]", {(2,)}),
        ("A AS x ; A AS y FILTER y.process.parent.name = x.name", {(0, 1)}),
        ("A AS x ; A AS y FILTER y.process.pid = x.process.pid + 2", {(0, 2)}),
        ("A{2} AS x FILTER x[increasing(process.pid)]", {(0, 1), (0, 2), (1, 2)}),
        ("A{2} AS x PARTITION BY [x.process.parent.name]", set()),
        ("A{2} AS x AGGREGATE Y[s = sum(x.process.pid)] FILTER Y[s > 4]", {(1, 2)}),
    ],
)
def test_nested_attributes_are_written_with_dots(
    pattern: str, expected: set[tuple[int, ...]]
) -> None:
    assert supports(pattern, TREE) == expected


def test_nested_attributes_can_be_of_interest() -> None:
    (match,) = run("A AS x FILTER x[process.pid = 2]", TREE, select="x[process.pid, name]")
    (event,) = match.events("x")
    assert list(event.values()) == [2, "ls"]


def test_a_struct_column_of_arrow_is_nested_attributes() -> None:
    kind = pa.struct([("pid", pa.int64()), ("parent", pa.struct([("name", pa.string())]))])
    rows = [{"pid": 1, "parent": {"name": "x"}}, {"pid": 2, "parent": None}, None]
    table = pa.table({"type": ["A"] * 3, "process": pa.array(rows, kind)})
    assert supports("A FILTER A[process.parent.name = 'x']", table) == {(0,)}
    assert supports("A FILTER A[process.pid IS NULL]", table) == {(2,)}


def test_a_column_whose_name_has_a_dot_is_named_in_backquotes() -> None:
    assert kept("`a.b` = 1", [{"a.b": 1}, {"a.b": 2}]) == [0]


def test_a_struct_has_no_value_of_its_own() -> None:
    with pytest.raises(ensue.CeqlError):
        run("A FILTER A[process = 1]", pa.Table.from_pylist(TREE))
