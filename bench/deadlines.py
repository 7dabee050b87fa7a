"""NOT FOLLOWED BY: heartbeats that must be followed by another of their key in five minutes."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import WINDOW
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_least, at_most

_FIVE_MINUTES = 30 * WINDOW

_HEARTBEAT = (
    "SELECT * FROM S\n"
    f"WHERE ANY AS beat NOT FOLLOWED BY ANY WITHIN {_FIVE_MINUTES} [stock_time]\n"
    "PARTITION BY [account]"
)


def _measure(lab: Lab) -> list[Row]:
    events = MILLION if lab.quick else 10 * MILLION
    rows = []
    for keys in (10_000, MILLION):
        case = Case("heartbeat by account", _HEARTBEAT, Source(events, BUSY, keys=keys), "count")
        rows.append(row(lab.measure(case), keys=keys))
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    targets = []
    for each in rows:
        figure = f"{each['query']}, {each['keys']:,} keys"
        targets.append(at_least(figure, 1e6, each.get("rate"), "rate", "events/s"))
        if each["keys"] == MILLION:
            targets.append(at_most(f"{figure}, added", 1e9, each.get("added"), "bytes", ""))
    return targets


GROUP = Group(
    "deadlines",
    "NOT FOLLOWED BY: every event waits five minutes for another of its key",
    (
        Column("query", "query", "text"),
        Column("keys", "keys", "size"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        *SPEED,
    ),
    _measure,
    _targets,
)
