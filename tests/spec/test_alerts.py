"""Matches carry what an alert needs, and are listed only as far as somebody asks."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ensue

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVENTS = [
    {"type": kind, "user": user, "at": NOON + timedelta(seconds=n), "v": n}
    for n, (kind, user) in enumerate(["Aa", "Ab", "Ba", "Ba", "Bb"])
]
TEXT = "SELECT x, y[v] FROM S WHERE A AS x ; B AS y PARTITION BY [user] WITHIN 1 HOUR"
BEGIN = ["query", "user", "start_time", "end_time", "match_id", "start", "end"]


def found(text: str = TEXT, **options: Any) -> ensue.Matches:
    return ensue.compile(text, name="pairs").run(EVENTS, time="at", **options)


# what a row has


def test_a_row_has_the_query_the_keys_the_times_and_the_id() -> None:
    matches = found()
    table = matches.to_arrow()
    assert table.column_names == [*BEGIN, "x", "y"]
    first = matches[0]
    assert table.slice(0, 1).to_pylist()[0] == {
        "query": "pairs",
        "user": "a",
        "start_time": NOON,
        "end_time": NOON + timedelta(seconds=2),
        "match_id": first.id,
        "start": 0,
        "end": 2,
        "x": [0],
        "y": [2],
    }
    assert (first.query, first.start_time) == ("pairs", NOON)
    assert first.end_time == NOON + timedelta(seconds=2)


def test_times_of_events_without_times_are_positions() -> None:
    (match,) = ensue.run("SELECT * FROM S WHERE A ; B", [{"type": "A"}, {"type": "B"}])
    assert (match.start_time, match.end_time, match.query) == (0, 1, None)


def test_times_in_nanoseconds_are_datetimes_too() -> None:
    table = pa.table({"type": ["A"], "t": pa.array([1_500_000_001], pa.timestamp("ns"))})
    (match,) = ensue.run("SELECT * FROM S WHERE A", table, time="t")
    assert match.start_time == datetime(1970, 1, 1, 0, 0, 1, 500_000)


@pytest.mark.parametrize("as_session", [False, True])
def test_queries_that_run_together_have_their_names(as_session: bool) -> None:
    queries = {"one": TEXT, "two": ensue.compile("SELECT count(*) FROM S WHERE A", name="other")}
    if as_session:
        every = ensue.open(queries, time="at").push(EVENTS)
    else:
        every = ensue.run(queries, EVENTS, time="at")
    for name, matches in every.items():
        assert set(matches.to_arrow().column("query").to_pylist()) == {name}
    assert every["two"].to_arrow().column_names == ["query", "time", "count"]
    assert every["one"][0].query == "one"


def test_queries_that_are_run_one_by_one_after_all_keep_their_names() -> None:
    """No register holds such integers beside doubles, so each query is evaluated on the whole."""
    text = "SELECT * FROM S WHERE (A AS x ; B AS y) FILTER x.v = y.w"
    table = pa.table(
        {"type": ["A", "B"], "v": pa.array([2**60 + 1, 0]), "w": pa.array([0.0, 2.0**60])}
    )
    (matches,) = ensue.run({"mine": ensue.compile(text, name="other")}, table).values()
    assert "query" in matches.to_arrow().column_names
    assert matches.schema.query == "mine"


def test_a_query_is_named_like_its_file() -> None:
    assert ensue.compile(TEXT, name="rules/guessed.ceql").name == "guessed"
    assert ensue.compile(TEXT).name is None


def test_names_that_are_taken_get_an_underscore() -> None:
    events = [{"type": "A", "start": 1, "match_id": 2}]
    text = "SELECT x, max(x.start) AS query FROM S WHERE A AS x PARTITION BY [match_id]"
    table = ensue.compile(text, name="mine").run(events).to_arrow()
    assert table.column_names == [
        "query",
        "match_id",
        "start_time",
        "end_time",
        "match_id_",
        "start",
        "end",
        "x",
        "query_",
    ]


def test_columns_are_chosen() -> None:
    matches = found()
    assert matches.to_arrow(ids=False).column_names == [
        name for name in [*BEGIN, "x", "y"] if name != "match_id"
    ]
    some = matches.to_arrow(columns=["end", "user"])
    assert some.to_pylist()[0] == {"end": 2, "user": "a"}
    assert list(matches.to_pandas(columns=["x"]).columns) == ["x"]
    assert matches.to_polars(columns=["x"]).columns == ["x"]
    with pytest.raises(ensue.EnsueError, match="no column 'start_tim'; did you mean 'start_time'"):
        matches.to_arrow(columns=["start_tim"])


# one row an event


def test_every_event_is_a_row() -> None:
    rows = found(TEXT.replace("x, y[v]", "*")).to_arrow(long=True).to_pylist()
    assert [row["position"] for row in rows] == [0, 2, 0, 3, 1, 4]
    assert [row["variables"] for row in rows[:2]] == [["A", "x"], ["B", "y"]]
    names = [*BEGIN, "position", "variables", "type", "at", "v"]
    assert list(rows[0]) == names
    for row in rows:
        event = EVENTS[row["position"]]
        assert {name: row[name] for name in event} == event


def test_only_attributes_of_interest_are_in_rows_of_events() -> None:
    rows = found().to_arrow(long=True, ids=False).to_pylist()
    assert [(row["type"], row["v"]) for row in rows[:2]] == [("A", 0), (None, 2)]
    assert found("SELECT x[v] FROM S WHERE A AS x ; B").to_arrow(
        long=True, columns=["variables", "v"]
    ).to_pylist() == [{"variables": ["x"], "v": v} for v in (1, 0, 1, 0, 1, 0)]


def test_computed_columns_are_in_every_row_of_events() -> None:
    text = "SELECT x, max(y.v) AS top FROM S WHERE A AS x ; B{2} AS y WITHIN 1 HOUR"
    rows = found(text).to_arrow(long=True).to_pylist()
    assert {(row["end"], row["top"]) for row in rows} == {(3, 3), (4, 4)}


def test_positions_are_rows_of_events_too() -> None:
    table = found(TEXT.replace("x, y[v]", "*"), output="positions").to_arrow(long=True)
    assert table.column("position").to_pylist() == [0, 2, 0, 3, 1, 4]
    assert "variables" not in table.column_names


@pytest.mark.parametrize("select", ["NONE", "count(*)"])
def test_there_is_no_row_an_event_without_events(select: str) -> None:
    with pytest.raises(ensue.EnsueError, match="no event"):
        found(TEXT.replace("x, y[v]", select)).to_arrow(long=True)


def test_tables_of_no_matches_have_the_same_columns() -> None:
    none = ensue.compile(TEXT, name="pairs").run(EVENTS[:2], time="at")
    for how in ({}, {"long": True}, {"events": True}, {"ids": False}):
        assert none.to_arrow(**how).schema == found().to_arrow(**how).schema


# some of them

RUNS = "SELECT * FROM S WHERE A+ AS x"
REFINED = "SELECT * FROM S WHERE A+ AS x AGGREGATE Y[n = count(x)] FILTER Y[n > 1]"
COUNTED = "SELECT count(*) AS n FROM S WHERE A+"


@pytest.mark.parametrize("text", [RUNS, REFINED, COUNTED, RUNS + " LIMIT 2"])
@pytest.mark.parametrize("live", [False, True])
def test_slices_are_those_of_a_list(text: str, live: bool) -> None:
    rows = [{"type": "A", "v": n} for n in range(6)]

    def matches() -> ensue.Matches:
        batches = iter([pa.RecordBatch.from_pylist(rows[:2]), pa.RecordBatch.from_pylist(rows[2:])])
        if live:
            schema = pa.schema([("type", pa.string()), ("v", pa.int64())])
            return ensue.run(text, pa.RecordBatchReader.from_batches(schema, batches))
        return ensue.run(text, rows)

    every = list(matches())
    whole = matches().to_arrow()
    for begin, end in (
        (0, 3),
        (2, 5),
        (None, 2),
        (1, None),
        (-3, None),
        (-4, -2),
        (4, 2),
        (99, 101),
    ):
        some = matches()[begin:end]
        assert isinstance(some, ensue.Matches)
        assert list(some) == every[begin:end]
        assert some.count == len(every[begin:end])
        low, high, _ = slice(begin, end).indices(len(every))
        assert some.to_arrow().to_pylist() == whole.to_pylist()[low:high]
    assert list(matches().head(4)) == every[:4]
    assert list(matches().head(0)) == list(matches().head(-1)) == []
    assert len(matches().head(10**6)) == len(every)
    with pytest.raises(ValueError, match="no step"):
        matches()[::2]


def test_the_first_matches_of_a_stream_are_found_without_reading_all() -> None:
    read = []

    def batches() -> Any:
        for n in range(1000):
            read.append(n)
            yield pa.RecordBatch.from_pylist([{"type": "A"}] * 1000)

    schema = pa.schema([("type", pa.string())])
    matches = ensue.run(
        "SELECT * FROM S WHERE A", pa.RecordBatchReader.from_batches(schema, batches())
    )
    assert [match.start for match in matches.head(3)] == [0, 1, 2]
    assert len(read) < 100


# too many

MANY = [{"type": "A"}] * 40
NUMBER = 2**40 - 1


@pytest.mark.parametrize("how", ["to_arrow", "to_pandas", "to_polars", "to_list"])
def test_more_rows_than_memory_holds_are_refused_with_their_number(how: str) -> None:
    matches = ensue.run(RUNS, MANY)
    with pytest.raises(ensue.BudgetError, match=f"there are {NUMBER:,} matches, and at most 5,000"):
        getattr(matches, how)()
    assert matches.count == len(matches) == NUMBER
    assert repr(matches) == f"Matches({NUMBER:,})"
    assert len(getattr(matches.head(7), how)()) == 7


def test_a_bound_is_chosen() -> None:
    matches = ensue.run(RUNS, MANY[:10])
    assert matches.to_arrow(max_rows=1023).num_rows == 1023
    with pytest.raises(ensue.BudgetError, match=r"1,023 matches.*max_rows= \(None"):
        matches.to_arrow(max_rows=1022)
    assert matches.to_arrow(max_rows=None).num_rows == 1023
    with pytest.raises(ensue.BudgetError, match="more than 2,000 rows"):
        matches.to_arrow(long=True, max_rows=2000)


def test_what_has_to_be_listed_to_be_counted_is_listed_up_to_the_bound() -> None:
    text = "SELECT * FROM S WHERE A+ AS x AGGREGATE Y[m = max(x.v)] FILTER Y[m > 0]"
    matches = ensue.run(text, [{"type": "A", "v": n} for n in range(40)])
    with pytest.raises(ensue.BudgetError, match="more than 1,000 rows"):
        matches.to_arrow(max_rows=1000)
    with pytest.raises(ensue.BudgetError, match="more than 1,000 matches"):
        matches.to_list(max_rows=1000)
    assert repr(matches) == "Matches(at least 10,001)"


def test_many_events_with_many_matches_are_counted_as_far_as_needed() -> None:
    matches = ensue.run(f"{RUNS} WITHIN 300 EVENTS", [{"type": "A"}] * 900)
    with pytest.raises(ensue.BudgetError, match=r"there are (at least )?[0-9,]{10,} matches"):
        matches.to_arrow()


# elsewhere


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "SELECT *, max(y.v) AS top FROM S WHERE A AS x ; B+ AS y PARTITION BY [user] WITHIN 1 HOUR",
        "SELECT * FROM S WHERE A+ AS x ; B AS y FILTER x.v < y.v WITHIN 1 HOUR",
        "SELECT NONE FROM S WHERE A ; B WITHIN 1 HOUR",
    ],
)
def test_a_match_is_the_same_elsewhere(text: str) -> None:
    matches = found(text)
    for match in matches:
        for other in (pickle.loads(pickle.dumps(match)), copy.deepcopy(match)):
            assert other == match
            assert other.id == match.id
            assert other.events() == match.events()
            assert (other.partition, other.bindings) == (match.partition, match.bindings)
            assert (other.start_time, other.end_time) == (match.start_time, match.end_time)
    there = pickle.loads(pickle.dumps(matches))
    assert list(there) == list(matches)
    assert there.to_arrow(events=True).equals(matches.to_arrow(events=True))
    assert there.stats == matches.stats


def test_ids_elsewhere_are_those_among_events_of_one_time() -> None:
    rows = [{"type": "A", "t": 1, "n": n} for n in range(5)]
    matches = ensue.run("SELECT * FROM S WHERE A FILTER A[n > 2]", rows, time="t")
    there = pickle.loads(pickle.dumps(matches))
    assert [m.id for m in there] == [m.id for m in matches]


def test_a_pickle_has_no_other_events() -> None:
    rows = [{"type": "A", "text": "x" * 100}, *({"type": "C", "text": "y" * 100},) * 1000]
    (match,) = ensue.run("SELECT * FROM S WHERE A", rows)
    assert b"y" * 100 not in pickle.dumps(match)


def test_totals_are_the_same_elsewhere() -> None:
    matches = found("SELECT count(*) AS n FROM S WHERE A ; B PARTITION BY [user] EVERY 1 MINUTE")
    there = pickle.loads(pickle.dumps(matches))
    assert list(there) == list(matches)
    assert there.to_arrow().equals(matches.to_arrow())


def test_too_many_matches_are_not_pickled() -> None:
    with pytest.raises(ensue.BudgetError, match="at most 5,000,000 are pickled"):
        pickle.dumps(ensue.run(RUNS, MANY))


# at a prompt


def test_show_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    found().show(1)
    shown = capsys.readouterr().out
    assert "2026-01-31 12:00:00Z" in shown
    assert shown.splitlines()[-1] == "the first 1 match; matches.count says how many"
    found().show(events=False)
    assert len(capsys.readouterr().out.splitlines()) >= 5
    found("SELECT * FROM S WHERE C").show()
    assert capsys.readouterr().out == "no matches\n"
    found("SELECT count(*) FROM S WHERE A").show()
    assert "count" in capsys.readouterr().out
    ensue.run(RUNS, MANY).show(3)
    assert "the first 3 matches" in capsys.readouterr().out


def test_a_notebook_shows_the_first_matches() -> None:
    html = ensue.run(RUNS, MANY)._repr_html_()
    assert f"{NUMBER:,} matches, the first 20" in html
    assert html.count("<tr>") == 21
