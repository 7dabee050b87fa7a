"""Matches in a table of Delta Lake or Iceberg, each once: MERGE by match_id."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What a session needs for tables of Delta Lake."""

ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "warehouse",
}
"""What a session needs for tables of Iceberg: here a catalog `lake` in a folder."""


def create_delta(found: DataFrame, path: str) -> str:
    """Make an empty table with the columns of the matches, unless it is there; return its name."""
    empty = found.sparkSession.createDataFrame([], found.schema)
    empty.write.format("delta").mode("ignore").save(path)
    return f"delta.`{path}`"


def create_iceberg(found: DataFrame, table: str) -> str:
    """Make an empty table with the columns of the matches, unless it is there; return its name."""
    spark = found.sparkSession
    if not spark.catalog.tableExists(table):
        spark.createDataFrame([], found.schema).writeTo(table).using("iceberg").create()
    return table


def merge_into(table: str) -> Callable[[DataFrame, int], None]:
    """Return what foreachBatch calls: it inserts the matches that the table does not have yet."""

    def merge(found: DataFrame, _batch: int) -> None:
        found.persist()  # MERGE reads its source twice, and recognizing once is enough
        if not found.isEmpty():  # else MERGE would make a version that changes nothing
            found.createOrReplaceTempView("found")
            found.sparkSession.sql(
                f"""
                MERGE INTO {table} AS known USING found ON known.match_id = found.match_id
                WHEN NOT MATCHED THEN INSERT *
                """
            )
        found.unpersist()

    return merge
