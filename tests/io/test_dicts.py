"""Rows of Python values: their types, their chunks, and every way in which they may be wrong."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count, islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.io.columns import TextOptions
from ensue.io.dicts import batches_of_chunks, chunks_of_rows
from ensue.io.events import open_events
from tests.io.reading import column_type, complaint, generated, read, rows_of


def test_dicts_are_open_and_their_absent_attributes_null() -> None:
    source = open_events([{"a": 1}, {"b": "x"}, {}])
    assert not source.closed
    assert source.rows == 3
    assert rows_of(source) == [
        {"a": 1, "b": None},
        {"a": None, "b": "x"},
        {"a": None, "b": None},
    ]


@pytest.mark.parametrize(
    ("value", "arrow"),
    [
        (True, pa.bool_()),
        (7, pa.int64()),
        (-(2**63), pa.int64()),
        (7.5, pa.float64()),
        ("x", pa.string()),
        (datetime(2026, 1, 31, 9, 30, 0, 5), pa.timestamp("us")),
        (datetime(2026, 1, 31, tzinfo=UTC), pa.timestamp("us", "UTC")),
        (date(2026, 1, 31), pa.date32()),
        (Decimal("1.25"), pa.decimal128(38, 2)),
        (Decimal("1E+3"), pa.decimal128(38, 0)),
        (None, pa.null()),
        ({"b": 1}, pa.struct([("b", pa.int64())])),
        ({}, pa.struct([])),
        (np.int32(7), pa.int64()),
        (np.float32(0.5), pa.float64()),
        (np.bool_(True), pa.bool_()),
        (np.str_("x"), pa.string()),
        (np.datetime64("2026-01-31T09:30", "ns"), pa.timestamp("us")),
        (np.datetime64("2026-01-31"), pa.date32()),
        (pd.Timestamp("2026-01-31"), pa.timestamp("us")),
        (pd.NaT, pa.null()),
        (pd.NA, pa.null()),
    ],
)
def test_python_values_have_their_arrow_types(value: object, arrow: pa.DataType) -> None:
    assert column_type([{"a": value}], "a") == arrow
    assert column_type([{"a": None}, {"a": value}], "a") == arrow


def test_enumerations_are_read_as_what_they_hold() -> None:
    class Side(enum.StrEnum):
        BUY = "buy"

    class Level(enum.IntEnum):
        HIGH = 3

    assert read([{"side": Side.BUY, "level": Level.HIGH}]) == [{"side": "buy", "level": 3}]


def test_integers_widen_to_doubles_and_decimals_in_one_chunk() -> None:
    assert read([{"a": 1}, {"a": 2.5}]) == [{"a": 1.0}, {"a": 2.5}]
    assert column_type([{"a": 2.5}, {"a": 1}], "a") == pa.float64()
    assert read([{"a": 1}, {"a": Decimal("2.5")}]) == [{"a": 1}, {"a": Decimal("2.5")}]


def test_integers_widen_to_doubles_in_later_chunks() -> None:
    first, second = open_events(generated((4096, {"a": 1}), (1, {"a": 2.5}))).batches
    assert first.schema.field("a").type == pa.int64()
    assert second.to_pylist() == [{"a": 2.5}]


def test_lists_are_values() -> None:
    values = [[1, 2], None, [], (3, None), [2.5]]
    assert read([{"a": each} for each in values]) == [
        {"a": [1.0, 2.0]},
        {"a": None},
        {"a": []},
        {"a": [3.0, None]},
        {"a": [2.5]},
    ]
    assert column_type([{"a": [{"b": 1}]}], "a") == pa.list_(pa.struct([("b", pa.int64())]))
    assert column_type([{"a": []}, {"a": [["x"]]}], "a") == pa.list_(pa.list_(pa.string()))


def test_zones_are_brought_to_utc() -> None:
    east = timezone(timedelta(hours=2))
    (row,) = read([{"t": datetime(2026, 1, 31, 9, 30, tzinfo=east)}])
    assert row["t"] == datetime(2026, 1, 31, 7, 30, tzinfo=UTC)


def test_nan_among_other_types_reads_as_null() -> None:
    assert read([{"a": "x"}, {"a": math.nan}]) == [{"a": "x"}, {"a": None}]
    assert read([{"a": Decimal("NaN")}, {"a": Decimal(1)}]) == [{"a": None}, {"a": 1}]
    (row,) = read([{"a": math.nan}])
    assert math.isnan(row["a"])


def test_nested_dicts_become_structs() -> None:
    events = [
        {"process": {"pid": 1, "parent": {"name": "init"}}},
        {"process": None},
        {"process": {"user": "root"}},
    ]
    assert read(events) == [
        {"process": {"pid": 1, "parent": {"name": "init"}, "user": None}},
        {"process": None},
        {"process": {"pid": None, "parent": None, "user": "root"}},
    ]


def test_events_without_attributes_are_events() -> None:
    (batch,) = open_events([{}, {}]).batches
    assert batch.num_rows == 2


def test_no_events_are_no_batches() -> None:
    sources: list[object] = [[], iter(())]
    for source in map(open_events, sources):
        assert source.schema.names == []
        assert list(source.batches) == []
    assert open_events([]).rows == 0


def test_the_types_of_a_list_come_from_all_of_its_rows() -> None:
    events = [{"a": 1}] * 5000 + [{"a": 2.5}]
    assert column_type(events, "a") == pa.float64()


def test_a_generator_is_read_in_chunks_as_they_are_asked_for() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, int]]:
        nonlocal taken
        for number in count():
            taken += 1
            yield {"a": number}

    source = open_events(endless())
    assert taken == 4096
    assert source.rows is None
    assert [batch.num_rows for batch in islice(source.batches, 2)] == [4096, 4096]
    assert taken == 8192


def test_later_chunks_may_bring_new_columns_and_types_for_empty_ones() -> None:
    source = open_events(
        generated((4096, {"a": None, "r": {"x": 1}}), (1, {"a": 1, "b": 2, "r": {"y": "z"}}))
    )
    assert source.schema.field("a").type == pa.null()
    first, second = source.batches
    assert first.schema.names == ["a", "r"]
    assert second.schema.field("a").type == pa.int64()
    assert second.to_pylist() == [{"a": 1, "r": {"x": None, "y": "z"}, "b": 2}]


def test_columns_that_later_chunks_lack_are_null_there() -> None:
    _, second = open_events(generated((4096, {"a": 1.5}), (1, {"a": 2}), (1, {}))).batches
    assert second.schema.field("a").type == pa.float64()
    assert second.to_pylist() == [{"a": 2.0}, {"a": None}]


@pytest.mark.parametrize(
    ("before", "after", "types"),
    [
        (1, "x", ("int", "string")),
        (True, 1, ("boolean", "int")),
        ("x", 1, ("string", "int")),
        (2.5, Decimal("2.5"), ("double", "decimal")),
        (date(2026, 1, 31), datetime(2026, 1, 31), ("date", "timestamp")),
        (datetime(2026, 1, 31), date(2026, 1, 31), ("timestamp", "date")),
        (
            datetime(2026, 1, 31),
            datetime(2026, 1, 31, tzinfo=UTC),
            ("timestamp", "timestamp with time zone"),
        ),
        ({"b": 1}, 1, ("record", "int")),
    ],
)
def test_a_column_that_changes_its_type_in_a_later_chunk_is_an_error(
    before: object, after: object, types: tuple[str, str]
) -> None:
    said = complaint(generated((4100, {"a": before}), (1, {"a": after})), stream="S")
    assert said.startswith("row 4100 of S, column 'a': ")
    assert f"is of type {types[1]}, but the column is of type {types[0]};" in said


@pytest.mark.parametrize(
    ("values", "row", "types"),
    [
        ([1, "a"], 1, ("int", "string")),
        ([None, 1, 2.5, "a"], 3, ("double", "string")),
        ([True, 1], 1, ("boolean", "int")),
        ([1.5, True], 1, ("double", "boolean")),
        ([date(2026, 1, 31), datetime(2026, 1, 31)], 1, ("date", "timestamp")),
        ([2.5, Decimal(1)], 1, ("double", "decimal")),
        ([{"b": 1}, "x"], 1, ("record", "string")),
        ([pd.Timestamp(0), pd.NaT, pd.Timestamp(0, tz="UTC")], 2, ("timestamp", "time zone")),
    ],
)
def test_mixed_types_in_a_column_are_an_error(
    values: list[object], row: int, types: tuple[str, str]
) -> None:
    said = complaint([{"a": value} for value in values])
    assert said.startswith(f"row {row}, column 'a': ")
    assert types[0] in said
    assert types[1] in said


def test_mixed_types_inside_a_nested_dict_name_the_whole_path() -> None:
    said = complaint([{"p": {"q": {"r": 1}}}, {"p": None}, {"p": {"q": {"r": "x"}}}])
    assert said.startswith("row 2, column 'p.q.r': 'x' is of type string")


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (2**63, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        pytest.param(10**5000, "an integer of 5001 digits", id="long"),
        (Decimal("1e39"), "38 digits"),
        (Decimal("Infinity"), "does not fit"),
        pytest.param("\ud800", "Unicode", id="surrogate"),
        ([1, "x"], "'x' is of type string, but the column is of type int"),
        ([[1], ["x"]], "'x' is of type string, but the column is of type int"),
        ([2**63], "64 bits"),
        ({1, 2}, "a set cannot be"),
        (b"x", "a bytes cannot be"),
        (timedelta(1), "a timedelta cannot be"),
        (np.timedelta64(1, "s"), "a timedelta cannot be"),
        (1j, "a complex cannot be"),
        ({1: 2}, "1 is not a string"),
    ],
)
def test_values_that_no_column_can_hold_are_named(value: object, part: str) -> None:
    said = complaint([{"a": None}, {"a": value}])
    assert said.startswith("row 1, column 'a'")
    assert part in said


def test_an_integer_beside_doubles_must_be_exact() -> None:
    assert "row 1, column 'a': 9007199254740993" in complaint([{"a": 0.5}, {"a": 2**53 + 1}])


def test_a_decimal_with_more_digits_than_the_first_chunk_is_an_error() -> None:
    said = complaint(generated((4096, {"a": Decimal("1.5")}), (1, {"a": Decimal("1.25")})))
    assert "row 4096" in said
    assert "declare the type" in said


@pytest.mark.parametrize("row", [7, "x", None, ["a"]])
def test_rows_that_are_not_dicts_are_an_error(row: object) -> None:
    said = complaint([{"a": 1}, row])
    assert said == f"row 1: events are dicts of attributes, and this is a {type(row).__name__}"


def test_attributes_without_a_name_are_an_error() -> None:
    assert complaint([{"a": 1}, {3: 4}]).startswith("row 1: attributes have names")


def test_an_error_of_the_users_own_generator_is_left_alone() -> None:
    with pytest.raises(KeyError):
        read(dict(row)["x"] for row in [{"a": 1}])


SCALARS: list[st.SearchStrategy[Any]] = [
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.decimals(-(10**9), 10**9, places=3),
]
COLUMNS = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
        lambda fields: st.fixed_dictionaries({k: st.none() | v for k, v in fields.items()})
    ),
    max_leaves=6,
)
EVENTS = st.dictionaries(st.text(max_size=3), COLUMNS, max_size=5).flatmap(
    lambda columns: st.lists(
        st.fixed_dictionaries({name: st.none() | column for name, column in columns.items()}),
        max_size=12,
    )
)


@given(EVENTS)
def test_dicts_come_back_as_they_were(events: list[dict[str, Any]]) -> None:
    assert read(events) == events


@given(EVENTS, st.data())
def test_dicts_come_back_whatever_is_absent_and_wherever_chunks_are_cut(
    events: list[dict[str, Any]], data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, 5))
    thinned = [
        {name: row[name] for name in row if data.draw(st.booleans()) and row[name] is not None}
        for row in events
    ]
    batches = list(batches_of_chunks(chunks_of_rows(thinned, size, ""), TextOptions()))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [without_nulls(row) for row in found] == [without_nulls(row) for row in thinned]


def without_nulls(value: Any) -> Any:
    """Forget what is NULL, for absent is the same."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(item) for name, item in value.items() if item is not None}
