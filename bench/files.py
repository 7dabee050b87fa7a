"""`ensue run` on files, from starting the process to the last match on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.lab import Lab
from bench.processes import ROOT, resident_memory
from bench.tables import Column, Group, Row, Target, at_least, at_most

MILLION = 1_000_000

QUERY = """
SELECT * FROM Stock
WHERE (SELL AS a ; BUY AS b ; SELL AS c)
  FILTER a[name = 'MSFT' AND volume > 2500] AND b[name = 'MSFT' AND volume > 2500]
     AND c[name = 'MSFT' AND volume > 2500]
WITHIN 10 MILLISECONDS [stock_time]
"""
"""Of every million trades it finds six matches."""

_LARGE = "Parquet"

_PAUSE = 0.05
"""So many seconds pass before memory is looked at again."""


def _measure(lab: Lab) -> list[Row]:
    most = 5 if lab.quick else 50
    rows: list[Row] = []
    for kind, suffix, events in (
        (_LARGE, "parquet", most * MILLION // 10),
        (_LARGE, "parquet", most * MILLION),
        ("CSV", "csv", most * MILLION // 10),
        ("CSV, gzip", "csv.gz", most * MILLION // 50),
        ("JSON lines", "jsonl", most * MILLION // 50),
    ):
        path = _made(lab, events, suffix)
        lab.say(f"{kind}, {events:,} events")
        row: Row = {"format": kind, "events": events, "file": path.stat().st_size}
        runs = [_run(path, lab) for _ in range(2 if lab.quick else 3)]
        failed = [run.failed for run in runs if run.failed]
        if failed:
            rows.append({**row, "failed": failed[0]})
        else:
            best = min(runs, key=lambda run: run.seconds)
            told = {"seconds": best.seconds, "rate": events / best.seconds, "peak": best.peak}
            rows.append({**row, **told, "early": best.early, "late": best.late})
        path.unlink()
    return rows


def _made(lab: Lab, events: int, suffix: str) -> Path:
    from ensue.datasets import stock_trades
    from ensue.io.write import write_events

    lab.say(f"making {events:,} events")
    path = lab.folder / f"trades-{events}.{suffix}"
    write_events(stock_trades(events), path)
    return path


class _Run(NamedTuple):
    """A run of the command."""

    failed: str
    """What went wrong, if anything."""
    seconds: float
    peak: int
    """The most bytes that were resident."""
    early: int
    late: int
    """The bytes that were resident in the middle of the time and in its last fifth, on the average
    of some moments: each batch comes and goes."""


def _run(path: Path, lab: Lab) -> _Run:
    out = lab.folder / "matches.jsonl"
    command = [sys.executable, "-m", "ensue", "run", QUERY, str(path), "--time-unit", "ms"]
    before = time.perf_counter()
    process = subprocess.Popen(
        [*command, "-o", str(out)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    resident: list[int] = []
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        resident.append(resident_memory(process.pid))
        time.sleep(_PAUSE)
    seconds = time.perf_counter() - before
    _, status, used = ended
    with process.stderr as stderr:
        said = stderr.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
    last = said.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
    fifth = max(len(resident) // 5, 1)
    return _Run(
        last[0][:200] if process.returncode else "",
        seconds,
        peak,
        sum(resident[2 * fifth : 3 * fifth]) // fifth,
        sum(resident[-fifth:]) // fifth,
    )


def _targets(rows: Sequence[Row]) -> list[Target]:
    large = [row for row in rows if row["format"] == _LARGE][-1]
    if large["events"] < 50 * MILLION:
        return []  # of a short run most is the start of the process
    what = f"ensue run on a Parquet file of {large['events'] // MILLION}M events"
    grows = large["late"] / large["early"] if large.get("early") else None
    resident = f"{what}: memory in the end to that in the middle"
    return [
        at_least(what, 5e6, large.get("rate"), "rate", "events/s"),
        at_most(resident, 1.1, grows, "number", "times"),
    ]


GROUP = Group(
    "files",
    "`ensue run` on files: the whole process",
    (
        Column("format", "format", "text"),
        Column("events", "events", "size"),
        Column("file", "file", "bytes"),
        Column("seconds", "time", "seconds"),
        Column("rate", "events/s", "rate"),
        Column("early", "memory in the middle", "bytes"),
        Column("late", "in the end", "bytes"),
        Column("peak", "at most", "bytes"),
    ),
    _measure,
    _targets,
)
