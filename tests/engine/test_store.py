"""The event store keeps what is needed and no more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ensue.engine.store import Store
from ensue.engine.stream import Loaded, Options


def stretch(times: list[int]) -> Loaded:
    table = pa.table({"ts": pa.array(times, pa.int64())})
    return Loaded(table, True, pa.chunked_array([pa.array(["A"] * len(times))]), None)


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
    store = Store(("ts",), Options())
    for times in stretches:
        store.add(stretch(times))
    store.forget_before(position)
    view = store.view()
    assert view.first == first
    whole = [time for times in stretches for time in times]
    assert np.array_equal(view.times, whole[first:])
