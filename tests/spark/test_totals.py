"""Totals and computed columns of every kind of evaluation: the same on Spark and locally."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.spark import recognize
from tests.spark.frames import SCHEMA, frame_of, ids_by_query, local

PATTERN = "(A ; (B AS x)+ ; C)"
BY_KEY, IN_SLICES = "PARTITION BY [k] WITHIN 20 [ts]", "WITHIN 9 [ts]"
TOTALS = {
    "on the graph": f"""
        SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE {PATTERN} FILTER x[increasing(v)]
        {BY_KEY}""",
    "listed": f"""
        SELECT count(*) AS n, sum(x.v) AS s FROM S
        WHERE {PATTERN} AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 2]
        {IN_SLICES}""",
    "of computed events": f"""
        SELECT count(*) AS n, sum(Y.m) AS s FROM S
        WHERE A ; ((B AS x)+ AGGREGATE Y[m = max(x.v)]) ; C
        {BY_KEY}""",
}
LISTED = {
    "columns": f"SELECT x, max(x.v) AS top, count(x) AS n FROM S WHERE {PATTERN} {BY_KEY}",
    "pruned": f"""
        SELECT x, Y FROM S WHERE {PATTERN} AGGREGATE Y[n = count(x)] FILTER Y[n <= 2]
        {IN_SLICES}""",
    "nested": f"""
        SELECT x, Z FROM S
        WHERE (A ; ((B AS x)+ AGGREGATE Y[s = sum(x.v)] FILTER Y[s > 3]) ; C)+
        AGGREGATE Z[t = sum(Y.s)]
        {BY_KEY}""",
}


def table() -> pa.Table:
    rows = [
        {
            "id": at,
            "type": "ABBBCAB"[at % 7],
            "v": at * 5 % 7,
            "w": at / 4,
            "k": "pq"[at % 3 % 2],
            "g": None,
            "ts": at,
        }
        for at in range(60)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("name", TOTALS)
def test_spark_totals_eq_local(spark: SparkSession, name: str) -> None:
    events, text = table(), TOTALS[name]
    told = recognize(frame_of(spark, events), text, time="ts", tasks=2).collect()
    found = sorted((row.time, row.n, row.s) for row in told)
    rows = ensue.run(text, events, time="ts")
    assert found == sorted((row.time, row["n"], row["s"]) for row in rows)
    assert found


def test_spark_computed_eq_local(spark: SparkSession) -> None:
    events = table()
    found = recognize(frame_of(spark, events), LISTED, time="ts", tasks=2)
    expected = local(LISTED, events, time="ts")
    assert ids_by_query(found) == expected
    assert expected.keys() == LISTED.keys()
