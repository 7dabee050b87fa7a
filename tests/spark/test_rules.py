"""What must hold of the code itself, and what needs no Spark to be seen."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import ensue.spark
from ensue.spark.partitioner import label
from ensue.spark.skew import Skew

_SOURCES = sorted(
    path
    for path in Path(ensue.spark.__file__).parent.rglob("*.py")
    # This one asks for the context of a session, where it has one.
    if path.name != "classic.py"
)
_FORBIDDEN = re.compile(r"_jvm|_jsparkSession|_jdf|\.rdd\b|sparkContext|SparkContext|import pickle")


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: path.stem)
def test_only_dataframes_and_no_pickle(path: Path) -> None:
    found = _FORBIDDEN.findall(path.read_text(encoding="utf-8"))
    assert not found


def events(count: int, heavy: float) -> pa.Table:
    names = ["giant" if at % 100 < 100 * heavy else f"k{at % 50}" for at in range(count)]
    return pa.table({"name": names})


@pytest.mark.parametrize(("heavy", "told"), [(0.6, True), (0.3, False)])
def test_a_giant_key_is_reported(
    heavy: float, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    skew = Skew([("name",)])
    for _ in range(3):
        skew.look(events(50_001, heavy))
    with caplog.at_level(logging.WARNING):
        skew.report()
    if told:
        assert "the key name = 'giant' has 60% of the 150,003 events of its task" in caplog.text
    else:
        assert not caplog.records


def test_labels_are_spread_evenly_by_spark(spark: SparkSession) -> None:
    numbers = spark.range(48).select(label(F.col("id"), 16).alias("label"))
    for parts in (2, 4, 16):
        where = numbers.select(F.pmod(F.hash("label"), F.lit(parts))).collect()
        assert set(Counter(row[0] for row in where).values()) == {48 // parts}
