"""Derived streams on Spark: the same matches as the local engine finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.spark import explain, recognize
from tests.spark.frames import frame_of, ids_by_query, local
from tests.spark.random_queries import SEED
from tests.spark.test_streaming import Source, drain, ids_of, pieces, rows, shuffled, trades

PAIRS = (
    "CREATE STREAM P AS SELECT *, sum(x.v) AS total FROM S WHERE A AS x ; B AS y PARTITION BY [g] "
    "WITHIN 2 [ts] ; "
)
SHARED = {
    "both": f"{PAIRS} SELECT * FROM S, P WHERE P AS one ; A PARTITION BY [g] WITHIN 3 [ts]",
    "alone": f"{PAIRS} SELECT one[total, g], max(one.total) AS top FROM P WHERE P{{2}} AS one "
    "FILTER one[total > 1] PARTITION BY [g] WITHIN 2 [end_time]",
}
NOT_SHARED = {"all": f"{PAIRS} SELECT * FROM P WHERE P AS one : P AS two WITHIN 1 [end_time]"}


def test_spark_batch_eq_local_with_derived_streams(spark: SparkSession) -> None:
    table = trades(90, random.Random(SEED))
    queries = SHARED | NOT_SHARED
    expected = local(queries, table, time="ts", tiebreak="id")
    assert expected.keys() == queries.keys()
    frame = frame_of(spark, table)
    with pytest.warns(ensue.CeqlWarning, match="no key of PARTITION BY in common"):
        found = recognize(frame, queries, time="ts", tiebreak="id", tasks=3)
    assert ids_by_query(found) == expected
    told = explain(frame, SHARED, time="ts", tiebreak="id")
    assert "by key" in told
    assert "share the key" in told


@pytest.mark.pipelines
def test_spark_stream_eq_local_with_derived_streams(spark: SparkSession, tmp_path: Path) -> None:
    source, chance = Source(spark, tmp_path / "events"), random.Random(SEED)
    table = trades(60, chance)
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    source.flush(10_000)
    found = recognize(source.frame(), SHARED, time="ts", tiebreak="id", lateness=4, tasks=2)
    drain(found, tmp_path)
    assert ids_of(rows(spark, tmp_path)) == local(SHARED, table, time="ts", tiebreak="id")


def test_a_stream_refuses_levels_without_a_common_key(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "events")
    source.flush(1)
    with pytest.raises(ensue.EnsueError, match="key of PARTITION BY in common"):
        recognize(source.frame(), NOT_SHARED, time="ts")
