"""JSON lines, and every way in which they may be wrong."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from ensue.errors import EventError
from ensue.io.events import open_events
from tests import seams
from tests.io.reading import complaint, read, rows_of


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


def test_json_lines_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.JSONL_BLOCK.put(monkeypatch, 105)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps({"a": n}) + "\n" for n in range(10, 35)) + '{"a": "x"}\n')
    source = open_events(path)
    assert [next(source.batches).num_rows for _ in range(2)] == [10, 10]
    with pytest.raises(EventError, match=r"line 26, column 'a': 'x' is of type string"):
        next(source.batches)


@pytest.mark.parametrize(
    "lines",
    [['{"a": 1},{"a": 2}', '{"b": [{}', "{}]}"], ['{"b": [{"c": 1}', '{"c": 2}]}', "{},{}"]],
)
def test_what_only_all_lines_together_make_json_of_is_an_error(
    tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert complaint(path).startswith(f"{path}, line 1: not JSON")


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
        (b'{"a": [1, "x"]}', "'x' is of type string, but the column is of type int"),
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
