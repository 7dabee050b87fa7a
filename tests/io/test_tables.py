"""Tables and frames of every library, and batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ensue.io.events import open_events
from tests.io.reading import ROWS, TABLE, column_type, complaint, read, rows_of


class Foreign:
    """Something that only speaks the Arrow stream interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    ("events", "rows"),
    [
        (TABLE, 3),
        (TABLE.to_batches()[0], 3),
        (TABLE.to_reader, None),
        (Foreign(), None),
        (TABLE.to_pandas(), 3),
        (pl.DataFrame(ROWS), 3),
        (pl.LazyFrame(ROWS), 3),
        (lambda: iter(TABLE.to_batches()), None),
    ],
    ids=["table", "batch", "reader", "stream", "pandas", "polars", "lazy", "batches"],
)
def test_tables_of_every_library_are_read_with_fixed_columns(events: Any, rows: int | None) -> None:
    source = open_events(events() if callable(events) else events)
    assert source.closed
    assert source.rows == rows
    assert source.schema.names == ["type", "price", "volume"]
    assert rows_of(source) == ROWS


def test_batches_have_the_schema_of_the_source() -> None:
    for events in (TABLE, TABLE.to_pandas(), pl.DataFrame(ROWS), ROWS, iter(ROWS)):
        source = open_events(events)
        assert all(batch.schema.equals(source.schema) for batch in source.batches)


def test_empty_batches_are_left_out() -> None:
    table = pa.concat_tables([TABLE.slice(0, 0), TABLE, TABLE.slice(0, 0)])
    assert [batch.num_rows for batch in open_events(table).batches] == [3]
    assert list(open_events(TABLE.slice(0, 0)).batches) == []


def test_the_index_of_a_pandas_frame_is_ignored() -> None:
    frame = TABLE.to_pandas().set_index("volume")
    assert open_events(frame).schema.names == ["type", "price"]
    assert open_events(frame).schema.metadata is None


def test_a_subclass_of_a_frame_is_a_frame() -> None:
    class Trades(pd.DataFrame):  # type: ignore[misc]
        pass

    assert read(Trades({"a": [1]})) == [{"a": 1}]


def test_missing_values_of_pandas_are_null() -> None:
    frame = pd.DataFrame({"a": [1.0, math.nan], "b": ["x", None], "t": [pd.NaT, pd.Timestamp(0)]})
    assert read(frame)[1]["a"] is None
    assert read(frame)[1]["b"] is None
    assert read(frame)[0]["t"] is None


def test_a_pandas_column_that_arrow_refuses_is_read_like_dicts() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, Decimal("1.5")], dtype=object)})
    assert read(frame) == [{"a": Decimal(1)}, {"a": Decimal("1.5")}]


def test_a_pandas_column_of_mixed_types_is_named() -> None:
    said = complaint(pd.DataFrame({"b": [1, 2], "a": [1, "x"]}))
    assert "row 1" in said
    assert "'a'" in said
    assert "int" in said
    assert "string" in said


def test_polars_strings_are_not_string_views() -> None:
    assert column_type(pl.DataFrame({"a": ["x"]}), "a") == pa.large_string()


@pytest.mark.parametrize(
    "events",
    [
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
    ids=["arrow", "pandas"],
)
def test_two_columns_of_one_name_are_an_error(events: object) -> None:
    assert "two columns are named 'a'" in complaint(events)


def test_a_column_is_not_a_table() -> None:
    assert "ChunkedArray is not a table" in complaint(pa.chunked_array([[1, 2]]))
    assert "Series is not a table" in complaint(pl.Series([1, 2]))


def test_batches_of_another_schema_are_an_error() -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": ["x"]})]
    said = complaint(iter(batches))
    assert "batch 1" in said
    assert "a: int64, a: string" in said
    assert "item 1 is a dict" in complaint([batches[0], {"a": 1}])


def test_an_error_of_the_users_own_reader_is_left_alone() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read(pa.RecordBatchReader.from_batches(TABLE.schema, batches()))
    with pytest.raises(ZeroDivisionError):
        read(batches())


def test_an_error_of_arrow_does_not_leak() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise pa.ArrowInvalid("broken")

    said = complaint(batches(), stream="Trades")
    assert said == "events of Trades: cannot be read any further: broken"
