"""Streams: the same matches as the local engine finds, whatever way the events come."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue
from ensue.errors import EventError
from ensue.spark import recognize
from ensue.spark.streaming import idle
from ensue.spark.streaming.idle import TICK
from tests.spark.frames import SCHEMA, local
from tests.spark.patience import TOO_SLOW, TRIES, finished
from tests.spark.random_queries import SEED, batch
from tests.strategies import Language
from tests.waiting import wait_until

SEVERAL = {
    "keys": "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]",
    "all": "SELECT * FROM S WHERE A AS x ; B AS y FILTER x[v > 1] WITHIN 2 [ts]",
}


class Source:
    """A folder of files, read one at a time; each is a micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.count = spark, folder, 0
        self.began = time.time() - 100_000
        folder.mkdir()

    def write(self, table: pa.Table) -> None:
        path = self.folder / f"{self.count:05}.parquet"
        pq.write_table(table, path.with_suffix(".part"))
        # Spark reads files in the order of their times, which may be rough.
        moment = self.began + 10 * self.count
        os.utime(path.with_suffix(".part"), (moment, moment))
        path.with_suffix(".part").rename(path)
        self.count += 1

    def flush(self, until: int) -> None:
        """Let time pass: an event that no query looks at."""
        self.write(pa.Table.from_pylist([{"type": "HEARTBEAT", "ts": until}], SCHEMA))

    def frame(self) -> DataFrame:
        reader = self.spark.readStream.schema(self.spark.read.parquet(str(self.folder)).schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(str(self.folder))


def shuffled(table: pa.Table, lateness: int, source: random.Random) -> pa.Table:
    """Let every event come up to so much later than its time says."""
    arrivals = [each + source.uniform(0, lateness) for each in table["ts"].to_pylist()]
    order = sorted(range(table.num_rows), key=arrivals.__getitem__)
    return table.take(pa.array(order, pa.int64()))


def pieces(table: pa.Table, count: int, source: random.Random) -> list[pa.Table]:
    cuts = sorted(source.sample(range(1, table.num_rows), count - 1))
    return [
        table.slice(low, high - low)
        for low, high in zip([0, *cuts], [*cuts, table.num_rows], strict=True)
    ]


def drain(found: DataFrame, folder: Path, **options: Any) -> list[Any]:
    """Run a stream to its end, into files, and return its rows and its progress."""
    return finished(
        found.writeStream.format("parquet")
        .option("path", str(folder / "found"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**{"availableNow": True, **options})
    )


def rows(spark: SparkSession, folder: Path) -> list[Any]:
    return spark.read.parquet(str(folder / "found")).collect()


def ids_of(found: list[Any]) -> dict[str, Counter[str]]:
    ids: dict[str, Counter[str]] = {}
    for row in found:
        ids.setdefault(row.query, Counter())[row.match_id] += 1
    return ids


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param(False, id="plain"),
        pytest.param(True, id="conditions", marks=pytest.mark.pipelines),
    ],
)
def test_spark_stream_eq_local(spark: SparkSession, tmp_path: Path, conditions: bool) -> None:
    chance = random.Random(SEED)
    language = Language(conditions=conditions)
    drawn = batch("keys", 20, 7000 + conditions, language)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(drawn.table, 6, chance), 5, chance):
        source.write(piece)
    source.flush(10_000)
    found = recognize(source.frame(), drawn.queries, time="ts", tiebreak="id", lateness=6, tasks=3)
    drain(found, tmp_path)
    expected = local(drawn.queries, drawn.table, time="ts", tiebreak="id")
    assert len(expected) > 4
    actual = ids_of(rows(spark, tmp_path))
    for name, text in drawn.queries.items():
        assert actual.get(name) == expected.get(name), f"seed {SEED}: {text}"


def trades(count: int, source: random.Random) -> pa.Table:
    rows = [
        {
            "id": at,
            "type": source.choice("AB"),
            "v": source.randrange(4),
            "w": 1.5,
            "k": None,
            "g": source.choice(["p", "q", "r", None]),
            "ts": at // 3,
        }
        for at in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def test_matches_come_out_when_the_watermark_passes(spark: SparkSession, tmp_path: Path) -> None:
    source, chance = Source(spark, tmp_path / "events"), random.Random(SEED)
    table = trades(60, chance)
    expected = local(SEVERAL, table, time="ts", tiebreak="id")
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    options: dict[str, Any] = {"time": "ts", "tiebreak": "id", "lateness": 4, "tasks": 3}
    drain(recognize(source.frame(), SEVERAL, **options), tmp_path)
    before = ids_of(rows(spark, tmp_path))
    assert before != expected
    assert all(before.get(name, Counter()) <= expected[name] for name in SEVERAL)
    # The stream is over: what its last events complete comes out of the checkpoint.
    checkpoint = str(tmp_path / "checkpoint")
    rest = recognize(source.frame(), SEVERAL, **options, flush=checkpoint)
    assert not rest.isStreaming
    after = ids_of(rest.collect())
    for name in SEVERAL:
        assert before.get(name, Counter()) + after.get(name, Counter()) == expected[name]
    with pytest.raises(PythonException, match="new checkpointLocation"):
        recognize(source.frame(), SEVERAL["keys"], **options, flush=checkpoint).collect()


def test_late_events_are_counted_shown_and_take_no_part(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "events")
    table = trades(30, random.Random(SEED))
    source.write(table)
    source.flush(100)
    source.write(table.slice(3, 5))
    source.flush(200)
    text = {"keys": SEVERAL["keys"]}
    options: dict[str, Any] = {"time": "ts", "tiebreak": "id", "lateness": 1, "tasks": 2}
    found = recognize(source.frame(), text, **options, late="late")
    progress = drain(found, tmp_path)
    given = rows(spark, tmp_path)
    matches = [row for row in given if row.late is None]
    assert ids_of(matches) == local(text, table, time="ts", tiebreak="id")
    told = [each["observedMetrics"].get("ensue-keys") for each in progress]
    late = [each for each in table.slice(3, 5).to_pylist() if each["g"] is not None]
    assert sum(row["late"] or 0 for row in told if row is not None) == len(late)
    sizes = [row["state"] for row in told if row is not None and row["state"] is not None]
    assert max(sizes) > min(sizes) >= 0  # what has left the window is dropped
    shown = [row for row in given if row.late is not None]
    assert sorted((row.late.asDict() for row in shown), key=lambda each: each["id"]) == late
    assert all(row.match_id is None and row.query is None for row in shown)
    with pytest.raises(ValueError, match="another name for late="):
        recognize(source.frame(), text, **options, late="x")


@pytest.mark.pipelines
def test_metrics_come_with_the_progress_of_each_pass(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "events")
    table = trades(60, random.Random(SEED))
    source.write(table.slice(0, 30))
    source.write(table.slice(30))
    source.flush(100)
    source.write(table.slice(3, 5))
    within = "PARTITION BY [g] WITHIN 9 [ts]"
    queries = {
        "pairs": f"SELECT * FROM S WHERE A AS x ; B AS y {within}",
        "ratio": f"SELECT * FROM S WHERE A AS x ; B AS y FILTER x[v / (w - 1.5) > 1] {within}",
        "types": "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g, v] WITHIN 9 [ts]",
    }
    options: dict[str, Any] = {"time": "ts", "tiebreak": "id"}
    progress = drain(
        recognize(source.frame(), queries, **options, lateness=1, tasks=2, pushdown=False), tmp_path
    )
    told: dict[str, Counter[str]] = {"ensue-keys": Counter(), "ensue-keys-2": Counter()}
    for each in progress:
        for name in told:
            row = each["observedMetrics"].get(name)
            told[name] += Counter() if row is None else Counter({**row.asDict(), "state": 0})
    keyed = table.filter(pc.is_valid(table["g"]))
    late = sum(g is not None for g in table["g"].to_pylist()[3:8])
    found = {name: ensue.run(text, keyed, **options) for name, text in queries.items()}
    assert found["pairs"].count > 0
    assert told["ensue-keys"] == Counter(
        events=keyed.num_rows,
        late=late,
        nulls=found["ratio"].stats["nulls"],
        matches=found["pairs"].count,
        matches_pairs=found["pairs"].count,
    )
    assert found["ratio"].stats["nulls"] > 0
    of_types = found["types"].count
    assert told["ensue-keys-2"] == Counter(
        events=keyed.num_rows, late=late, matches=of_types, matches_types=of_types
    )


@pytest.mark.pipelines
def test_another_query_does_not_go_on_from_a_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "events")
    source.write(trades(30, random.Random(SEED)))
    frame = source.frame()
    drain(recognize(frame, {"keys": SEVERAL["keys"]}, time="ts", lateness=1), tmp_path)
    source.write(trades(30, random.Random(SEED)))
    changed = SEVERAL["keys"].replace("WITHIN 9", "WITHIN 8")
    with pytest.raises(StreamingQueryException, match="new checkpointLocation"):
        drain(recognize(frame, {"keys": changed}, time="ts", lateness=1), tmp_path)


@pytest.mark.pipelines
def test_the_watermark_may_be_the_frames_own_and_totals_come_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, chance = Source(spark, tmp_path / "events"), random.Random(SEED)
    table = trades(60, chance)
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    source.flush(1000)
    within = "WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 SECONDS"
    text = f"SELECT * FROM S {within}"
    queries = {
        "matches": text,
        "computed": f"SELECT y[id], max(x.v) AS top FROM S {within}",
        "totals": f"SELECT count(*) AS n, sum(x.v) AS s FROM S {within}",
        "intervals": f"SELECT count(*) AS n, sum(x.v) AS s FROM S {within} EVERY 4 SECONDS",
    }
    timed = source.frame().withColumn("at", F.expr("timestamp_seconds(ts)"))
    with pytest.raises(EventError, match="pass lateness="):
        recognize(timed, text, time="at")
    owned = timed.withWatermark("at", "4 seconds")
    drain(recognize(owned, queries, time="at", tiebreak="id", tasks=3), tmp_path)
    moments = pa.array(table["ts"].to_pylist(), pa.int64()).cast(pa.timestamp("s", "UTC"))
    local_table = table.append_column("at", moments.cast(pa.timestamp("us", "UTC")))
    found = rows(spark, tmp_path)

    def of(name: str, *columns: str) -> list[Any]:
        return sorted(tuple(row[each] for each in columns) for row in found if row.query == name)

    def run(name: str) -> ensue.Matches:
        return ensue.run(queries[name], local_table, time="at", tiebreak="id")

    for name in ("matches", "computed"):
        assert Counter(of(name, "match_id")) == Counter((each.id,) for each in run(name))
    tops = [(match.id, match.computed()[0]["top"]) for match in run("computed")]
    assert of("computed", "match_id", "top") == sorted(tops)
    for name in ("totals", "intervals"):
        expected = [(row.partition["g"], row["n"], row["s"]) for row in run(name)]
        assert expected
        assert of(name, "g", "n", "s") == sorted(expected)


@pytest.mark.pipelines
def test_an_idle_stream_moves_on_by_processing_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, clock = Source(spark, tmp_path / "events"), Source(spark, tmp_path / "clock")

    def event(kind: str, at: int) -> dict[str, Any]:
        return {"id": at, "type": kind, "v": 1, "w": 1.0, "g": "p", "ts": at}

    # B waits for a watermark beyond it, which no event brings; the last event comes too late.
    brought = [[event("A", 1000), event("B", 1001)], [], [], [], [], [event("B", 1500)]]
    for number, rows_ in enumerate(brought):
        source.write(pa.Table.from_pylist(rows_, SCHEMA))
        clock.write(pa.table({TICK: pa.array([10_000 + 500 * number])}))
    options: dict[str, Any] = {"time": "ts", "lateness": 0, "tasks": 2, "idle_timeout": "1 second"}
    with pytest.raises(EventError, match="needs time_unit="):
        recognize(source.frame(), SEVERAL["keys"], **options)
    with pytest.raises(ValueError, match="idle_timeout='soon' is not a duration"):
        recognize(source.frame(), SEVERAL["keys"], **{**options, "idle_timeout": "soon"})
    real = idle.ticks(spark, 1000)
    assert (real.isStreaming, real.dtypes) == (True, [(TICK, "bigint")])
    monkeypatch.setattr(idle, "ticks", lambda *_: clock.frame())
    found = recognize(source.frame(), SEVERAL["keys"], **options, time_unit="ms")
    progress = drain(found, tmp_path)
    every = [each["observedMetrics"].get("ensue-keys") for each in progress]
    told = [row for row in every if row is not None]
    # A last micro-batch without events follows, since the late event moves Spark's watermark.
    assert [row.matches for row in told] == [0, 0, 0, 0, 1, 0, 0]
    assert [row.late for row in told] == [0, 0, 0, 0, 0, 1, 0]


def _wait_for_rows(spark: SparkSession, query: Any, count: int) -> None:
    """Wait until a query into memory has found so many, or has failed."""
    wait_until(
        lambda: query.exception() is not None or spark.table(query.name).count() >= count,
        "the matches are found",
    )


@pytest.mark.pipelines
def test_the_rate_source_with_a_processing_time_trigger(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 30).load()
    events = rate.selectExpr(
        "IF(value DIV 3 % 2 = 0, 'A', 'B') AS type", "value % 3 AS k", "value", "timestamp AS ts"
    )
    text = """SELECT STRICT x[value], y[value] FROM S WHERE A AS x ; B AS y
        PARTITION BY [k] WITHIN 1 HOURS [ts]"""
    stream = (
        recognize(events, text, lateness="0 seconds", tasks=2)
        .writeStream.format("memory")
        .queryName("of_rate")
        .trigger(processingTime="500 milliseconds")
    )
    for _ in range(TRIES):
        query = stream.start()
        try:
            _wait_for_rows(spark, query, 9)
        finally:
            query.stop()
        if TOO_SLOW not in str(query.exception()):
            break
    assert query.exception() is None
    found = sorted((row.x[0].value, row.y[0].value) for row in spark.table("of_rate").collect())
    # In each key A and B take turns, and all pairs so far are there.
    firsts = [6 * (n // 3) + n % 3 for n in range(len(found))]
    assert found == [(first, first + 3) for first in firsts]
