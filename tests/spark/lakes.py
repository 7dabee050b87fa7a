"""A stream into tables of Delta Lake and Iceberg, for a process of its own.

    python -m tests.spark.lakes FOLDER JARS

It dies once between MERGE and the commit of a micro-batch. What each micro-batch had, and what the
tables have at the end, is printed.
"""

from __future__ import annotations

import json
import sys
import warnings

import pyspark
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from ensue.spark import recognize, session
from examples.lake.merge import DELTA, ICEBERG, create_delta, create_iceberg, merge_into
from tests.spark.patience import finished

QUERY = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]"


def main(folder: str, jars: str) -> None:
    """Run the stream, and again after it has died."""
    warnings.simplefilter("ignore")
    extensions = f"{DELTA['spark.sql.extensions']},{ICEBERG['spark.sql.extensions']}"
    config = {
        **DELTA,
        **ICEBERG,
        "spark.sql.extensions": extensions,
        "spark.sql.catalog.lake.warehouse": f"{folder}/warehouse",
        # Less work, for tables of a few rows.
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.jars": jars,
    }
    spark = session("local[1]", config=config)
    schema = spark.read.parquet(f"{folder}/events").schema
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    found = recognize(files.parquet(f"{folder}/events"), QUERY, tiebreak="id", lateness=4, tasks=1)
    tables = [create_delta(found, f"{folder}/delta"), create_iceberg(found, "lake.db.found")]
    merges = [merge_into(table) for table in tables]
    merged: list[tuple[int, int]] = []

    def sink(rows: DataFrame, batch: int) -> None:
        rows.persist()
        for merge in merges:
            merge(rows, batch)
        before = sum(count for _, count in merged)
        merged.append((batch, rows.count()))
        rows.unpersist()
        if merged[-1][1] > 0 and before == 0:
            raise RuntimeError("merged, not committed")

    def run() -> None:
        writer = found.writeStream.foreachBatch(sink)
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
        finished(writer.trigger(availableNow=True))

    try:
        run()
    except StreamingQueryException as error:
        if "merged, not committed" not in str(error):
            raise
    run()
    ids = [[row.match_id for row in spark.table(table).collect()] for table in tables]
    told = {"spark": pyspark.__version__, "merged": merged, "ids": ids}
    sys.stdout.write(json.dumps(told) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
