"""What can be opened at all: kinds of objects, and files in general."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.errors import EventError
from tests.io.reading import ROWS, complaint, read


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
    assert "end in .csv, .tsv, .jsonl" in said
    assert "or in .gz or .zst" in said


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
