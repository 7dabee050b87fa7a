"""Local tables as DataFrames, and the same query both ways."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import ensue
from ensue.results.matches import Matches

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "type": pa.string(),
        "v": pa.int64(),
        "w": pa.float64(),
        "k": pa.string(),
        "g": pa.string(),
        "ts": pa.int64(),
    }
)


def frame_of(spark: SparkSession, table: pa.Table, files: int = 3) -> DataFrame:
    """Write a table to a few files, in no useful order, and read them with Spark."""
    folder = Path(tempfile.mkdtemp(prefix="ensue-spark-"))
    for number in range(files):
        rows = list(range(number, table.num_rows, files))[::-1]
        pq.write_table(table.take(pa.array(rows, pa.int64())), folder / f"{number}.parquet")
    return spark.read.parquet(str(folder))


def ids_by_query(found: DataFrame) -> dict[str, Counter[str]]:
    """Return the ids of all matches, query by query."""
    ids: dict[str, Counter[str]] = {}
    for name, match in found.select("query", "match_id").collect():
        ids.setdefault(name, Counter())[match] += 1
    return ids


def local_ids(matches: Matches) -> Counter[str]:
    return Counter(match.id for match in matches)


def local(queries: Mapping[str, str], table: pa.Table, **options: Any) -> dict[str, Counter[str]]:
    """Return what the local engine finds, without queries that find nothing."""
    found = {name: local_ids(ensue.run(text, table, **options)) for name, text in queries.items()}
    return {name: ids for name, ids in found.items() if ids}
