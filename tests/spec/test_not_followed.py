"""NOT FOLLOWED BY: absence with a deadline, on small streams with answers known by heart."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import ensue
from tests.spec.helpers import NINE, clocked, found, run, spans, stream, timed

HEARTBEAT = "HEARTBEAT NOT FOLLOWED BY HEARTBEAT WITHIN 5 MINUTES PARTITION BY [host]"


def beats(*pairs: tuple[str, int]) -> list[dict[str, object]]:
    return [
        {"type": "HEARTBEAT", "host": host, "ts": NINE + timedelta(minutes=minute)}
        for host, minute in pairs
    ]


def test_a_match_is_reported_when_a_later_event_has_passed_its_deadline() -> None:
    events = timed("A B A C C", [1, 3, 10, 12, 13])
    assert spans("A NOT FOLLOWED BY B WITHIN 2 [t]", events) == [(2, 2)]
    assert spans("A NOT FOLLOWED BY B WITHIN 1 [t]", events) == [(0, 0), (2, 2)]


def test_what_follows_at_the_deadline_is_in_time() -> None:
    events = timed("A B A B C", [1, 3, 10, 13, 20])
    assert spans("A NOT FOLLOWED BY B WITHIN 2 [t]", events) == [(2, 2)]


def test_what_must_not_follow_has_to_begin_after_the_match() -> None:
    events = timed("B A C C C", [1, 2, 3, 4, 9])
    assert spans("A NOT FOLLOWED BY (B ; C) WITHIN 3 [t]", events) == [(1, 1)]
    assert spans("A NOT FOLLOWED BY (C ; C) WITHIN 3 [t]", events) == []
    assert spans("A NOT FOLLOWED BY (C ; C) WITHIN 1 [t]", events) == [(1, 1)]


def test_at_the_end_of_a_stream_what_is_undecided_is_not_reported() -> None:
    events = timed("A A", [1, 3])
    pattern = "A NOT FOLLOWED BY B WITHIN 2 [t]"
    assert spans(pattern, events) == []
    assert spans(pattern, events, until=3) == []
    assert spans(pattern, events, until=4) == [(0, 0)]
    assert spans(pattern, events, until=6) == [(0, 0), (1, 1)]


def test_a_deadline_in_events_passes_with_the_last_of_them() -> None:
    assert spans("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A C C")) == [(0, 0)]
    assert spans("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A C")) == []
    assert spans("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A C B")) == []
    assert spans("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A C C B")) == [(0, 0)]


def test_missing_heartbeats_are_told_by_host_and_deadline() -> None:
    events = beats(("a", 0), ("b", 1), ("a", 4), ("c", 8), ("b", 20))
    matches = run(HEARTBEAT, events, time="ts")
    assert [(m.partition["host"], m.end_time, m.deadline) for m in matches] == [
        ("b", NINE + timedelta(minutes=1), NINE + timedelta(minutes=6)),
        ("a", NINE + timedelta(minutes=4), NINE + timedelta(minutes=9)),
        ("c", NINE + timedelta(minutes=8), NINE + timedelta(minutes=13)),
    ]
    table = matches.to_arrow()
    assert table.column_names[:4] == ["host", "start_time", "end_time", "deadline"]
    assert table["deadline"].type == table["end_time"].type
    assert table["deadline"].to_pylist() == [m.deadline for m in matches]


def test_the_deadline_in_events_is_the_time_of_the_last_of_them() -> None:
    events = timed("A C C A", [1, 4, 9, 11])
    (match,) = run("A NOT FOLLOWED BY B WITHIN 2 EVENTS WITHIN 3 [t]", events)
    assert (match.end_time, match.deadline) == (1, 9)
    (match,) = run("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A C C"))
    assert (match.end_time, match.deadline) == (0, 2)


def test_matches_come_in_the_order_of_their_deadlines() -> None:
    events = [{"type": "A", "k": key} for key in "pqqqpp"]
    matches = run("A NOT FOLLOWED BY B WITHIN 2 EVENTS PARTITION BY [k]", events)
    assert [(m.end, m.deadline) for m in matches] == [(1, 3), (0, 5)]


def test_a_match_without_not_followed_by_has_no_deadline() -> None:
    matches = run("A", stream("A"))
    assert matches[0].deadline is None
    assert "deadline" not in matches.to_arrow().column_names


def test_conditions_may_name_single_events_of_the_match() -> None:
    events = [
        {"type": kind, "s": session, "ts": NINE + timedelta(minutes=minute)}
        for kind, session, minute in [
            ("LOGIN", 1, 0),
            ("LOGIN", 2, 1),
            ("LOGOUT", 2, 5),
            ("LOGIN", 3, 40),
        ]
    ]
    pattern = "LOGIN AS a NOT FOLLOWED BY (LOGOUT AS b FILTER b.s = a.s) WITHIN 30 MINUTES [ts]"
    assert spans(pattern, events) == [(0, 0)]
    assert spans(pattern, events, until=datetime(2026, 2, 1)) == [(0, 0), (3, 3)]


def test_a_filter_may_stand_on_either_side_of_it() -> None:
    events = timed("A1 A2 C C", [1, 2, 3, 9])
    wanted = found("(A FILTER A[v > 1]) NOT FOLLOWED BY B WITHIN 2 [t]", events)
    assert [match[:2] for match in wanted] == [(1, 1)]
    assert found("A FILTER A[v > 1] NOT FOLLOWED BY B WITHIN 2 [t]", events) == wanted
    assert found("A NOT FOLLOWED BY B WITHIN 2 [t] FILTER A[v > 1]", events) == wanted


def test_the_clause_within_is_about_the_match_alone() -> None:
    events = timed("A A B C D", [0, 5, 6, 7, 30])
    assert spans("(A ; B) NOT FOLLOWED BY D WITHIN 10 [t] WITHIN 3 [t]", events) == [(1, 2)]
    assert spans("(A ; B) NOT FOLLOWED BY D WITHIN 2 EVENTS WITHIN 3 [t]", events) == []


def test_consumption_takes_effect_when_a_match_is_decided() -> None:
    events = timed("A B B C D D", [0, 1, 2, 2, 20, 30])
    free = "(A ; B) NOT FOLLOWED BY C WITHIN 1 [t]"
    assert spans(free, timed("A B B D", [0, 1, 2, 20])) == [(0, 1), (0, 2)]
    assert spans(f"{free} CONSUME BY ANY", timed("A B B D", [0, 1, 2, 20])) == [(0, 1)]
    # The first B is followed in time, so it consumes nothing; the second one is not.
    events = timed("A B C B D", [0, 1, 2, 5, 20])
    assert spans(f"{free} CONSUME BY ANY", events) == [(0, 3)]


def test_limit_and_count_are_about_what_is_not_followed() -> None:
    events = timed("A A B D B C D", [0, 1, 2, 5, 6, 7, 20])
    pattern = "(A ; B) NOT FOLLOWED BY C WITHIN 2 [t]"
    assert spans(pattern, events) == [(1, 2), (0, 2)]
    assert spans(f"{pattern} LIMIT 1", events) == [(1, 2)]
    rows = run(pattern, events, select="count(*) AS n").to_arrow().to_pylist()
    assert rows == [{"time": 2, "n": 2}]


def test_counts_of_an_interval_wait_for_the_last_deadline_in_it() -> None:
    events = clocked("A A A", [0, 30, 200])
    text = "SELECT count(*) AS n FROM S WHERE A NOT FOLLOWED BY B WITHIN 90 SECONDS EVERY 1 MINUTE"
    session = ensue.compile(text).open(time="ts")
    assert session.push(events[:2]).count == 0
    assert session.advance(NINE + timedelta(seconds=100)).count == 0
    assert [row["n"] for row in session.push(events[2:])] == [2]
    assert [row["n"] for row in session.finish(at=NINE + timedelta(hours=1))] == [1]


def test_time_alone_decides_what_waits() -> None:
    session = ensue.compile(f"SELECT * FROM S WHERE {HEARTBEAT}").open(time="ts")
    assert session.push(beats(("a", 0), ("b", 3))).count == 0
    assert session.advance(NINE + timedelta(minutes=5)).count == 0
    (match,) = session.advance(NINE + timedelta(minutes=6))
    assert match.partition == {"host": "a"}
    (match,) = session.finish(at=NINE + timedelta(minutes=9))
    assert match.partition == {"host": "b"}


def test_a_session_of_many_queries_decides_each_for_itself() -> None:
    queries = {
        "alarm": f"SELECT * FROM S WHERE {HEARTBEAT}",
        "beats": "SELECT * FROM S WHERE HEARTBEAT",
    }
    with ensue.open(queries, time="ts") as session:
        found = session.push(beats(("a", 0), ("b", 3), ("b", 6)))
        assert {name: each.count for name, each in found.items()} == {"alarm": 1, "beats": 3}
        found = session.finish(at=NINE + timedelta(hours=1))
        assert {name: each.count for name, each in found.items()} == {"alarm": 1, "beats": 0}
    many = ensue.run(queries, beats(("a", 0)), time="ts", until=NINE + timedelta(hours=1))
    assert [each.count for each in many.values()] == [1, 1]


def test_how_far_time_has_come_needs_a_time_column() -> None:
    with pytest.raises(ensue.EventError, match="no time column"):
        run("A NOT FOLLOWED BY B WITHIN 2 EVENTS", stream("A"), until=5)


def test_the_words_are_names_where_nothing_claims_them() -> None:
    assert spans(
        "followed FILTER followed[NOT followed = 1]", [{"type": "followed", "followed": 2}]
    ) == [(0, 0)]
