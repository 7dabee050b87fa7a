"""The range of times comes from the footers of files, or from a job where they cannot tell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ensue.spark.footers import known_range


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, one of which has two row groups."""
    moments = pa.array([1_000_000, 5_000_000, 3_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"t": [4, 2, 9], "at": moments, "word": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "1.parquet", row_group_size=2)
    later = table.set_column(0, "t", pa.array([20, None, 11]))
    pq.write_table(later, tmp_path / "2 b.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "3.parquet")
    return tmp_path


def test_footers_tell_the_range_of_all_rows(spark: SparkSession, folder: Path) -> None:
    every = spark.read.parquet(str(folder))
    assert known_range(every, "t") == (2, 20)
    assert known_range(every, "at") == (1_000_000, 5_000_000)
    assert known_range(spark.read.parquet(str(folder / "1.parquet")), "t") == (2, 9)
    both = [str(folder / "1.parquet"), str(folder / "2 b.parquet")]
    assert known_range(spark.read.parquet(*both), "t") == (2, 20)


def test_a_job_has_to_tell_the_range_of_anything_else(spark: SparkSession, folder: Path) -> None:
    every = spark.read.parquet(str(folder))
    assert known_range(every, "word") is None
    assert known_range(every, "nowhere") is None
    assert known_range(every.filter("t > 10"), "t") is None
    assert known_range(every.limit(1), "t") is None
    assert known_range(every.selectExpr("t * 1000 AS t"), "t") is None
    assert known_range(every.union(every), "t") is None
    assert known_range(spark.range(3).withColumnRenamed("id", "t"), "t") is None
    every.write.csv(str(folder / "csv"))
    assert known_range(spark.read.csv(str(folder / "csv")), "_c0") is None
    pq.write_table(pa.table({"t": [1]}), folder / "csv.parquet", write_statistics=False)
    assert known_range(spark.read.parquet(str(folder / "csv.parquet")), "t") is None
