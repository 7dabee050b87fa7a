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
