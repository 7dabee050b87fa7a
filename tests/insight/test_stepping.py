"""Stepping through a stream shows the runs that the definition has, event by event."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given

import ensue
from ensue.insight.stepping import Stepping, step_levels, step_through
from ensue.options import Limits, ReadOptions
from tests.equivalence.test_engine import compiled, run
from tests.insight.test_funnel import rows
from tests.pairs import Pair, pairs
from tests.strategies import Language

WIDE = Language(conditions=True, windows=True)


def stepped(text: str, events: list[dict[str, Any]], **options: Any) -> Stepping:
    return step_through(ensue.compile(text), events, ReadOptions(**options), Limits())


@given(pairs(WIDE))
def test_runs_that_end_at_an_event_eq_the_matches_by_definition(pair: Pair) -> None:
    select = replace(pair.query.select, strategy=None, everything=True, shown=(), columns=())
    query = replace(pair.query, select=select, limit=None, every=None)
    ready = compiled(query)
    if ready is None or not pair.rows:
        return
    found = step_through(ready, pair.rows, ReadOptions(), Limits())
    expected = Counter(match.end for match in run(ready, pair.rows, by_definition=True))
    event(f"automaton: {found.automaton is not None}, matches: {bool(expected)}")
    assert not found.more
    for moment in found.moments:
        assert moment.matches == expected[moment.position]
    plan = ready.plan
    if found.automaton is None or found.late or plan.residual or plan.absence:
        return
    event("runs compared")
    assert [each.completed for each in found.moments] == [
        expected[number] for number in range(len(pair.rows))
    ]


@given(pairs(WIDE))
def test_every_partial_match_is_one_of_the_events_so_far(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    for moment in step_through(ready, pair.rows, ReadOptions(), Limits()).moments:
        assert moment.runs >= sum(each.runs for each in moment.partial)
        assert {each.state for each in moment.partial} <= set(moment.states)
        for partial in moment.partial:
            bound = [at for positions in partial.bindings.values() for at in positions]
            assert all(partial.start <= at <= moment.position for at in bound)


def test_states_and_partial_matches_follow_the_events() -> None:
    found = stepped("SELECT * FROM S WHERE A AS a ; B AS b ; C AS c", rows("A B X C"))
    assert found.automaton is not None
    first, second, third, last = found.moments
    assert (first.started, first.bound, first.runs) == (True, {"a": 1}, 1)
    assert [each.bindings for each in first.partial] == [{"a": [0]}]
    assert second.bound == {"b": 1}
    assert second.runs == 2  # one goes on to C, one waits for another B
    assert len(second.states) == 3
    assert (third.bound, third.states) == ({}, second.states)
    assert (last.completed, last.matches) == (1, 1)


def test_what_ends_partial_matches_is_told() -> None:
    window = stepped("SELECT * FROM S WHERE A ; B WITHIN 1 EVENTS", rows("A X X B"))
    assert [each.expired for each in window.moments] == [0, 0, 1, 0]
    contiguous = stepped("SELECT * FROM S WHERE A : B", rows("A X B"))
    assert [each.stopped for each in contiguous.moments] == [0, 1, 0]
    rising = stepped("SELECT * FROM S WHERE A:{2} FILTER A[increasing(v)]", rows("A3 A2 A5"))
    assert [each.refused for each in rising.moments] == [0, 1, 0]
    assert [each.matches for each in rising.moments] == [0, 0, 1]
    consumed = stepped("SELECT * FROM S WHERE A ; B CONSUME BY ANY", rows("A A B B"))
    assert [each.consumed for each in consumed.moments] == [0, 0, 2, 0]
    assert [each.matches for each in consumed.moments] == [0, 0, 2, 0]


def test_partitions_are_stepped_through_apart() -> None:
    events = [{"type": kind, "k": key} for kind, key in ("A1", "A2", "B1", "B2")]
    found = stepped("SELECT * FROM S WHERE A : B PARTITION BY [k]", events)
    assert [each.matches for each in found.moments] == [0, 0, 1, 1]
    assert [each.completed for each in found.moments] == [0, 0, 1, 1]


def test_many_choices_of_events_are_few_partial_matches() -> None:
    found = stepped("SELECT count(*) FROM S WHERE A ; B+ ; C", rows("A " + "B " * 40 + "C"))
    assert found.moments[-1].completed == 2**40 - 1
    assert len(found.moments[-2].partial) < 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT * FROM S WHERE NEXT((A AS a ; B AS b) FILTER b.v > a.v) ; C",
            "the query is evaluated by definition, without an automaton",
        ),
    ],
)
def test_queries_without_one_automaton_say_so(text: str, why: str) -> None:
    found = stepped(text, rows("A1 B2 C3"))
    assert (found.automaton, found.why, found.moments) == (None, why, ())


def test_a_stream_that_needs_too_many_moves_is_cut() -> None:
    found = stepped("SELECT * FROM S WHERE A ; B ; C", rows("A B " * 1000))
    assert found.more
    assert 50 < len(found.moments) < 2000


CHAIN = (
    "CREATE STREAM D AS SELECT a.v AS v FROM S WHERE A AS a ; B WITHIN 2 EVENTS ; "
    "SELECT * FROM {} WHERE (D AS d ; D AS e) FILTER e.v > d.v"
)


def test_each_query_of_a_chain_is_stepped_through() -> None:
    first, last = step_levels(
        ensue.compile(CHAIN.format("D")), rows("A1 B X A2 B"), ReadOptions(), Limits()
    )
    assert (first.stream, last.stream) == ("D", "")
    assert [each.matches for each in first.moments] == [0, 1, 0, 0, 1]
    assert [each.row for each in first.moments] == [0, 1, 2, 3, 4]
    assert [each.event["v"] for each in last.moments] == [1, 2]
    assert [each.row for each in last.moments] == [1, 4]
    assert [each.bound for each in last.moments] == [{"d": 1}, {"d": 1, "e": 1}]
    assert [each.matches for each in last.moments] == [0, 1]


def test_derived_events_stand_between_those_of_the_input() -> None:
    found = stepped(CHAIN.format("S, D"), rows("A1 B A2 B"), time="ts")
    assert [each.row for each in found.moments] == [0, 1, 1, 2, 3, 3]
    assert [each.matches for each in found.moments] == [0, 0, 0, 0, 0, 1]


def test_what_the_end_decides_is_brought_by_the_last_event() -> None:
    absent = (
        "CREATE STREAM D AS SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 2 [ts]; "
        "SELECT * FROM D WHERE D"
    )
    events = rows("A X B A X")
    found = step_through(ensue.compile(absent), events, ReadOptions(time="ts"), Limits(), until=9)
    assert [each.row for each in found.moments] == [4]
    assert [each.matches for each in found.moments] == [1]
