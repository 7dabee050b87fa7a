"""Files that a run writes: never one that it reads, and whole or as they were before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensue.cli.run import local as running
from ensue.errors import EventError
from ensue.io.write import write_events
from tests import seams
from tests.cli.command import NARROW, ensue
from tests.seams import POLL_SLEEP

EVENTS = "type,ts\nSELL,1\nBUY,2\n"
QUERY = "SELECT * FROM S WHERE SELL ; BUY AS b"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text(EVENTS)
    (tmp_path / "q.ceql").write_text(QUERY)
    (tmp_path / "s.json").write_text('{"ts": "int"}')
    (tmp_path / "lake" / "day").mkdir(parents=True)
    pq.write_table(pa.table({"type": ["SELL", "BUY"]}), tmp_path / "lake" / "day" / "1.parquet")
    (tmp_path / "soft.csv").symlink_to("e.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "e.csv")
    (tmp_path / "down").symlink_to("lake")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


# A file that is read is not written


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["e.csv", "-o", "e.csv"], "-o e.csv: this file is read by the run, as the events of e"),
        (["e.csv", "-o", "lake/../e.csv"], "-o lake/../e.csv: this file is read"),
        (["e.csv", "-o", "soft.csv"], "-o soft.csv: this file is read by the run"),
        (["e.csv", "-o", "hard.csv"], "-o hard.csv: this file is read by the run"),
        (["soft.csv", "-o", "e.csv"], "-o e.csv: this file is read by the run"),
        (["S=e.csv", "-o", "e.csv"], "-o e.csv: this file is read by the run"),
        (["*.csv", "-o", "hard.csv"], "-o hard.csv: this file is read by the run"),
        (["lake", "-o", "lake/day/1.parquet"], "-o lake/day/1.parquet: this file is read"),
        (["lake", "-o", "down/day/1.parquet"], "-o down/day/1.parquet: this file is read"),
        (["lake/*/*.parquet", "-o", "lake/day/1.parquet"], "-o lake/day/1.parquet: this file"),
        (["e.csv", "-o", "e.csv", "--follow"], "-o e.csv: this file is read by the run"),
        (["e.csv", "-o", "q.ceql", "--format", "json"], "-o q.ceql: this file is read by the run,"),
        (["e.csv", "-o", "s.json", "--schema", "s.json"], "-o s.json: this file is read by the"),
        (
            ["e.csv", "-o", "m.csv", "--checkpoint", "hard.csv"],
            "--checkpoint hard.csv: this file is read by the run",
        ),
        (["e.csv", "-o", "m.csv", "--checkpoint", "./m.csv"], "--checkpoint and -o name the same"),
        (["e.csv", "-o", "e.csv", "--engine", "spark"], "-o e.csv: this file is read by the run"),
    ],
)
def test_a_file_that_is_read_is_not_written(
    folder: Path, arguments: list[str], sentence: str
) -> None:
    before = contents(folder)
    outcome = ensue("run", "q.ceql", *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")
    assert contents(folder) == before


def test_streams_of_the_shell_are_looked_at_too(folder: Path) -> None:
    before = contents(folder)
    command = [sys.executable, "-m", "ensue", "run", "q.ceql"]
    environment = {**os.environ, **NARROW}
    with (folder / "e.csv").open("rb") as stdin:
        outcome = subprocess.run(
            [*command, "-", "-o", "soft.csv"], stdin=stdin, env=environment, capture_output=True
        )
    assert (outcome.returncode, outcome.stdout) == (2, b"")
    assert b"as the events of standard input; it would be overwritten" in outcome.stderr
    with (folder / "e.csv").open("ab") as stdout:
        outcome = subprocess.run(
            [*command, "e.csv"], stdout=stdout, env=environment, stderr=subprocess.PIPE
        )
    assert outcome.returncode == 2
    assert b"standard output goes to a file that is read by the run" in outcome.stderr
    assert contents(folder) == before


def test_other_files_are_written(folder: Path) -> None:
    (folder / "m.csv").write_text("old")
    (folder / "m.csv").chmod(0o640)
    (folder / "named.csv").symlink_to("m.csv")
    assert ensue("run", "q.ceql", "e.csv", "-o", "named.csv").code == 0
    assert (folder / "named.csv").is_symlink()
    assert '"start","end"' in (folder / "m.csv").read_text()
    assert (folder / "m.csv").stat().st_mode & 0o777 == 0o640
    assert ensue("run", "q.ceql", "e.csv", "-o", "/dev/null", "--format", "json").code == 0
    assert not Path("/dev/null").is_file()


# Whole, or as it was before


@pytest.mark.parametrize("name", ["m.jsonl", "m.csv.gz", "m.parquet", "m.txt"])
def test_an_error_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 64)
    (folder / "bad.csv").write_text("type,ts\n" + "SELL,1\nBUY,2\n" * 100 + "BUY,soon\n")
    (folder / name).write_text("old")
    before = contents(folder)
    outcome = ensue("run", "q.ceql", "bad.csv", "-o", name)
    assert outcome.code == 1
    assert "'soon' is not of type int" in outcome.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["m.jsonl", "m.parquet", "m.txt"])
def test_a_crash_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Crash(BaseException):
        pass

    seen: list[dict[str, bytes]] = []

    def crash(*_: object, **__: object) -> None:
        seen.append(contents(folder))
        raise Crash

    (folder / name).write_text("old")
    monkeypatch.setattr(running.Session, "finish", crash)
    with pytest.raises(Crash):
        ensue("run", "q.ceql", "e.csv", "-o", name)
    assert seen[0][str(folder / name)] == b"old"
    assert (folder / name).read_text() == "old"


@pytest.mark.parametrize("name", ["m.jsonl", "m.csv", "m.parquet", "m.txt"])
def test_ctrl_c_keeps_what_was_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 64)
    (folder / "long.csv").write_text("type,ts\n" + "SELL,1\nBUY,2\n" * 100)
    (folder / name).write_text("old")
    push = running.Session.push

    def stopped(session: running.Session, *events: object, **options: int) -> object:
        signal.raise_signal(signal.SIGINT)
        return push(session, *events, **options)

    monkeypatch.setattr(running.Session, "push", stopped)
    outcome = ensue("run", "q.ceql", "long.csv", "-o", name)
    assert outcome.code == 130
    assert outcome.stderr.startswith("stopped: ")
    assert int(outcome.stderr.split()[1]) > 1
    if name.endswith("parquet"):
        assert pq.read_metadata(folder / name).num_rows == int(outcome.stderr.split()[1])
    else:
        assert b"old" not in (folder / name).read_bytes()
        assert (folder / name).stat().st_size > 20
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def test_a_parquet_file_without_matches_has_columns_when_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = running.Session.push

    def stopped(session: running.Session, *events: object, **options: int) -> object:
        signal.raise_signal(signal.SIGINT)
        return push(session, *events, **options)

    monkeypatch.setattr(running.Session, "push", stopped)
    outcome = ensue("run", "SELECT * FROM S WHERE BUY ; SELL", "e.csv", "-o", "m.parquet")
    assert outcome.code == 130
    assert "start" in pq.read_schema(folder / "m.parquet").names


def test_a_file_that_is_followed_is_written_where_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def sleep(_: float) -> None:
        seen.append(len((folder / "m.jsonl").read_text().splitlines()))
        signal.raise_signal(signal.SIGINT)

    POLL_SLEEP.put(monkeypatch, sleep)
    assert ensue("run", "q.ceql", "e.csv", "-o", "m.jsonl", "--follow").code == 130
    assert seen == [1]


def test_events_are_written_beside_too(folder: Path) -> None:
    """Also by write_events, and by those who read the file that they write."""
    batch = pa.record_batch({"type": ["A"]})

    def broken() -> object:
        yield batch
        yield pa.record_batch({"other": ["A"]})

    shutil.copy(folder / "e.csv", folder / "old.csv")
    with pytest.raises(EventError, match=r"^old.csv: a batch has other columns"):
        write_events(broken(), "old.csv")  # type: ignore[arg-type]
    assert (folder / "old.csv").read_text() == EVENTS
    assert write_events([batch], "old.csv") == 1
    assert (folder / "old.csv").read_text() == '"type"\n"A"\n'
