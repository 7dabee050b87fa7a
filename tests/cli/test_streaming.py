"""ensue run on streams: pipes, files that grow, interruptions; real processes where it matters."""

from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import seams
from tests.cli.command import NARROW, Outcome, ensue, start
from tests.seams import POLL_SLEEP
from tests.waiting import wait_until

EVENTS = "type,ts,price\nSELL,1,25.5\nBUY,2,26\nBUY,3,80.25\n"
LINES = '{"type": "SELL", "ts": 1}\n{"type": "BUY", "ts": 2}\n{"type": "BUY", "ts": 3}\n'
QUERY = "SELECT * FROM S WHERE SELL ; BUY AS b"
PAIRS = "SELECT NONE FROM S WHERE A : A"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def objects(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


# Pipes and folders


@pytest.mark.parametrize(
    "data",
    [EVENTS.encode(), LINES.encode(), gzip.compress(EVENTS.encode())],
    ids=["csv", "jsonl", "gzip"],
)
def test_events_from_standard_input(data: bytes) -> None:
    for options in ([], ["--follow"]) if data[0] != 0x1F else ([],):
        outcome = ensue("run", QUERY, "-", "--format", "json", *options, stdin=data)
        assert [each["end"] for each in objects(outcome)] == [1, 2]
        assert outcome.stderr.startswith("2 matches in 3 events, ")


def test_query_and_events_cannot_both_be_piped() -> None:
    outcome = ensue("run", "-", "-", stdin=QUERY)
    assert outcome.code == 2
    assert outcome.stderr.startswith("error: the query and the events cannot both come from")


def test_a_folder_and_a_pattern(folder: Path) -> None:
    (folder / "lake").mkdir()
    for number in (2, 1):
        table = pa.table({"type": ["SELL", "BUY"], "n": [number, number]})
        pq.write_table(table, folder / "lake" / f"{number}.parquet")
    for events in ("lake", "lake/*.parquet"):
        found = objects(ensue("run", QUERY, events, "--format", "json"))
        assert [each["b"][0]["n"] for each in found] == [1, 2, 2]
    assert (
        ensue("run", QUERY, "lake/*.csv").stderr == "error: lake/*.csv: no file fits this pattern\n"
    )


def test_one_stream_may_be_named(folder: Path) -> None:
    (folder / "e.csv").write_text(EVENTS)
    assert len(objects(ensue("run", QUERY, "S=e.csv", "--format", "json"))) == 2


def test_declared_types(folder: Path) -> None:
    (folder / "e.csv").write_text(EVENTS.replace("ts", "at").replace(",1,", ",2026-01-31,"))
    (folder / "s.json").write_text('{"at": "string", "price": "double"}')
    outcome = ensue("run", QUERY, "e.csv", "--schema", "s.json", "--format", "json")
    assert objects(outcome)[0]["SELL"][0]["at"] == "2026-01-31"
    (folder / "s.json").write_text('{"at": "strings"}')
    assert ensue("run", QUERY, "e.csv", "--schema", "s.json").code == 2


@pytest.mark.parametrize("end", ["jsonl.zst", "csv.gz", "csv.zst"])
def test_matches_may_be_compressed(folder: Path, end: str) -> None:
    (folder / "e.csv").write_text(EVENTS)
    assert ensue("run", QUERY.replace("*", "NONE"), "e.csv", "-o", f"m.{end}").code == 0
    again = ensue("run", "SELECT * FROM S WHERE S", f"m.{end}")
    assert again.stderr.startswith("2 matches in 2 events")


# Only what is needed is read


def test_columns_that_nobody_needs_are_not_read(folder: Path) -> None:
    head = "type,ts,note,price\n"
    rows = "SELL,1,7,1.5\nBUY,2,7,2.5\n" * 200_000
    (folder / "e.csv").write_text(f"{head}{rows}SELL,3,not a number any more,1.5\n")
    query = "SELECT b[price] FROM S WHERE SELL : BUY AS b FILTER b[ts > 2]"
    assert ensue("run", query, "e.csv", "--format", "json").code == 0
    assert ensue("run", QUERY.replace(";", ":"), "e.csv", "--positions").code == 0
    whole = ensue("run", QUERY.replace(";", ":"), "e.csv")
    assert whole.code == 1
    assert "line 400002, column 'note'" in whole.stderr


def test_errors_know_all_columns(folder: Path) -> None:
    (folder / "e.csv").write_text(EVENTS)
    outcome = ensue("run", f"{QUERY} FILTER b[prise > 1]", "e.csv", "--positions")
    assert "did you mean 'price'?" in outcome.stderr
    outcome = ensue("run", QUERY, "e.csv", "--positions", "--time", "tz")
    assert outcome.stderr.startswith("error: the time column 'tz' is not among the columns")
    assert "there are type, ts, price" in outcome.stderr or "did you mean 'ts'" in outcome.stderr
    outcome = ensue("run", QUERY, "e.csv", "--positions", "--tiebreak", "prise")
    assert "did you mean 'price'?" in outcome.stderr


def test_errors_number_rows_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    seams.CSV_BLOCK.put(monkeypatch, 64)
    rows = "".join(f"SELL,{n},1\n" for n in range(100))
    (folder / "e.csv").write_text(f"type,ts,price\n{rows}SELL,5,1\n")
    outcome = ensue("run", QUERY, "e.csv", "--time", "ts")
    assert outcome.stderr.startswith("error: time goes back at row 100: 'ts' is 5 after 99")


# Parquet bit by bit


def test_parquet_is_written_bit_by_bit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    seams.PARQUET_WAITING.put(monkeypatch, 100)
    seams.ARROW_ROWS.put(monkeypatch, 50)
    pq.write_table(pa.table({"type": ["A"] * 1000, "n": range(1000)}), folder / "e.parquet")
    query = "SELECT * FROM S WHERE A"
    assert ensue("run", query, "e.parquet", "-o", "m.parquet", "--threads", "1").code == 0
    found = pq.ParquetFile(folder / "m.parquet")
    assert found.num_row_groups == 10
    assert found.read().column("A").to_pylist()[777] == [{"type": "A", "n": 777}]


def test_parquet_of_columns_that_change_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    seams.PARQUET_WAITING.put(monkeypatch, 1)
    seams.JSONL_BLOCK.put(monkeypatch, 20)
    (folder / "e.jsonl").write_text('{"type": "A"}\n{"type": "A", "n": 1}\n')
    outcome = ensue("run", "SELECT * FROM S WHERE A", "e.jsonl", "-o", "m.parquet")
    assert outcome.code == 1
    assert outcome.stderr.startswith("error: m.parquet: the events have other columns now")


# Processes


def big_file(folder: Path, rows: int = 300_000) -> Path:
    path = folder / "big.csv"
    path.write_text("type,n\n" + "A,123456789012\n" * rows)
    return path


def test_a_closed_pipe_is_silent(folder: Path) -> None:
    big_file(folder)
    with start("run", PAIRS, "big.csv", "--format", "json", folder=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["end"] == 1
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("number", "code", "name"),
    [
        (signal.SIGINT, 130, "m.jsonl"),
        (signal.SIGTERM, 143, "m.csv"),
        (signal.SIGINT, 130, "m.parquet"),
    ],
)
def test_a_run_that_is_stopped_keeps_what_it_found(
    folder: Path, number: int, code: int, name: str
) -> None:
    with start("run", PAIRS, "-", "-o", name, folder=folder) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("type,n\n" + "A,123456789012\n" * 600_000)
        process.stdin.flush()
        # The rest of the input is yet to come, and so is the end of the block that was begun.
        # Until the end, the file is written beside its place.
        wait_until(
            lambda: any(each.stat().st_size >= 100_000 for each in folder.glob(".m*")),
            "some matches are written",
            process,
        )
        process.send_signal(number)
        said = process.stderr.read()
        process.stdin.close()
    assert process.returncode == code
    assert said.startswith("stopped: ")
    found = int(said.split()[1].replace(",", ""))
    assert found > 1_000
    out = folder / name
    if name.endswith("parquet"):
        assert pq.read_metadata(out).num_rows == found
    else:
        lines = out.read_text().splitlines()
        assert len(lines) == found + name.endswith("csv")
        assert lines[-1].endswith("}" if name.endswith("jsonl") else str(found))


def test_following_standard_input() -> None:
    with start("run", QUERY, "-", "--follow") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number, line in enumerate(LINES.splitlines()):
            process.stdin.write(line[:9])
            process.stdin.flush()
            process.stdin.write(line[9:] + "\n")
            process.stdin.flush()
            if number:
                assert json.loads(process.stdout.readline())["end"] == number
        process.stdin.close()
        assert process.stderr.read().startswith("2 matches in 3 events")
    assert process.returncode == 0


def test_following_a_file_with_late_events(folder: Path) -> None:
    path = folder / "e.csv"
    path.write_text("type,ts\nSELL,1\n")
    options = ["--follow", "--time", "ts", "--lateness", 2, "--format", "csv"]
    with start("run", QUERY, "e.csv", *options, folder=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for text in ("BUY,3\nBUY,2\nBU", "Y,7\nBUY,1\n"):
            with path.open("a") as file:
                file.write(text)
        assert process.stdout.readline().startswith('"start_time","end_time","match_id","start"')
        assert process.stdout.readline().startswith("1,2,")
        assert process.stdout.readline().startswith("1,3,")
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said.startswith("stopped: 2 matches in 3 events")
    assert "1 event came too late" in said


def test_following_prints_tables_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "e.jsonl"
    path.write_text(LINES)
    parts = ['{"type": "BUY", "ts": 9}\n', None]

    def sleep(_: float) -> None:
        part = parts.pop(0)
        if part is None:
            signal.raise_signal(signal.SIGINT)
        else:
            with path.open("a") as file:
                file.write(part)

    POLL_SLEEP.put(monkeypatch, sleep)
    outcome = ensue("run", QUERY, "e.jsonl", "--follow", "--format", "table")
    assert outcome.code == 130
    assert outcome.stdout.count("bound to") == 2
    assert outcome.stdout.count("SELL") == 3 * 2
    assert outcome.stderr.startswith("stopped: 3 matches in 4 events")


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_integers_of_a_followed_file_become_doubles(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def lines(*rows: tuple[str, float]) -> str:
        form = "{},{}\n" if name.endswith("csv") else '{{"type": "{}", "price": {}}}\n'
        return "".join(form.format(*row) for row in rows)

    path = folder / name
    path.write_text("type,price\n" * name.endswith("csv") + lines(("SELL", 50), ("BUY", 51)))
    parts = [lines(("BUY", 50.5)), lines(("SELL", 50), ("BUY", 49.5)), None]

    def sleep(_: float) -> None:
        part = parts.pop(0)
        if part is None:
            signal.raise_signal(signal.SIGINT)
        else:
            with path.open("a") as file:
                file.write(part)

    POLL_SLEEP.put(monkeypatch, sleep)
    query = "SELECT b FROM S WHERE SELL AS a ; BUY AS b FILTER b.price > a.price"
    outcome = ensue("run", query, name, "--follow", "--format", "json")
    assert outcome.code == 130
    prices = [json.loads(line)["b"][0]["price"] for line in outcome.stdout.splitlines()]
    assert prices == [51, 50.5]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["e.parquet", "--follow"], 1, "e.parquet: only plain files of CSV or JSON lines can be"),
        (["e.csv", "--follow", "-o", "m.parquet"], 2, "--follow writes matches at once"),
        (["S=e.csv", "T=e.csv", "--follow"], 2, "--follow reads one stream"),
    ],
)
def test_what_cannot_be_followed(
    folder: Path, arguments: list[str], code: int, sentence: str
) -> None:
    (folder / "e.csv").write_text(EVENTS)
    pq.write_table(pa.table({"type": ["BUY"]}), folder / "e.parquet")
    query = QUERY.replace("FROM S", "FROM S, T") if len(arguments) == 3 else QUERY
    outcome = ensue("run", query if arguments[0].startswith("S=") else QUERY, *arguments)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


def test_a_terminal_shows_how_far_it_is(folder: Path) -> None:
    big_file(folder)
    ours, theirs = pty.openpty()
    environment = {**os.environ, **NARROW, "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "ensue", "run", PAIRS, "big.csv", "-o", "m.jsonl"]
    process = subprocess.Popen(command, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # how Linux says that nobody writes to a terminal any more
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert process.wait() == 0
    assert b"300,000 events, " in seen
    assert b"/s" in seen
    assert b"299,999 matches in 300,000 events" in seen
