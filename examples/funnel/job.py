"""The funnel by campaign, on Spark: python -m examples.funnel.job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

import ensue
from ensue.spark import recognize
from examples.funnel.data import clicks
from examples.story import spark_main


def job(events: DataFrame, rules: Mapping[str, ensue.Rule]) -> DataFrame:
    """Return, by campaign, how many baskets were paid and left."""
    found = recognize(events, rules)
    campaign = functions.coalesce(
        functions.col("view")[0]["campaign"], functions.col("cart")[0]["campaign"]
    )
    pivoted = found.groupBy(campaign.alias("campaign")).pivot("query", sorted(rules))
    return pivoted.count()


if __name__ == "__main__":
    spark_main(__file__, clicks, job)
