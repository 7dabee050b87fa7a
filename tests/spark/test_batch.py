"""Batch jobs: rows of matches, odd inputs, and errors that come before or through a job."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue
from ensue.errors import CeqlNameError, CeqlSyntaxError, CeqlTypeError, CeqlWarning, EventError
from ensue.spark import recognize
from tests.spark.frames import SCHEMA, frame_of, local_ids

AB = "SELECT * FROM S WHERE A AS x ; B AS y WITHIN 5 [ts]"


def rows_of(*events: tuple[str, Any, int], **more: Any) -> pa.Table:
    """Make events of (type, key, time)."""
    rows = [
        {"id": at, "type": kind, "k": key, "g": key, "ts": time, "v": at % 4, "w": at / 2, **more}
        for at, (kind, key, time) in enumerate(events)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def ids(found: DataFrame) -> list[str]:
    return sorted(row.match_id for row in found.select("match_id").collect())


def test_rows_have_the_keys_times_id_and_events_of_a_match(spark: SparkSession) -> None:
    table = rows_of(("A", "p", 1), ("B", "q", 2), ("B", "p", 3))
    found = recognize(
        frame_of(spark, table),
        "SELECT x[v, w], y FROM S WHERE A AS x ; B AS y PARTITION BY [k]",
        time="ts",
    )
    assert found.columns == ["k", "start_time", "end_time", "match_id", "x", "y"]
    (row,) = found.collect()
    (match,) = ensue.run(
        "SELECT x[v, w], y FROM S WHERE A AS x ; B AS y PARTITION BY [k]", table, time="ts"
    )
    assert (row.k, row.start_time, row.end_time, row.match_id) == ("p", 1, 3, match.id)
    assert [each.asDict() for each in row.x] == match.events("x") == [{"v": 0, "w": 0.0}]
    assert [each.asDict() for each in row.y] == match.events("y")


def test_positions_forget_variables(spark: SparkSession) -> None:
    table = rows_of(("A", "p", 1), ("B", "p", 3))
    (row,) = recognize(frame_of(spark, table), AB, time="ts", output="positions").collect()
    (match,) = ensue.run(AB, table, time="ts", output="positions")
    assert row.match_id == match.id
    assert [each.id for each in row.events] == [0, 1]


def test_names_that_differ_in_their_case_alone_become_two_columns(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A AS a ; B AS b WITHIN 5 [ts]"
    table = rows_of(("A", "p", 1), ("B", "p", 3))
    found = recognize(frame_of(spark, table), text, time="ts")
    assert [each for each in found.columns if each.lower()[0] in "ab"] == ["A", "a_", "B", "b_"]
    assert [each.id for each in found.collect()[0]["b_"]] == [1]


def test_computed_events_and_columns_come_along(spark: SparkSession) -> None:
    text = """SELECT y[id], Z, max(x.v) AS top FROM S
        WHERE (A AS x+ ; B AS y) AGGREGATE Z[n = count(x.v), s = sum(x.w)] WITHIN 5 [ts]""".replace(
        "A AS x+", "(A AS x)+"
    )
    table = rows_of(("A", "p", 1), ("A", "p", 2), ("B", "p", 3))
    found = recognize(frame_of(spark, table), text, time="ts").collect()
    expected = {m.id: (m.computed("Z"), m.computed()[0]) for m in ensue.run(text, table, time="ts")}
    assert {r.match_id: ([z.asDict() for z in r.Z], {"top": r.top}) for r in found} == expected


def test_totals_have_a_row_for_each_completing_event_and_key(spark: SparkSession) -> None:
    text = "SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE A AS x ; B PARTITION BY [k]"
    table = rows_of(*(("A" if at % 3 else "B", "pqr"[at % 2], at) for at in range(12)))
    found = recognize(frame_of(spark, table), text, time="ts")
    expected = ensue.run(text, table, time="ts").to_arrow().select(["k", "time", "n", "s"])
    assert found.columns == expected.column_names
    told = [tuple(row) for row in found.collect()]
    assert sorted(told) == sorted(tuple(row.values()) for row in expected.to_pylist())


@pytest.mark.parametrize("by", ["k", "ts"])
def test_totals_in_slices_of_time_and_by_key(spark: SparkSession, by: str) -> None:
    partition = "PARTITION BY [k]" if by == "k" else ""
    text = f"SELECT count(*) AS n FROM S WHERE A ; B {partition} WITHIN 3 [ts]"
    table = rows_of(*(("A" if at % 3 else "B", "p", at) for at in range(120)))
    found = recognize(frame_of(spark, table), text, tasks=4)
    expected = ensue.run(text, table).to_arrow()
    assert sorted(row.n for row in found.collect()) == sorted(expected["n"].to_pylist())


def test_no_events_and_partitions_without_events(spark: SparkSession) -> None:
    empty = frame_of(spark, rows_of())
    queries = {
        "keys": "SELECT * FROM S WHERE A ; B PARTITION BY [k]",
        "slices": AB,
        "one": "SELECT * FROM S WHERE A ; B",
    }
    assert recognize(empty, queries, time="ts").collect() == []
    table = rows_of(("A", "p", 1), ("B", "p", 3))
    found = recognize(frame_of(spark, table), queries, time="ts", tasks=16)
    assert sorted(row.query for row in found.collect()) == ["keys", "one", "slices"]


def test_events_without_a_key_are_left_out(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [k]"
    table = rows_of(("A", None, 1), ("A", "p", 2), ("B", None, 3), ("B", "p", 4))
    frame = frame_of(spark, table)
    assert ids(recognize(frame, text, time="ts")) == sorted(
        local_ids(ensue.run(text, table, time="ts"))
    )


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("cast(nullif(v, 2) as double) * -0.0", "double"),
        ("if(v = 1, double('NaN'), double(v))", "double"),
        ("cast(v as decimal(10, 2))", "decimal"),
        ("timestamp_micros(v)", "timestamp"),
        ("v > 1", "boolean"),
        ("date_add(date'2026-01-01', int(v))", "date"),
    ],
)
def test_keys_of_every_kind(spark: SparkSession, column: str, kind: str) -> None:
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [key]"
    table = rows_of(*(("AB"[at % 3 % 2], "p", at) for at in range(24)))
    frame = frame_of(spark, table).withColumn("key", F.expr(column))
    local = frame.orderBy("ts").toArrow()
    expected = sorted(local_ids(ensue.run(text, local, time="ts")))
    assert expected
    assert ids(recognize(frame, text, time="ts", tasks=5)) == expected, kind


def test_one_giant_key_among_many(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A ; B ; A PARTITION BY [k] WITHIN 4 [ts]"
    table = rows_of(
        *(("AB"[at % 2], "giant" if at % 4 < 2 else f"key {at}", at // 2) for at in range(4000))
    )
    found = ids(recognize(frame_of(spark, table), text, tiebreak="id"))
    expected = sorted(local_ids(ensue.run(text, table, tiebreak="id")))
    assert len(expected) > 900
    assert found == expected


def test_ties_without_a_tiebreak_have_a_stable_order(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [k]"
    table = rows_of(*(("BA"[at % 2], "pq"[at % 3 % 2], at // 6) for at in range(24)))
    frame = frame_of(spark, table).drop("id")
    expected = ids(recognize(frame, text, time="ts"))
    assert expected
    for shuffled in (frame.orderBy(F.desc("w")), frame.repartition(7), frame.coalesce(1)):
        assert ids(recognize(shuffled, text, time="ts")) == expected


def test_times_may_be_timestamps_of_both_kinds_or_dates(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A AS x ; B AS y WITHIN 2 DAYS"
    table = rows_of(*(("AB"[at % 2], "p", at) for at in range(80)))
    base = frame_of(spark, table)
    for moment in (
        "timestamp_seconds(ts * 86400)",
        "timestamp_ntz'1969-12-01 00:00:00' + make_dt_interval(int(ts))",
        "date_add(date'1969-12-01', int(ts))",
    ):
        frame = base.withColumn("at", F.expr(moment))
        local = frame.orderBy("id").toArrow()
        expected = ensue.run(text, local, time="at")
        found = recognize(frame, text, time="at", tasks=3)
        assert ids(found) == sorted(local_ids(expected))
        times = sorted(found.toArrow()["end_time"].to_pylist())
        assert times == sorted(expected.to_arrow()["end_time"].to_pylist())


def test_nested_attributes(spark: SparkSession) -> None:
    text = """SELECT x[who.name] FROM S WHERE A AS x ; B FILTER x[who.age > 1]
        PARTITION BY [`who.name`]"""
    table = rows_of(*(("AB"[at % 2], "p", at) for at in range(8)))
    frame = frame_of(spark, table).withColumn(
        "who", F.expr("named_struct('name', if(v < 2, 'a', 'b'), 'age', v)")
    )
    found = recognize(frame, text, time="ts")
    assert found.columns[0] == "who.name"
    expected = ensue.run(text, frame.orderBy("ts").toArrow(), time="ts")
    assert expected.count > 0
    assert ids(found) == sorted(local_ids(expected))
    assert {row.x[0]["who.name"] for row in found.collect()} == {"b"}


def test_an_hour_is_an_hour_in_every_session_time_zone(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A AS x ; B FILTER x[hour(at) < 2] WITHIN 3 HOURS"
    table = rows_of(*(("AB"[at % 2], "p", at) for at in range(60)))
    frame = frame_of(spark, table).withColumn("at", F.expr("timestamp_seconds(ts * 3600)"))
    expected = sorted(local_ids(ensue.run(text, frame.orderBy("id").toArrow(), time="at")))
    assert expected
    spark.conf.set("spark.sql.session.timeZone", "America/Santiago")
    try:
        assert ids(recognize(frame, text, time="at", tasks=2)) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


# errors


def test_what_is_wrong_with_a_query_is_said_before_a_job(spark: SparkSession) -> None:
    frame = frame_of(spark, rows_of(("A", "p", 1)))
    with pytest.raises(CeqlSyntaxError):
        recognize(frame, "SELECT * FROM S WHERE A ;; B", time="ts")
    with pytest.raises(CeqlNameError, match="prise"):
        recognize(frame, "SELECT * FROM S WHERE A FILTER A[prise > 1] WITHIN 1 [ts]")
    with pytest.raises(CeqlTypeError):
        recognize(frame, "SELECT * FROM S WHERE A FILTER A[k > 1] WITHIN 1 [ts]")
    with pytest.raises(EventError, match="'tss' is not among the columns"):
        recognize(frame, "SELECT * FROM S WHERE A", time="tss")
    with pytest.raises(EventError, match="'kind'"):
        recognize(frame, "SELECT * FROM S WHERE A", time="ts", type="kind")
    with pytest.raises(EventError, match="pass time="):
        recognize(frame, "SELECT * FROM S WHERE A")
    with pytest.raises(EventError, match="integers or timestamps, not string"):
        recognize(frame, "SELECT * FROM S WHERE A", time="k")
    with pytest.raises(EventError, match="different types"):
        recognize(
            frame.withColumn("at", F.expr("timestamp_seconds(ts)")),
            {"a": AB, "b": "SELECT * FROM S WHERE A WITHIN 1 HOURS [at]"},
        )
    spelt = {"a": "SELECT x FROM S WHERE A AS x", "b": "SELECT X FROM S WHERE B AS X"}
    with pytest.raises(EventError, match="'x' and 'X', which are one to Spark"):
        recognize(frame, spelt, time="ts")
    with pytest.raises(ValueError, match="no query"):
        recognize(frame, {}, time="ts")


def test_one_task_says_why(spark: SparkSession) -> None:
    frame = frame_of(spark, rows_of(("A", "p", 1)))
    for text, why in {
        "SELECT * FROM S WHERE A ; B": "may reach over all events",
        "SELECT * FROM S WHERE A ; B WITHIN 3 EVENTS": "EVENTS",
        "SELECT * FROM S WHERE START(A ; B) WITHIN 3 [ts]": "START",
        "SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 3 [ts] CONSUME BY ANY": "CONSUME",
        "SELECT * FROM S WHERE A ; B WITHIN 3 [ts] CONSUME BY PARTITION": "forgets everything",
        "SELECT count(*) FROM S WHERE A ; B WITHIN 3 SECONDS [ts] EVERY 9 SECONDS": "EVERY",
    }.items():
        with pytest.warns(CeqlWarning, match=f"one task reads all events: .*{why}"):
            recognize(frame, text, time="ts", time_unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error", CeqlWarning)
        recognize(frame, AB)


def test_an_event_without_a_time_is_shown(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A ; B PARTITION BY [k]"
    table = rows_of(*(("A", "p", at) for at in range(90)), ("C", None, None))
    with pytest.raises(PythonException, match=r"the time 'ts' of an event is NULL.*'id': 90"):
        recognize(frame_of(spark, table), text, time="ts", tasks=3).collect()


def test_parameters_and_schemas_are_those_of_compile(spark: SparkSession) -> None:
    table = rows_of(*(("A", "p", at) for at in range(6)))
    text = "SELECT * FROM S WHERE A FILTER A[v IN $some] WITHIN 1 [ts]"
    found = recognize(frame_of(spark, table), text, params={"some": [1, 3]})
    assert len(found.collect()) == 3
    ready = ensue.compile(text, params={"some": [1, 3]})
    assert ids(recognize(frame_of(spark, table), ready)) == ids(found)
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=1)
    with pytest.raises(CeqlTypeError):
        recognize(
            frame_of(spark, table),
            "SELECT * FROM S WHERE A FILTER A[v > $at] WITHIN 1 [ts]",
            params={"at": moment},
        )
