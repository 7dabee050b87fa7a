"""The real stock trace on Spark: known answers, one for each plan."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from ensue.spark import explain, recognize
from tests.data.test_known_answers import ANSWERS

NAMES = ("S3", "S3 consumed", "Q3")


def test_known_answers_of_all_three_plans(spark: SparkSession, data_folder: Path) -> None:
    trades = spark.read.csv(
        str(data_folder / "stock.csv.gz"),
        header=True,
        schema="event_type string, id long, name string, volume long, price double, "
        "stock_time long",
    )
    queries = {name: ANSWERS[name].query for name in NAMES}
    told = explain(trades, queries, type="event_type", tiebreak="id")
    for way in ("by slices of time", "in one task", "by key"):
        assert way in told
    found = recognize(trades, queries, type="event_type", tiebreak="id")
    counts = dict(found.groupBy("query").count().collect())
    assert counts == {name: ANSWERS[name].matches for name in NAMES}
