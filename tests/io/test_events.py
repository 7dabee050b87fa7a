"""Every input that a user may call events, and every way in which it may be wrong."""

from __future__ import annotations

import enum
import gzip
import io
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.errors import EventError
from ensue.io import events as module
from ensue.io.events import EventSource, open_events

ROWS = [
    {"type": "BUY", "price": 27.5, "volume": 100},
    {"type": "SELL", "price": None, "volume": 200},
    {"type": "BUY", "price": 28.0, "volume": 300},
]
TABLE = pa.Table.from_pylist(ROWS)


def rows_of(source: EventSource) -> list[dict[str, Any]]:
    return [row for batch in source.batches for row in batch.to_pylist()]


def read(events: object, **options: Any) -> list[dict[str, Any]]:
    return rows_of(open_events(events, **options))


def column_type(events: object, name: str, **options: Any) -> pa.DataType:
    return open_events(events, **options).schema.field(name).type


def complaint(events: object, **options: Any) -> str:
    """Return what is said about bad events, whether on opening or on reading them."""
    with pytest.raises(EventError) as caught:
        read(events, **options)
    return str(caught.value)


# Tables and frames


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


@pytest.mark.parametrize("events", [{"S": ROWS}, 7, None, b"trades.csv", object()])
def test_what_cannot_be_events_is_told_by_its_type(events: object) -> None:
    said = complaint(events)
    assert said.startswith("events must be ")
    assert said.endswith(f"not a {type(events).__name__}")


def test_importing_imports_neither_pandas_nor_polars() -> None:
    program = (
        "import sys, ensue.datasets, ensue.io.events, ensue.io.write;"
        "assert not {'pandas', 'polars', 'pyarrow.dataset'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# Dicts


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


def generated(*parts: tuple[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (row for times, row in parts for _ in range(times))


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
        (1, 2.5, ("int", "double")),
        (1, 2.0, ("int", "double")),
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
        ([1, 2], "flatten it"),
        ((1, 2), "flatten it"),
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
    batches = list(module._batches(module._row_chunks(thinned, size, ""), {}))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [without_nulls(row) for row in found] == [without_nulls(row) for row in thinned]


def without_nulls(value: Any) -> Any:
    """Forget what is NULL, for absent is the same."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(item) for name, item in value.items() if item is not None}


# Declared types


def test_declared_types_hold_from_the_first_chunk_on() -> None:
    events = generated((4096, {"a": 1}), (1, {"a": 2.5}))
    source = open_events(events, types={"a": pa.float64(), "absent": pa.string()})
    assert source.schema == pa.schema([("a", pa.float64())])
    assert rows_of(source)[-1] == {"a": 2.5}


def test_text_is_read_as_the_declared_time_or_decimal() -> None:
    types = {"t": pa.timestamp("us"), "d": pa.date32(), "p": pa.decimal128(20, 2)}
    events = [
        {"t": "2026-01-31T09:30:00.5", "d": "2026-01-31", "p": "27.85"},
        {"t": "2026-01-31T09:30:00+02:00", "d": date(2026, 2, 1), "p": 27.85},
        {"t": datetime(2026, 1, 31, tzinfo=UTC), "d": None, "p": 27},
    ]
    assert read(events, types=types) == [
        {
            "t": datetime(2026, 1, 31, 9, 30, 0, 500000),
            "d": date(2026, 1, 31),
            "p": Decimal("27.85"),
        },
        {"t": datetime(2026, 1, 31, 7, 30), "d": date(2026, 2, 1), "p": Decimal("27.85")},
        {"t": datetime(2026, 1, 31), "d": None, "p": Decimal(27)},
    ]
    (row,) = read([{"t": "2026-01-31"}], types={"t": pa.timestamp("us", "UTC")})
    assert row == {"t": datetime(2026, 1, 31, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("arrow", "value", "part"),
    [
        (pa.timestamp("us"), "soon", "'soon' is not written like 2026-01-31T09:30:00"),
        (pa.date32(), "31.1.2026", "'31.1.2026' is not written like 2026-01-31"),
        (pa.decimal128(20, 2), "much", "'much' is not written like 27.85"),
        (pa.decimal128(20, 2), 1.005, "does not fit into the type decimal"),
        (pa.int64(), "7", "'7' is of type string, but the column is of type int"),
        (pa.int8(), 1000, "1000 does not fit into the type int (int8)"),
        (pa.float64(), "7", "but the column is of type double"),
        (pa.string(), 7, "but the column is of type string"),
    ],
)
def test_values_that_do_not_fit_the_declared_type_are_named(
    arrow: pa.DataType, value: object, part: str
) -> None:
    said = complaint([{"a": value}], types={"a": arrow})
    assert said.startswith("row 0, column 'a': ")
    assert part in said


# Files in general


def test_a_path_may_be_text_or_a_path(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("a\n1\n")
    assert read(path) == read(str(path)) == [{"a": 1}]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert complaint(tmp_path / "no.csv") == f"{tmp_path / 'no.csv'}: there is no such file"


def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "events.xlsx"
    path.write_text("")
    said = complaint(path)
    assert str(path) in said
    assert ".csv, .csv.gz, .jsonl" in said


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "csv.gz", "jsonl.gz"])
@pytest.mark.parametrize("content", [b"", b"this is something else", b"PAR1xxxxPAR1", b"ARROW1xx"])
def test_a_file_that_is_something_else_is_named(
    tmp_path: Path, suffix: str, content: bytes
) -> None:
    path = tmp_path / f"events.{suffix}"
    path.write_bytes(content)
    if suffix == "jsonl.gz" and not content:
        pytest.skip("an empty file has no events")
    assert complaint(path).startswith(str(path))


@pytest.mark.parametrize("suffix", ["csv.gz", "jsonl.gz"])
def test_a_truncated_gzip_file_is_named(tmp_path: Path, suffix: str) -> None:
    text = "a\n" + "".join(f"{n * n}\n" for n in range(50000))
    if suffix == "jsonl.gz":
        text = "".join(f'{{"a":{n * n}}}\n' for n in range(50000))
    whole = gzip.compress(text.encode())
    path = tmp_path / f"events.{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    assert complaint(path).startswith(str(path))


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet"])
@given(
    content=st.binary(max_size=80) | st.text('ab1.,"\n\r{}[]: é\0-', max_size=80).map(str.encode)
)
def test_any_file_is_read_or_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    said = str(path)
    try:
        read(path)
    except EventError as error:
        said = str(error)
    assert said.startswith(str(path))


# CSV


def csv_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "events.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CSV_BLOCK", 64)


def test_csv_is_read_with_its_types(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path,
        "type,id,price,ok,at,zoned,day,clock\n"
        "BUY,1,27.5,true,2026-01-31 09:30:00,2026-01-31T09:30:00Z,2026-01-31,09:30:00\n"
        "SELL,2,28,false,2026-01-31 09:30:01,2026-01-31T09:30:01Z,2026-02-01,09:30:01\n",
    )
    source = open_events(path)
    assert source.closed
    assert source.rows is None
    assert source.schema.types == [
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.date32(),
        pa.string(),
    ]
    assert rows_of(source)[1]["at"] == datetime(2026, 1, 31, 9, 30, 1)


def test_csv_fields_are_null_when_empty_and_text_when_quoted(tmp_path: Path) -> None:
    path = csv_file(tmp_path, 'a,b\n1,""\n,\n3,NA\n')
    assert read(path) == [{"a": 1, "b": ""}, {"a": None, "b": None}, {"a": 3, "b": "NA"}]


def test_csv_values_may_hold_commas_quotes_and_newlines(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeffa,b\r\n1,"x, ""y"""\r\n2,"one\ntwo"\r\n')
    assert read(path) == [{"a": 1, "b": 'x, "y"'}, {"a": 2, "b": "one\ntwo"}]


def test_csv_with_a_header_only_has_no_events(tmp_path: Path) -> None:
    source = open_events(csv_file(tmp_path, "a,b\n"))
    assert source.schema.names == ["a", "b"]
    assert rows_of(source) == []


def test_csv_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "EVENTS.CSV.GZ"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    assert read(path) == [{"a": 1}]


@pytest.mark.usefixtures("small_blocks")
def test_csv_is_read_block_by_block(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n" + "".join(f"{n}\n" for n in range(1000)))
    batches = list(open_events(path).batches)
    assert len(batches) > 10
    assert [row["a"] for batch in batches for row in batch.to_pylist()] == list(range(1000))


@pytest.mark.usefixtures("small_blocks")
def test_csv_times_may_get_fractions_later(tmp_path: Path) -> None:
    whole = "2026-01-31 09:30:00\n" * 10
    path = csv_file(tmp_path, f"at\n{whole}2026-01-31 09:30:00.25\n")
    assert read(path)[-1] == {"at": datetime(2026, 1, 31, 9, 30, 0, 250000)}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("7.5", 7.5), ("true", True), ("x", "x"), ("7\n,8", 7)]
)
def test_csv_columns_that_were_empty_get_a_type_with_their_first_values(
    tmp_path: Path, text: str, value: object
) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,\n" * 100 + f"1,{text}\n")
    source = open_events(path)
    assert source.schema.field("b").type == pa.null()
    rows = rows_of(source)
    assert rows[0] == {"a": 1, "b": None}
    assert rows[100] == {"a": 1, "b": value}


@pytest.mark.usefixtures("small_blocks")
def test_csv_columns_that_were_empty_keep_the_type_they_got(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,\n" * 50 + "1,7\n" * 50 + "1,x\n")
    assert complaint(path).startswith(f"{path}, line 102, column 'b': 'x' is not of type int")


@pytest.mark.usefixtures("small_blocks")
def test_csv_columns_that_change_their_type_are_an_error_with_its_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path, 'a,b\n1,"x\ny"\n\n' + "2,y\n" * 100 + "2.5,y\n" + "2,y\n" * 100)
    said = complaint(path)
    assert said.startswith(f"{path}, line 105, column 'a': '2.5' is not of type int")
    assert "declare" in said


@pytest.mark.usefixtures("small_blocks")
def test_csv_declared_types_hold_from_the_first_block_on(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n" + "1,2\n" * 100 + "2.5,x\n")
    source = open_events(path, types={"a": pa.float64(), "b": pa.string(), "c": pa.int64()})
    assert source.schema == pa.schema([("a", pa.float64()), ("b", pa.string())])
    assert rows_of(source)[-1] == {"a": 2.5, "b": "x"}


def test_csv_declared_timestamps_keep_the_zone_that_is_written(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "at\n2026-01-31T09:30:00Z\n")
    assert column_type(path, "at", types={"at": pa.timestamp("us")}) == pa.timestamp("us", "UTC")


def test_csv_values_that_do_not_fit_the_declared_type_are_named(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n1\nx\n")
    said = complaint(path, types={"a": pa.int64()})
    assert said.startswith(f"{path}, line 3, column 'a': 'x' is not of type int")


def test_csv_header_repeated_in_the_middle_is_found_there(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n1\na\n")
    assert f"{path}, line 3" in complaint(path, types={"a": pa.int64()})


@pytest.mark.parametrize("wrong", ["3", "3,4,5"])
def test_csv_rows_of_another_length_are_named_by_line(tmp_path: Path, wrong: str) -> None:
    path = csv_file(tmp_path, f'a,b\n1,"x\ny"\n{wrong}\n5,6\n')
    assert complaint(path).startswith(f"{path}, line 4: the header names 2 columns")


@pytest.mark.parametrize("last", ['3,"x\n4,y\n5,z\n', '"3,x\n4,y', '3,"x'])
def test_csv_quotes_left_open_are_an_error_not_a_long_value(tmp_path: Path, last: str) -> None:
    path = csv_file(tmp_path, f"a,b\n1,w\n2,v\n{last}")
    if "\n" in last:
        assert complaint(path).startswith(f"{path}, line 4: ")
    else:
        assert len(read(path)) == 3


def test_csv_may_end_in_a_value_of_several_lines(tmp_path: Path) -> None:
    assert read(csv_file(tmp_path, 'a\n"x\ny"\n')) == [{"a": "x\ny"}]


@pytest.mark.usefixtures("small_blocks")
def test_csv_rows_longer_than_a_block_are_an_error(tmp_path: Path) -> None:
    assert "a quote may have been left open" in complaint(csv_file(tmp_path, "a\n" + "x" * 999))


def test_csv_integers_beyond_64_bits_are_an_error_not_doubles(tmp_path: Path) -> None:
    path = csv_file(tmp_path, f"a,b\n1,1e30\n{2**63},inf\n")
    said = complaint(path)
    assert said.startswith(f"{path}, line 3, column 'a': an integer does not fit into 64 bits")
    assert read(path, types={"a": pa.float64()})[1]["a"] == 2.0**63
    assert read(path, types={"a": pa.string()})[1]["a"] == str(2**63)


def test_csv_of_large_doubles_is_fine(tmp_path: Path) -> None:
    path = csv_file(tmp_path, f"a,b\n1e30,{2**63 - 1}\n-inf,0\n")
    assert read(path)[0] == {"a": 1e30, "b": 2**63 - 1}


@pytest.mark.parametrize("text", ["", "\n", "a,b"])
def test_csv_without_a_header_line_is_an_error(tmp_path: Path, text: str) -> None:
    assert "starts with a line of column names" in complaint(csv_file(tmp_path, text))


def test_csv_with_two_columns_of_one_name_is_an_error(tmp_path: Path) -> None:
    assert "two columns are named 'a'" in complaint(csv_file(tmp_path, "a,a\n1,2\n"))


def test_csv_that_is_not_utf8_is_named_by_line(tmp_path: Path) -> None:
    assert ", line 3: not UTF-8" in complaint(csv_file(tmp_path, b"a\nx\n\xff\n"))
    assert "not UTF-8" in complaint(csv_file(tmp_path, b"\xff\nx\n"))


@pytest.mark.usefixtures("small_blocks")
def test_csv_that_stops_being_utf8_is_named_by_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"a\n" + b"x\n" * 100 + b"\xff\n")
    assert complaint(path).startswith(f"{path}, line 102: not UTF-8")


# JSON lines


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json", "jsonl.gz"])
def test_json_lines_are_read_like_dicts(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"events.{suffix}"
    text = '\ufeff{"a": 1, "t": "2026-01-31"}\n\n{"a": 2.5, "r": {"b": true}}\r\n{"a": null}'
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    source = open_events(path)
    assert not source.closed
    assert source.rows is None
    assert rows_of(source) == [
        {"a": 1.0, "t": "2026-01-31", "r": None},
        {"a": 2.5, "t": None, "r": {"b": True}},
        {"a": None, "t": None, "r": None},
    ]


def test_json_times_are_read_when_declared(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"t": "2026-01-31T09:30:00Z"}\n')
    assert read(path, types={"t": pa.timestamp("us")}) == [{"t": datetime(2026, 1, 31, 9, 30)}]


def test_json_lines_are_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_LINES", 10)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps({"a": n}) + "\n" for n in range(25)) + '{"a": "x"}\n')
    source = open_events(path)
    assert [next(source.batches).num_rows for _ in range(2)] == [10, 10]
    with pytest.raises(EventError, match=r"line 26, column 'a': 'x' is of type string"):
        next(source.batches)


def test_an_empty_json_file_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n")
    assert read(path) == []


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (b'{"a": 1', "not JSON at column"),
        (b"a,b", "not JSON at column 1"),
        (b"[1, 2]", "one object {…}, not a list"),
        (b"7", "one object {…}, not a int"),
        (b"null", "one object {…}, not a NoneType"),
        (b'{"a": "\xff"}', "not UTF-8"),
        pytest.param(b'{"a": ' + b"1" * 5000 + b"}", "not JSON", id="long"),
        (b'{"a": 99999999999999999999}', "64 bits"),
        (b'{"a": [1]}', "flatten it"),
        (b'{"a": "\\ud800"}', "does not fit into the type string"),
        pytest.param(b'{"a":' * 100000, "not JSON", id="deeper"),
        pytest.param(b'{"a":' * 500 + b"1" + b"}" * 500, "nested more than 100 deep", id="deep"),
    ],
)
def test_a_wrong_line_of_json_is_named(tmp_path: Path, line: bytes, part: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{}\n\n" + line + b"\n")
    said = complaint(path)
    assert said.startswith(f"{path}, line 3")
    assert part in said


# Parquet and Arrow


def test_parquet_is_read_with_its_number_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    source = open_events(path)
    assert source.closed
    assert source.rows == 3
    assert source.schema.equals(TABLE.schema)
    assert rows_of(source) == ROWS


def test_a_folder_of_parquet_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name, value in [("b/2", 3), ("a/9", 2), ("a/1", 1), ("_temporary/0", 9), ("a/.hidden", 9)]:
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"a": [value]}), path)
    (tmp_path / "_SUCCESS").touch()
    source = open_events(tmp_path)
    assert source.rows == 3
    assert rows_of(source) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_folder_of_parquet_has_the_columns_of_all_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["x"], "a": [2]}), tmp_path / "2.parquet")
    source = open_events(tmp_path)
    assert source.schema == pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert rows_of(source) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_a_folder_of_parquet_whose_files_disagree_names_the_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    said = complaint(tmp_path)
    assert said.startswith(f"{tmp_path / '2.parquet'}: a column has another type")
    assert "int64 vs string" in said


def test_a_folder_with_a_broken_file_names_the_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    (tmp_path / "2.parquet").write_bytes(b"broken")
    assert complaint(tmp_path).startswith(f"{tmp_path / '2.parquet'}: cannot be read as Parquet")


def test_a_folder_without_parquet_is_an_error(tmp_path: Path) -> None:
    assert complaint(tmp_path) == f"{tmp_path}: there is no .parquet file in this folder"


@pytest.mark.parametrize("suffix", ["arrow", "feather"])
@pytest.mark.parametrize("format", ["file", "stream"])
def test_arrow_files_and_streams_are_read(tmp_path: Path, suffix: str, format: str) -> None:
    path = tmp_path / f"events.{suffix}"
    writer = pa.ipc.new_file if format == "file" else pa.ipc.new_stream
    with writer(str(path), TABLE.schema) as sink:
        sink.write_table(TABLE, max_chunksize=2)
    source = open_events(path)
    assert source.closed
    assert [batch.num_rows for batch in source.batches] == [2, 1]
    assert read(path) == ROWS


def test_a_truncated_arrow_stream_is_named(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, TABLE.schema) as sink:
        for _ in range(10):
            sink.write_table(TABLE)
    path = tmp_path / "events.arrow"
    path.write_bytes(buffer.getvalue()[:-300])
    assert complaint(path).startswith(f"{path}: cannot be read any further")
