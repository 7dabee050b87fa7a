"""Several threads on a table, against one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.lab import Lab
from bench.processes import FailedError
from bench.queries import by_account, sequence
from bench.sequences import MILLION
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_least

_THREADS = 2
_WANTED = "S3 by account"


def one_and_many(query: str, path: str, threads: int, repetitions: int) -> dict[str, float]:
    """Run a query with one thread and with several, in turns; return the best time of each."""
    import ensue
    from bench.streams import read

    table, compiled = read(path), ensue.compile(query)
    found = {compiled.run(table, threads=number).count for number in (1, threads)}
    if len(found) != 1:
        raise AssertionError("several threads find something else")
    best = {"one": 1e9, "many": 1e9, "cpu one": 1e9, "cpu many": 1e9}
    for _ in range(repetitions):
        for name, number in (("one", 1), ("many", threads)):
            began, used = time.perf_counter(), time.process_time()
            bool(compiled.run(table, threads=number))
            best[name] = min(best[name], time.perf_counter() - began)
            best[f"cpu {name}"] = min(best[f"cpu {name}"], time.process_time() - used)
    return {**best, "ratio": best["one"] / best["many"]}


def _measure(lab: Lab) -> list[Row]:
    events = MILLION if lab.quick else 4 * MILLION
    rows: list[Row] = []
    for name, query, keys in (
        (_WANTED, sequence(3, more="PARTITION BY [account]"), 10_000),
        ("SELL;BUY;SELL by account", by_account(never=False), 10_000),
        ("S3'", sequence(3, never=True), 0),
        ("S3", sequence(3), 0),
    ):
        lab.say(f"{name} on {_THREADS} threads")
        begin: Row = {"query": name, "events": events, "threads": _THREADS}
        path = lab.make(Source(events, BUSY, keys=keys))
        try:
            found = lab.call(
                one_and_many,
                query=query,
                path=path,
                threads=_THREADS,
                repetitions=2 if lab.quick else 5,
            )
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        rows.append({**begin, **found})
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_least(
            f"{row['query']}, 10k keys, two threads to one",
            1.7,
            row.get("ratio"),
            "number",
            "times",
        )
        for row in rows
        if row["query"] == _WANTED
    ]


GROUP = Group(
    "threads",
    "Several threads against one",
    (
        Column("query", "query", "text"),
        Column("events", "events", "size"),
        Column("threads", "threads", "count"),
        Column("one", "one thread", "seconds"),
        Column("many", "several", "seconds"),
        Column("ratio", "times as fast", "number"),
        Column("cpu one", "CPU, one", "seconds"),
        Column("cpu many", "CPU, several", "seconds"),
    ),
    _measure,
    _targets,
)
