"""Types: what may be compared, and what holds the values of two."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from ensue.analysis.types import TYPE_NAMES, Type, comparable, from_arrow, joined

PAIRS = list(product(Type, Type))


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_neither_side_of_two_types_goes_first(one: Type, other: Type) -> None:
    assert comparable(one, other) == comparable(other, one)
    assert joined(one, other) == joined(other, one)


def test_a_type_joined_with_itself_or_with_the_unknown_is_itself() -> None:
    for each in Type:
        assert joined(each, each) is each
        assert joined(each, Type.UNKNOWN) is each


def test_what_is_joined_can_be_joined_in_any_order() -> None:
    def every(first: Type | None, second: Type | None) -> Type | None:
        return None if first is None or second is None else joined(first, second)

    for one, two, three in product(Type, Type, Type):
        assert every(every(one, two), three) == every(one, every(two, three))


def test_values_that_can_be_compared_have_a_type_together() -> None:
    for one, other in PAIRS:
        if comparable(one, other):
            assert joined(one, other) is not None


def test_lists_are_compared_with_nothing() -> None:
    lists = [each for each in Type if each.is_list]
    assert len(lists) == 5
    assert not any(comparable(one, other) for one, other in PAIRS if one in lists)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int8(), Type.INT),
        (pa.uint64(), Type.INT),
        (pa.float16(), Type.DOUBLE),
        (pa.decimal128(9, 2), Type.DECIMAL),
        (pa.dictionary(pa.int32(), pa.large_string()), Type.STRING),
        (pa.timestamp("ns", "UTC"), Type.TIMESTAMP),
        (pa.date32(), Type.DATE),
        (pa.list_(pa.int64()), Type.INTS),
        (pa.list_(pa.list_(pa.int64())), Type.LIST),
        (pa.null(), Type.UNKNOWN),
        (pa.struct({"a": pa.int64()}), None),
    ],
    ids=str,
)
def test_columns_of_arrow_have_types_of_the_language(
    kind: pa.DataType, expected: Type | None
) -> None:
    assert from_arrow(kind) is expected


def test_every_type_that_can_be_declared_is_called_by_its_own_name() -> None:
    for name, each in TYPE_NAMES.items():
        assert TYPE_NAMES[str(each)] is each, name
