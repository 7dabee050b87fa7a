"""Conditions on values of which no two are alike: the shapes that cost the most.

All events of a window differ in what conditions compare, so that a query remembers as many values
as there are events. Nothing is left out: what takes too long says so in the place of its figures.
Times are of the processor. Each query runs alone in a process of its own, on a stream as long as
some windows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.lab import Lab
from bench.processes import FailedError, isolated
from bench.tables import Column, Group, Row, Target, at_least

_WINDOWS = (500, 2_000, 8_000, 100_000)
_WANTED = 3e5
"""Events a second at a window of 8,000; half as many at the longest."""

_HORIZON = 1 << 40

_KILLED = ("exit code -9", "exit code -24")
"""Of a process that took more of the processor's time than it was allowed."""


class Shape(NamedTuple):
    """A query but for its window; `counted`: its matches are counted, not only detected."""

    name: str
    pattern: str
    condition: str
    counted: bool = False


SHAPES = (
    Shape("a.k = c.k", "A AS a ; C AS c", "a.k = c.k"),
    Shape("a.k = c.k, a step between", "A AS a ; B AS b ; C AS c", "a.k = c.k"),
    Shape("a.x != c.x", "A AS a ; C AS c", "a.x != c.x"),
    Shape("a.x < c.y, half hold", "A AS a ; C AS c", "a.x < c.y"),
    Shape("a.x < c.y, a step between", "A AS a ; B AS b ; C AS c", "a.x < c.y"),
    Shape("increasing(x)", "A+ AS a ; C AS c", "a[increasing(x)]"),
    Shape(
        "a.k = c.k AND b.h = d.h",
        "A AS a ; B AS b ; C AS c ; D AS d",
        "a.k = c.k AND b.h = d.h",
    ),
    Shape("a.g = c.g AND a.x != c.x", "A AS a ; C AS c", "a.g = c.g AND a.x != c.x"),
    Shape("abs(a.x - c.y) < e, counted", "A AS a ; C AS c", "abs(a.x - c.y) < {near}", True),
    Shape("c.speed - a.speed > d", "A AS a ; C AS c", "c.speed - a.speed > {apart}", True),
    Shape("c.speed > a.speed + d", "A AS a ; C AS c", "c.speed > a.speed + {apart}", True),
    Shape("a.price < c.bid, doubles", "A AS a ; C AS c", "a.price < c.bid", True),
    Shape("a.cost < c.offer, decimals", "A AS a ; C AS c", "a.cost < c.offer", True),
)


def written(shape: Shape, window: int) -> str:
    """Write the query; where matches are counted, some five partners are in a window.

    >>> print(written(SHAPES[9], 500))
    SELECT * FROM S WHERE (A AS a ; C AS c) FILTER c.speed > a.speed + 80.0 WITHIN 500 EVENTS
    """
    apart = 100 * (1 - (20 / window) ** 0.5)
    condition = shape.condition.format(near=5 * _HORIZON // window, apart=f"{apart:.1f}")
    return f"SELECT * FROM S WHERE ({shape.pattern}) FILTER {condition} WITHIN {window} EVENTS"


def measure_here(
    number: int, window: int, events: int, repetitions: int, patience: int
) -> dict[str, Any]:
    """Measure one shape in this process, which ends when its patience does."""
    import resource

    import ensue
    from bench.measure import occurrences
    from bench.processes import peak_memory

    shape = SHAPES[number]
    stream = _stream(shape, window, events)
    query = ensue.compile(written(shape, window))
    query.run(stream.slice(0, 200)).count  # noqa: B018  (kernels are loaded)
    most = int(time.process_time()) + patience
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    before, best, found = peak_memory(), float("inf"), 0
    for _ in range(repetitions):
        began = time.process_time()
        matches = query.run(stream)
        found = matches.count if shape.counted else occurrences(matches)
        best = min(best, time.process_time() - began)
        del matches
        if best > 2:
            break
    return {"found": found, "seconds": best, "added": peak_memory() - before}


def _stream(shape: Shape, window: int, events: int) -> Any:
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(1)
    types = np.array([part.split()[0].rstrip("+") for part in shape.pattern.split(" ; ")])
    kinds = random.integers(0, len(types), events)
    cents = random.integers(0, 10**9, (2, events))
    cents[1] = cents[1] * 10 // window
    decimals = [
        pa.array(each, pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2))
        for each in cents
    ]
    return pa.table(
        {
            "type": pa.array(types[kinds]).dictionary_encode(),
            "k": random.integers(0, window, events),
            "h": random.integers(0, window, events),
            "g": random.integers(0, 8, events),
            "x": random.permutation(events) * (_HORIZON // events),
            "y": random.integers(0, _HORIZON, events),
            "speed": random.uniform(0, 100, events),
            "price": random.uniform(0, 100, events),
            "bid": random.uniform(0, 1000 / window, events),
            "cost": decimals[0],
            "offer": decimals[1],
        }
    )


def _measure(lab: Lab) -> list[Row]:
    rows: list[Row] = []
    for number, shape in enumerate(SHAPES):
        given_up, patience = "", 10 if lab.hurries else 60
        for window in _WINDOWS:
            events = 4 * window + 20_000
            row: Row = {"query": shape.name, "window": window, "events": events}
            rows.append(row)
            if given_up:
                row["failed"] = given_up
                continue
            lab.say(f"{shape.name}, {window:,} events")
            try:
                found = isolated(
                    measure_here,
                    20.0 * patience,
                    number=number,
                    window=window,
                    events=events,
                    repetitions=2 if lab.quick else 3,
                    patience=patience,
                )
            except FailedError as error:
                # A longer window can only take longer.
                over = str(error) in _KILLED
                row["failed"] = given_up = f"over {patience} s" if over else str(error)
                continue
            row |= {**found, "rate": events / found["seconds"]}
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_least(
            f"{row['query']} in windows of {row['window']:,} events",
            _WANTED if row["window"] == _WINDOWS[-2] else _WANTED / 2,
            0.0 if row.get("failed") else row["rate"],
            "rate",
            "events/s",
        )
        for row in rows
        if row["window"] >= _WINDOWS[-2]
    ]


GROUP = Group(
    "distinct",
    "Conditions on distinct values, the worst shapes; 'found': completing events, or matches",
    (
        Column("query", "condition", "text"),
        Column("window", "window", "size"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        Column("seconds", "processor time", "seconds"),
        Column("rate", "events/s", "rate"),
        Column("added", "memory added", "bytes"),
    ),
    _measure,
    _targets,
)
