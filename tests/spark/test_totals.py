"""Totals and computed columns of every kind of evaluation: the same on Spark and locally."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import ensue
from ensue.spark import recognize
from tests.spark.frames import SCHEMA, frame_of, ids_by_query, local

PATTERN = "(A AS a ; (B AS b)+ ; C)"
TOTALS = {
    "counted": f"SELECT count(*) AS n, sum(b.v) AS s FROM S WHERE {PATTERN}",
    "on the graph": f"""
        SELECT count(*) AS n, sum(b.v) AS s FROM S WHERE {PATTERN} FILTER b[increasing(v)]""",
    "listed": f"""
        SELECT count(*) AS n, sum(b.v) AS s FROM S
        WHERE {PATTERN} AGGREGATE Y[m = avg(b.v)] FILTER Y[m > 2]""",
    "computed": """
        SELECT count(*) AS n, sum(Y.m) AS s FROM S
        WHERE A ; ((B AS b)+ AGGREGATE Y[m = max(b.v)]) ; C""",
}
LISTED = {
    "columns": f"SELECT b, max(b.v) AS top, count(b) AS n FROM S WHERE {PATTERN}",
    "pruned": f"SELECT * FROM S WHERE {PATTERN} AGGREGATE Y[n = count(b)] FILTER Y[n <= 2]",
    "nested": """
        SELECT * FROM S
        WHERE (A ; ((B AS b)+ AGGREGATE Y[s = sum(b.v)] FILTER Y[s > 3]) ; C)+
        AGGREGATE Z[t = sum(Y.s)]""",
}
CLAUSES = {"keys": "PARTITION BY [k] WITHIN 20 [ts]", "slices": "WITHIN 9 [ts]"}


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


def test_spark_totals_eq_local(spark: SparkSession) -> None:
    events = table()
    frame = frame_of(spark, events)
    queries = {
        f"{name}, {by}": f"{text}\n{clause}"
        for name, text in TOTALS.items()
        for by, clause in CLAUSES.items()
    }
    found: dict[str, list[Any]] = {}
    for name, text in queries.items():
        told = recognize(frame, text, time="ts", tasks=2).collect()
        found[name] = sorted((row.time, row.n, row.s) for row in told)
        rows = ensue.run(text, events, time="ts")
        assert found[name] == sorted((row.time, row["n"], row["s"]) for row in rows), name
        assert found[name], name


def test_spark_computed_eq_local(spark: SparkSession) -> None:
    events = table()
    queries = {
        f"{name}, {by}": f"{text}\n{clause}"
        for name, text in LISTED.items()
        for by, clause in CLAUSES.items()
    }
    found = recognize(frame_of(spark, events), queries, time="ts", tasks=2)
    expected = local(queries, events, time="ts")
    assert ids_by_query(found) == expected
    assert expected.keys() == queries.keys()
