"""Delta Lake and Iceberg: MERGE by match_id makes a repeated micro-batch harmless."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.spark.java import cache_folder
from examples.kafka.jars import Module, UnreachableError, fetch
from tests.spark.frames import local_ids
from tests.spark.lakes import QUERY
from tests.spark.processes import ROOT, answer
from tests.spark.test_streaming import Source, pieces, shuffled, trades

pytestmark = pytest.mark.pipelines

SPARK, DELTA, ICEBERG = "4.1.4", "4.4.0", "1.12.0"
"""The newest Spark that both have releases for; docs/pipelines.md says so too."""


def lake_jars() -> list[Path]:
    """Return the jars of both; what Spark has already is the same in 4.1 and later."""
    line = SPARK.rpartition(".")[0]
    modules = [
        Module("io.delta", f"delta-spark_{line}_2.13", DELTA),
        Module("org.apache.iceberg", f"iceberg-spark-runtime-{line}_2.13", ICEBERG),
    ]
    return fetch(f"delta-{DELTA}-iceberg-{ICEBERG}", lambda: modules, beside_spark=True)


def older_spark() -> Path:
    """Return a folder with the Spark that Delta Lake and Iceberg are made for; install it once."""
    goal = cache_folder() / f"pyspark-{SPARK}"
    if not goal.is_dir():
        goal.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=goal.parent) as name:
            draft = Path(name) / "site"
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            install += ["--no-compile", "--target", str(draft), f"pyspark=={SPARK}"]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"pip cannot install Spark {SPARK}: {done.stderr[-500:]}")
            draft.rename(goal)
    return goal


def test_a_micro_batch_that_is_merged_twice_is_in_the_tables_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    try:
        jars = ",".join(map(str, lake_jars()))
    except UnreachableError as error:
        pytest.skip(
            f"the jars of Delta Lake and Iceberg are not in the cache, and there is {error}"
        )
    chance = random.Random(5)
    table = trades(90, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 2, chance):
        source.write(piece)
    source.flush(1000)
    path = [str(older_spark()), str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    told = answer(
        *["-m", "tests.spark.lakes", str(tmp_path), jars],
        folder=tmp_path,
        PYTHONPATH=os.pathsep.join(filter(None, path)),
    )
    assert told["spark"] == SPARK
    repeated = [each for each, times in Counter(map(tuple, told["merged"])).items() if times > 1]
    assert [rows > 0 for _, rows in repeated] == [True]
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    assert expected
    assert [Counter(each) for each in told["ids"]] == [expected, expected]
