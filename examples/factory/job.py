"""The hottest machines, on Spark: python -m examples.factory.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

import ensue
from ensue.spark import recognize
from examples.factory.data import readings
from examples.story import spark_main


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return the highest temperature of each machine that overheated."""
    hot = recognize(events, {"overheating": rules["overheating"]})
    return hot.groupBy("machine").agg(functions.max("peak").alias("degrees"))


if __name__ == "__main__":
    spark_main(__file__, readings, job)
