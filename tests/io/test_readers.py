"""Files as streams: block by block, from any cut on, some columns only, several files, pipes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.errors import EventError
from ensue.io.columns import Reader
from ensue.io.events import open_events
from ensue.io.readers import files_of, open_files, open_pipe
from tests import seams
from tests.io.reading import complaint, read

ROWS = [
    {"type": "BUY" if n % 3 else "SELL", "n": n, "late": None if n < 70 else n / 2, "s": f'"{n},\n'}
    for n in range(100)
]


def rows_of(cuts: Any) -> list[dict[str, Any]]:
    return [row for cut in cuts for row in cut.batch.to_pylist()]


def csv_text() -> str:
    lines = ["type,n,late,s"]
    for row in ROWS:
        late = "" if row["late"] is None else row["late"]
        quoted = row["s"].replace('"', '""')
        lines.append(f'{row["type"]},{row["n"]},{late},"{quoted}"')
    return "\n".join(lines) + "\n"


def write(path: Path) -> Path:
    """Write the rows in the format that the name of the file tells."""
    table = pa.Table.from_pylist(ROWS)
    suffix = path.name.partition(".")[2]
    if suffix.startswith("csv"):
        data = csv_text().encode()
    elif suffix.startswith("jsonl"):
        data = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    elif suffix == "parquet":
        pq.write_table(table, path, row_group_size=30)
        return path
    elif suffix == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=30)
        return path
    else:
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=30)
        return path
    if suffix.endswith("gz"):
        data = gzip.compress(data)
    if suffix.endswith("zst"):
        data = pa.compress(data, "zstd", asbytes=True)
        stream = pa.BufferOutputStream()
        with pa.CompressedOutputStream(stream, "zstd") as packed:
            packed.write(
                csv_text().encode()
                if suffix.startswith("csv")
                else "".join(json.dumps(row) + "\n" for row in ROWS).encode()
            )
        data = stream.getvalue().to_pybytes()
    path.write_bytes(data)
    return path


FORMATS = [
    "csv",
    "csv.gz",
    "csv.zst",
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "parquet",
    "arrow",
    "feather",
]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 128)
    seams.JSONL_BLOCK.put(monkeypatch, 256)
    seams.ARROW_ROWS.put(monkeypatch, 7)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", FORMATS)
def test_reading_goes_on_from_any_cut(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"events.{suffix}")
    cuts = list(open_files([path]).read_batches(None))
    assert len(cuts) >= 10
    assert rows_of(cuts) == ROWS
    for number in (0, 1, len(cuts) // 2, len(cuts) - 2, len(cuts) - 1):
        position = json.loads(json.dumps(cuts[number].position))
        rest = list(open_files([path], start=position).read_batches(None))
        assert rows_of(rest) == rows_of(cuts[number + 1 :])
        if suffix != "parquet":
            assert [each.position for each in rest] == [
                each.position for each in cuts[number + 1 :]
            ]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("names", [["n"], ["late", "type"], ["nowhere"]])
def test_only_some_columns_are_read(tmp_path: Path, suffix: str, names: list[str]) -> None:
    path = write(tmp_path / f"events.{suffix}")
    reader = open_files([path])
    # Unknown to a format that fixes its columns is unknown; there JSON lines may bring it later.
    assert set(reader.schema.names) == set(ROWS[0])
    found = rows_of(reader.read_batches(names))
    assert len(found) == len(ROWS)
    if names != ["nowhere"]:
        assert found == [{name: row[name] for name in row if name in names} for row in ROWS]
    else:
        assert all(len(row) == 1 for row in found)


def test_a_column_that_is_not_read_may_be_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 64)
    path = tmp_path / "events.csv"
    path.write_text("a,b\n" + "1,2\n" * 100 + "1,x\n")
    assert len(rows_of(open_files([path]).read_batches(["a"]))) == 101
    with pytest.raises(EventError, match="line 102, column 'b'"):
        rows_of(open_files([path]).read_batches(["b"]))


# Records of CSV

_FIELD = st.one_of(
    st.text('ab"', max_size=3).filter(lambda each: not each.startswith('"')),
    st.text('a",\n', max_size=5).map(lambda each: '"' + each.replace('"', '""') + '"'),
)


@given(
    rows=st.lists(st.tuples(_FIELD, _FIELD), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(24, 60),
)
def test_csv_in_blocks_eq_csv_as_a_whole(
    rows: list[tuple[str, str]], end: str, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("csv") / "events.csv"
    path.write_bytes(("a,b" + end + "".join(f"{a},{b}{end}" for a, b in rows)).encode())
    types = {"a": pa.string(), "b": pa.string()}
    whole = read(path, types=types)
    with pytest.MonkeyPatch.context() as patch:
        seams.CSV_BLOCK.put(patch, size)
        assert read(path, types=types) == whole
    assert len(whole) == sum(1 for a, b in rows)


# Several files


def test_files_of_a_pattern_or_a_folder(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.csv").write_text(f"x\n{ord(name)}\n")
        pq.write_table(pa.table({"x": [ord(name)]}), tmp_path / f"{name}.parquet")
    expected = [{"x": 97}, {"x": 98}, {"x": 99}]
    for events in (tmp_path / "*.csv", tmp_path / "*.parquet", tmp_path, f"{tmp_path}/[abc].csv"):
        assert read(events) == expected
    assert complaint(tmp_path / "*.jsonl") == f"{tmp_path / '*.jsonl'}: no file fits this pattern"
    (tmp_path / "[x].csv").write_text("x\n1\n")
    assert files_of(tmp_path / "[x].csv") == [tmp_path / "[x].csv"]


@pytest.mark.usefixtures("small_blocks")
def test_files_of_several_formats_are_one_stream(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{n}.{each}") for n, each in enumerate(["csv", "parquet", "arrow"])]
    cuts = list(open_files(files).read_batches(None))
    assert rows_of(cuts) == ROWS * 3
    for number in range(0, len(cuts), 9):
        start = json.loads(json.dumps(cuts[number].position))
        assert rows_of(open_files(files, start=start).read_batches(None)) == rows_of(
            cuts[number + 1 :]
        )


def test_json_files_keep_the_types_of_those_before(tmp_path: Path) -> None:
    files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    files[0].write_text('{"a": 1.5}\n')
    files[1].write_text('{"a": 2, "b": 3}\n')
    reader = open_files(files)
    assert not reader.closed
    last = list(reader.read_batches(None))[-1].batch
    assert last.schema == pa.schema([("a", pa.float64()), ("b", pa.int64())])


# Pipes


class Pipe(io.RawIOBase):
    """Gives what was written piece by piece."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:  # type: ignore[override]
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if 0 <= size < len(piece):
            self.pieces.insert(0, piece[size:])
        return piece if size < 0 else piece[:size]


def test_the_first_bytes_of_a_pipe_tell_the_format(tmp_path: Path) -> None:
    for suffix in ("csv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "jsonl.zst", "feather"):
        data = write(tmp_path / f"e.{suffix}").read_bytes()
        assert rows_of(open_pipe(io.BytesIO(data)).read_batches(None)) == ROWS
    assert rows_of(open_pipe(io.BytesIO(b"")).read_batches(None)) == []
    for suffix in ("parquet", "arrow"):
        data = write(tmp_path / f"e.{suffix}").read_bytes()
        with pytest.raises(EventError, match="<stdin>: this is a Parquet or Arrow file"):
            open_pipe(io.BytesIO(data))


def test_what_is_wrong_in_a_pipe_is_named_without_a_line_for_csv() -> None:
    with pytest.raises(EventError, match=r"^<stdin>: the header names 2 columns, and here are 1"):
        rows_of(open_pipe(io.BytesIO(b"a,b\n1,2\n3\n")).read_batches(None))
    with pytest.raises(EventError, match=r"^<stdin>: a quote is opened and never closed"):
        rows_of(open_pipe(io.BytesIO(b'a,b\n1,2\n3,"x\n4,5\n')).read_batches(None))
    with pytest.raises(EventError, match=r"^<stdin>, column 'a': an integer does not fit"):
        rows_of(open_pipe(io.BytesIO(b"a\n1.5\n99999999999999999999\n")).read_batches(None))
    with pytest.raises(EventError, match=r"^<stdin>, line 2: not JSON"):
        rows_of(open_pipe(io.BytesIO(b'{"a": 1}\n{')).read_batches(None))


@pytest.mark.parametrize(
    ("head", "line"), [("a,b\n", "{},x\n"), ("", '{{"a": {}, "b": "x"}}\n')], ids=["csv", "json"]
)
def test_a_pipe_gives_whole_lines_at_once(head: str, line: str) -> None:
    first, second, third = (line.format(n).encode() for n in (1, 2, 3))
    pipe = Pipe(head.encode() + first, second[:3], second[3:] + third[:2], third[2:-1])
    cuts = open_pipe(pipe, live=True).read_batches(None)  # type: ignore[arg-type]
    assert rows_of([next(cuts)]) == [{"a": 1, "b": "x"}]
    assert len(pipe.pieces) == 3
    assert rows_of([next(cuts)]) == [{"a": 2, "b": "x"}]
    assert rows_of(cuts) == [{"a": 3, "b": "x"}]


# Files that grow


def follow(path: Path, steps: list[Callable[[], object]]) -> Reader:
    """Follow a file; instead of waiting, do the next step."""

    def wait() -> bool:
        if not steps:
            return False
        steps.pop(0)()
        return True

    return open_files([path], wait=wait)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [("e.csv", "a,b\n", "{},x\n"), ("e.jsonl", "", '{{"a": {}, "b": "x"}}\n')],
)
def test_a_file_that_grows(tmp_path: Path, name: str, head: str, line: str) -> None:
    path = tmp_path / name
    path.write_text(head[:2])
    parts = [head[2:] + line.format(1), line.format(2)[:3], line.format(2)[3:] + line.format(3)]
    steps = [lambda part=part: append(path, part) for part in [*parts, "", line.format(4)[:-1]]]
    cuts = list(follow(path, steps).read_batches(None))
    # The last line is not whole, so it is left for later.
    assert [row["a"] for row in rows_of(cuts)] == [1, 2, 3]
    assert len(cuts) == 2
    append(path, "\n" + line.format(5))
    rest = open_files([path], start=cuts[-1].position, wait=lambda: False).read_batches(None)
    assert [row["a"] for row in rows_of(rest)] == [4, 5]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz"])
def test_what_cannot_be_followed(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"e.{suffix}")
    with pytest.raises(EventError, match="only plain files of CSV or JSON lines can be followed"):
        open_files([path], wait=lambda: False)


def test_a_source_can_be_opened_again_as_events() -> None:
    source = open_events([{"a": 1}])
    assert open_events(source) is source
