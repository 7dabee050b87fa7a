"""ensue run: the formats of its output."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.command import ensue, start
from tests.cli.test_run import COUNTED, EVENTS, QUERY, objects


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "query.ceql").write_text(QUERY)
    return tmp_path


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
