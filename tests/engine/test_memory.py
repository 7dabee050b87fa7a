"""What a session keeps follows the window, wherever pushes are cut; ids do not change by it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.engine.session import Session
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode

RATE, EVENTS, PUSH = 200, 16_000, 137
SECONDS = 10 * RATE
"""How many events a window of ten seconds holds."""

SLACK = 2_500
"""So many rows may be kept besides; a push has few, and events of one time are counted in lots."""


def stream(events: int = EVENTS, *, clock: str = "seconds") -> pa.Table:
    """Events at second resolution, or all of one time; every push ends within a second."""
    numbers = range(events)
    return pa.table(
        {
            "type": ["A" if n % 197 == 0 else "B" if n % 193 == 0 else "C" for n in numbers],
            "k": ["rare" if n == 197 else "often" if n % 3 else "other" for n in numbers],
            "v": [n % 7 for n in numbers],
            "t": [n // RATE if clock == "seconds" else 1 for n in numbers],
        }
    )


def told(matches: ensue.Matches) -> list[Any]:
    """Say what was found: ids of matches, or rows of totals."""
    if matches.schema.totals is not None:
        return matches.to_arrow().to_pylist()
    return [match.id for match in matches]


def pushed(session: Any, table: pa.Table, resume: Any = None) -> tuple[list[Any], int, list[int]]:
    """Push a table; return what was found, the most rows kept, and the sizes of snapshots."""
    found, most, sizes = [], 0, []
    for number, first in enumerate(range(0, table.num_rows, PUSH)):
        found += told(session.push(table.slice(first, PUSH)))
        if number % 5 == 4:
            most = max(most, session.stats["rows"])
        if number % 25 == 24:
            block = session.snapshot()
            sizes.append(len(block))
            session = session if resume is None else resume(block)
    return found + told(session.finish()), most, sizes


QUERIES = (
    ("SELECT * FROM S WHERE A ; B WITHIN 10 SECONDS [t]", SECONDS),
    ("SELECT * FROM S WHERE A AS a ; B AS b FILTER b.v = a.v "
     "PARTITION BY [k] WITHIN 10 SECONDS [t]", SECONDS),
    ("SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 40 EVENTS", 25 * PUSH),
    ("SELECT * FROM S WHERE A ; B WITHIN 50 EVENTS", 50),
    ("SELECT a, b, max(a.v) AS top FROM S WHERE A AS a ; B AS b WITHIN 10 SECONDS [t]", SECONDS),
    ("SELECT * FROM S WHERE (A AS x ; B AS y) UNLESS (A AS u ; B AS w FILTER u.v = w.v) "
     "WITHIN 10 SECONDS [t]", SECONDS),
    ("SELECT NEXT * FROM S WHERE A ; B CONSUME BY ANY", SECONDS),
    ("SELECT count(*) AS n, sum(A.v) AS v FROM S WHERE A ; B WITHIN 10 SECONDS [t]", 0),
    ("SELECT count(*) AS n, sum(a.v) AS v FROM S WHERE A AS a ; B AS b FILTER a.v = b.v "
     "PARTITION BY [k] WITHIN 40 EVENTS", 0),
    ("SELECT count(*) AS n FROM S WHERE A AS a ; B AS b FILTER a.v <= b.v WITHIN 10 SECONDS [t] "
     "EVERY 7 SECONDS", 0),
)  # fmt: skip


@pytest.mark.parametrize(("text", "window"), QUERIES)
@pytest.mark.filterwarnings("ignore:.*W504")
def test_rows_and_snapshots_follow_the_window(text: str, window: int) -> None:
    query = ensue.compile(text)
    options = {"time": "t", "time_unit": "s"}
    table = stream()
    whole = query.run(table, **options)
    found, most, sizes = pushed(query.open(**options), table, query.resume)
    assert found == told(whole)
    assert found
    assert most <= 1.5 * window + SLACK
    assert max(sizes) <= 1.5 * sizes[0]


@pytest.mark.filterwarnings("ignore:.*W504")
@pytest.mark.parametrize("text", [QUERIES[2][0], QUERIES[8][0]])
def test_a_key_that_is_rare_does_not_hold_on_to_the_others(text: str) -> None:
    table, session = stream(3 * EVENTS), ensue.compile(text).open(time="t", time_unit="s")
    most = 0
    for first in range(0, table.num_rows, 1_999):
        session.push(table.slice(first, 1_999))
        most = max(most, session.stats["rows"])
    assert most <= 12_000
    assert session.stats["bytes"] <= 16_000_000


@pytest.mark.filterwarnings("ignore:.*W504")
def test_events_of_one_time_do_not_pile_up() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B WITHIN 40 EVENTS")
    table = stream(clock="none")
    found, most, sizes = pushed(query.open(time="t", tiebreak="v"), table, query.resume)
    assert found == told(query.run(table, time="t", tiebreak="v"))
    assert most <= SLACK
    assert max(sizes) <= 1.5 * sizes[0]


def test_many_queries_keep_what_the_longest_window_needs() -> None:
    texts = {
        "short": "SELECT * FROM S WHERE A ; B WITHIN 2 SECONDS [t]",
        "long": "SELECT * FROM S WHERE B ; A PARTITION BY [k] WITHIN 10 SECONDS [t]",
        "counts": "SELECT count(*) AS n FROM S WHERE A ; B WITHIN 30 SECONDS [t]",
    }
    table, rules = stream(), ensue.open(texts, time="t", time_unit="s")
    found: dict[str, list[Any]] = {name: [] for name in texts}
    for first in range(0, table.num_rows, PUSH):
        for name, matches in rules.push(table.slice(first, PUSH)).items():
            found[name] += told(matches)
        if first % 5 == 0:
            assert rules.stats["rows"] <= 1.5 * SECONDS + SLACK
    for name, matches in rules.finish().items():
        found[name] += told(matches)
    for name, matches in ensue.run(texts, table, time="t", time_unit="s").items():
        assert found[name] == told(matches)


def test_events_that_had_to_wait_do_not_pile_up() -> None:
    query, table = ensue.compile(QUERIES[0][0]), stream()
    options = {"time": "t", "time_unit": "s", "lateness": 2}
    found, most, sizes = pushed(query.open(**options), table, query.resume)
    assert found == told(query.run(table, **options))
    assert most <= 1.5 * SECONDS + SLACK
    assert max(sizes) <= 1.5 * sizes[0]


def test_an_evaluation_by_definition_keeps_its_window() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B WITHIN 50 EVENTS")
    mode = ExecutionMode(by_definition=True, warns=False)
    table = stream(6_000, clock="none")
    session = Session(query, ReadOptions(time="t"), mode)
    found, most, _ = pushed(session, table)
    assert found == told(query.run(table, time="t"))
    assert most <= SLACK


def test_a_snapshot_after_one_long_push_holds_what_is_needed() -> None:
    query = ensue.compile(QUERIES[0][0])
    session = query.open(time="t", time_unit="s")
    session.push(stream())
    once = session.snapshot()
    session = query.resume(once)
    assert session.stats["rows"] <= SECONDS
    small = query.open(time="t", time_unit="s")
    small.push(stream(SECONDS))
    assert len(once) <= 1.5 * len(small.snapshot())


def test_a_query_that_is_added_numbers_events_from_then_on() -> None:
    """Wherever the stream was cut before it, its ids are those of a session opened then."""
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 10 SECONDS [t]"
    table, at = stream(9_000), 4_321
    alone = told(ensue.run(text, table.slice(at), time="t", time_unit="s"))
    for size in (50, 999, at):
        rules = ensue.open({"first": QUERIES[0][0]}, time="t", time_unit="s")
        for first in range(0, at, size):
            rules.push(table.slice(first, min(size, at - first)))
        rules.add("later", text)
        rules = ensue.resume(rules.queries, rules.snapshot())
        found = []
        for first in range(at, table.num_rows, size):
            found += told(rules.push(table.slice(first, size))["later"])
        assert found == alone
