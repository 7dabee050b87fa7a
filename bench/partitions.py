"""PARTITION BY an account, with few and with very many accounts."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import WINDOW, by_account
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_least, at_most

_QUIET, _MOVING = "S3' by account", "SELL;BUY;SELL by account"


def _measure(lab: Lab) -> list[Row]:
    rows = []
    for keys in (10, 10_000, MILLION):
        events = MILLION if lab.quick or keys < MILLION else 10 * MILLION
        source = Source(events, BUSY, keys=keys)
        cases = [
            (Case(_QUIET, by_account(never=True), source), "10 s"),
            (Case(_MOVING, by_account(never=False), source), "10 s"),
        ]
        if keys == MILLION or not lab.quick:
            cases.append(
                (Case(_MOVING, by_account(never=False, window=40 * WINDOW), source), "400 s")
            )
        rows += [row(lab.measure(case), keys=keys, window=window) for case, window in cases]
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    targets = []
    for each in rows:
        if each["keys"] == MILLION:
            size = f"{each['events'] // MILLION}M events with 1M keys"
            figure = f"{each['query']}, window {each['window']}, {size}"
            targets += [
                at_least(figure, 3e6, each.get("rate"), "rate", "events/s"),
                at_most(figure, 2e9, each.get("peak"), "bytes", ""),
            ]
    return targets


GROUP = Group(
    "partitions",
    "PARTITION BY; in SELL;BUY;SELL every event moves something",
    (
        Column("query", "query", "text"),
        Column("keys", "keys", "size"),
        Column("window", "window", "text"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        *SPEED,
    ),
    _measure,
    _targets,
)
