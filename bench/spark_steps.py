"""Where the time of a batch job on Spark goes: CPU seconds of all its processes, step by step.

Each step is a job that goes as far as that step and throws away what it has; what a step costs is
what its job takes more than the one before. CPU time hardly depends on who else uses the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.lab import Lab
from bench.processes import FailedError, isolated
from bench.sequences import MILLION
from bench.spark import SCHEMA, batch_queries, batch_session, write_trades
from bench.tables import Column, Group, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILES = 16
_ACCOUNTS = 10_000
_PATIENCE = 1800.0
_STEPS = ("read", "shuffled", "sorted", "shown", "recognized")


def tree_seconds() -> float:
    """Return the CPU seconds of this process and of all that it has started, and they."""
    children: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        children.setdefault(int(told[1]), []).append(int(folder.name))
        spent[int(folder.name)] = sum(map(int, told[11:15]))
    waiting, total = [os.getpid()], 0
    while waiting:
        process = waiting.pop()
        total += spent.get(process, 0)
        waiting += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def step_seconds(folder: str, repetitions: int) -> dict[str, dict[str, float]]:
    """Return the least CPU seconds of the jobs up to each step, by how events meet."""
    from pyspark.sql import functions as F  # noqa: N812

    from ensue.spark import recognize

    spark = batch_session("local[2]")
    events = spark.read.schema(SCHEMA).parquet(folder)

    def nothing(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            yield from ()

    def passed(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    given = F.expr("if(type = 'SELL', 1L, 0L) + if(type = 'BUY', 2L, 0L)").alias("given")
    columns = ["id", "price", "stock_time", given]
    queries = {way: query for way, left, query in batch_queries().values() if left == "all"}
    every: dict[str, dict[str, Callable[[], DataFrame]]] = {
        "passed": {"": lambda: events.mapInArrow(passed, SCHEMA)}
    }
    for way, query in queries.items():
        if way == "by key":
            read = events.select(*columns, "account")
            shuffled = read.repartition("account")
        else:
            read = events.select(*columns)
            shuffled = read.repartition(F.expr("stock_time div 100000"))
        ordered = shuffled.sortWithinPartitions("stock_time", "id")
        every[way] = {
            "read": lambda read=read: read,
            "shuffled": lambda shuffled=shuffled: shuffled,
            "sorted": lambda ordered=ordered: ordered,
            "shown": lambda ordered=ordered: ordered.mapInArrow(nothing, "n long"),
            "recognized": lambda query=query: recognize(events, query),
        }
    best: dict[str, dict[str, float]] = {way: {} for way in every}
    for _ in range(repetitions):
        for way, steps in every.items():
            for step, frame in steps.items():
                before = tree_seconds()
                frame().write.format("noop").mode("overwrite").save()
                took = tree_seconds() - before
                best[way][step] = min(best[way].get(step, took), took)
    spark.stop()
    return best


def _measure(lab: Lab) -> list[Row]:
    events = MILLION if lab.quick else 5 * MILLION
    folder = str(lab.folder / "trades-steps")
    lab.say(f"making {events:,} trades as Parquet, then jobs step by step")
    try:
        lab.call(write_trades, folder=folder, events=events, files=_FILES, keys=_ACCOUNTS)
        found = isolated(step_seconds, _PATIENCE, folder=folder, repetitions=4)
    except FailedError as error:
        return [{"way": "all", "failed": str(error)}]
    passed = found.pop("passed")[""]
    return [_row(way, steps, passed, events) for way, steps in found.items()]


def _row(way: str, steps: dict[str, float], passed: float, events: int) -> Row:
    row: Row = {"way": way}
    before = 0.0
    for step in _STEPS:
        row[step] = round((steps[step] - before) / events * MILLION, 2)
        before = steps[step]
    row["all"] = round(before / events * MILLION, 2)
    row["passed"] = round(passed / events * MILLION, 2)
    row["ratio"] = passed / before
    return row


GROUP = Group(
    "spark-steps",
    "Spark, local[2], all rows left: CPU seconds for a million rows, step by step",
    (
        Column("way", "events meet", "text"),
        Column("read", "read, predicates", "number"),
        Column("shuffled", "shuffle", "number"),
        Column("sorted", "sort", "number"),
        Column("shown", "rows to Python", "number"),
        Column("recognized", "recognize", "number"),
        Column("all", "in all", "number"),
        Column("passed", "passed through", "number"),
        Column("ratio", "passed through, to all", "number"),
    ),
    _measure,
)
