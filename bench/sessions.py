"""Sessions: the time of a push, of a snapshot, of many queries at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from bench.lab import Lab
from bench.measure import occurrences
from bench.processes import FailedError
from bench.queries import NAMES, WINDOW, sequence
from bench.sequences import MILLION
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_most

_WARM = 60_000
"""So many events before anything is measured: a window is full."""


def _timed(pushes: Sequence[Any], push: Callable[[Any], Any]) -> float:
    """Return the median of the seconds that a push takes."""
    spent = []
    for each in pushes:
        began = time.perf_counter()
        push(each)
        spent.append(time.perf_counter() - began)
    return sorted(spent)[len(spent) // 2]


def push_times(query: str, path: str, repetitions: int) -> dict[str, float]:
    """Return how long pushes to a warm session take, the best median of some rounds."""
    import ensue
    from bench.streams import read

    table = read(path).combine_chunks()
    batch = table.to_batches()[0]
    session = ensue.compile(query).open()
    session.push(table.slice(0, _WARM))
    at = _WARM
    best: dict[str, float] = {}
    for _ in range(repetitions):
        rounds: dict[str, list[Any]] = {}
        rounds["one row"] = [batch.slice(at + i, 1) for i in range(500)]
        at += 500
        rounds["a dict"] = [batch.slice(at + i, 1).to_pylist()[0] for i in range(500)]
        at += 500
        rounds["1,000 rows"] = [batch.slice(at + 1000 * i, 1000) for i in range(20)]
        at += 20_000
        for name, pushes in rounds.items():
            best[name] = min(best.get(name, 1.0), _timed(pushes, session.push))
    return best


def snapshot_times(path: str, events: int, repetitions: int) -> dict[str, float]:
    """Return how long a snapshot of a session with so many live events takes, and resuming it."""
    import ensue
    from bench.streams import read

    query = ensue.compile("SELECT * FROM S WHERE ANY+ ; NEVER")
    session = query.open()
    session.push(read(path).slice(0, events))
    if session.stats["rows"] != events:
        raise AssertionError("all events must be alive")
    best = {"snapshot": 9.0, "resumed": 9.0}
    block = b""
    for _ in range(repetitions):
        began = time.perf_counter()
        block = session.snapshot()
        best["snapshot"] = min(best["snapshot"], time.perf_counter() - began)
        began = time.perf_counter()
        query.resume(block)
        best["resumed"] = min(best["resumed"], time.perf_counter() - began)
    return {**best, "bytes": float(len(block))}


def _measure_steps(lab: Lab) -> list[Row]:
    repetitions = 3 if lab.quick else 20
    rows: list[Row] = []
    path = lab.make(Source(MILLION // 2, BUSY))
    lab.say("pushes")
    wanted = {"one row": 60e-6, "a dict": 250e-6, "1,000 rows": 150e-6}
    try:
        found = lab.call(
            push_times,
            query=sequence(3, never=True),
            path=path,
            repetitions=min(repetitions, 20),
        )
        for name, limit in wanted.items():
            rows.append({"step": f"push of {name}, S3'", "time": found[name], "wanted": limit})
    except FailedError as error:
        rows.append({"step": "pushes", "failed": str(error)})
    lab.say("snapshots")
    try:
        found = lab.call(snapshot_times, path=path, events=100_000, repetitions=repetitions)
        size = found["bytes"]
        rows.append(
            {
                "step": "snapshot of 100k live events",
                "time": found["snapshot"],
                "wanted": 50e-3,
                "bytes": size,
            }
        )
        rows.append({"step": "resumed", "time": found["resumed"], "wanted": 100e-3, "bytes": size})
    except FailedError as error:
        rows.append({"step": "snapshots", "failed": str(error)})
    return rows


def _step_targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_most(str(row["step"]), row.get("wanted", 0.0), row.get("time"), "seconds", "")
        for row in rows
    ]


STEPS_GROUP = Group(
    "sessions",
    "Sessions: the time of one step",
    (
        Column("step", "step", "text"),
        Column("time", "time", "seconds"),
        Column("bytes", "block", "bytes"),
    ),
    _measure_steps,
    _step_targets,
)


def rules(count: int, *, selective: bool, last: str = "") -> dict[str, str]:
    """Return queries that have much in common, as the rules of one desk do.

    Their last step waits for a stock that nobody trades, or for what `last` says of one: there
    {number} is the number of the rule.
    """
    found = {}
    for number in range(count):
        a, b, c = (NAMES[(number * step + step) % len(NAMES)] for step in (1, 3, 7))
        extra = f" AND volume > {2000 + 100 * (number % 5)}" if selective else ""
        wanted = last.format(number=number) if last else f"name = 'NotExists{number}'"
        found[f"rule {number}"] = (
            "SELECT * FROM S WHERE (SELL AS a ; BUY AS b ; BUY AS c ; SELL AS d) "
            f"FILTER a[name = '{a}'{extra}] "
            f"AND b[name = '{b}' AND price > {20 + number % 7}{extra}] "
            f"AND c[name = '{c}'{extra}] "
            f"AND d[{wanted}] "
            f"WITHIN {WINDOW} [stock_time]"
        )
    return found


def together_and_alone(
    path: str, count: int, selective: bool, last: str, repetitions: int
) -> dict[str, Any]:
    """Run queries alone and in one pass, in turns; return the best time of each.

    Events that complete matches are counted, and not these: with windows of 48,000 events they are
    too many.
    """
    import ensue
    from bench.streams import read

    table = read(path)
    texts = rules(count, selective=selective, last=last)
    queries = {name: ensue.compile(text) for name, text in texts.items()}
    ensue.run(queries, table.slice(0, 5000))
    alone = together = kernels = 1e9
    for _ in range(repetitions):
        began = time.perf_counter()
        single = {name: occurrences(each.run(table, threads=1)) for name, each in queries.items()}
        alone = min(alone, time.perf_counter() - began)
        began = time.perf_counter()
        every = {name: occurrences(found) for name, found in ensue.run(queries, table).items()}
        together = min(together, time.perf_counter() - began)
        assert single == every, "one pass finds something else"
        kernels = min(kernels, _in_kernels(queries, table))
    share = kernels / alone
    return {"alone": alone, "together": together, "ratio": together / alone, "least": share}


_RARE = "id = {number}000"
"""A last step that one event of a million satisfies."""


_DEAR = "price > 49.{number}"
"""A last step that some events satisfy, of another price for each rule."""


def one_and_many(path: str, count: int, last: str, repetitions: int) -> dict[str, float]:
    """Run one rule, and many in one pass, all of them run before; return the best time of each."""
    import ensue
    from bench.streams import read

    table = read(path)
    texts = rules(count, selective=True, last=last)
    queries = {name: ensue.compile(text) for name, text in texts.items()}
    several = list(queries.values())[:: max(count // 10, 1)]
    first = time.perf_counter()
    ensue.run(queries, table)
    best = {"first": time.perf_counter() - first, "one": 1e9, "many": 1e9}
    for _ in range(repetitions):
        began = time.perf_counter()
        for query in several:
            bool(query.run(table, threads=1))
        best["one"] = min(best["one"], (time.perf_counter() - began) / len(several))
        began = time.perf_counter()
        found = ensue.run(queries, table)
        best["many"] = min(best["many"], time.perf_counter() - began)
    best["matches"] = float(sum(each.count for each in found.values()))
    return {**best, "ratio": best["many"] / best["one"]}


def _measure_thousand(lab: Lab) -> list[Row]:
    events, count = MILLION, 100 if lab.quick else 1000
    path = lab.make(Source(events, BUSY))
    rows: list[Row] = []
    for name, last in (("that never match", ""), ("whose last step happens once", _RARE)):
        lab.say(f"{count} rules {name}")
        begin: Row = {"queries": f"{count:,} rules {name}", "events": events}
        try:
            found = lab.call(
                one_and_many, path=path, count=count, last=last, repetitions=1 if lab.quick else 3
            )
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        rows.append({**begin, **found})
    return rows


def _thousand_targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_most(f"{row['queries']} to one of them", 20.0, row.get("ratio"), "number", "times")
        for row in rows
    ]


THOUSAND_GROUP = Group(
    "rules",
    "Very many rules in one pass, against one of them",
    (
        Column("queries", "rules", "text"),
        Column("events", "events", "size"),
        Column("matches", "matches", "count"),
        Column("one", "one rule", "seconds"),
        Column("first", "all, first time", "seconds"),
        Column("many", "all, run before", "seconds"),
        Column("ratio", "to one", "number"),
    ),
    _measure_thousand,
    _thousand_targets,
)


def _in_kernels(queries: Mapping[str, Any], table: pa.Table) -> float:
    """Return the seconds of one pass in which partial matches are moved on, query by query."""
    import ensue
    from ensue.kernels.match.driver import MatchDriver

    spent = 0.0
    push = MatchDriver.push

    def timed(*given: Any) -> Iterator[Any]:
        nonlocal spent
        began = time.perf_counter()
        found = list(push(*given))
        spent += time.perf_counter() - began
        return iter(found)

    try:
        MatchDriver.push = timed  # type: ignore[method-assign]
        ensue.run(queries, table)
    finally:
        MatchDriver.push = push  # type: ignore[method-assign]
    return spent


def _measure_many(lab: Lab) -> list[Row]:
    events = MILLION // 4 if lab.quick else MILLION
    path = lab.make(Source(events, BUSY))
    rows: list[Row] = []
    for name, selective, last in (
        ("rules that few events concern", True, ""),
        ("by name and price", False, ""),
        ("by name and price, many of which match", False, _DEAR),
    ):
        lab.say(f"50 queries, {name}")
        begin: Row = {"queries": f"50 {name}", "events": events, "selective": selective}
        try:
            found = lab.call(
                together_and_alone,
                path=path,
                count=50,
                selective=selective,
                last=last,
                repetitions=1 if lab.quick else 3,
            )
        except FailedError as error:
            rows.append({**begin, "failed": str(error)})
            continue
        rows.append({**begin, **found})
    return rows


def _many_targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_most(f"{row['queries']} to 50 runs", 1 / 3, row.get("ratio"), "number", "times")
        for row in rows
    ]


MANY_GROUP = Group(
    "many",
    "Many queries in one pass, against one run for each",
    (
        Column("queries", "queries", "text"),
        Column("events", "events", "size"),
        Column("alone", "one by one", "seconds"),
        Column("together", "in one pass", "seconds"),
        Column("ratio", "ratio", "number"),
        Column("least", "kernels alone", "number"),
    ),
    _measure_many,
    _many_targets,
)
