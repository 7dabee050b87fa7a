"""The strategies of SELECT on Spark: chosen as the local engine chooses."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ensue.spark import recognize
from tests.spark.frames import SCHEMA, frame_of, ids_by_query, local
from tests.spark.random_queries import SEED
from tests.spark.test_streaming import Source, drain, ids_of, pieces, rows, shuffled

CHOICES = ("NEXT", "LAST", "MAX", "FIRST")
KEYS = {
    choice: f"SELECT {choice} * FROM S WHERE A ; B+ PARTITION BY [g] WITHIN 9 [ts]"
    for choice in CHOICES
}
SLICES = {
    f"{choice} in slices": f"SELECT {choice} * FROM S WHERE A ; (B OR C)+ WITHIN 4 [ts]"
    for choice in CHOICES
}


def events() -> pa.Table:
    """Return events of three types and two groups."""
    chance = random.Random(SEED)
    rows = [
        {"type": chance.choice("ABC"), "g": chance.choice("pq"), "ts": number // 2, "id": number}
        for number in range(60)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def test_spark_batch_chooses_as_local(spark: SparkSession) -> None:
    table = events()
    queries = {**KEYS, **SLICES}
    found = recognize(frame_of(spark, table), queries, time="ts", tiebreak="id", tasks=3)
    expected = local(queries, table, time="ts", tiebreak="id")
    assert expected.keys() == queries.keys()
    assert ids_by_query(found) == expected


@pytest.mark.pipelines
def test_spark_stream_chooses_as_local(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    table = events()
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 6, chance), 4, chance):
        source.write(piece)
    source.flush(10_000)
    found = recognize(source.frame(), KEYS, time="ts", tiebreak="id", lateness=6, tasks=2)
    drain(found, tmp_path)
    assert ids_of(rows(spark, tmp_path)) == local(KEYS, table, time="ts", tiebreak="id")
