"""Parquet files and folders, Arrow files and streams."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensue.io.events import open_events
from tests.io.reading import ROWS, TABLE, complaint, read, rows_of


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
    assert "the column 'a' is int and string" in said


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


def test_a_parquet_file_that_was_read_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    size = 1 << 20
    numbers = pa.table({"a": np.random.default_rng(0).integers(0, 2**62, size)})
    pq.write_table(numbers, path, row_group_size=size // 32)
    del numbers
    before = pa.total_allocated_bytes()
    for _ in open_events(path).batches:
        most = pa.total_allocated_bytes() - before
    assert most < path.stat().st_size // 2
