"""--on-error collect: bad lines are kept with file, line and reason; the others are read."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ensue as library
from ensue.cli.run import local as running
from tests import seams
from tests.cli.command import ensue
from tests.seams import POLL_SLEEP

QUERY = "SELECT * FROM S WHERE A AS a ; B AS b FILTER a[v > 0] WITHIN 10 [ts]"
COLLECT = ("--on-error", "collect", "bad.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rejected(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]


CSV = b"""\
type,ts,v
A,1,5
A,2
B,3,oops
B,4,6

C,5,"two
lines",7
A,\xff\xfe\x00,8
A,,9
B,2,10
A,99999999999999999999,1
"B,6,7
B,8,9
"""

JSON = b"""\
{"type": "A", "ts": 1, "v": 5}
{"type": "A", "ts":
{"type": "B", "ts": 3, "v": "oops"}
{"type": "B", "ts": 4, "v": 6}

[1, 2]
\x00\xff\xfe garbage
{"type": "A", "ts": null, "v": 9}
{"type": "B", "ts": 2, "v": 10}
{"type": "A", "ts": 99999999999999999999}
{"type": "B", "ts": 8, "v": 9}
"""

REASONS = {
    "e.csv": {
        3: "the header names 3 columns, and here are 2",
        4: "'oops' is not of type int",
        7: "the header names 3 columns, and here are 4",
        9: "not UTF-8",
        10: "the time 'ts' is NULL",
        11: "time goes back",
        12: "'99999999999999999999' is not of type int",
        13: "a quote is opened and never closed",
    },
    "e.jsonl": {
        2: "not JSON at column",
        3: "'oops' is of type string, but the column is of type int",
        6: "every line must hold one object",
        7: "not UTF-8",
        8: "the time 'ts' is NULL",
        9: "time goes back",
        10: "99999999999999999999 does not fit into the type int",
    },
}


@pytest.mark.parametrize(("name", "data"), [("e.csv", CSV), ("e.jsonl", JSON)])
@pytest.mark.parametrize("size", [1 << 20, 40])
def test_bad_lines_are_collected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes, size: int
) -> None:
    seams.JSONL_BLOCK.put(monkeypatch, size)
    seams.CSV_BLOCK.put(monkeypatch, max(size, 64))
    (folder / name).write_bytes(data)
    outcome = ensue("run", QUERY, name, "--format", "json", *COLLECT)
    assert outcome.code == 0, outcome.stderr
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(each["a"][0]["ts"], each["b"][0]["ts"]) for each in found] == [(1, 4), (1, 8)]
    told = rejected(folder)
    assert {each["file"] for each in told} == {name}
    reasons = {each["line"]: each["reason"] for each in told}
    assert set(reasons) == set(REASONS[name])
    for line, reason in REASONS[name].items():
        assert reason in reasons[line]
    lines = data.split(b"\n")
    for each in told:
        text = lines[each["line"] - 1].decode(errors="backslashreplace")
        assert each.get("text", text).startswith(text)
        assert ("event" in each) == ("time" in each["reason"].lower())
    summary = outcome.stderr.splitlines()
    assert summary[0].startswith(f"  {name}, line ")
    assert f"{len(told)} events rejected, kept in bad.jsonl" in summary
    assert summary[-1].startswith("2 matches in 3 events")


@pytest.mark.parametrize(("name", "data"), [("e.csv", CSV), ("e.jsonl", JSON)])
def test_without_it_the_run_stops(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    outcome = ensue("run", QUERY, name)
    assert outcome.code == 1
    assert outcome.stderr.startswith(f"error: {name}, line ")


@pytest.mark.parametrize(("name", "data"), [("e.csv", CSV), ("e.jsonl", JSON)])
def test_sessions_collect_lines_of_files_too(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    session = library.compile(QUERY).open(on_error="collect")
    found = session.push(folder / name)
    assert found.count == 2
    assert len(session.rejected) == session.stats["rejected"] == len(REASONS[name])
    assert session.rejected == found.rejected
    lines = {each.line for each in session.rejected if each.line is not None}
    assert lines == {line for line, text in REASONS[name].items() if "time" not in text}


def test_a_column_of_numbers_rejects_what_is_none(folder: Path) -> None:
    rows = "".join(f"A,{n},{n}\n" for n in range(40))
    (folder / "e.csv").write_text(f"type,ts,v\n{rows}B,40,ERR\nB,41,7\n")
    outcome = ensue("run", QUERY, "e.csv", "--positions", "--format", "csv", *COLLECT)
    assert outcome.code == 0, outcome.stderr
    assert [(each["line"], each["text"]) for each in rejected(folder)] == [(42, "B,40,ERR")]


def test_garbage_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is put between good lines, the matches are those of the good lines."""
    chance = random.Random(5)
    junk = {
        "csv": [b"A,1", b"\xff\xfe,1,2", b"A,1,2,3,4", b"x,y,z", b"A,soon,1", b"\x00\x01"],
        "jsonl": [b"{", b"\xff", b"7", b'{"type": 3}', b'{"ts": "x"}', b'{"v": {"w": 1}}'],
    }
    for kind, lines in junk.items():
        rows = [("AB"[chance.random() < 0.5], at, chance.randint(-3, 3)) for at in range(300)]
        good = [
            f"{t},{at},{v}" if kind == "csv" else json.dumps({"type": t, "ts": at, "v": v})
            for t, at, v in rows
        ]
        head = b"type,ts,v\n" if kind == "csv" else b""
        (folder / f"good.{kind}").write_bytes(head + "\n".join(good).encode() + b"\n")
        mixed = [good[0].encode()]
        for line in good[1:]:
            mixed += [chance.choice(lines)] * (chance.random() < 0.2) + [line.encode()]
        (folder / f"mixed.{kind}").write_bytes(head + b"\n".join(mixed) + b"\n")
        expected = ensue("run", QUERY, f"good.{kind}", "--format", "json").stdout
        for size in (70, 700, 1 << 20):
            seams.CSV_BLOCK.put(monkeypatch, size)
            seams.JSONL_BLOCK.put(monkeypatch, size)
            outcome = ensue("run", QUERY, f"mixed.{kind}", "--format", "json", *COLLECT)
            assert outcome.stdout == expected
            texts = {line.decode(errors="backslashreplace") for line in lines}
            told = rejected(folder)
            assert len(told) == len(mixed) - len(good)
            assert {each["text"] for each in told} <= texts


def test_rejected_events_of_parquet_name_the_file(folder: Path) -> None:
    pq.write_table(pa.table({"type": ["A", "A"], "ts": [3, 2], "v": [1, 1]}), folder / "e.parquet")
    outcome = ensue("run", QUERY, "e.parquet", *COLLECT)
    assert outcome.code == 0
    (only,) = rejected(folder)
    assert only == {
        "file": "e.parquet",
        "line": None,
        "reason": "time goes back at row 1",
        "event": {"type": "A", "ts": 2, "v": 1},
    }


def test_rejected_events_go_on_after_a_crash(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Crash(BaseException):
        pass

    lines = [b"{" if n % 3 == 1 else b'{"type":"A","ts":%d,"v":1}' % n for n in range(60)]
    (folder / "e.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    seams.JSONL_BLOCK.put(monkeypatch, 120)
    whole = ensue("run", "SELECT * FROM S WHERE A", "e.jsonl", "-o", "whole.jsonl", *COLLECT)
    assert whole.code == 0
    expected = (folder / "bad.jsonl").read_bytes()
    (folder / "bad.jsonl").unlink()
    options = ["--checkpoint", "c", "--checkpoint-every", "4", "-o", "m.jsonl", *COLLECT]
    write = running.TextSink.write
    for left in (5, 4, 2, 0):

        def dying(sink: Any, matches: Any, left: list[int] = [left]) -> None:  # noqa: B006
            left[0] -= 1
            if left[0] == 0:
                raise Crash
            write(sink, matches)

        monkeypatch.setattr(running.TextSink, "write", dying)
        if left:
            with pytest.raises(Crash):
                ensue("run", "SELECT * FROM S WHERE A", "e.jsonl", *options)
        else:
            outcome = ensue("run", "SELECT * FROM S WHERE A", "e.jsonl", *options)
            assert "20 events rejected, kept in bad.jsonl" in outcome.stderr
    assert (folder / "m.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert (folder / "bad.jsonl").read_bytes() == expected


def test_bad_lines_of_a_followed_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "e.jsonl"
    path.write_bytes(b'nonsense\n{"type": "A", "ts": 1, "v": 1}\n')
    parts = [b"more nonsense\n", b'{"type": "B", "ts": 2, "v": 1}\n', None]

    def sleep(_: float) -> None:
        part = parts.pop(0)
        if part is None:
            signal.raise_signal(signal.SIGINT)
            return
        with path.open("ab") as file:
            file.write(part)

    POLL_SLEEP.put(monkeypatch, sleep)
    outcome = ensue("run", QUERY, "e.jsonl", "--follow", *COLLECT)
    assert outcome.code == 130
    assert len(outcome.stdout.splitlines()) == 1
    assert [each["line"] for each in rejected(folder)] == [1, 3]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--on-error", "skip", "bad.jsonl"], "--on-error skip: write --on-error collect FILE"),
        (["--on-error", "collect", "."], "--on-error collect .: this is a folder"),
        (["--on-error", "collect", "no/b.jsonl"], "--on-error collect no/b.jsonl: there is no"),
        (["--on-error", "collect", "e.csv"], "--on-error collect e.csv: this file is read"),
        (["--on-error", "collect", "m.csv", "-o", "m.csv"], "--on-error collect and -o name the"),
        ([*COLLECT, "--engine", "spark"], "--on-error goes with --engine local only"),
    ],
)
def test_what_cannot_be_collected(folder: Path, arguments: list[str], sentence: str) -> None:
    (folder / "e.csv").write_bytes(CSV)
    outcome = ensue("run", QUERY, "e.csv", *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")
