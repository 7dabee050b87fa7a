"""Ties: batch jobs, where Spark sorts, and streams, where workers do, have one order of events."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue
from ensue.options import ReadOptions
from ensue.spark import recognize
from ensue.spark.batch import _sorting
from ensue.spark.order import Key, order_of, sorted_rows
from ensue.spark.program import Program
from tests.spark.frames import frame_of
from tests.spark.test_streaming import drain, rows

SCHEMA = pa.schema(
    {
        "n": pa.struct({"m": pa.int64(), "deep": pa.struct({"s": pa.string()})}),
        "tags": pa.list_(pa.float64()),
        "parts": pa.list_(pa.struct({"p": pa.string(), "q": pa.int64()})),
        "counts": pa.map_(pa.string(), pa.int64()),
        "type": pa.string(),
        "id": pa.int64(),
        "ts": pa.int64(),
    }
)


def tied(count: int) -> pa.Table:
    """Events of one time that differ in nested columns, with NULLs and NaNs wherever they go."""
    chance = random.Random(11)

    def some(*values: Any) -> Any:
        return chance.choice((None, *values))

    def made(at: int) -> dict[str, Any]:
        numbers = [some(1.5, -2.0, float("nan")) for _ in range(chance.randrange(3))]
        parts = [{"p": some("x", "é", "𝄞"), "q": some(1, 2)} for _ in range(chance.randrange(3))]
        return {
            "n": some(*({"m": some(1, 2), "deep": some({"s": some("a", "b")})} for _ in range(3))),
            "tags": some(numbers, numbers),
            "parts": some(parts, parts),
            "counts": [("x", at)],
            "type": "A",
            "id": at,
            "ts": 7,
        }

    return pa.Table.from_pylist([made(at) for at in range(count)], SCHEMA)


def program(text: str) -> Program:
    return Program("q", ensue.compile(text), SCHEMA, ReadOptions(time="ts"))


def test_workers_sort_as_spark_does(spark: SparkSession) -> None:
    table = tied(400)
    read = [name for name in SCHEMA.names if name != "id"]
    keys = order_of(program("SELECT * FROM S WHERE A"), read, given=False)
    assert Key(("counts",)) not in keys  # nothing orders maps
    # The number of the event in the end, so that the order is the same where ties are left.
    order = (*keys, Key(("id",)))
    by_spark = frame_of(spark, table).coalesce(1).sortWithinPartitions(*_sorting(order))
    shuffled = table.take(list(range(400))[::-1])
    by_worker = shuffled.take(sorted_rows(shuffled, order))
    assert [row.id for row in by_spark.select("id").collect()] == by_worker["id"].to_pylist()
    # Few events are equal in all that was looked at.
    assert by_worker["id"].to_pylist() != sorted(by_worker["id"].to_pylist())


PAIRS = "SELECT x, y FROM S WHERE A AS x : A AS y WITHIN 1 [ts]"


def shown(found: DataFrame) -> list[str]:
    """Write pairs of events that follow on one another, wherever they were found."""
    pairs = found.select(F.to_json("x").alias("x"), F.to_json("y").alias("y")).collect()
    return sorted(f"{row.x} {row.y}" for row in pairs)


@pytest.mark.pipelines
def test_batch_and_stream_agree_on_events_that_differ_in_structs(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pa.Table.from_pylist(
        [
            {"n": {"m": m, "deep": {"s": s}}, "type": "A", "ts": 7}
            for m, s in ((2, "b"), (1, "b"), (None, "c"), (2, "a"), (1, "a"), (3, None), (3, "a"))
        ],
        pa.schema([SCHEMA.field(name) for name in ("n", "type", "ts")]),
    )
    whole = recognize(frame_of(spark, table), PAIRS, time="ts")
    folder = tmp_path / "events"
    folder.mkdir()
    pq.write_table(table, folder / "0.parquet")
    later = pa.Table.from_pylist([{"type": "Z", "ts": 9_000}], table.schema)
    pq.write_table(later, folder / "1.parquet")
    stream = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
    drain(recognize(stream, PAIRS, time="ts", lateness=1, tasks=1), tmp_path)
    assert rows(spark, tmp_path)
    assert shown(spark.read.parquet(str(tmp_path / "found"))) == shown(whole)
    assert whole.count() == table.num_rows - 1
