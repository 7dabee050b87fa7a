"""Spark: batch jobs against what Spark itself needs for the rows, and streams batch by batch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.lab import Lab
from bench.processes import FailedError, isolated
from bench.queries import NAMES
from bench.sequences import MILLION
from bench.streams import BUSY
from bench.tables import Column, Group, Row, Target, at_least, at_most

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATIENCE = 600.0
"""Seconds: a session takes its time to start, also in a quick run."""

_FILES = 16
_ROW_GROUPS = 4
_ACCOUNTS = 10_000
_KEPT = 0.15
SCHEMA = (
    "type string, id long, name string, volume long, price double, stock_time long, account long, "
    "score double"
)

_PATTERN = "(SELL AS a ; BUY AS b ; SELL AS c)"
_SHOWN = "SELECT a[id, price], b[id, price], c[id, price] FROM S"


def batch_queries() -> dict[str, tuple[str, str, str]]:
    """Return how events meet, which rows are left, and the query, by a name.

    All wait for a large sale, one match for each, so that rows are few and events are the work.
    """
    every = f"{_SHOWN} WHERE {_PATTERN} FILTER c[volume >= 10000]"
    few = f"{every} AND a[score < {_KEPT}] AND b[score < {_KEPT}] AND c[score < {_KEPT}]"
    ways = {"by key": "PARTITION BY [account] ", "slices of time": ""}
    return {
        f"{way}, {left}": (way, left, f"{query} {by}WITHIN 10000 [stock_time] LIMIT 1")
        for way, by in ways.items()
        for left, query in (("15%", few), ("all", every))
    }


def write_trades(folder: str, events: int, files: int, keys: int) -> None:
    """Write trades as Parquet, each file later than the one before."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ensue.datasets import stock_table

    Path(folder).mkdir()
    source = np.random.default_rng(1)
    table = stock_table(events, symbols=NAMES)
    for name in ("type", "name"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table.column(name).cast(pa.string()))
    table = table.append_column("account", pa.array(source.integers(0, keys, events)))
    table = table.append_column("score", pa.array(source.random(events)))
    size = -(-events // files)
    for number in range(files):
        own = table.slice(number * size, size)
        # Spark cuts a file at its row groups: in one alone, a single core would read it.
        groups = max(own.num_rows // _ROW_GROUPS, 1)
        pq.write_table(own, f"{folder}/{number:04}.parquet", row_group_size=groups)


def batch_session(master: str, **more: str) -> SparkSession:
    """Start Spark as all these benchmarks use it."""
    from ensue.spark import session

    return session(master, config={"spark.driver.memory": "4g", **more})


def stream_session() -> SparkSession:
    """Start Spark with as many partitions as cores, as docs/spark.md advises for streams."""
    return batch_session("local[2]", **{"spark.sql.shuffle.partitions": "2"})


# batch


def batch_seconds(folder: str, master: str, repetitions: int, ways: list[str]) -> dict[str, Any]:
    """Return the best time of each way to go over all rows, in turns."""
    from pyspark.sql import functions as F  # noqa: N812

    from ensue.spark import recognize

    spark = batch_session(master)
    events = spark.read.schema(SCHEMA).parquet(folder)
    queries = {name: query for name, (_, _, query) in batch_queries().items()}

    def consume(frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def passed(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    every: dict[str, Callable[[], object]] = {}
    if "read" in ways:
        counts = [F.count(name).alias(name) for name in events.columns]
        every["read"] = lambda: events.agg(*counts).collect()
        every["pass"] = lambda: consume(events.mapInArrow(passed, SCHEMA))
    for name, query in queries.items():
        for way in ("python", "pushed"):
            if way in ways:
                every[f"{way}, {name}"] = lambda query=query, way=way: consume(
                    recognize(events, query, pushdown=way == "pushed")
                )
    warm = spark.read.schema(SCHEMA).parquet(f"{folder}/0000.parquet")
    warm.agg(F.count("id")).collect()
    consume(warm.mapInArrow(passed, SCHEMA))
    for query in queries.values():
        consume(recognize(warm.limit(1000), query))
    best: dict[str, float] = {}
    for _ in range(repetitions):
        for name, action in every.items():
            began = time.perf_counter()
            action()
            best[name] = min(best.get(name, 1e9), time.perf_counter() - began)
    found = {}
    if "found" in ways:
        found = {name: recognize(events, query).count() for name, query in queries.items()}
    spark.stop()
    return {"seconds": best, "found": found}


def _measure_batch(lab: Lab) -> list[Row]:
    events = MILLION if lab.quick else 10 * MILLION
    folder = str(lab.folder / "trades")
    lab.say(f"making {events:,} trades as Parquet")
    rows: list[Row] = []
    try:
        lab.call(write_trades, folder=folder, events=events, files=_FILES, keys=_ACCOUNTS)
        lab.say("Spark on two cores")
        both = isolated(
            batch_seconds,
            _PATIENCE,
            folder=folder,
            master="local[2]",
            repetitions=2,
            ways=["read", "python", "pushed", "found"],
        )
        lab.say("Spark on one core")
        one = isolated(
            batch_seconds,
            _PATIENCE,
            folder=folder,
            master="local[1]",
            repetitions=2,
            ways=["pushed"],
        )
    except FailedError as error:
        return [{"way": "all", "failed": str(error)}]
    seconds = both["seconds"]
    for name, (way, left, _) in batch_queries().items():
        pushed = seconds[f"pushed, {name}"]
        rows.append(
            {
                "way": way,
                "left": left,
                "events": events,
                "found": both["found"][name],
                "read": events / seconds["read"],
                "pass": events / seconds["pass"],
                "python": events / seconds[f"python, {name}"],
                "pushed": events / pushed,
                "ratio": seconds["pass"] / pushed,
                "growth": one["seconds"][f"pushed, {name}"] / pushed,
            }
        )
    return rows


def _batch_targets(rows: Sequence[Row]) -> list[Target]:
    return [
        at_least(
            f"Spark {row['way']}, {row['left']} of the rows left: rate to that of a pass-through",
            2.0 if row["left"] == "15%" else 0.6,
            row.get("ratio"),
            "number",
            "times",
        )
        for row in rows
        if "left" in row
    ]


BATCH_GROUP = Group(
    "spark",
    "Spark, local[2]: rows a second that are read and counted, passed through Python, recognized",
    (
        Column("way", "events meet", "text"),
        Column("left", "rows left", "text"),
        Column("events", "rows", "size"),
        Column("found", "matches", "count"),
        Column("read", "read, counted", "rate"),
        Column("pass", "passed through", "rate"),
        Column("python", "recognized, no pushdown", "rate"),
        Column("pushed", "recognized", "rate"),
        Column("ratio", "to pass-through", "number"),
        Column("growth", "to local[1]", "number"),
    ),
    _measure_batch,
    _batch_targets,
)


# streams

_LONG = 10
"""The long window has so many micro-batches, the short one a single one."""


def stream_query(window: int) -> str:
    """Return a query of the partial matches of all events in a window of milliseconds."""
    return (
        f"{_SHOWN} WHERE {_PATTERN} FILTER c[volume >= 10000] "
        f"PARTITION BY [account] WITHIN {window} [stock_time] LIMIT 1"
    )


def stream_progress(folder: str, checkpoint: str, rows: int, window: int) -> dict[str, Any]:
    """Run a stream over files, one a micro-batch; return what each took and kept.

    Without a window, the stream is shuffled by key and passed through Python, and nothing else.
    """
    from ensue.spark import recognize

    spark = stream_session()
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(folder)
    if window:
        found = recognize(
            files, stream_query(window), time_unit="ms", tiebreak="id", lateness="1 second"
        )
    else:
        found = files.repartition("account").mapInArrow(_nothing_done(), SCHEMA)
    stream = found.writeStream.format("noop").option("checkpointLocation", checkpoint)
    running = stream.trigger(availableNow=True).start()
    running.awaitTermination()
    batches = [each for each in running.recentProgress if each.numInputRows]
    # From here on the long window is full.
    steady = batches[_LONG + 1 :]
    times = [each.durationMs["triggerExecution"] / 1000 for each in steady]
    found_rates = {
        "batches": len(batches),
        "latency": statistics.median(times),
        "longest": max(times),
        "rate": rows / statistics.median(times),
    }
    if not window:
        spark.stop()
        return found_rates
    states = [each.observedMetrics["ensue-keys"]["state"] or 0 for each in steady]
    written = sum(
        path.stat().st_size for path in Path(checkpoint, "state").rglob("*") if path.is_file()
    )
    spark.stop()
    return {
        **found_rates,
        "state": states[-1],
        "grows": states[-1] / max(states[0], 1),
        "written": written / len(running.recentProgress),
    }


def _nothing_done() -> Callable[[Iterator[Any]], Iterator[Any]]:
    def passed(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return passed


def _measure_streams(lab: Lab) -> list[Row]:
    sizes = (10_000, 50_000) if lab.quick else (10_000, 100_000, MILLION)
    rows: list[Row] = []
    for keys in (10, 10_000, MILLION):
        for size in sizes:
            files = _LONG + 6
            folder = str(lab.folder / f"stream-{keys}-{size}")
            begin: Row = {"keys": keys, "rows": size}
            lab.say(f"streams of {keys:,} keys, {size:,} rows a micro-batch")
            length = int(1000 * size / BUSY)
            try:
                lab.call(write_trades, folder=folder, events=size * files, files=files, keys=keys)
                passed, short, long = (
                    isolated(
                        stream_progress,
                        _PATIENCE,
                        folder=folder,
                        checkpoint=f"{folder}-checkpoint-{window}",
                        rows=size,
                        window=window,
                    )
                    for window in (0, length, _LONG * length)
                )
            except FailedError as error:
                rows.append({**begin, "failed": str(error)})
                continue
            rows.append(
                {
                    **begin,
                    **long,
                    "pass": passed["rate"],
                    "ratio": long["rate"] / passed["rate"],
                    "wait": long["latency"] / passed["latency"],
                    "longer": long["latency"] / short["latency"],
                    "share": long["written"] / (long["state"] / (_LONG + 1)),
                }
            )
    return rows


def _stream_targets(rows: Sequence[Row]) -> list[Target]:
    targets = []
    for row in rows:
        of = f"a Spark stream of {row['keys']:,} keys, {row['rows']:,} rows a micro-batch"
        targets += [
            at_most(
                f"{of}: time with a window 10 times as long",
                1.3,
                row.get("longer"),
                "number",
                "times",
            ),
            at_most(f"{of}: bytes written to new events", 2.0, row.get("share"), "number", "times"),
            at_most(
                f"{of}: state in the end to that of a full window",
                1.1,
                row.get("grows"),
                "number",
                "times",
            ),
        ]
        if row["rows"] == MILLION:
            targets.append(
                at_least(f"{of}: rate to a pass-through", 0.5, row.get("ratio"), "number", "times")
            )
        if row["rows"] == min(each["rows"] for each in rows):
            targets.append(
                at_most(f"{of}: latency to a pass-through", 2.0, row.get("wait"), "number", "times")
            )
    return targets


STREAM_GROUP = Group(
    "streaming",
    "Spark streams, local[2], 16 buckets, a window of 10 micro-batches, once it is full",
    (
        Column("keys", "keys", "size"),
        Column("rows", "rows a micro-batch", "size"),
        Column("rate", "rows/s", "rate"),
        Column("pass", "shuffled, passed through", "rate"),
        Column("ratio", "to pass-through", "number"),
        Column("latency", "latency, median", "seconds"),
        Column("longest", "longest", "seconds"),
        Column("longer", "to window of 1", "number"),
        Column("state", "state", "bytes"),
        Column("written", "written a micro-batch", "bytes"),
        Column("share", "to new events", "number"),
    ),
    _measure_streams,
    _stream_targets,
)
