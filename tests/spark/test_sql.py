"""Queries in Spark SQL find what the local engine finds, and refuse what they cannot answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ensue.errors import CeqlNameError
from ensue.predicates.spark_literals import string
from ensue.spark import recognize, register
from ensue.spark.sql.events import portable, table_of
from tests.spark.frames import frame_of, ids_by_query, local
from tests.spark.random_queries import SEED, Family, batch
from tests.strategies import Language

PAIRS = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]"


@pytest.fixture
def events(spark: SparkSession) -> Iterator[pa.Table]:
    """A view of events, in three files."""
    rows = [
        {"id": at, "type": "ABC"[at % 3], "v": at % 5, "g": "pq"[at % 2], "ts": at // 2}
        for at in range(60)
    ]
    table = pa.Table.from_pylist(rows)
    frame_of(spark, table).createOrReplaceTempView("events")
    yield table
    spark.catalog.dropTempView("events")


def local_ids(query: str, table: pa.Table) -> Counter[str]:
    return local({"query": query}, table, time="ts", tiebreak="id")["query"]


def ids(spark: SparkSession, sql: str) -> Counter[str]:
    return Counter(row.match_id for row in spark.sql(sql).select("match_id").collect())


@pytest.mark.parametrize("conditions", [False, True], ids=["plain", "conditions"])
@pytest.mark.parametrize("family", ["keys", "slices", "one"])
def test_sql_eq_local(spark: SparkSession, family: Family, conditions: bool) -> None:
    count = 9 if family == "one" else 24
    drawn = batch(family, count, 9000 + conditions, Language(conditions=conditions))
    frame_of(spark, drawn.table).createOrReplaceTempView("drawn")
    register(spark)
    expected = local(drawn.queries, drawn.table, time="ts", tiebreak="id")
    assert len(expected) > (0 if family == "one" else count // 6)
    named = ", ".join(f"{string(name)}, {string(text)}" for name, text in drawn.queries.items())
    found = ids_by_query(
        spark.sql(
            f"SELECT * FROM recognize(TABLE(drawn), map({named}), time => 'ts', tiebreak => 'id')"
        )
    )
    for name, text in drawn.queries.items():
        assert found.get(name) == expected.get(name), f"seed {SEED}: {text}"
    # The query with most matches, by a function of its own.
    name = max(expected, key=lambda each: expected[each].total())
    schema = spark.table("drawn")
    call = register(spark, "fixed", drawn.queries[name], schema, time="ts", tiebreak="id", tasks=5)
    assert ids(spark, call.replace("events", "drawn")) == expected[name], f"seed {SEED}: {name}"


def test_rows_and_options_are_those_of_recognize(spark: SparkSession) -> None:
    frame = spark.range(40).selectExpr(
        "id",
        "IF(id % 2 = 0, 'A', 'B') AS kind",
        "timestamp_micros(1700000000123456 + id * 1000) AS at",
        "CAST(id % 3 AS DOUBLE) AS k",
        "CAST(id AS DECIMAL(9, 2)) AS price",
        "date_add(DATE '2024-03-31', CAST(id AS INT)) AS day",
        "named_struct('seen', timestamp_micros(id), 'tags', array(CAST(id AS STRING))) AS more",
        "map(id, timestamp_micros(id)) AS by_id",
        "TIMESTAMP_NTZ '2024-03-31 02:30:00' AS wall",
        "CAST(NULL AS STRING) AS nothing",
    )
    query = """SELECT x, y[id], max(y.id) AS top FROM S WHERE A AS x ; B AS y FILTER x[id > $least]
        PARTITION BY [k] WITHIN 4 SECONDS LIMIT 3"""
    options: dict[str, Any] = {"time": "at", "type": "kind", "tiebreak": "id"}
    frame.createOrReplaceTempView("rich")
    register(spark, "find")
    named = "time => 'at', type => 'kind', tiebreak => 'id', params => map('least', 1.5)"
    found = spark.sql(f"SELECT * FROM find(TABLE(rich), {string(query)}, tasks => 3, {named})")
    expected = recognize(frame, query, **options, params={"least": 1.5})
    assert found.schema == expected.schema
    assert _sorted(found) == _sorted(expected)
    call = register(spark, "own", query, frame, **options, params={"least": 1.5})
    fixed = spark.sql(call.replace("events", "rich"))
    assert _sorted(fixed) == _sorted(expected)
    positions = spark.sql(
        f"SELECT * FROM find(events => TABLE(rich), query => {string(query)}, {named}, "
        "output => 'positions')"
    )
    assert positions.columns == ["k", "start_time", "end_time", "match_id", "events"]


def _sorted(frame: Any) -> list[Any]:
    rows = sorted(frame.collect(), key=lambda row: row.match_id)
    assert rows
    return rows


def test_what_is_wrong_reaches_who_wrote_the_call(spark: SparkSession, events: pa.Table) -> None:
    register(spark)

    def refused(arguments: str) -> str:
        with pytest.raises(AnalysisException) as caught:
            spark.sql(f"SELECT * FROM recognize({arguments})")
        return str(caught.value)

    text = "'SELECT * FROM S WHERE A AS x FILTER x[prise > 3]'"
    told = refused(f"TABLE(events), {text}, time => 'ts'")
    assert "unknown attribute 'prise' of x" in told
    assert "FILTER x[prise > 3]\n  |                                       ^^^^^" in told
    assert told.count("File ") == 1  # not all of where in Ensue it was noticed
    query = string(PAIRS)
    assert "did you mean time" in refused(f"TABLE(events), {query}, tim => 'ts'")
    assert "pass time => …, the column" in refused(
        f"TABLE(events), {string(PAIRS.replace('[ts]', 'EVENTS'))}"
    )
    assert "TABLE(events)" in refused(f"'events', {query}, time => 'ts'")
    assert "query must be a constant" in refused("TABLE(events), CAST(rand() AS STRING)")
    other = string(PAIRS.replace("[g]", "[v]"))
    assert "call recognize for each" in refused(
        f"TABLE(events), map('a', {query}, 'b', {other}), time => 'ts'"
    )
    collated = "TABLE(SELECT id, ts, g COLLATE UTF8_LCASE AS g, type FROM events)"
    assert "has a collation" in refused(f"{collated}, {query}, time => 'ts'")


def test_streams_are_sent_to_recognize(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    live = spark.readStream.format("rate").load()
    live = live.selectExpr("value AS id", "'A' AS type", "'p' AS g", "timestamp AS ts")
    live.createOrReplaceTempView("live")
    query = "SELECT * FROM S WHERE A AS x PARTITION BY [g]"
    register(spark, "own", query, live, time="ts")

    def start(sql: str) -> None:
        sink = spark.sql(sql).writeStream.format("noop")
        stream = sink.option("checkpointLocation", str(tmp_path / str(len(sql)))).start()
        try:
            stream.awaitTermination(240)
        finally:
            stream.stop()

    told = r"for a stream call ensue.spark.recognize\(df, query\)"
    with pytest.raises(AnalysisException, match=told):
        start(f"SELECT * FROM recognize(TABLE(live), '{query}', time => 'ts')")
    with pytest.raises(StreamingQueryException, match=told):
        start("SELECT * FROM own(TABLE(live))")


def test_a_function_of_one_query_needs_a_partitioned_and_sorted_table(
    spark: SparkSession, events: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = "id long, type string, v long, g string, ts long"
    with pytest.raises(CeqlNameError, match="unknown attribute"):
        register(spark, "pairs", PAIRS.replace("[g]", "[h]"), schema, time="ts")
    with pytest.raises(ValueError, match="pass schema="):
        register(spark, "pairs", PAIRS)
    with pytest.raises(ValueError, match="named arguments"):
        register(spark, time="ts")
    call = register(spark, "pairs", PAIRS, schema, time="ts", tiebreak="id")
    cut = "PARTITION BY pmod(hash(`g`), 64) ORDER BY `ts`"
    assert call == f"SELECT * FROM pairs(TABLE(events) {cut})"
    expected = local_ids(PAIRS, events)
    for clause in (cut, "PARTITION BY g ORDER BY ts", "WITH SINGLE PARTITION ORDER BY ts"):
        assert ids(spark, f"SELECT * FROM pairs(TABLE(events) {clause})") == expected

    def refused(arguments: str) -> str:
        with pytest.raises(PythonException) as caught:
            spark.sql(f"SELECT * FROM pairs({arguments})").collect()
        return str(caught.value)

    spread = "TABLE(SELECT * FROM (SELECT /*+ REPARTITION(3) */ * FROM events) SORT BY ts)"
    assert f"write pairs(TABLE(events) {cut})" in refused(spread)
    backwards = "TABLE(events) PARTITION BY g ORDER BY ts DESC"
    assert "write ORDER BY ts after PARTITION BY" in refused(backwards)
    few = "TABLE(SELECT id, g, type, ts FROM events) PARTITION BY g ORDER BY ts"
    assert "the table has no column 'v'" in refused(few)
    monkeypatch.delattr(F, "arrow_udtf")
    with pytest.raises(RuntimeError, match=r"came with 4\.1"):
        register(spark, "pairs", PAIRS, schema, time="ts")


def test_instants_travel_as_microseconds_whatever_holds_them() -> None:
    instant = pa.timestamp("us", "UTC")
    kind = pa.struct({"at": instant, "all": pa.list_(instant), "by": pa.map_(pa.string(), instant)})
    assert portable("`c`", kind) == (
        "if(`c` IS NULL, NULL, named_struct('at', unix_micros(`c`.`at`), "
        "'all', transform(`c`.`all`, v0 -> unix_micros(v0)), 'by', map_from_arrays("
        "map_keys(`c`.`by`), transform(map_values(`c`.`by`), v0 -> unix_micros(v0)))))"
    )
    table = table_of([((1, [2, None], {"k": 3}),), (None,)], pa.schema({"c": kind}))
    moment = [datetime.fromtimestamp(0, UTC).replace(microsecond=at) for at in range(4)]
    assert table["c"].to_pylist() == [
        {"at": moment[1], "all": [moment[2], None], "by": [("k", moment[3])]},
        None,
    ]


def test_the_statements_of_the_documentation_run(spark: SparkSession) -> None:
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    statements = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert len(statements) == 2
    trades = spark.range(60).selectExpr(
        "id",
        "IF(id % 3 = 0, 'SELL', 'BUY') AS type",
        "concat('name', id % 2) AS name",
        "CAST(id * 7 % 11 AS DOUBLE) AS price",
        "100 * id AS volume",
        "timestamp_seconds(id) AS ts",
    )
    trades.createOrReplaceTempView("trades")
    register(spark)
    (query,) = re.findall(r'register\(spark, "rises", """(.*?)"""', page, re.DOTALL)
    register(spark, "rises", query, trades, time="ts", tiebreak="id")
    for statement in statements:
        assert spark.sql(statement).count() > 0
