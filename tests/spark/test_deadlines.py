"""NOT FOLLOWED BY on Spark: what the local engine finds, in batch jobs and on streams."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.errors import EnsueError
from ensue.spark import recognize, register
from tests.spark.frames import frame_of, ids_by_query, local
from tests.spark.test_streaming import Source, drain, ids_of, pieces, rows, shuffled, trades

QUERIES = {
    "beat": "SELECT * FROM S WHERE A AS x NOT FOLLOWED BY A WITHIN 2 [ts] PARTITION BY [g]",
    "pair": "SELECT * FROM S WHERE (A AS x ; B AS y) NOT FOLLOWED BY (B AS z FILTER z.v = x.v) "
    "WITHIN 3 [ts] PARTITION BY [g] WITHIN 5 [ts]",
    "next": "SELECT NEXT * FROM S WHERE (A AS x ; B AS y) NOT FOLLOWED BY (A FILTER A[v > 2]) "
    "WITHIN 2 EVENTS PARTITION BY [g] WITHIN 5 [ts]",
    "all": "SELECT * FROM S WHERE (A AS x FILTER x[v > 1]) NOT FOLLOWED BY B WITHIN 0 [ts]",
}


@pytest.mark.parametrize("until", [None, 1000])
def test_spark_batch_eq_local_with_deadlines(spark: SparkSession, until: int | None) -> None:
    table = trades(60, random.Random(7))
    frame = frame_of(spark, table)
    found = recognize(frame, QUERIES, time="ts", tiebreak="id", tasks=3, until=until)
    expected = local(QUERIES, table, time="ts", tiebreak="id", until=until)
    assert len(expected) == len(QUERIES)
    assert ids_by_query(found) == expected
    late = {row.deadline - row.end_time for row in found.where("query = 'beat'").collect()}
    assert late == {2}


def test_counts_of_what_is_not_followed_are_the_same_on_spark(spark: SparkSession) -> None:
    text = QUERIES["beat"].replace("SELECT *", "SELECT count(*) AS n, sum(x.v) AS s")
    table = trades(60, random.Random(7))
    found = recognize(frame_of(spark, table), text, time="ts", tiebreak="id", tasks=3)
    wanted = ensue.run(text, table, time="ts", tiebreak="id").to_arrow().to_pylist()
    rows = [row.asDict() for row in found.collect()]
    assert sorted(map(repr, rows)) == sorted(map(repr, wanted))


@pytest.mark.pipelines
def test_matches_come_out_of_a_stream_when_the_watermark_passes_their_deadline(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, chance = Source(spark, tmp_path / "events"), random.Random(7)
    table = trades(60, chance)
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    # No key gets an event after these: time alone passes.
    source.flush(10_000)
    found = recognize(source.frame(), QUERIES, time="ts", tiebreak="id", lateness=4, tasks=3)
    drain(found, tmp_path)
    expected = local(QUERIES, table, time="ts", tiebreak="id", until=10_000)
    assert len(expected) == len(QUERIES)
    assert ids_of(rows(spark, tmp_path)) == expected


def test_where_time_is_not_known_deadlines_are_refused(spark: SparkSession) -> None:
    frame = frame_of(spark, trades(6, random.Random(7)))
    with pytest.raises(EnsueError, match="how far time has come in all events"):
        register(spark, "alarms", QUERIES["beat"], frame, time="ts")
