"""The funnel of a query: its numbers are those of the engine, and what stopped starts is named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.insight.evaluation import Sample, look_at
from ensue.insight.funnel import Funnel
from ensue.options import Limits, ReadOptions


def rows(text: str) -> list[dict[str, Any]]:
    """Make events from words such as A3: type A, v = 3, and times 0, 1, 2, …"""
    return [
        {"type": word[0], "v": int(word[1:] or 0), "ts": time}
        for time, word in enumerate(text.split())
    ]


def funnel(where: str, events: str, **options: Any) -> Funnel:
    return ensue.compile(f"SELECT * FROM S WHERE {where}").funnel(rows(events), **options)


def stopped(found: Funnel) -> list[tuple[str, str, int]]:
    return [(each.kind, each.text, each.starts) for step in found.steps for each in step.endings]


@pytest.mark.parametrize(
    ("where", "events", "expected"),
    [
        ("A ; B", "A A B A", [("no further event", "no further B", 1)]),
        ("A ; B WITHIN 1 EVENTS", "A C B A B", [("window", "WITHIN 1 EVENTS", 1)]),
        ("((A ; B) WITHIN 1 [ts]) ; C", "A X B C", [("window", "WITHIN 1 [ts]", 1)]),
        ("A : B", "A C B A B", [("contiguity", "A : B", 1)]),
        ("(A ; B) UNLESS C", "A C B A B", [("UNLESS", "UNLESS C", 1)]),
        (
            "(A AS a ; B AS b) FILTER b[v > 2 AND v < 9] AND b.v > a.v",
            "A1 B1 X A5 B4",
            [("condition", "b.v > a.v", 1)],
        ),
        (
            "(A AS a ; B AS b) FILTER b[v > 2 AND v < 9]",
            "A B1",
            [("condition", "b[v > 2]", 1)],
        ),
        (
            "(A AS a ; B AS b) FILTER b[v > 2] WITHIN 1 EVENTS",
            "A X X B1",
            [("several", "several of these together", 1)],
        ),
        ("(A ; B ; C)", "A B A C", [("no further event", "no further B", 1)]),
    ],
)
def test_what_stopped_a_start_is_named(
    where: str, events: str, expected: list[tuple[str, str, int]]
) -> None:
    assert stopped(funnel(where, events)) == expected


def test_a_condition_is_missed_by_so_much() -> None:
    found = funnel("(A AS a ; B AS b) FILTER b[v > 2 * 5] AND b.v > a.v", "A20 B3 B13 B11")
    (ending,) = found.steps[1].endings
    assert (ending.text, ending.starts, ending.closest) == ("b.v > a.v", 1, "13 is not > 20")
    assert "1 stopped by b.v > a.v (the closest: 13 is not > 20)" in str(found)


def test_the_closest_value_is_looked_for_among_the_starts_that_were_stopped() -> None:
    """1,600 partial matches of other starts come before those of the start that was stopped."""
    found = funnel("(A AS a ; B AS b) FILTER b.v > a.v", "A0 " * 40 + "B1 " * 40 + "A20 B3 B13")
    (ending,) = found.steps[1].endings
    assert (ending.starts, ending.closest) == (1, "13 is not > 20")


def test_events_are_those_that_satisfy_a_step_by_themselves() -> None:
    found = funnel("(A AS a ; (B AS b)+) FILTER a[v > 1] AND b.v = a.v AND b[v < 9]", "A1 A2 B9 B3")
    assert [(step.of_type, step.events) for step in found.steps] == [(2, 1), (2, 1)]


def test_stages_follow_the_clauses() -> None:
    query = ensue.compile("SELECT LAST * FROM S WHERE A ; B AS b CONSUME BY ANY LIMIT 1")
    found = query.funnel(rows("A A B B"))
    assert [(stage.clause, stage.matches) for stage in found.stages] == [
        ("pattern", 4),
        ("SELECT LAST *", 2),
        ("CONSUME BY ANY", 1),
        ("LIMIT 1", 1),
    ]


def test_what_follows_is_a_stage() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 1 EVENTS")
    found = query.funnel(rows("A B A C C"))
    assert [stage.matches for stage in found.stages] == [2, 1]


def test_a_sample_is_said() -> None:
    found = funnel("A ; B", "A B A B A B", most_events=3)
    assert (found.sample.events, found.sample.more, found.matches) == (3, True, 1)
    assert "the first 3 events" in str(found)
    whole = funnel("A ; B", "A B", most_events=2)
    assert not whole.sample.more


def test_numbers_beyond_the_limits_are_not_known() -> None:
    where = "(A AS a ; (B AS b)+ ; C AS c) FILTER b.v + a.v > c.v"
    found = funnel(where, "A1" + " B1" * 15 + " C1")
    assert found.steps[-1].runs is None
    assert "?" in str(found)


def test_values_are_no_html() -> None:
    found = ensue.compile("SELECT * FROM S WHERE A AS a FILTER a[k = '<b>&']").funnel(
        [{"type": "A", "k": "<script>"}]
    )
    shown = found._repr_html_()
    assert "<b>&" not in shown
    assert "<script>" not in shown


def test_streams_are_given_by_name() -> None:
    query = ensue.compile("SELECT * FROM S, T WHERE S>A ; T>B WITHIN 9 [ts]")
    left, right = [{"type": "A", "ts": 1}], [{"type": "B", "ts": 2}]
    assert query.funnel({"S": left, "T": right}).matches == 1


@pytest.mark.parametrize("ask", ["funnel", "near_misses"])
def test_a_mistake_is_shown_in_the_query_as_it_was_written(ask: str) -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B AS b FILTER b[v > 1 AND v > 'x']")
    with pytest.raises(ensue.CeqlTypeError) as caught:
        getattr(query, ask)(rows("A1 B1"))
    shown = str(caught.value)
    assert "--> query:1:53" in shown
    assert query.source.text in shown


@pytest.mark.parametrize(
    ("seconds", "sample"), [(0.1, 50_000), (1, 50_000), (2, 30_000), (9, 20_000)]
)
def test_of_a_slow_query_fewer_events_are_looked_at(seconds: float, sample: int) -> None:
    query = ensue.compile("SELECT * FROM S WHERE A : B")
    events = pa.table({"type": pa.array(["A", "B"] * 25_000)})
    clock = iter(number * seconds for number in range(9))
    kept = look_at(query, events, ReadOptions(), Limits(), None, None, lambda: next(clock))
    assert kept.sample == Sample(sample, sample < 50_000)
