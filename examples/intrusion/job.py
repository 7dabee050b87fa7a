"""Alerts by host, on Spark: python -m examples.intrusion.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

import ensue
from ensue.spark import recognize
from examples.intrusion.data import logs
from examples.story import spark_main


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return the number of alerts of each rule by host."""
    found = recognize(events, rules)
    return found.groupBy("host").pivot("query", sorted(rules)).count()


if __name__ == "__main__":
    spark_main(__file__, logs, job)
