"""NOT FOLLOWED BY: heartbeats that must be followed by another of their key in five minutes."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.processes import peak_memory, resident_memory
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


_BATCH = 100_000


def _measure(lab: Lab) -> list[Row]:
    events = MILLION if lab.quick else 10 * MILLION
    rows = []
    for keys in (10_000, MILLION):
        case = Case("heartbeat by account", _HEARTBEAT, Source(events, BUSY, keys=keys), "count")
        rows.append(row(lab.measure(case), keys=keys, read="as a whole"))
        lab.say(f"a session of {keys:,} accounts")
        found = lab.call(live, keys=keys, events=3 * MILLION)
        rows.append({"query": "heartbeat by account", "keys": keys, "read": "live", **found})
    return rows


def live(keys: int, events: int) -> dict[str, float]:
    """Push batches into a session in which all keys wait: CPU time, and the memory added.

    Each key has an event in each round of as many events as there are keys. The rate is that of the
    median batch of the second half, when everything has its size.
    """
    import gc
    import time
    import warnings

    import numpy as np
    import pyarrow as pa

    import ensue

    warnings.simplefilter("ignore")
    random = np.random.default_rng(1)
    rounds = [random.permutation(keys) for _ in range(-(-events // keys))]
    table = pa.table(
        {
            "type": pa.array(["BEAT"]).take(pa.array(np.zeros(events, np.int8))),
            "account": np.concatenate(rounds)[:events],
            "stock_time": (np.arange(events) * 1000 / BUSY).astype(np.int64),
        }
    )
    query = ensue.compile(_HEARTBEAT)
    assert query.run(table.slice(0, 5000)).count == 0
    gc.collect()
    before = resident_memory()
    session, found, taken = query.open(), 0, []
    for begin in range(0, events, _BATCH):
        began = time.process_time()
        found += session.push(table.slice(begin, _BATCH)).count
        taken.append(time.process_time() - began)
    seconds = float(np.median(taken[len(taken) // 2 :])) / _BATCH
    return {
        "events": events,
        "found": found,
        "rate": 1 / seconds,
        "nanoseconds": seconds * 1e9,
        "peak": peak_memory(),
        "added": peak_memory() - before,
    }


def _targets(rows: Sequence[Row]) -> list[Target]:
    targets = []
    for each in rows:
        figure = f"{each['query']}, {each['keys']:,} keys, {each['read']}"
        targets.append(at_least(figure, 1e6, each.get("rate"), "rate", "events/s"))
        if each["read"] == "live":
            targets.append(at_most(f"{figure}, added", 1e9, each.get("added"), "bytes", ""))
    return targets


GROUP = Group(
    "deadlines",
    "NOT FOLLOWED BY: every event waits five minutes for another of its key",
    (
        Column("query", "query", "text"),
        Column("keys", "keys", "size"),
        Column("read", "read", "text"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        *SPEED,
        Column("added", "memory added", "bytes"),
    ),
    _measure,
    _targets,
)
