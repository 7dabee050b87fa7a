"""Ordered conditions: looking at every register content, or only at those that a search finds.

Every A brings a content that no other has, every C asks for those below some value. Contents leave
with the window, so there are always as many; how many of them hold is chosen. Measured are the
engine as it is, and with its choice taken away: no trees at all, or trees for the first content on.
"""

from __future__ import annotations

import time
from typing import Any

from bench.lab import Lab
from bench.tables import Column, Group, Row

_ALWAYS, _NEVER = 0, 1 << 40
_MOST_HOLD = 500
"""Beyond so many contents that hold, a scan joins them for minutes: the others are measured."""


def measure_here(contents: int, share: float, repetitions: int) -> dict[str, Any]:
    """Measure the ways on so many contents, of which a share holds at an event."""
    import numpy as np
    import pyarrow as pa

    import ensue
    from ensue.kernels.match import configurations

    window = 2 * contents
    events = 4 * window + 20_000
    random = np.random.default_rng(1)
    most = 1 << 40
    kinds = random.integers(0, 2, events)
    values = np.where(kinds == 0, random.integers(0, most, events), int(share * most))
    names = pa.array(np.array(["A", "C"])[kinds]).dictionary_encode()
    stream = pa.table({"type": names, "x": values})
    query = ensue.compile(
        f"SELECT * FROM S WHERE (A AS a ; C AS c) FILTER a.x < c.x WITHIN {window} EVENTS"
    )
    ways = {"scan": _NEVER, "trees": _ALWAYS, "engine": configurations.SCAN_LIMIT}
    if share * contents > _MOST_HOLD:
        del ways["scan"]
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(repetitions):
        for name, few in ways.items():
            configurations.SCAN_LIMIT = few
            began = time.perf_counter()
            bool(query.run(stream, threads=1))
            best[name] = min(best[name], time.perf_counter() - began)
    return {name: seconds / events * 1e9 for name, seconds in best.items()}


def _measure(lab: Lab) -> list[Row]:
    rows: list[Row] = []
    for contents in (30, 100, 1000) if lab.quick else (30, 100, 1000, 10_000):
        for share in (0.0, 0.02, 0.1, 0.5):
            lab.say(f"{contents} contents")
            found = lab.call(
                measure_here, contents=contents, share=share, repetitions=2 if lab.quick else 3
            )
            ratio = found["engine"] / found["scan"] if "scan" in found else None
            rows.append({"contents": contents, "share": share, **found, "ratio": ratio})
    return rows


GROUP = Group(
    "ordered",
    "Ordered conditions: a scan of all contents, and search trees",
    (
        Column("contents", "contents", "size"),
        Column("share", "of which hold"),
        Column("scan", "scan, ns/event"),
        Column("trees", "trees, ns/event"),
        Column("engine", "the engine, ns/event"),
        Column("ratio", "engine to scan"),
    ),
    _measure,
    lambda rows: [],
)
