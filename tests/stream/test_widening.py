"""Integers that become doubles when the first double comes, in sessions and in files."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from tests import seams
from tests.effort import costly

QUERIES = [
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v > 1] AND b[v < 3.2]",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v % 2 = 0] AND b[v / 2 >= 1]",
    "SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [v] WITHIN 6 EVENTS",
    "SELECT a, b, sum(a.v) AS s, max(a.v) AS m FROM S WHERE A+ AS a ; B AS b WITHIN 6 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 6 EVENTS",
]
KEPT = [
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v = b.v",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v != b.v WITHIN 4 EVENTS",
    "SELECT * FROM S WHERE A+ AS a ; B AS b FILTER a.v >= b.v AND a.v < b.w WITHIN 5 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER b.v - a.v > 1",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER b.v - a.w > a.v AND a.w != b.w CONSUME BY ANY",
    "SELECT * FROM S WHERE A+ AS a ; B FILTER a[increasing(v)] WITHIN 5 EVENTS",
    "SELECT * FROM S WHERE ((A AS c ; B+ AS b) PARTITION BY [c.v, b.v]) ; A AS a WITHIN 6 EVENTS",
    "SELECT * FROM S WHERE (A AS a ; B AS b FILTER a.v < b.v)+ WITHIN 5 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B AS b UNLESS (C AS c ; C AS d FILTER c.v < d.v)",
    "SELECT * FROM S WHERE A AS a ; B AS b UNLESS (C AS c FILTER c.v > a.v AND c.v = b.v)",
    "SELECT MAX * FROM S WHERE A AS a ; (MAX (B AS b ; C AS c FILTER b.v < c.v)) WITHIN 5 EVENTS",
    "SELECT a, b FROM S WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY [w]",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.w PARTITION BY [v] WITHIN 9 EVENTS",
    "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v <= b.v LIMIT 1",
    "SELECT count(*), sum(a.v) AS s, avg(a.v) AS g FROM S WHERE A+ AS a ; B AS b WITHIN 6 EVENTS",
    "SELECT count(*), min(a.v) AS l, max(b.v) AS m FROM S WHERE A+ AS a ; B AS b WITHIN 6 EVENTS",
    "SELECT count(*), sum(a.v) AS s, max(a.w) AS m FROM S WHERE A+ AS a ; B AS b "
    "FILTER a.v < b.v WITHIN 6 EVENTS",
    "SELECT count(*) FROM S WHERE A AS a ; B AS b FILTER b.v - a.v > 1 WITHIN 6 EVENTS",
    "SELECT count(*), sum(a.w) AS s FROM S WHERE A+ AS a ; B AS b FILTER b.v - a.w > a.v "
    "PARTITION BY [w] WITHIN 9 EVENTS",
    "SELECT count(*), sum(a.v) AS s FROM S WHERE A+ AS a ; B AS b PARTITION BY [v] WITHIN 9 EVENTS",
    "SELECT count(*), sum(a.v) AS s FROM S WHERE A+ AS a ; B AS b WITHIN 6 SECONDS EVERY 4 SECONDS",
    "SELECT count(*), min(a.v) AS l FROM S WHERE A AS a ; B AS b FILTER a.v < b.v "
    "WITHIN 6 SECONDS EVERY 4 SECONDS",
    "SELECT count(*), max(a.v) AS l FROM S WHERE A AS a ; B AS b PARTITION BY [v] "
    "WITHIN 9 SECONDS EVERY 4 SECONDS",
    "SELECT count(*) FROM S WHERE (A+ AS a AGGREGATE X[s = sum(a.v)]) ; B AS b "
    "FILTER X.s > b.v WITHIN 5 EVENTS",
    "SELECT * FROM S WHERE (A+ AS a AGGREGATE X[s = sum(a.v)]) ; B AS b "
    "FILTER X[s > 2] AND a.v < b.v WITHIN 5 EVENTS",
    "SELECT a, max(a.v) AS m FROM S WHERE A+ AS a ; B AS b FILTER a.v < b.v WITHIN 5 EVENTS",
]
START = datetime(2026, 1, 1)
ROW = st.fixed_dictionaries(
    {"type": st.sampled_from("AB"), "v": st.sampled_from([0, 1, 2, 3, 4, 0.5, 1.5, 2.5, None])}
)


def told(found: ensue.Matches) -> list[dict[str, Any]]:
    """Return matches as text that does not tell 2 from 2.0, those of one end in some order."""
    rows = [{**row, "match_id": 0} for row in found.to_arrow().to_pylist()]
    if rows and "end" in rows[0]:
        rows.sort(key=lambda row: (row["end"], -row["start"], str(row)))
    return json.loads(
        json.dumps(rows, default=str),
        parse_int=float,
    )  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", QUERIES)
@costly
@given(rows=st.lists(ROW, min_size=4, max_size=12), size=st.integers(1, 5))
def test_pushed_eq_whole(rows: list[dict[str, Any]], size: int, text: str) -> None:
    whole = ensue.run(text, rows)
    session = ensue.compile(text).open()
    pushed = [
        each
        for first in range(0, len(rows), size)
        for each in told(session.push(rows[first : first + size]))
    ]
    assert pushed + told(session.finish()) == told(whole)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_files_eq_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str
) -> None:
    rows = [{"type": "ABAB"[at % 4], "v": at % 5 if at < 30 else at % 5 / 2} for at in range(60)]
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("type,v\n" + "".join(f"{row['type']},{row['v']}\n" for row in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seams.CSV_BLOCK.put(monkeypatch, 64)
    seams.JSONL_BLOCK.put(monkeypatch, 64)
    assert told(ensue.run(text, path)) == told(ensue.run(text, rows))


WHOLE = st.sampled_from([0, 1, 2, 3, 4, -1, None])
NUMBER = st.sampled_from([0, 1, 2, 3, 0.5, 1.5, 2.5, -0.5, 3.0, None])


def events(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries({"type": st.sampled_from("AABBC"), "v": numbers, "w": numbers})
    return st.lists(row, min_size=3, max_size=9)


def pushed(
    query: ensue.Query, rows: list[dict[str, Any]], cuts: set[int], saves: set[int]
) -> list[dict[str, Any]]:
    """Return what all pushes complete, with snapshots taken and resumed after some of them."""
    session = query.open(time="t")
    borders = [0, *sorted(cut for cut in cuts if 0 < cut < len(rows)), len(rows)]
    found: list[dict[str, Any]] = []
    for first, last in pairwise(borders):
        found += told(session.push(rows[first:last]))
        if last in saves:
            session = query.resume(session.snapshot())
    return found + told(session.finish())


@pytest.mark.parametrize("part", range(6))
@costly
@given(
    which=st.integers(0, len(KEPT) // 6),
    whole=events(WHOLE),
    mixed=events(NUMBER),
    cuts=st.sets(st.integers(1, 17)),
    saves=st.sets(st.integers(1, 17)),
)
def test_widened_eq_declared(
    part: int,
    which: int,
    whole: list[dict[str, Any]],
    mixed: list[dict[str, Any]],
    cuts: set[int],
    saves: set[int],
) -> None:
    """Integers that become doubles are as doubles from the start, in registers and totals too."""
    text = KEPT[(which * 6 + part) % len(KEPT)]
    rows = [{**row, "t": START + timedelta(seconds=at)} for at, row in enumerate([*whole, *mixed])]
    doubles = {"type": "string", "v": "double", "w": "double", "t": "timestamp"}
    declared = ensue.compile(text, schema=doubles).run(rows, time="t")
    assert pushed(ensue.compile(text), rows, {len(whole), *cuts}, saves) == told(declared)


def test_widened_columns_are_saved() -> None:
    query = ensue.compile(QUERIES[0])
    session = query.open()
    session.push([{"type": "A", "v": 2}])
    session.push([{"type": "A", "v": 2.5}])
    resumed = query.resume(session.snapshot())
    assert resumed.push([{"type": "B", "v": 3}]).count == 2


LARGE = 2**53 + 1


@pytest.mark.parametrize("text", [KEPT[0], KEPT[15], KEPT[16], KEPT[17], QUERIES[4]])
def test_integers_that_are_no_doubles_keep_their_type(text: str) -> None:
    """A double is refused as long as such an integer is needed, and nothing else changes."""
    text = text.partition(" WITHIN ")[0] + " WITHIN 3 EVENTS"
    session, other = ensue.compile(text).open(), ensue.compile(text).open()
    first = [{"type": "A", "v": LARGE, "w": 1}]
    assert told(session.push(first)) == told(other.push(first))
    with pytest.raises(ensue.EventError, match=r"column 'v': 2.5 is of type double, .* 2\^53"):
        session.push([{"type": "B", "v": 2.5, "w": 1}])
    second = [{"type": "B", "v": LARGE + 1.0, "w": 2}]
    assert told(session.push(second)) == told(other.push(second))
    for _ in range(4):
        session.push([{"type": "C", "v": 1, "w": 1}])
        session.push([{"type": "A", "v": 1, "w": 1}])
    assert session.push([{"type": "B", "v": 2.5, "w": 1}]).count > 0


def test_doubles_that_cannot_be_taken_are_collected() -> None:
    session = ensue.compile(KEPT[0]).open(on_error="collect")
    session.push([{"type": "A", "v": LARGE}])
    assert session.push([{"type": "B", "v": LARGE + 0.0}, {"type": "B", "v": 2.5}]).count == 0
    assert [each.event["v"] for each in session.rejected] == [2.5]


def test_integers_in_records_become_doubles() -> None:
    text = "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.m.v < b.m.v"
    session = ensue.compile(text).open()
    session.push([{"type": "A", "m": {"v": 1, "name": "x"}}])
    assert session.push([{"type": "B", "m": {"v": 1.5, "name": "y"}}]).count == 1
    assert session.push([{"type": "B", "m": {"v": 3, "unit": "s"}}]).count == 1


def test_declared_integers_stay_integers() -> None:
    session = ensue.compile(KEPT[0], schema={"type": "string", "v": "int"}).open()
    session.push(pa.table({"type": ["A"], "v": [1]}))
    with pytest.raises(ensue.EventError, match=r"2.5"):
        session.push(pa.table({"type": ["B"], "v": [2.5]}))


@pytest.mark.parametrize("rows", [0, 1])
def test_integers_of_a_table_may_be_declared_as_double(rows: int) -> None:
    session = ensue.compile(KEPT[0], schema={"type": "string", "v": "double"}).open()
    session.push(pa.table({"type": ["A"], "v": [1]}).slice(0, rows))
    assert session.push(pa.table({"type": ["A", "B"], "v": [0.5, 1.5]})).count == 1 + rows


def test_arrow_integers_after_doubles_are_doubles() -> None:
    """The columns of the last batch are no longer those that are known."""
    session = ensue.compile(KEPT[16]).open()
    whole = pa.record_batch({"type": ["A"], "v": [3], "w": [1]})
    for _ in range(2):
        session.push(whole)
    session.push(pa.record_batch({"type": ["A"], "v": [0.5], "w": [1.0]}))
    session.push(whole)
    assert session.push(pa.record_batch({"type": ["B"], "v": [1], "w": [1]})).to_arrow().column(
        "l"
    ).to_pylist() == [0.5]


def test_a_column_without_values_at_first_gets_its_type_later() -> None:
    """A sum of doubles was one of integers, for good, where the first push had NULLs only."""
    query = ensue.compile(KEPT[15])
    session = query.open()
    session.push([{"type": "A", "v": None}])
    session = query.resume(session.snapshot())
    session.push([{"type": "A", "v": 0.5}])
    session = query.resume(session.snapshot())
    assert session.push([{"type": "B", "v": None}]).to_arrow().column("s").to_pylist() == [1.0]


def test_strings_after_nulls_have_a_least_one() -> None:
    query = ensue.compile("SELECT count(*), min(a.v) AS l FROM S WHERE A+ AS a ; B AS b")
    session = query.open()
    session.push([{"type": "A", "v": None}])
    session.push([{"type": "A", "v": "y"}, {"type": "A", "v": "x"}])
    assert session.push([{"type": "B", "v": None}]).to_arrow().column("l").to_pylist() == ["x"]


def test_conditions_on_what_had_no_type_go_on_after_a_snapshot() -> None:
    query = ensue.compile(KEPT[0])
    session = query.open()
    for row in ({"type": "A", "v": None}, {"type": "A", "v": 1}, {"type": "A", "v": 0.5}):
        session.push([row])
        session = query.resume(session.snapshot())
    assert session.push([{"type": "B", "v": 0.75}]).count == 1


PAIRS = "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 2 SECONDS"
TIMES = [("A", 1), ("A", 2.5), ("B", 3), ("B", 4), ("A", 4.25), ("B", 6)]


@pytest.mark.parametrize(("unit", "factor"), [(None, 1), ("s", 1), ("ms", 1e3), ("ns", 1e9)])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_times_declared_as_double_may_be_integers(unit: str, factor: float, size: int) -> None:
    rows = [{"type": kind, "t": at * factor} for kind, at in TIMES]
    whole = ensue.compile(PAIRS).run(rows, time="t", time_unit=unit)
    declared = ensue.compile(PAIRS, schema={"type": "string", "t": "double"})
    session = declared.open(time="t", time_unit=unit)
    pushed = []
    for first in range(0, 6, size):
        some = [{**row, "t": int(row["t"]) if row["t"] % 1 == 0 else row["t"]} for row in rows]
        pushed += told(session.push(some[first : first + size]))
        session = declared.resume(session.snapshot())
    assert pushed == told(whole)
    assert [(row["start"], row["end"]) for row in pushed] == [(1, 2), (0, 2), (1, 3), (4, 5)]


def test_integers_are_times_where_doubles_were() -> None:
    query = ensue.compile(PAIRS)
    session = query.open(time="t")
    session.push([{"type": "A", "t": 1.5}])
    session = query.resume(session.snapshot())
    assert session.push([{"type": "B", "t": 3}]).count == 1
    assert session.push([{"type": "B", "t": 4}]).count == 0


def test_units_of_integers_are_not_those_of_doubles() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A AS a ; B AS b WITHIN 2 [t]")
    with pytest.raises(ensue.CeqlTypeError, match="but this is a double"):
        query.run([{"type": "A", "t": 1.5}])
    session = query.open()
    session.push([{"type": "A", "t": 1}])
    with pytest.raises(ensue.EventError, match="counts in units of an integer column"):
        session.push([{"type": "B", "t": 2.5}])
    assert session.push([{"type": "B", "t": 3}]).count == 1


def test_totals_of_an_interval_stay_those_of_integers() -> None:
    """A row of EVERY is of integers until its interval ends; then doubles are taken."""
    text = "SELECT count(*) FROM S WHERE A AS a ; B AS b FILTER b.v - a.v > 1 EVERY 4 SECONDS"
    rows = [
        {"type": kind, "v": v, "t": START + timedelta(seconds=at)}
        for at, (kind, v) in enumerate([("A", 1), ("B", 3), ("B", 3.5), ("A", 1), ("A", 1)])
    ]
    session = ensue.compile(text).open(time="t")
    session.push(rows[:2])
    with pytest.raises(ensue.EventError, match=r"an interval of EVERY .* declare the column"):
        session.push(rows[2:3])
    (row,) = session.push(rows[3:]).to_arrow().to_pylist()
    assert row["count"] == 1
    assert session.push([{**rows[2], "t": START + timedelta(seconds=5)}]).count == 0
    (row,) = session.finish().to_arrow().to_pylist()
    assert row["count"] == 3
