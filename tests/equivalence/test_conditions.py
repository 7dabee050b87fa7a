"""Conditions between events: the engine against the meaning by definition."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ensue.analysis.context import Clock
from ensue.engine.evaluation import _compiled
from ensue.engine.stream import Options, load
from ensue.language import tree
from tests.equivalence.test_engine import MANY, compiled, found, note, run
from tests.strategies import Language, queries, streams

WITH_CONDITIONS = Language(conditions=True)


@settings(max_examples=MANY)
@given(queries(WITH_CONDITIONS), streams(7), st.booleans())
def test_engine_eq_reference_with_conditions(
    query: tree.Query, rows: list[dict[str, Any]], positions_only: bool
) -> None:
    ready = compiled(query)
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


@settings(max_examples=MANY // 4)
@given(queries(WITH_CONDITIONS), streams(7))
def test_compacted_at_every_event_eq_not_compacted_with_conditions(
    query: tree.Query, rows: list[dict[str, Any]]
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    assert found(run(ready, rows, compact_always=True)) == found(run(ready, rows))
