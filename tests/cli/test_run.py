"""ensue run: matches of a query in files of events."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.command import Outcome, ensue, start

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


# Formats

FIRST = {
    "start_time": 1,
    "end_time": 2,
    "match_id": "7442f067ba6aa0cfac620e8de74ce255",
    "start": 0,
    "end": 1,
    "SELL": [{"type": "SELL", "ts": 1, "name": "MSFT", "price": 25.5}],
    "BUY": [{"type": "BUY", "ts": 2, "name": "MSFT", "price": 26.0}],
    "b": [{"type": "BUY", "ts": 2, "name": "MSFT", "price": 26.0}],
}
PLACES = {**FIRST, "SELL": [0], "BUY": [1], "b": [1]}


def test_json() -> None:
    options = ["events.csv", "--time", "ts", "--format", "json"]
    (first, *_) = objects(ensue("run", QUERY, *options))
    assert first == FIRST
    assert list(first) == list(FIRST)
    assert objects(ensue("run", QUERY, *options, "--positions"))[0] == PLACES


def test_csv() -> None:
    outcome = ensue("run", QUERY, "events.csv", "--time", "ts", "--format", "csv")
    first = next(csv.DictReader(io.StringIO(outcome.stdout)))
    assert first.pop("match_id") == FIRST["match_id"]
    assert {name: json.loads(text) for name, text in first.items()} == {
        name: value for name, value in FIRST.items() if name != "match_id"
    }


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_an_alert_has_rule_key_id_and_times_with_their_zone(folder: Path, kind: str) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "pairs.ceql").write_text(
        "SELECT b[name] FROM S WHERE SELL ; BUY AS b PARTITION BY [name] WITHIN 1 HOUR"
    )
    (folder / "zoned.csv").write_text(
        "type,at,name\nSELL,2026-01-31T09:30:00+01:00,IBM\nBUY,2026-01-31T09:30:00.25+01:00,IBM\n"
    )
    outcome = ensue("run", "rules/pairs.ceql", "zoned.csv", "--time", "at", "--format", kind)
    assert outcome.code == 0, outcome.stderr
    if kind == "csv":
        (found,) = csv.DictReader(io.StringIO(outcome.stdout))
    else:
        (found,) = objects(outcome)
    assert list(found)[:5] == ["query", "name", "start_time", "end_time", "match_id"]
    assert (found["query"], found["name"]) == ("pairs", "IBM")
    assert found["start_time"] == "2026-01-31T08:30:00Z"
    assert found["end_time"] == "2026-01-31T08:30:00.250Z"
    assert len(found["match_id"]) == 32


def test_one_row_an_event() -> None:
    options = ["events.csv", "--time", "ts", "--format", "json", "--long"]
    first, second, *_ = objects(ensue("run", QUERY, *options))
    assert first == {
        **{name: FIRST[name] for name in ("start_time", "end_time", "match_id", "start", "end")},
        "position": 0,
        "variables": ["SELL"],
        "type": "SELL",
        "ts": 1,
        "name": "MSFT",
        "price": 25.5,
    }
    assert (second["match_id"], second["variables"]) == (first["match_id"], ["BUY", "b"])
    outcome = ensue("run", QUERY, *options, "--positions")
    assert outcome.code == 2
    assert "--long writes events" in outcome.stderr


def test_output_positions() -> None:
    outcome = ensue("run", QUERY, "events.csv", "--output", "positions", "--format", "json")
    assert objects(outcome)[2]["positions"] == [0, 3]
    table = ensue("run", QUERY, "events.csv", "--output", "positions")
    assert table.stdout.splitlines()[0].split() == ["start", "end", "positions", "match_id"]


@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "m.ndjson.gz", "M.JSONL"])
def test_json_files(folder: Path, name: str) -> None:
    outcome = ensue("run", QUERY, "events.csv", "--time", "ts", "-o", name)
    assert (outcome.code, outcome.stdout) == (0, "")
    assert outcome.stderr.startswith(COUNTED)
    data = (folder / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith("gz") else data).decode().splitlines()
    assert json.loads(lines[0]) == FIRST
    assert len(lines) == 3


def test_parquet_files(folder: Path) -> None:
    assert ensue("run", QUERY, "events.csv", "--time", "ts", "-o", "m.parquet").code == 0
    assert pq.read_table(folder / "m.parquet").to_pylist()[0] == FIRST


def test_tables_in_files(folder: Path) -> None:
    assert ensue("run", QUERY, "events.csv", "-o", "m.txt").code == 0
    assert ensue("run", QUERY, "events.csv", "-o", "m.log", "--format", "table").code == 0
    text = (folder / "m.txt").read_text(encoding="utf-8")
    assert text == (folder / "m.log").read_text(encoding="utf-8")
    assert text == ensue("run", QUERY, "events.csv").stdout


def test_what_json_has_no_word_for(folder: Path) -> None:
    (folder / "odd.csv").write_text(
        "type,at,day,x\n"
        "SELL,2026-01-31 09:30:00.123456789,2026-01-31,inf\n"
        "BUY,2026-01-31 09:30:01,,nan\n"
    )
    found = objects(ensue("run", QUERY, "odd.csv", "--time", "at", "--format", "json"))[0]
    assert found["start_time"] == "2026-01-31T09:30:00.123456789"
    assert found["SELL"] == [
        {"type": "SELL", "at": found["start_time"], "day": "2026-01-31", "x": "inf"}
    ]
    assert found["b"][0]["x"] is None


@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_no_matches(format: str) -> None:
    outcome = ensue("run", "SELECT * FROM S WHERE BUY ; SELL", "events.csv", "--format", format)
    assert outcome.code == 0
    assert outcome.stdout.count("\n") == (1 if format == "csv" else 0)
    assert outcome.stderr.startswith("no matches in 4 events, ")


def test_warnings_about_data_and_evaluation_are_sentences(tmp_path: Path) -> None:
    query = "SELECT * FROM S WHERE NEXT(A AS a ; B AS b FILTER a.v < b.v) ; B WITHIN 3 EVENTS"
    (tmp_path / "q.ceql").write_text(query)
    rows = "".join(f"{'AB'[n % 2]},{n}\n" for n in range(1001))
    (tmp_path / "events.csv").write_text(f"type,v\n{rows}A,none\n")
    process = start("run", "q.ceql", "events.csv", folder=tmp_path)
    _, said = process.communicate()
    assert process.returncode == 0
    data, speed, *_ = said.splitlines()
    assert data.startswith("warning: events.csv, line 1003, column 'v': 'none' is not a number")
    assert speed.startswith("warning: this query is evaluated by definition")


def test_what_no_event_has_is_named_on_standard_error(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"type": "SELL", "price": 3}\n{"type": "BUY", "price": 4}\n')
    process = start("run", "SELECT * FROM S WHERE SEL FILTER SEL[prise > 3]", events)
    _, stderr = process.communicate()
    assert process.returncode == 0
    assert stderr.splitlines()[:-1] == [
        "warning: no event has type 'SEL'; there are SELL, BUY",
        "warning: no event has attribute 'prise'; did you mean 'price'?",
    ]
