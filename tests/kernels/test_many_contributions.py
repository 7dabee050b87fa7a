"""An event that moves more states than are sorted by insertion, and found by a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.kernels.match.evaluate import MANY, sort_by_start
from ensue.kernels.match.layout import new_pending
from ensue.options import ReadOptions
from tests.effort import costly

TYPES = "ABCDEF"
QUERY = f"SELECT * FROM S WHERE {' ALL '.join(TYPES)} WITHIN 12 EVENTS"


@given(st.lists(st.integers(0, 9), max_size=70))
def test_contributions_are_sorted_by_start_and_equal_ones_stay_in_order(starts: list[int]) -> None:
    pending = new_pending(70, 0)
    pending.start[: len(starts)] = starts
    sort_by_start(pending, len(starts))
    expected = np.argsort(np.array(starts, np.int64), kind="stable")
    assert pending.order[: len(starts)].tolist() == expected.tolist()


def found(text: str, rows: list[dict[str, Any]], **how: Any) -> list[tuple[int, int, str]]:
    matches = find_matches(ensue.compile(text), rows, ReadOptions(), positions_only=False, **how)
    return sorted((m.start, m.end, str(m.bindings)) for m in matches)


@costly
@given(st.lists(st.sampled_from(TYPES), min_size=6, max_size=13), st.booleans())
def test_all_of_six_eq_reference(types: list[str], compact_always: bool) -> None:
    # An event of one type moves the states that lack it, half of 2^6.
    assert 2 ** (len(TYPES) - 1) > MANY
    rows = [{"type": each} for each in (*TYPES, *types)]
    fast = found(QUERY, rows, compact_always=compact_always)
    assert fast == found(QUERY, rows, by_definition=True)
