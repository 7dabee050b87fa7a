"""Inputs that are not what they seem are refused in words that say what to do."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ensue
from tests.cli.command import ensue as command

QUERY = "SELECT * FROM S WHERE A ; B"
ZONED, NAIVE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2)
MIXED = [{"type": "A", "t": ZONED}, {"type": "B", "t": NAIVE}]
ADVICE = "give all times a zone, or none of them"


# times with and without a zone


def pushed(*events: Any) -> None:
    session = ensue.compile(QUERY).open(time="t")
    for each in events:
        session.push(each)


def arrow(row: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([row])


@pytest.mark.parametrize(
    "read",
    [
        lambda: ensue.run(QUERY, MIXED, time="t"),
        lambda: ensue.run(QUERY, pd.DataFrame(MIXED), time="t"),
        lambda: pushed(*MIXED),
        lambda: pushed(*reversed(MIXED)),
        lambda: pushed(*map(arrow, MIXED)),
        lambda: ensue.run(
            "SELECT * FROM S, R WHERE S>A ; R>B", {"S": MIXED[:1], "R": MIXED[1:]}, time="t"
        ),
    ],
)
def test_times_with_and_without_a_zone_are_told_apart(read: Callable[[], object]) -> None:
    with pytest.raises(ensue.EventError, match=f"timestamp with time zone.*{ADVICE}"):
        read()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_with_and_without_a_zone_are_told_apart(tmp_path: Path, kind: str) -> None:
    files = [tmp_path / f"{name}.{kind}" for name in ("one", "two")]
    for file, row in zip(files, MIXED, strict=True):
        if kind == "parquet":
            pq.write_table(arrow(row), file)
        else:
            file.write_text(f"type,t\n{row['type']},{row['t'].isoformat()}\n")
    outcome = command("run", QUERY, *files, "--time", "t")
    assert outcome.code == 1
    assert outcome.stderr.endswith(
        f"the column 't' is timestamp with time zone and timestamp; {ADVICE}\n"
    )


def test_a_csv_column_of_both_says_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("type,t\nA,2026-01-01T00:00:00Z\nB,2026-01-01 00:00:01\n")
    with pytest.raises(
        ensue.EventError, match=r"'2026-01-01T00:00:00Z'; .* all with a zone or none of them"
    ):
        ensue.run(QUERY, file, time="t")


def test_times_of_several_zones_are_instants() -> None:
    later = (ZONED + timedelta(seconds=1)).astimezone()
    rows = [MIXED[0], {"type": "B", "t": later}]
    for events in (rows, pd.DataFrame(rows)):
        (match,) = ensue.run(QUERY, events, time="t")
        assert match.end_time == later


# files that are no CSV


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"PAR1" + b"\x15\x04" * 50, "a Parquet file; let its name end in .parquet"),
        (gzip.compress(b"type,v\nA\n", mtime=0), "compressed by gzip; let its name end in .csv.gz"),
        (b"PK\x03\x04" + b"\x14\x00" * 20, "a zip archive, as those of Excel are"),
        ("type,v\nA,1\n".encode("utf-16"), "text in UTF-16; save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary data"),
        (b"\x00\x01\xff\xfe", "binary data"),
        (random.Random(5).randbytes(5000), "binary data"),
        (b"np\xa5M\x8e\x08.a\xfa^\n,,,,\n", "binary data"),
    ],
    ids=["parquet", "gzip", "zip", "utf-16", "png", "few bytes", "noise", "short noise"],
)
def test_binary_data_is_no_csv(tmp_path: Path, data: bytes, problem: str) -> None:
    file = tmp_path / "e.csv"
    file.write_bytes(data)
    with pytest.raises(ensue.EventError) as caught:
        ensue.run(QUERY, file)
    assert str(caught.value).startswith(f"{file}: not CSV, but {problem}")


def test_text_in_another_encoding_is_no_binary_data(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_bytes("type,name\nA,Jürgen\n".encode("latin-1"))
    with pytest.raises(ensue.EventError, match="not UTF-8; convert the file first"):
        ensue.run(QUERY, file)


def test_a_file_without_a_name_is_no_folder() -> None:
    with pytest.raises(ensue.EventError, match="the name of the file with the events is empty"):
        ensue.run(QUERY, "")


# arguments


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ensue.compile(None), "a query is a string, not a NoneType"),
        (lambda: ensue.compile(Path("q.ceql")), "read the file first: path.read_text()"),
        (lambda: ensue.run(5, []), "a query is a string, or {name: query}, not a int"),
        (lambda: ensue.compile(QUERY, params=[1]), "params must be {name: value}, not a list"),
        (lambda: ensue.run(QUERY, []).head("a"), "matches are numbered from 0, and 'a' is no num"),
        (lambda: ensue.run(QUERY, [])["a"], "matches are numbered from 0, and 'a' is no number"),
        (lambda: ensue.run(QUERY, []).to_arrow(columns="A"), "columns= is a list of names: ['A']"),
        (lambda: ensue.run(QUERY, [], time="t", lateness=-5), "lateness=-5 is negative"),
        (
            lambda: ensue.run(QUERY, [], time="t", lateness=timedelta(seconds=-5)),
            "is negative; no event is that late",
        ),
    ],
)
def test_wrong_arguments_are_told(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert sentence in str(caught.value)
