"""Conditions between events: the engine against the meaning by definition."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import ensue
from ensue.analysis.context import Clock
from ensue.engine.intake import load
from ensue.engine.program import compiled as _compiled
from ensue.engine.stream import Options
from tests.equivalence.test_engine import MANY, compiled, found, note, run
from tests.pairs import Pair, pairs
from tests.strategies import Language

WITH_CONDITIONS = Language(conditions=True)


@settings(max_examples=MANY * 2)
@given(pairs(WITH_CONDITIONS), st.booleans())
def test_engine_eq_reference_with_conditions(pair: Pair, positions_only: bool) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    fast = run(ready, rows, positions_only=positions_only)
    note(expected)
    loaded = load(rows, ["S"], Options())
    bound = ready.bind(loaded.schema(), Clock(known=True))
    event(f"fast path: {_compiled(bound, positions_only) is not None}")
    assert found(fast) == found(expected)
    assert fast.count == expected.count


@settings(max_examples=MANY)
@given(pairs(WITH_CONDITIONS))
def test_compacted_at_every_event_eq_not_compacted_with_conditions(pair: Pair) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    assert found(run(ready, rows, compact_always=True)) == found(run(ready, rows))


def test_values_that_no_register_holds_are_compared_by_definition() -> None:
    query = ensue.compile("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v < b.w")
    rows = [
        {"type": "A", "v": 2**60 + 1, "w": 0.5},
        {"type": "B", "v": 0, "w": float(2**60)},
        {"type": "B", "v": 0, "w": float(2**61)},
    ]
    assert [(m.start, m.end) for m in query.run(rows)] == [(0, 2)]
    with pytest.raises(ensue.EventError, match="pass the events as a table"):
        list(query.run(iter(rows)))
