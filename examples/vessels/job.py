"""Who met whom, on Spark: python -m examples.vessels.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

import ensue
from ensue.spark import recognize
from examples.story import spark_main
from examples.vessels.data import positions


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return the pairs of vessels that met, and how often."""
    met = recognize(events, {"rendezvous": rules["rendezvous"]})
    names = functions.sort_array(
        functions.array(functions.col("one")[0]["vessel"], functions.col("other")[0]["vessel"])
    )
    return met.groupBy(names.alias("vessels")).agg(functions.count("*").alias("times"))


if __name__ == "__main__":
    spark_main(__file__, positions, job)
