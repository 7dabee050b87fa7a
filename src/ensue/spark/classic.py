"""The one place that touches what Spark Connect does not have: the context of a classic session."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession


def context_of(spark: SparkSession) -> SparkContext | None:
    """Return the context of a session; None: it is a session over Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    return spark.sparkContext
