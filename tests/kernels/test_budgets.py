"""Queries that need too much stop with a sentence that says how to go on."""

from __future__ import annotations

import pytest

import ensue

HALVES = " ; ".join(f"(ANY AS x{i} FILTER x{i}[v{i} = 1])+" for i in range(6))
EVENTS = [{"type": "A", **{f"v{i}": n >> i & 1 for i in range(6)}} for n in range(64)] * 4


def test_too_many_states_name_the_budget_and_the_way_out() -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE {HALVES} WITHIN 50 EVENTS")
    with pytest.raises(ensue.BudgetError, match=r"5 deterministic states.*max_states="):
        query.run(EVENTS, max_states=5)
    assert query.run(EVENTS, max_states=10_000)


def test_too_many_bytes_name_the_budget_and_the_way_out() -> None:
    query = ensue.compile("SELECT * FROM S WHERE ANY ; ANY ; ANY")
    events = [{"type": "A"}] * 100_000
    with pytest.raises(ensue.BudgetError, match=r"budget of 1,000,000.*max_bytes="):
        query.run(events, max_bytes=1_000_000)


def test_too_many_configurations_name_the_condition_and_the_way_out() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (A AS a ; B AS b ; B AS c) FILTER a.k = b.k AND c.v > b.v"
    )
    events = [{"type": "A", "k": n, "v": 0} for n in range(5000)]
    hint = r"the condition a\.k = b\.k needs .*WITHIN or a PARTITION BY.*max_configurations="
    with pytest.raises(ensue.BudgetError, match=hint):
        query.run(events, max_configurations=1000)
    assert not query.run(events, max_configurations=10_000)


def test_configurations_are_counted_before_every_event() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.v")
    events = [{"type": "A", "v": n} for n in range(150)] + [{"type": "B", "v": 1}]
    assert query.run(events, max_configurations=150).count == 1
    with pytest.raises(ensue.BudgetError, match=r"needs 150 configurations, more than .* 149"):
        query.run(events, max_configurations=149)
    assert query.run(events[:-1], max_configurations=149).count == 0


def test_configurations_that_left_the_window_do_not_count() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.v WITHIN 99 EVENTS"
    )
    events = [{"type": "AB"[n % 50 == 49], "v": n} for n in range(5000)]
    expected = query.run(events).count
    assert query.run(events, max_configurations=100).count == expected
    with pytest.raises(ensue.BudgetError, match=r"the condition a\.v < b\.v"):
        query.run(events, max_configurations=80)


def test_configurations_beyond_the_budget_fit_a_larger_one() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.k = b.k")
    session = query.open(max_configurations=100)
    session.push([{"type": "A", "k": n} for n in range(90)])
    snapshot = session.snapshot()
    more = [{"type": "A", "k": n} for n in range(90, 2000)]
    with pytest.raises(ensue.BudgetError):
        session.push(more)
    session = query.resume(snapshot, max_configurations=10_000)
    session.push(more)
    assert session.push([{"type": "B", "k": 7}, {"type": "B", "k": 1999}]).count == 2
