"""ensue generate: files of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensue.datasets import stock_table
from ensue.io.events import open_events
from tests.cli.command import ensue

ROWS = stock_table(300, seed=7).to_pylist()


def rows(path: Path) -> list[dict[str, object]]:
    return [row for batch in open_events(path).batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.ndjson.gz", "t.parquet"])
def test_files_hold_the_trades(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    outcome = ensue("generate", "stock", "--events", 300, "--seed", 7, "-o", file)
    assert (outcome.code, outcome.stdout) == (0, "")
    assert outcome.stderr == f"{file}: 300 events\n"
    assert rows(file) == ROWS


def test_without_a_file_it_is_csv_on_standard_output(tmp_path: Path) -> None:
    outcome = ensue("generate", "stock", "--events", 300, "--seed", 7)
    assert (outcome.code, outcome.stderr) == (0, "")
    file = tmp_path / "piped.csv"
    file.write_bytes(outcome.bytes)
    assert rows(file) == ROWS


def test_symbols_and_rate(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    options = ["--events", 200, "--symbols", "ACME,XYZ", "--rate", 10]
    assert ensue("generate", "stock", *options, "-o", file).code == 0
    found = rows(file)
    assert {row["name"] for row in found} == {"ACME", "XYZ"}
    assert found == stock_table(200, rate=10, symbols=["ACME", "XYZ"]).to_pylist()


def test_no_events() -> None:
    outcome = ensue("generate", "stock", "--events", 0)
    assert outcome.stdout == '"type","id","name","volume","price","stock_time"\n'


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--symbols", "A,A"], "symbols must be different names"),
        (["--symbols", ""], "symbols must be a list"),
        (["--rate", "0"], "rate must be a positive number"),
        (["-o", "trades.xlsx"], "must end in .csv, .jsonl or .parquet"),
        (["-o", "nowhere/trades.csv"], "there is no such folder"),
        (["--events", "-1"], "--events"),
        (["--events", "many"], "--events"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_usage(options: list[str], sentence: str) -> None:
    outcome = ensue("generate", "stock", *options)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert sentence in outcome.stderr


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken.csv").mkdir()
    outcome = ensue("generate", "stock", "-o", tmp_path / "taken.csv")
    assert outcome.code == 1
    assert outcome.stderr.startswith(f"error: {tmp_path / 'taken.csv'}: cannot be written")
