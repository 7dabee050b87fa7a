"""Alerts for each rule and card, on Spark: python -m examples.fraud.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

import ensue
from ensue.spark import recognize
from examples.fraud.data import payments
from examples.story import spark_main


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return, for each rule and card, the number of alerts and the time of the last one."""
    found = recognize(events, rules)
    last = functions.max("end_time").alias("last")
    return found.groupBy("query", "card").agg(functions.count("*").alias("alerts"), last)


if __name__ == "__main__":
    spark_main(__file__, payments, job)
