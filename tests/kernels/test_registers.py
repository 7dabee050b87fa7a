"""A hand-made automaton with two registers, through evaluation, compaction and enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.kernels.layout import (
    AT_LEAST,
    DEAD,
    EQUAL,
    KEEP,
    MORE,
    NIL,
    PUT,
    STAY,
    Tables,
)
from ensue.kernels.match.driver import MatchDriver

QUERY = """
    SELECT a, b, c FROM S
    WHERE (A AS a ; B AS b ; C AS c) FILTER b.v > a.v AND c.v = a.v AND c.w >= b.w
    WITHIN 5 EVENTS
"""

NO, A, B, C = range(4)
V, W = 0, 1


class HandMade:
    """The automaton of QUERY: register 0 holds a.v, register 1 holds b.w."""

    indexes = (0,)
    ordered = (False,)
    common = frozenset[tuple[int, int, int]]()
    lazy_targets: tuple[int, ...] = ()

    def arrays(self, _: int) -> Tables:
        cells = np.full((3, 4), STAY, np.int32)
        cells[0] = DEAD
        cells[0, A], cells[1, B], cells[2, C] = 0, 1, 2
        # Steps: a opens; wait, or b; wait, or c closes.
        keep, put = [KEEP, 0], PUT
        return Tables(
            cells,
            rows=np.array([0, 1, 3, 5], np.int32),
            labels=np.array([1, 0, 2, 0, 3], np.int32),
            finals=np.array([False, False, False, False, True]),
            targets=np.array([1, 1, 2, 2, NIL], np.int32),
            inert=np.array([True, False, False, False]),
            guard_rows=np.array([0, 0, 0, 1, 1, 3], np.int32),
            guards=np.array([[0, MORE, V], [0, EQUAL, V], [1, AT_LEAST, W]], np.int32),
            actions=np.array(
                [
                    [[put, V], keep],
                    [keep, keep],
                    [keep, [put, W]],
                    [keep, keep],
                    [keep, keep],
                ],
                np.int32,
            ),
            access=np.array([NIL, NIL, NIL, NIL, 0], np.int32),
            indexes=np.array(self.indexes, np.int32),
            ordered=np.array(self.ordered),
            indexed=np.array([[False], [False], [True]]),
            prefixes=np.array([NIL], np.int32),
            merges=np.zeros(5, bool),
            lazy=np.zeros(5, bool),
            lazy_targets=np.full(3, NIL, np.int32),
            clips=np.full(5, NIL),
        )


def events() -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries(
        {"type": st.sampled_from("ABCD"), "v": st.integers(0, 2), "w": st.integers(0, 2)}
    )
    return st.lists(row, min_size=1, max_size=12)


@pytest.mark.parametrize("compact_always", [False, True])
@given(rows=events())
def test_registers_eq_reference(compact_always: bool, rows: list[dict[str, Any]]) -> None:
    evaluator = MatchDriver(
        HandMade(),  # type: ignore[arg-type]
        window=5,
        registers=2,
        compact_always=compact_always,
    )
    symbols = np.array([{"A": A, "B": B, "C": C}.get(row["type"], NO) for row in rows], np.int32)
    values = np.array([[row["v"], row["w"]] for row in rows], np.int64)
    positions = np.arange(len(rows), dtype=np.int64)
    segments = evaluator.push(symbols, positions, np.zeros(0, np.int32), 0, [0] * 4, values=values)
    found = []
    for segment in segments:
        for listing in segment.listings():
            found += listing.position.reshape(-1, 3).tolist()
            assert set(listing.label.reshape(-1, 3).ravel().tolist()) <= {1, 2, 3}
    expected = [[m.bindings[name][0] for name in "abc"] for m in ensue.run(QUERY, rows)]
    assert sorted(found) == sorted(expected)


def test_configurations_with_equal_contents_are_one() -> None:
    evaluator = MatchDriver(HandMade(), registers=2)  # type: ignore[arg-type]
    symbols = np.full(1000, A, np.int32)
    values = np.stack([np.arange(1000) % 7, np.zeros(1000, np.int64)], axis=1)
    list(
        evaluator.push(
            symbols,
            np.arange(1000, dtype=np.int64),
            np.zeros(0, np.int32),
            0,
            [0] * 4,
            values=values,
        )
    )
    assert np.count_nonzero(evaluator.configurations.slots.heads != NIL) == 1
    assert int(evaluator.counters[2]) == 7, "one configuration for each content of the register"
