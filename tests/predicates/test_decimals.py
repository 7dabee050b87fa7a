"""Decimals as doubles, of all sizes, and with the columns that stand in their place."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.predicates.decimals import doubles_of
from ensue.predicates.vectors import UnsupportedError


@given(
    st.integers(0, 30).flatmap(
        lambda scale: st.tuples(
            st.just(scale),
            st.lists(
                st.none() | st.integers(-(10**37), 10**37) | st.integers(-(2**54), 2**54),
                min_size=1,
                max_size=6,
            ),
        )
    )
)
def test_doubles_eq_floats_of_decimals(given: tuple[int, list[int | None]]) -> None:
    scale, units = given
    values = [None if each is None else Decimal(each).scaleb(-scale) for each in units]
    found = doubles_of(pa.chunked_array([values], pa.decimal128(38, scale)), len(values))
    valid = found.is_valid().tolist()
    got = [value if known else None for value, known in zip(found.values, valid, strict=True)]
    assert got == [None if each is None else float(each) for each in values]


def test_columns_in_the_place_of_decimals() -> None:
    assert not doubles_of(None, 2).is_valid().any()
    assert doubles_of(pa.chunked_array([[3, 4]]), 2).values.tolist() == [3, 4]
    with pytest.raises(UnsupportedError):
        doubles_of(pa.chunked_array([["3"]]), 1)
