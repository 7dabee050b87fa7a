"""Section 5, CREATE STREAM D AS SELECT …: rules on rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import ensue
from tests.spec.helpers import NINE, clocked, plain, stream, timed

PAIRS = "CREATE STREAM P AS SELECT *, last(b.v) AS top FROM S WHERE A ; B AS b ; "


def shown(query: str, events: object, **options: Any) -> list[tuple[int, int]]:
    return [(m.start, m.end) for m in ensue.run(query, events, **options)]


def test_matches_are_events_of_the_derived_stream() -> None:
    query = f"{PAIRS} SELECT p FROM P WHERE P AS p WITHIN 0 EVENTS"
    found = ensue.run(query, timed("A B7 C B9", [0, 5, 6, 8]), time="t")
    events = [event for match in found for event in match.events("p")]
    alone = ensue.run(PAIRS.removeprefix("CREATE STREAM P AS ").rstrip(" ;"), [], time="t")
    assert alone.count == 0
    assert [(e["start_time"], e["end_time"], e["top"]) for e in events] == [(0, 5, 7), (0, 8, 9)]
    assert len({e["match_id"] for e in events}) == 2
    assert [(m.start, m.end) for m in found] == [(0, 0), (1, 1)]


def test_a_derived_event_comes_right_after_the_event_that_completed_it() -> None:
    events = timed("A B B C", [0, 1, 1, 1])
    query = f"{PAIRS} SELECT * FROM S, P WHERE ANY:{{6}} AS x"
    (match,) = ensue.run(query, events, time="t")
    assert [event["type"] for event in match.events()] == ["A", "B", "P", "B", "P", "C"]


def test_of_one_end_the_latest_start_comes_first() -> None:
    query = f"{PAIRS} SELECT * FROM S, P WHERE P AS p : P AS q"
    (match,) = ensue.run(query, timed("A A B", [0, 1, 2]), time="t")
    assert [event["start_time"] for event in match.events()] == [1, 0]


def test_partition_attributes_go_along() -> None:
    events = [
        {"type": kind, "user": user, "t": t}
        for t, (kind, user) in enumerate(
            [("A", "u"), ("A", "v"), ("B", "v"), ("B", "u"), ("C", "u")]
        )
    ]
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A ; B PARTITION BY [user] WITHIN 9 [t] ;
        SELECT * FROM S, P WHERE P AS p ; C PARTITION BY [user] WITHIN 9 [t]
    """
    (match,) = ensue.run(query, events)
    assert match.partition == {"user": "u"}
    assert match.events("p")[0]["user"] == "u"


def test_nested_partition_attributes_go_along() -> None:
    rows = [{"type": kind, "who": {"id": n % 2, "x": n}, "t": n} for n, kind in enumerate("AABB")]
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A ; B PARTITION BY [`who.id`] WITHIN 9 [t] ;
        SELECT * FROM P WHERE P AS p PARTITION BY [`who.id`] WITHIN 9 [end_time]
    """
    assert [m.partition for m in ensue.run(query, rows)] == [{"who.id": 0}, {"who.id": 1}]


def test_derived_streams_of_derived_streams() -> None:
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A : B ;
        CREATE STREAM Q AS SELECT *, count(p) AS n FROM P WHERE P{2} AS p WITHIN 10 [end_time] ;
        SELECT * FROM S, P, Q WHERE Q AS q : C
    """
    events = timed("A B A B C A B C", [0, 1, 2, 3, 4, 50, 51, 52])
    (match,) = ensue.run(query, events, time="t")
    assert match.events("q")[0]["n"] == 2
    assert match.end_time == 4


def test_the_time_of_a_derived_event_is_its_end() -> None:
    query = "CREATE STREAM P AS SELECT * FROM S WHERE A ; B WITHIN 9 SECONDS ; SELECT * FROM P "
    events = clocked("A B A B", [0, 8, 10, 11])
    assert shown(f"{query} WHERE P ; P WITHIN 3 SECONDS", events, time="ts") == [(0, 1)]
    assert shown(f"{query} WHERE P ; P WITHIN 2 SECONDS", events, time="ts") == []
    (match,) = ensue.run(f"{query} WHERE P ; P WITHIN 3 SECONDS [end_time]", events, time="ts")
    assert match.start_time == NINE + timedelta(seconds=8)


def test_the_window_of_any_level_names_the_time() -> None:
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A ; B ;
        SELECT * FROM S, P WHERE P AS p ; C WITHIN 5 [t]
    """
    (match,) = ensue.run(query, timed("A B C", [0, 10, 15]))
    assert match.events("p")[0]["end_time"] == 10


def test_without_a_time_it_is_the_position() -> None:
    query = f"{PAIRS} SELECT p FROM P WHERE P AS p WITHIN 0 EVENTS"
    (match,) = ensue.run(query, stream("C A C B"))
    assert [match.events("p")[0][name] for name in ("start_time", "end_time")] == [1, 3]


def test_a_session_pushes_matches_on_and_a_snapshot_holds_the_chain() -> None:
    query = ensue.compile(f"{PAIRS} SELECT * FROM S, P WHERE P AS p ; C WITHIN 3 EVENTS")
    session, counts = query.open(time="t"), []
    for row in timed("A B C A B C", [0, 1, 2, 3, 4, 5]):
        counts.append(session.push(row).count)
        session = query.resume(session.snapshot())
    assert counts == [0, 0, 1, 0, 0, 2]


def test_beside_other_queries_each_finds_what_it_finds_alone() -> None:
    chain = f"{PAIRS} SELECT * FROM P WHERE P ; P WITHIN 9 EVENTS"
    other = "SELECT * FROM S WHERE A ; C"
    events = timed("A B C B C", [0, 1, 2, 3, 4])
    found = ensue.run({"chain": chain, "other": other}, events, time="t")
    assert plain(found["other"]) == plain(ensue.run(other, events, time="t"))
    assert [m.positions for m in found["chain"]] == [[0, 1]]


def test_counts_and_intervals_of_derived_events() -> None:
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A : B ;
        SELECT count(*) AS n FROM P WHERE P WITHIN 0 EVENTS EVERY 10 SECONDS
    """
    session = ensue.compile(query).open(time="t", time_unit="s")
    rows = timed("A B A B C A B", [0, 1, 2, 3, 25, 26, 27])
    found = [row["n"] for row in session.push(rows)]
    assert found == [2], "time has passed the first interval"
    assert [row["n"] for row in session.finish()] == [1]


def test_nothing_following_on_one_level_feeds_another() -> None:
    query = """
        CREATE STREAM Lost AS SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 5 [t] ;
        SELECT * FROM S, Lost WHERE Lost AS l ; C WITHIN 10 [t]
    """
    (match,) = ensue.run(query, timed("A B A C C", [0, 4, 10, 12, 20]))
    assert match.events("l")[0]["end_time"] == 10
    assert [event["t"] for event in match.events()] == [15, 20]


def test_time_of_the_input_passes_for_streams_of_derived_events() -> None:
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A : B ;
        SELECT * FROM P WHERE P NOT FOLLOWED BY P WITHIN 5 [end_time]
    """
    session = ensue.compile(query).open(time="t")
    assert session.push(timed("A B C", [0, 1, 6])).count == 0
    assert session.push(timed("C", [7])).count == 1


def test_integers_become_doubles_on_all_levels() -> None:
    query = ensue.compile(
        f"{PAIRS} SELECT *, sum(p.top) AS s FROM P WHERE P{{2}} AS p FILTER p[top > 0]"
    )
    session = query.open(time="t")
    session.push([{"type": "A", "t": 0}, {"type": "B", "v": 1, "t": 1}])
    found = session.push([{"type": "B", "v": 2.5, "t": 2}])
    assert [match.computed()[0]["s"] for match in found] == [3.5]


def test_streams_of_the_input_are_told_apart() -> None:
    query = """
        CREATE STREAM P AS SELECT * FROM S WHERE A ;
        SELECT * FROM R, P WHERE P : R>A
    """
    tables = {name: pa.table({"type": ["A"], "t": [t]}) for name, t in (("S", 1), ("R", 2))}
    found = ensue.run(query, tables, time="t")
    assert [m.positions for m in found] == [[0, 1]]


def test_explain_draws_the_chain() -> None:
    text = ensue.compile(f"{PAIRS} SELECT * FROM S, P WHERE P ; C").explain()
    assert "S    ──▶ P\n  S, P ──▶ the query" in text


def test_a_chain_that_stopped_at_a_budget_goes_on_with_a_larger_one() -> None:
    query = ensue.compile(f"{PAIRS} SELECT * FROM P WHERE (P AS p ; P AS q) FILTER p.top = q.top")
    session = query.open(time="t", max_configurations=3)
    words = "A B1 B2 B3 B4 B5 B6"
    for rows in (timed(words, range(7)), timed(words, range(7, 14))):
        with pytest.raises(ensue.BudgetError, match="max_configurations"):
            session.push(rows)
    resumed = query.resume(session.snapshot(), max_configurations=100)
    again = timed("A B1 B1", range(14, 17))
    assert resumed.push(again).count > 0
