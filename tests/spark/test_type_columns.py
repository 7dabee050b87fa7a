"""Types of events in a field of a struct, in batch jobs and in streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ensue.spark
from ensue.spark import recognize
from tests.spark.frames import frame_of, ids_by_query, local
from tests.spark.test_streaming import Source, drain, ids_of, rows

QUERIES = {
    "keys": "SELECT * FROM S WHERE login AS x ; logout AS y PARTITION BY [user] WITHIN 3 [ts]",
    "all": "SELECT * FROM S WHERE login AS x ; logout AS y FILTER x.v < y.v WITHIN 9 [ts]",
    "shown": "SELECT y[user] FROM S WHERE (login OR idle) ; logout AS y WITHIN 9 [ts]",
}
SCHEMA = pa.schema(
    {
        "event": pa.struct({"action": pa.string(), "source": pa.string()}),
        "user": pa.string(),
        "ts": pa.int64(),
        "v": pa.int64(),
    }
)
EVENTS = pa.Table.from_pylist(
    [
        {"event": {"action": kind, "source": "a"}, "user": "ann", "ts": at, "v": at % 3}
        for at, kind in enumerate(["login", "logout", "login", "idle", "logout", None])
    ]
    + [{"event": None, "user": "bob", "ts": 6, "v": 1}],
    SCHEMA,
)
OPTIONS: dict[str, Any] = {"time": "ts", "type": "event.action"}


@pytest.mark.parametrize("pushdown", [True, False])
def test_spark_batch_eq_local(spark: SparkSession, pushdown: bool) -> None:
    expected = local(QUERIES, EVENTS, **OPTIONS)
    assert set(expected) == set(QUERIES)
    found = recognize(frame_of(spark, EVENTS), QUERIES, pushdown=pushdown, **OPTIONS)
    assert ids_by_query(found) == expected


@pytest.mark.pipelines
def test_spark_stream_eq_local(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "events")
    for first in (0, 3):
        source.write(EVENTS.slice(first, 3))
    source.write(pa.Table.from_pylist([{"ts": 10_000}], SCHEMA))
    drain(recognize(source.frame(), QUERIES, lateness=0, **OPTIONS), tmp_path)
    assert ids_of(rows(spark, tmp_path)) == local(QUERIES, EVENTS, **OPTIONS)


def test_types_that_no_event_has_are_told(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE log_in ; logout"
    said = ensue.spark.unseen(frame_of(spark, EVENTS), text, **OPTIONS)
    assert said == ["no event has type 'log_in'; there are login, idle, logout"]
