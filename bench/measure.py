"""What is measured about a query on a stream, and how.

End to end: from an Arrow table in memory to the answer. The answer is either that there are
matches, with none of them listed (`detect`), or their number (`count`), or all of them as a table
(`arrow`). Repetitions alternate with the yardstick, and the best of each counts: what else runs on
the machine can only make things slower.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.processes import peak_memory
from bench.streams import Source

Finish = Literal["detect", "count", "arrow", "ids"]
"""`arrow` lists matches without their ids, `ids` with them."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query to run on a stream."""

    name: str
    query: str
    source: Source
    finish: Finish = "detect"


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of some repetitions; `failed` says why there are none."""

    name: str
    events: int
    run: float = 0.0
    """Seconds that Query.run took."""
    finish: float = 0.0
    """Seconds for what came after it."""
    total: float = 0.0
    """The best of both together, in one repetition."""
    cpu: float = 0.0
    """The least CPU time of both together: what else runs on the machine matters less to it."""
    yardstick: float = 0.0
    """Seconds that the yardstick took for as many events, in the same process."""
    repetitions: int = 0
    found: int = 0
    """Matches, or with `detect` events that complete some."""
    peak: int | None = None
    added: int | None = None
    """Bytes: peak of the process, and how much of it came with the first run."""
    failed: str = ""

    @property
    def yardsticks(self) -> float:
        """The time in yardsticks."""
        return self.total / self.yardstick


def row(measured: Measured, **more: Any) -> dict[str, Any]:
    """Describe a measurement as a row of a table."""
    begin: dict[str, Any] = {"query": measured.name, **more, "events": measured.events}
    if measured.failed:
        return {**begin, "failed": measured.failed}
    return {
        **begin,
        "found": measured.found,
        "seconds": measured.total,
        "rate": measured.events / measured.total,
        "nanoseconds": measured.total / measured.events * 1e9,
        "yardsticks": measured.yardsticks,
        "peak": measured.peak,
        "added": measured.added,
        "repetitions": measured.repetitions,
    }


def occurrences(matches: Any) -> int:
    """Count the events that complete matches, without listing any: a look behind the scenes."""
    pieces = matches._keep_all()
    segments = (getattr(piece.matches, "segments", ()) for piece in pieces)
    return sum(len(segment.hits.end) for some in segments for segment in some)


def measure_here(
    cases: Sequence[dict[str, Any]], paths: Sequence[str], patience: float, least: int, most: int
) -> list[dict[str, Any]]:
    """Measure cases in this process, in turns, until patience or the most repetitions are over."""
    import ensue
    from bench.streams import read
    from bench.yardstick import Yardstick

    tables = {path: read(path) for path in dict.fromkeys(paths)}
    queries = [ensue.compile(case["query"]) for case in cases]
    yardstick = Yardstick(max(table.num_rows for table in tables.values()))
    for case, query, path in zip(cases, queries, paths, strict=True):
        # Kernels are loaded, Arrow starts its threads.
        _finished(query.run(tables[path].slice(0, 5000), threads=1), case["finish"])
    gc.collect()
    before, peak = peak_memory(), 0
    runs: list[list[tuple[float, float]]] = [[] for _ in cases]
    cpu = [float("inf") for _ in cases]
    found = [0 for _ in cases]
    sticks: list[float] = []
    began = time.perf_counter()
    while len(sticks) < most and (len(sticks) < least or time.perf_counter() - began < patience):
        sticks.append(yardstick.seconds())
        # Another one goes first every time, in case that it matters.
        for turn in range(len(cases)):
            index = (turn + len(sticks)) % len(cases)
            start, busy = time.perf_counter(), time.process_time()
            matches = queries[index].run(tables[paths[index]], threads=1)
            middle = time.perf_counter()
            found[index] = _finished(matches, cases[index]["finish"])
            runs[index].append((middle - start, time.perf_counter() - middle))
            cpu[index] = min(cpu[index], time.process_time() - busy)
            del matches
        peak = peak or peak_memory()
    scale = 1 / yardstick.events
    return [
        asdict(
            Measured(
                name=case["name"],
                events=tables[path].num_rows,
                run=min(run for run, _ in times),
                finish=min(finish for _, finish in times),
                total=min(run + finish for run, finish in times),
                cpu=used,
                yardstick=min(sticks) * scale * tables[path].num_rows,
                repetitions=len(times),
                found=number,
                peak=peak if len(cases) == 1 else None,
                added=peak - before if len(cases) == 1 else None,
            )
        )
        for case, path, times, used, number in zip(cases, paths, runs, cpu, found, strict=True)
    ]


def _finished(matches: Any, finish: str) -> int:
    if finish == "detect":
        return occurrences(matches)
    if finish == "count":
        return int(matches.count)
    return int(matches.to_arrow(ids=finish == "ids", max_rows=None).num_rows)
