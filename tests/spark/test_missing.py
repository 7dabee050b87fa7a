"""What queries need and no event had: warned of after a batch job, counted on streams."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

import ensue
from ensue.spark import missing, recognize
from ensue.spark.watching import report, watches_of
from tests.spark.frames import SCHEMA, frame_of
from tests.spark.test_streaming import Source, drain

EVENTS = pa.Table.from_pylist(
    [
        {"id": at, "type": "AB"[at % 2], "v": at % 4, "k": "x", "g": "g", "ts": at}
        for at in range(8)
    ],
    SCHEMA,
)
TYPO = "SELECT * FROM S WHERE A AS x ; BE AS y PARTITION BY [g] WITHIN 9 [ts]"


def warned(found: DataFrame) -> list[str]:
    """Return what is warned of when the next call comes, after an action on `found`."""
    for watch in watches_of(found):
        with suppress(Py4JError):  # Spark has read nothing
            assert watch.observation.get, "it waits for the action, whose end is told in parallel"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ensue.UnseenWarning)
        report()
    return [str(each.message) for each in caught]


@pytest.fixture(autouse=True)
def _nothing_is_pending() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report()


def test_a_type_that_no_event_has_is_warned_of_after_the_first_action(spark: SparkSession) -> None:
    found = recognize(frame_of(spark, EVENTS), TYPO, time="ts")
    assert missing(found) is None
    assert found.limit(1).collect() == []
    (sentence,) = warned(found)
    assert sentence.startswith("no event has type 'BE', or none that meets the query's other")
    assert missing(found) == [sentence]
    assert warned(found) == [], "once is enough"


def test_all_events_are_looked_at_where_none_is_left_out(spark: SparkSession) -> None:
    found = recognize(frame_of(spark, EVENTS), TYPO, time="ts", pushdown=False)
    found.count()
    assert warned(found) == ["no event has type 'BE'"]
    nothing = recognize(frame_of(spark, EVENTS.slice(0, 0)), TYPO, time="ts", pushdown=False)
    nothing.count()
    assert warned(nothing) == []


def test_only_queries_that_cannot_match_are_named(spark: SparkSession) -> None:
    queries = {
        "fine": "SELECT * FROM S WHERE A ; (B OR C) PARTITION BY [g] WITHIN 9 [ts]",
        "typo": TYPO,
        "value": "SELECT * FROM S WHERE A AS x FILTER x[k = 'why'] PARTITION BY [g] WITHIN 9 [ts]",
        "counted": "SELECT count(*) FROM S WHERE A ; D WITHIN 9 [ts]",
    }
    found = recognize(frame_of(spark, EVENTS), queries, time="ts")
    assert found.filter("query = 'fine'").count() == 10
    said = warned(found)
    assert len(said) == 3
    for name, words in {
        "typo": "type 'BE'",
        "value": "k = 'why'",
        "counted": "type 'D'",
    }.items():
        assert any(f"no event has {words} (query '{name}')" in each for each in said), said


def test_matches_of_an_observed_frame_can_be_joined_united_and_cached(spark: SparkSession) -> None:
    text = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 2 [ts]"
    found = recognize(frame_of(spark, EVENTS), text, time="ts").cache()
    count = found.count()
    assert count > 0
    assert found.union(found).count() == 2 * count
    assert found.alias("a").join(found.alias("b"), "match_id").count() == count
    assert warned(found) == []
    assert missing(found) == []
    with pytest.raises(ValueError, match="not a DataFrame that recognize"):
        missing(found.limit(1))


@pytest.mark.pipelines
def test_streams_count_what_queries_need(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "events")
    source.write(EVENTS.slice(0, 4))
    source.write(EVENTS.slice(4))
    found = recognize(source.frame(), TYPO, time="ts", lateness=0)
    progress = drain(found, tmp_path)
    rows = [each["observedMetrics"]["ensue-keys-needed"].asDict() for each in progress]
    assert [sum(row[name] for row in rows) for name in ("events", "type 'A'", "type 'BE'")] == [
        8,
        4,
        0,
    ]
    assert missing(found, progress) == ["no event has type 'BE'"]
    assert missing(found, []) == []


def test_streams_read_no_column_that_nobody_needs(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "events")
    source.write(EVENTS)
    text = "SELECT x[v] FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]"
    found = recognize(source.frame(), text, time="ts", lateness=0)
    plan = found._jdf.queryExecution().analyzed().toString()
    below = plan.partition("CollectMetrics ensue-keys-needed")[2]
    assert re.findall(r"(\w+)#", below.partition("Project [")[2].partition("]")[0]) == [
        "type",
        "v",
        "g",
        "ts",
    ]
