"""ensue run: matches of a query in files of events."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Outcome, ensue

EVENTS = """\
type,ts,name,price
SELL,1,MSFT,25.5
BUY,2,MSFT,26
BUY,3,IBM,80.25
BUY,5,MSFT,27.125
"""
QUERY = "SELECT * FROM S WHERE SELL ; BUY AS b"
COUNTED = "3 matches in 4 events, "


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "query.ceql").write_text(QUERY)
    return tmp_path


def objects(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


# Queries


def test_the_table() -> None:
    outcome = ensue("run", "query.ceql", "events.csv", "--limit-rows", 2)
    assert outcome.code == 0
    assert [line.rstrip() for line in outcome.stdout.splitlines()] == [
        "match  at  bound to  type  ts  name  price  query",
        "─────────────────────────────────────────────────",
        "0..1    0  SELL      SELL   1  MSFT  25.50  query",
        "        1  b         BUY    2  MSFT  26.00",
        "",
        "0..2    0  SELL      SELL   1  MSFT  25.50  query",
        "        2  b         BUY    3  IBM   80.25",
        "… and 1 more",
    ]
    assert outcome.stderr.startswith(COUNTED)


@pytest.mark.parametrize("query", ["query.ceql", QUERY, "-"])
def test_a_query_is_a_file_or_text_or_piped_in(query: str) -> None:
    outcome = ensue("run", query, "events.csv", "--format", "json", stdin=QUERY)
    assert [found["end"] for found in objects(outcome)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("nowhere.ceql", "nowhere.ceql: there is no such file"),
        ("no where.ceql", "no where.ceql: there is no such file"),
        ("SELECT", "SELECT: there is no such file"),
    ],
)
def test_missing_queries_are_bad_usage(query: str, sentence: str) -> None:
    outcome = ensue("run", query, "events.csv")
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_no_folder(query: str) -> None:
    outcome = ensue("run", query, "events.csv")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("error[E116]: there is no query")


def test_an_empty_name_of_a_file_is_no_folder() -> None:
    outcome = ensue("run", QUERY, "")
    assert (outcome.code, outcome.stderr) == (
        2,
        "error: '' names no file; - stands for standard input\n",
    )
    outcome = ensue("check", "")
    assert outcome.code == 2
    assert outcome.stderr.startswith("error: the name of a file is empty")


def test_bad_queries_are_drawn() -> None:
    outcome = ensue("run", "SELECT * FROM S WHERE SELL FILTER SELL[prise > 3]", "events.csv")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr == (
        "error[E201]: unknown attribute 'prise' of SELL\n"
        "  --> query:1:40\n"
        "1 | SELECT * FROM S WHERE SELL FILTER SELL[prise > 3]\n"
        "  |                                        ^^^^^\n"
        "  = did you mean 'price'?\n"
    )


def test_a_text_too_long_for_a_file_name() -> None:
    query = "SELECT * FROM S WHERE SELL " + "; BUY ".join([""] * 2000)
    outcome = ensue("run", query + "FILTER", "events.csv")
    assert outcome.code == 1
    assert outcome.stderr.startswith("error[E")


def test_warnings_go_to_standard_error() -> None:
    outcome = ensue("run", "SELECT * FROM S WHERE SELL+", "events.csv", "--format", "json")
    assert len(objects(outcome)) == 1
    assert outcome.stderr.startswith("warning[W501]")


# Parameters


@pytest.mark.parametrize(
    ("condition", "params", "ends"),
    [
        ("b[price > $p]", ["p=26.5"], [2, 3]),
        ("b[name = $p]", ["p=IBM"], [2]),
        ("b[name = $p]", ['p="IBM"'], [2]),
        ("b[name IN $p]", ['p=["IBM", "DELL"]'], [2]),
        ("b[name = $p AND price < $q]", ["p=MSFT", "$q=27"], [1]),
    ],
)
def test_parameters(condition: str, params: list[str], ends: list[int]) -> None:
    options = [part for each in params for part in ("--param", each)]
    query = f"{QUERY} FILTER {condition}"
    found = objects(ensue("run", query, "events.csv", "--format", "json", *options))
    assert [each["end"] for each in found] == ends


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (["p"], "--param p: write NAME=VALUE"),
        (["=3"], "--param =3: write NAME=VALUE"),
        (["p=1", "p=2"], "--param p is given twice"),
        (["p=1", "q=2"], "--param q: the query has no such parameter; it has $p"),
    ],
)
def test_bad_parameters_are_bad_usage(params: list[str], sentence: str) -> None:
    options = [part for each in params for part in ("--param", each)]
    outcome = ensue("run", f"{QUERY} FILTER b[price > $p]", "events.csv", *options)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


def test_a_missing_parameter_is_asked_for_in_words_of_the_command_line() -> None:
    outcome = ensue("run", f"{QUERY} FILTER b[price > $low]", "events.csv")
    assert outcome.code == 1
    assert outcome.stderr.endswith("= pass --param low=…\n")


# Events


def test_files_one_after_the_other(folder: Path) -> None:
    (folder / "late.csv").write_text("type,ts,price,note\nBUY,9,3,x\nBUY,9,4.5,\n")
    outcome = ensue("run", QUERY, "events.csv", "late.csv", "--format", "json")
    assert [found["end"] for found in objects(outcome)] == [1, 2, 3, 4, 5]
    assert objects(outcome)[3]["b"] == [
        {"type": "BUY", "ts": 9, "name": None, "price": 3.0, "note": "x"}
    ]


def test_json_files_one_after_the_other_may_lack_attributes(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"type": "SELL", "n": 1}\n')
    (folder / "b.jsonl").write_text('{"type": "BUY", "user": {"name": "ann"}}\n')
    query = f"{QUERY} FILTER b[user.name = 'ann' AND nowhere IS NULL]"
    outcome = ensue("run", query, "a.jsonl", "b.jsonl", "--format", "json")
    assert [found["end"] for found in objects(outcome)] == [1]


def test_files_that_do_not_fit_together(folder: Path) -> None:
    (folder / "words.csv").write_text("type,price\nBUY,cheap\n")
    outcome = ensue("run", QUERY, "events.csv", "words.csv")
    assert outcome.code == 1
    assert outcome.stderr.startswith("error: events.csv, words.csv have columns of different types")


def test_several_streams(folder: Path) -> None:
    (folder / "other.csv").write_text("type,ts\nBUY,4\nBUY,6\n")
    query = "SELECT * FROM S, T WHERE S>SELL ; T>BUY"
    files = ["T=other.csv", "S=events.csv"]
    outcome = ensue("run", query, *files, "--time", "ts", "--format", "json")
    assert [found["end_time"] for found in objects(outcome)] == [4, 6]


def test_a_file_with_an_equals_sign_in_its_name(folder: Path) -> None:
    (folder / "day=1.csv").write_text(EVENTS)
    assert len(objects(ensue("run", QUERY, "day=1.csv", "--format", "json"))) == 3


@pytest.mark.parametrize(
    ("streams", "files", "code", "sentence"),
    [
        ("S", ["nowhere.csv"], 2, "nowhere.csv: there is no such file"),
        ("S", ["S=nowhere.csv"], 2, "nowhere.csv: there is no such file"),
        ("S", ["-", "events.csv"], 2, "events come from standard input or from files, not from"),
        ("S, T", ["events.csv", "events.csv"], 2, "FROM names 2 streams; say which file holds"),
        ("S, T", ["S=events.csv", "events.csv"], 2, "say of every file which stream it holds: S="),
        ("S, T", ["S=events.csv"], 1, "the stream 'T' has no events"),
        ("S, T", ["S=events.csv", "T=events.csv"], 1, "merging several streams needs a time"),
        ("S", ["query.ceql"], 1, "query.ceql: events are read from files that end in .csv"),
    ],
)
def test_bad_events(streams: str, files: list[str], code: int, sentence: str) -> None:
    outcome = ensue("run", QUERY.replace("FROM S", f"FROM {streams}"), *files)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("e.csv", b"type,x\nBUY,1,2\n", "e.csv, line 2: the header names 2 columns"),
        ("e.jsonl", b'{"type": "BUY"}\n{"type": \n', "e.jsonl, line 2: not JSON"),
        ("e.parquet", b"PAR1 and no more", "e.parquet: cannot be read as Parquet"),
        ("e.csv", b"", "e.csv: a CSV file starts with a line of column names"),
    ],
)
def test_broken_files(folder: Path, name: str, data: bytes, sentence: str) -> None:
    (folder / name).write_bytes(data)
    outcome = ensue("run", QUERY, name)
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


# ReadOptions


def test_type_and_time(folder: Path) -> None:
    (folder / "renamed.csv").write_text(EVENTS.replace("type", "kind"))
    query = f"{QUERY} WITHIN 2 SECONDS"
    options = ["--type", "kind", "--time", "ts", "--time-unit", "s", "--format", "json"]
    found = objects(ensue("run", query, "renamed.csv", *options))
    assert [each["end_time"] for each in found] == [2, 3]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--time", "tz"], "the time column 'tz' is not among the columns"),
        (["--lateness", "3"], "--lateness needs a time column: pass --time"),
    ],
)
def test_bad_columns(options: list[str], sentence: str) -> None:
    outcome = ensue("run", QUERY, "events.csv", *options)
    assert (outcome.code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


@pytest.mark.parametrize("lateness", ["soon", "-5", "10 parsecs", ""])
def test_a_bad_lateness_is_bad_usage(lateness: str) -> None:
    outcome = ensue("run", QUERY, "events.csv", "--time", "ts", f"--lateness={lateness}")
    assert (outcome.code, outcome.stdout) == (2, "")
    shown = shlex.quote(lateness)
    assert outcome.stderr.startswith(f"error: --lateness {shown} is not a duration; write")


def test_lateness(folder: Path) -> None:
    (folder / "mixed.csv").write_text("type,ts,id\nBUY,5,3\nBUY,4,2\nSELL,4,1\nBUY,1,0\n")
    unordered = ensue("run", QUERY, "mixed.csv", "--time", "ts")
    assert unordered.code == 1
    assert "or pass --lateness to have them put in order" in unordered.stderr
    options = ["--time", "ts", "--lateness", "1", "--tiebreak", "id", "--format", "json"]
    outcome = ensue("run", QUERY, "mixed.csv", *options)
    assert [found["end"] for found in objects(outcome)] == [1, 2]
    assert outcome.stderr.startswith("2 matches in 3 events, ")
    assert outcome.stderr.endswith("; 1 event came too late and took no part\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--format", "xml"],
        ["--time-unit", "weeks"],
        ["--output", "everything"],
        ["--limit-rows", "-1"],
        ["--format", "parquet"],
        ["-o", "matches.xlsx"],
        ["-o", "nowhere/matches.csv"],
        ["-o", "."],
        ["-o", "matches.parquet", "--format", "csv"],
        ["-o", "matches.csv", "--format", "parquet"],
        ["--output", "positions", "--events"],
    ],
)
def test_bad_options(options: list[str], folder: Path) -> None:
    outcome = ensue("run", QUERY, "events.csv", *options)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert options[0] in outcome.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["events.csv", "query.ceql"]
