"""Ordered conditions: looking at every register content, or only at those that a search finds.

A prototype of both ways, without the rest of the engine. Every event brings a new content in place
of the oldest, and asks for all contents below some value. For each the engine has to make two
nodes of the match graph; here two numbers are written. The scan follows a list through the slots,
as the engine does; the other way keeps contents sorted, finds the last one that holds by
bisection, and moves what lies between an old and a new one.
"""

from __future__ import annotations

import time
from typing import Any

from bench.lab import Lab
from bench.tables import Column, Group, Row

_EVENTS = 20_000


def measure_here(contents: int, share: float) -> dict[str, Any]:
    """Measure both ways on so many contents, of which a share holds at an event."""
    import numba
    import numpy as np

    @numba.njit
    def scan(values: Any, asked: Any, size: int, out: Any) -> int:  # type: ignore[no-untyped-def]
        content = np.zeros(size, np.int64)
        after = np.arange(1, size + 1)
        after[size - 1] = -1
        taken = 0
        for event in range(values.shape[0]):
            content[event % size] = values[event]
            slot = 0
            while slot != -1:
                if content[slot] < asked[event]:
                    out[taken % 4096, 0] = slot
                    out[taken % 4096, 1] = event
                    taken += 1
                slot = after[slot]
        return taken

    @numba.njit
    def search(values: Any, asked: Any, size: int, out: Any) -> int:  # type: ignore[no-untyped-def]
        ordered = np.zeros(size, np.int64)
        slots = np.arange(size)
        oldest = np.zeros(size, np.int64)
        taken = 0
        for event in range(values.shape[0]):
            gone = np.searchsorted(ordered, oldest[event % size])
            oldest[event % size] = values[event]
            slot = slots[gone]
            place = np.searchsorted(ordered, values[event])
            if place > gone:
                place -= 1
                for i in range(gone, place):
                    ordered[i] = ordered[i + 1]
                    slots[i] = slots[i + 1]
            else:
                for i in range(gone, place, -1):
                    ordered[i] = ordered[i - 1]
                    slots[i] = slots[i - 1]
            ordered[place] = values[event]
            slots[place] = slot
            for i in range(np.searchsorted(ordered, asked[event])):
                out[taken % 4096, 0] = slots[i]
                out[taken % 4096, 1] = event
                taken += 1
        return taken

    random = np.random.default_rng(1)
    most = 1 << 40
    values = random.integers(0, most, _EVENTS)
    asked = np.full(_EVENTS, int(share * most))
    out = np.zeros((4096, 2), np.int64)
    found: dict[str, Any] = {}
    for name, way in (("scan", scan), ("sorted", search)):
        way(values[:10], asked[:10], contents, out)
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            way(values, asked, contents, out)
            best = min(best, time.perf_counter() - began)
        found[name] = best / _EVENTS * 1e9
    return found


def _measure(lab: Lab) -> list[Row]:
    rows: list[Row] = []
    for contents in (32, 100, 1000, 8000):
        for share in (0.02, 0.5):
            lab.say(f"{contents} contents")
            found = lab.call(measure_here, contents=contents, share=share)
            ratio = found["sorted"] / found["scan"]
            rows.append({"contents": contents, "share": share, **found, "ratio": ratio})
    return rows


GROUP = Group(
    "ordered",
    "Ordered conditions: a scan of all contents against sorted contents",
    (
        Column("contents", "contents", "size"),
        Column("share", "of which hold"),
        Column("scan", "scan, ns/event"),
        Column("sorted", "sorted, ns/event"),
        Column("ratio", "sorted to scan"),
    ),
    _measure,
    lambda rows: [],
)
