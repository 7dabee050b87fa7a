"""Events written to a file are there, whatever the format."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.errors import EventError
from ensue.io.events import open_events
from ensue.io.write import write_events
from tests.io.reading import read

BATCHES = [
    pa.record_batch(
        {
            "type": pa.array(["BUY", "SELL", None]).dictionary_encode(),
            "id": [1, 2, None],
            "price": [27.5, None, 28.25],
            "text": ['a "quoted", one', "", None],
        }
    ),
    pa.record_batch(
        {
            "type": pa.array(["SELL"]).dictionary_encode(),
            "id": [4],
            "price": [29.0],
            "text": ["two\nlines"],
        }
    ),
]
ROWS = [row for batch in BATCHES for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "name",
    [
        "e.csv",
        "e.csv.gz",
        "e.csv.zst",
        "e.jsonl",
        "E.JSONL",
        "e.ndjson.gz",
        "e.jsonl.zst",
        "e.parquet",
        "e.pq",
    ],
)
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert write_events(iter(BATCHES), path) == 4
    assert read(path) == ROWS
    assert write_events(BATCHES[:1], str(path)) == 3
    assert read(path) == ROWS[:3]


def test_csv_looks_like_csv(tmp_path: Path) -> None:
    write_events(BATCHES, tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text() == (
        '"type","id","price","text"\n'
        '"BUY",1,27.5,"a ""quoted"", one"\n'
        '"SELL",2,,""\n'
        ",,28.25,\n"
        '"SELL",4,29,"two\nlines"\n'
    )


def test_json_lines_look_like_json(tmp_path: Path) -> None:
    batch = pa.record_batch(
        {
            "s": ["é", None],
            "f": [1.0, math.nan],
            "t": [datetime(2026, 1, 31, 9, 30), None],
            "z": [datetime(2026, 1, 31, 9, 30, tzinfo=UTC), None],
            "d": [date(2026, 1, 31), None],
            "n": [Decimal("1.50"), None],
            "r": [{"at": datetime(2026, 1, 31), "x": math.nan}, None],
            "l": [[date(2026, 1, 31)], []],
        }
    )
    write_events([batch], tmp_path / "e.jsonl")
    assert (tmp_path / "e.jsonl").read_text(encoding="utf-8") == (
        '{"s":"é","f":1.0,"t":"2026-01-31T09:30:00","z":"2026-01-31T09:30:00Z",'
        '"d":"2026-01-31","n":"1.50","r":{"at":"2026-01-31T00:00:00","x":null},'
        '"l":["2026-01-31"]}\n'
        '{"s":null,"f":null,"t":null,"z":null,"d":null,"n":null,"r":null,"l":[]}\n'
    )


def test_json_lines_keep_nanoseconds(tmp_path: Path) -> None:
    batch = pa.record_batch({"t": pa.array([1], pa.timestamp("ns"))})
    write_events([batch], tmp_path / "e.jsonl")
    assert (tmp_path / "e.jsonl").read_text() == '{"t":"1970-01-01T00:00:00.000000001"}\n'


def test_declared_times_come_back_from_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    batch = pa.record_batch({"t": [datetime(2026, 1, 31, 9, 30)], "n": [Decimal("1.50")]})
    write_events([batch], path)
    types = {"t": pa.timestamp("us"), "n": pa.decimal128(3, 2)}
    (again,) = open_events(path, types=types).batches
    assert again.equals(batch)


def test_parquet_keeps_types_and_dictionaries(tmp_path: Path) -> None:
    write_events(BATCHES, tmp_path / "e.parquet")
    assert pq.read_schema(tmp_path / "e.parquet").equals(BATCHES[0].schema)


def test_a_compressed_file_depends_on_its_events_only(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    for folder in (tmp_path, tmp_path / "later"):
        write_events(BATCHES, folder / "e.csv.gz")
    first, second = (tmp_path / "e.csv.gz"), (tmp_path / "later" / "e.csv.gz")
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()).startswith(b'"type"')


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet"])
def test_no_events_make_a_file_without_rows(tmp_path: Path, name: str) -> None:
    assert write_events([], tmp_path / name, schema=BATCHES[0].schema) == 0
    assert read(tmp_path / name) == []
    assert write_events([], tmp_path / name) == 0


def test_the_schema_makes_the_header_when_there_are_no_events(tmp_path: Path) -> None:
    write_events([], tmp_path / "e.csv", schema=BATCHES[0].schema)
    assert (tmp_path / "e.csv").read_text() == '"type","id","price","text"\n'


def test_batches_are_written_as_they_come(tmp_path: Path) -> None:
    seen = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            seen.append(bool(list(tmp_path.glob(".e*.jsonl"))))
            yield pa.record_batch({"a": [number]})

    assert write_events(batches(), tmp_path / "e.jsonl") == 3
    assert seen == [False, True, True]


@pytest.mark.parametrize("name", ["e", "e.txt", "e.json.zip", "csv"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(EventError, match=r"end in \.csv, \.jsonl, .* or in \.gz"):
        write_events(BATCHES, tmp_path / name)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for name in ("e.csv", "e.jsonl", "e.parquet"):
        with pytest.raises(EventError, match="cannot be written"):
            write_events(BATCHES, tmp_path / "no" / name)


@pytest.mark.parametrize("value", [{"x": 1}, [1]])
def test_csv_does_not_take_nested_columns(tmp_path: Path, value: object) -> None:
    with pytest.raises(EventError, match=r"column 'r' is nested.*JSON lines or Parquet"):
        write_events([pa.record_batch({"r": [value]})], tmp_path / "e.csv")


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_tables_do_not_take_other_columns_later(tmp_path: Path, name: str) -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": [1], "b": ["x"]})]
    with pytest.raises(EventError, match=r"other columns than the file \(b: string\)"):
        write_events(batches, tmp_path / name)


def test_json_lines_take_other_columns_later(tmp_path: Path) -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": ["x"], "b": [2]})]
    assert write_events(batches, tmp_path / "e.jsonl") == 2


@pytest.mark.parametrize(
    ("column", "part"),
    [
        (pa.array([math.inf]), "holds inf, and JSON has no infinity"),
        (pa.array([b"x"]), "holds a bytes, which JSON cannot hold; write Parquet"),
    ],
)
def test_values_that_json_cannot_hold_are_named(tmp_path: Path, column: Any, part: str) -> None:
    with pytest.raises(EventError, match=f"column 'a' {part}"):
        write_events([pa.record_batch({"a": column})], tmp_path / "e.jsonl")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.none() | TEXT,
            "b": st.none() | st.integers(-(2**63), 2**63 - 1),
            "c": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        }
    ),
    min_size=1,
    max_size=8,
)
TYPES = {"a": pa.string(), "b": pa.int64(), "c": pa.float64()}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@given(events=EVENTS)
def test_any_events_come_back_from_a_file(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, events: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    write_events(pa.Table.from_pylist(events, pa.schema(list(TYPES.items()))).to_batches(), path)
    again = [row for b in open_events(path, types=TYPES).batches for row in b.to_pylist()]
    assert again == events
