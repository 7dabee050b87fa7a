"""ensue run --checkpoint: stopped at any moment and started again, it writes the same matches."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from ensue.cli.run import checkpoint as checkpoints
from ensue.cli.run.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from ensue.datasets import stock_table
from ensue.errors import SnapshotError
from ensue.io.write import write_events
from tests import seams
from tests.cli.command import NARROW, ensue
from tests.effort import FUZZ

QUERY = """\
SELECT s, b FROM Stock
WHERE (SELL AS s ; BUY AS b ; SELL) FILTER s[volume > 1900] AND b[volume > 1500]
PARTITION BY [name] WITHIN 30 MILLISECONDS [stock_time]
"""
OPTIONS = ["--time-unit", "ms", "--checkpoint", "run.ckpt", "--checkpoint-every", "1000"]
TRADES = 20_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.ceql").write_text(QUERY)
    return tmp_path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    seams.CSV_BLOCK.put(monkeypatch, 40_000)
    seams.JSONL_BLOCK.put(monkeypatch, 100_000)
    seams.ARROW_ROWS.put(monkeypatch, 700)


def write_trades(folder: Path, name: str, first: int = 0, rows: int = TRADES) -> Path:
    path = folder / name
    table = stock_table(TRADES).slice(first, rows)
    if name.endswith(".arrow"):
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=500)
    elif name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=3000)
    else:
        write_events(table.to_batches(), path)
    return path


def uninterrupted(folder: Path, *events: str, out: str) -> bytes:
    path = folder / f"whole-{out}"
    outcome = ensue("run", "q.ceql", *events, "--time-unit", "ms", "-o", path)
    assert outcome.code == 0, outcome.stderr
    data = path.read_bytes()
    assert len(data.splitlines()) > 100
    return data


class Died(BaseException):
    """What happens to a process that is killed, here without a process."""


# Going on after a death, at every possible moment


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("events", "out"),
    [
        (["e.csv"], "m.jsonl"),
        (["e.jsonl"], "m.csv"),
        (["e.parquet"], "m.csv"),
        (["e.arrow"], "m.jsonl"),
        (["e.csv.gz"], "m.jsonl"),
        (["1.csv", "2.parquet", "3.jsonl"], "m.jsonl"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else value,
)
def test_resumed_eq_uninterrupted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, events: list[str], out: str
) -> None:
    """Die before, in the middle of and after writing matches, or a checkpoint."""
    for number, name in enumerate(events):
        share = TRADES // len(events)
        write_trades(folder, name, number * share, share)
    expected = uninterrupted(folder, *events, out=out)
    chance = random.Random(7)
    arguments = ["run", "q.ceql", *events, *OPTIONS, "-o", out]
    deaths = 0
    while True:
        left = chance.randint(1, 40)

        def maybe_die() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Died

        with monkeypatch.context() as patch:
            _dying(patch, maybe_die)
            try:
                outcome = ensue(*arguments)
            except Died:
                deaths += 1
                continue
        assert outcome.code == 0, outcome.stderr
        break
    assert deaths >= 3
    assert (folder / out).read_bytes() == expected
    again = ensue(*arguments)
    assert (again.code, again.stdout) == (0, "")
    assert again.stderr == "run.ckpt: this run is complete; remove the checkpoint to run it again\n"
    assert (folder / out).read_bytes() == expected


def _dying(patch: pytest.MonkeyPatch, maybe_die: Callable[[], None]) -> None:
    """Let a run die where it touches the disk, or half way through."""
    replace, write = Path.replace, seams.TEXT_WRITE.original

    def replacing(path: Path, target: Path) -> Path:
        maybe_die()
        found = replace(path, target)
        maybe_die()
        return found

    def writing(sink: Any, table: pa.Table) -> None:
        maybe_die()
        half = table.num_rows // 2
        write(sink, table.slice(0, half))
        sink._stream.flush()
        maybe_die()
        write(sink, table.slice(half))

    patch.setattr(Path, "replace", replacing)
    seams.TEXT_WRITE.put(patch, writing)


def test_killed_eq_uninterrupted(folder: Path) -> None:
    """Kill real processes, as hard as can be, at random moments."""
    write_trades(folder, "e.csv")
    expected = uninterrupted(folder, "e.csv", out="m.jsonl")
    chance = random.Random(None if FUZZ else 3)
    kills, wanted = 0, 50 if FUZZ else 4
    rounds = 0
    while kills < wanted:
        rounds += 1
        for path in (folder / "run.ckpt", folder / "m.jsonl"):
            path.unlink(missing_ok=True)
        while True:
            if _killed(folder, pushes=chance.randint(1, 12)):
                kills += 1
            else:
                break
            if kills >= wanted:
                with _start(folder) as process:
                    process.communicate()
                assert process.returncode == 0
                break
        assert (folder / "m.jsonl").read_bytes() == expected
    assert rounds >= 1


# Before every push it says so and reads a byte, so that it never runs far ahead of its parent.
_IN_TURNS = """
import os, sys
from ensue.cli.run import local as running
from ensue.io import csv
csv._BLOCK = 20_000
push = running.Session.push
def in_turns(session, events, **options):
    os.write(1, b".")
    os.read(0, 1)
    return push(session, events, **options)
running.Session.push = in_turns
from ensue.cli.app import main
main()
"""


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _IN_TURNS, "run", "q.ceql", "e.csv", *OPTIONS, "-o", "m.jsonl"]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **NARROW},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _killed(folder: Path, pushes: int) -> bool:
    """Kill a process between a push and the third after it; tell whether it was still at work."""
    with _start(folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"." * (pushes + 3))
        process.stdin.flush()
        process.stdout.read(pushes)
        process.kill()
    return process.returncode != 0


# What does not go together


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["e.csv"], "--checkpoint needs a file of matches that can be continued"),
        (
            ["e.csv", "-o", "m.parquet"],
            "--checkpoint needs a file of matches that can be continued",
        ),
        (["e.csv", "-o", "m.txt"], "--checkpoint needs a file of matches that can be continued"),
        (["e.csv", "-o", "m.jsonl.gz"], "-o m.jsonl.gz: a compressed file cannot be continued"),
        (["-", "-o", "m.csv"], "--checkpoint needs events that can be read again"),
        (["e.csv", "-o", "m.csv", "--checkpoint", "."], "--checkpoint .: this is a folder"),
        (["e.csv", "-o", "m.csv", "--checkpoint", "no/c"], "--checkpoint no/c: there is no such"),
        (["e.csv", "-o", "m.csv", "--checkpoint", "m.csv"], "--checkpoint and -o name the same"),
        (["e.csv", "-o", "m.csv", "--checkpoint-every", "soon"], "--checkpoint-every soon: write"),
        (["e.csv", "-o", "m.csv", "--checkpoint-every", "0"], "--checkpoint-every 0: write"),
    ],
)
def test_what_cannot_be_continued(folder: Path, arguments: list[str], sentence: str) -> None:
    write_trades(folder, "e.csv", rows=10)
    outcome = ensue("run", "q.ceql", *OPTIONS, *arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {sentence}")


def stopped_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments of a run that was stopped in the middle."""
    write_trades(folder, "e.csv")
    seams.CSV_BLOCK.put(monkeypatch, 40_000)
    arguments = ["run", "q.ceql", "e.csv", *OPTIONS, "-o", "m.csv"]
    with monkeypatch.context() as patch:
        left = iter(range(5))
        save = checkpoints.write_checkpoint

        def dying(path: Path, checkpoint: Checkpoint) -> None:
            save(path, checkpoint)
            if next(left, None) is None:
                raise Died

        patch.setattr(checkpoints, "write_checkpoint", dying)
        with pytest.raises(Died):
            ensue(*arguments)
    found = read_checkpoint(folder / "run.ckpt")
    assert found is not None
    assert not found.finished
    return arguments


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--time", "stock_time"], "made with another --time (none, now stock_time)"),
        (["--positions"], "made with another choice of --events or --positions (events, now posit"),
        (["-o", "n.csv"], "made with another file of matches (m.csv, now n.csv)"),
        (["--lateness", "5"], "made with another --lateness (none, now 5)"),
    ],
)
def test_a_checkpoint_of_another_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], sentence: str
) -> None:
    arguments = stopped_run(folder, monkeypatch)
    before = (folder / "m.csv").read_bytes()
    outcome = ensue(*arguments, *more)
    assert outcome.code == 1
    assert outcome.stderr.startswith("error: run.ckpt: this checkpoint was ")
    assert sentence in outcome.stderr
    assert (folder / "m.csv").read_bytes() == before


def test_a_checkpoint_of_other_files_or_another_query(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = stopped_run(folder, monkeypatch)
    (folder / "q.ceql").write_text(QUERY.replace("1900", "1800"))
    assert "made with another query (SELECT s, b" in ensue(*arguments).stderr
    (folder / "q.ceql").write_text(QUERY)
    (folder / "f.csv").write_bytes((folder / "e.csv").read_bytes())
    other = ["f.csv" if each == "e.csv" else each for each in arguments]
    assert "e.csv is not where it was among the files" in ensue(*other).stderr
    data = (folder / "e.csv").read_bytes()
    (folder / "e.csv").write_bytes(data.replace(b"MSFT", b"IBM", 1) + data)
    assert "e.csv does not begin as it did" in ensue(*arguments).stderr
    (folder / "e.csv").write_bytes(data)
    (folder / "m.csv").write_text("short")
    outcome = ensue(*arguments)
    assert (outcome.code, "-o m.csv: the file has 5 bytes, fewer than" in outcome.stderr) == (
        2,
        True,
    )
    (folder / "m.csv").unlink()
    assert "the file that the checkpoint belongs to is gone" in ensue(*arguments).stderr


def test_damaged_checkpoints(folder: Path) -> None:
    path = folder / "c"
    whole = Checkpoint({"query": "q"}, {}, {"": {"bytes": 7}}, 3, 9, False, b"state\n\x00")
    write_checkpoint(path, whole)
    assert read_checkpoint(path) == whole
    data = path.read_bytes()
    for number in range(len(data)):
        path.write_bytes(data[:number])
        with pytest.raises(SnapshotError):
            read_checkpoint(path)
        path.write_bytes(data[:number] + bytes([data[number] ^ 1]) + data[number + 1 :])
        with pytest.raises(SnapshotError):
            read_checkpoint(path)
    path.write_bytes(data.replace(b"checkpoint 1", b"checkpoint 2"))
    with pytest.raises(SnapshotError, match="another version of Ensue"):
        read_checkpoint(path)


def test_csv_output_has_its_header_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = stopped_run(folder, monkeypatch)
    assert ensue(*arguments).code == 0
    table = arrow_csv.read_csv(folder / "m.csv")
    assert table.num_rows == (folder / "m.csv").read_text().count("\n") - 1
    assert table.schema.field("start").type == pa.int64()
