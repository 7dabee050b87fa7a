"""Sets of whole numbers are those of NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensue.kernels.sets import distinct, union

numbers = st.lists(st.integers(-4, 4) | st.integers(-(2**63), 2**63 - 1)).map(
    lambda values: np.array(values, np.int64)
)


@given(st.lists(numbers, min_size=1, max_size=3))
def test_union_is_that_of_all(sets: list[np.ndarray]) -> None:
    found = union(*sets)
    assert found.tolist() == sorted({value for each in sets for value in each.tolist()})
    assert found.dtype == np.int64


def test_arrays_of_any_shape() -> None:
    assert distinct(np.array([[2, 1], [1, 2]])).tolist() == [1, 2]
