"""`ensue run` on files, from starting the process to the last match on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.lab import Lab
from bench.processes import ROOT
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
        failed = [told for told, _, _ in runs if told]
        if failed:
            rows.append({**row, "failed": failed[0]})
        else:
            seconds = min(seconds for _, seconds, _ in runs)
            peak = min(peak for _, _, peak in runs)
            rows.append({**row, "seconds": seconds, "rate": events / seconds, "peak": peak})
        path.unlink()
    return rows


def _made(lab: Lab, events: int, suffix: str) -> Path:
    from ensue.datasets import stock_trades
    from ensue.io.write import write_events

    lab.say(f"making {events:,} events")
    path = lab.folder / f"trades-{events}.{suffix}"
    write_events(stock_trades(events), path)
    return path


def _run(path: Path, lab: Lab) -> tuple[str, float, int]:
    """Return what went wrong, the seconds, and the most bytes that were resident."""
    out = lab.folder / "matches.jsonl"
    command = [sys.executable, "-m", "ensue", "run", QUERY, str(path), "--time-unit", "ms"]
    before = time.perf_counter()
    process = subprocess.Popen(
        [*command, "-o", str(out)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process.stderr as stderr:
        said = stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
    last = said.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
    return (last[0][:200] if process.returncode else ""), seconds, peak


def _targets(rows: Sequence[Row]) -> list[Target]:
    small, large = [row for row in rows if row["format"] == _LARGE][:2]
    if large["events"] < 50 * MILLION:
        return []  # of a short run most is the start of the process
    what = f"ensue run on a Parquet file of {large['events'] // MILLION}M events"
    # A peak depends on how far the reader happened to be ahead, so it is never quite the same.
    grows = None
    if "peak" in small and "peak" in large:
        grows = large["peak"] / small["peak"]
    return [
        at_least(what, 5e6, large.get("rate"), "rate", "events/s"),
        at_most(f"{what}: peak to that of a tenth of it", 1.25, grows, "number", "times"),
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
        Column("peak", "peak memory", "bytes"),
    ),
    _measure,
    _targets,
)
