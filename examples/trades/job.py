"""Traders who bluff, on Spark: python -m examples.trades.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

import ensue
from ensue.spark import recognize
from examples.story import spark_main
from examples.trades.data import market


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return how often each trader bluffed, and with how many shares."""
    bluffs = recognize(events, {"spoofing": rules["spoofing"]})
    shares = functions.sum(functions.col("bluff")[0]["volume"]).alias("shares")
    return bluffs.groupBy("trader").agg(functions.count("*").alias("bluffs"), shares)


if __name__ == "__main__":
    spark_main(__file__, market, job)
