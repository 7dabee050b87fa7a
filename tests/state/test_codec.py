"""Plain values as bytes: read as they were written, written alike in every process."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.state.codec import DamagedError, decode, encode

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
)
HASHABLE = st.recursive(LEAVES, lambda inner: st.frozensets(inner, max_size=3), max_leaves=6)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


def kinds(value: Any) -> Any:
    """Return a value with the types of all its parts: 1, 1.0 and True are equal."""
    if isinstance(value, tuple):
        return tuple(map(kinds, value))
    if isinstance(value, dict):
        return {name: kinds(each) for name, each in value.items()}
    return type(value)


@given(VALUES)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    read = decode(encode(value))
    assert read == value
    assert kinds(read) == kinds(value)


@pytest.mark.parametrize("value", ["\ud800", 2**70, -(2**63), {(1, 2): "b"}, Decimal("1E+9")])
def test_odd_values_are_read_as_they_were_written(value: Any) -> None:
    assert decode(encode(value)) == value


def test_sets_are_written_in_one_order() -> None:
    names = [f"name {number}" for number in range(50)]
    assert encode(frozenset(names)) == encode(frozenset(reversed(names)))


@given(VALUES, st.data())
def test_bytes_that_are_cut_are_refused(value: Any, data: st.DataObject) -> None:
    written = encode(value)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    with pytest.raises(DamagedError):
        decode(cut)
    with pytest.raises(DamagedError):
        decode(written + b"N")


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = decode(data)
    except DamagedError:
        return
    hash(encode(value))


def test_what_is_no_plain_value_is_refused() -> None:
    with pytest.raises(TypeError, match="a object is no plain value"):
        encode(object())
