"""The event store keeps what is needed and no more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ensue.engine.store import Store
from ensue.engine.stream import Stream


def stretch(times: list[int], first: int) -> Stream:
    table = pa.table({"ts": pa.array(times, pa.int64())})
    types = pa.chunked_array([pa.array(["A"] * len(times), pa.string())])
    return Stream(table, types, None, np.array(times, np.int64), ("ts",), None, first)


@pytest.mark.parametrize(
    ("stretches", "position", "first"),
    [
        ([[1, 2], [3, 4], [5]], 4, 4),
        ([[1, 2], [3, 4], [5]], 3, 2),
        ([[1, 2], [2, 4], [5]], 4, 4),
        ([[1, 2], [2, 2], [2, 3]], 5, 0),
        ([[1, 2], [3, 4], [4, 5]], 5, 2),
        ([[1], [], [2]], 1, 1),
    ],
)
def test_rows_before_a_position_are_dropped_but_no_time_is_cut_in_two(
    stretches: list[list[int]], position: int, first: int
) -> None:
    store, position_of = Store(), 0
    for times in stretches:
        store.add(stretch(times, position_of))
        position_of += len(times)
    store.forget_before(position)
    view = store.view()()
    assert view.first == first
    whole = [time for times in stretches for time in times]
    assert np.array_equal(view.times, whole[first:])
