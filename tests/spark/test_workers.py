"""Workers that cannot run Ensue are noticed before a job is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ensue.spark import WorkerError, recognize, register
from ensue.spark.workers import check_workers


def test_workers_without_what_ensue_needs_are_told_what_to_set(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / "bin" / "python"
    # What PYSPARK_PYTHON and spark.pyspark.python are read into when a session starts.
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    events = spark.range(3).selectExpr("id AS ts", "'A' AS type")
    with pytest.raises(WorkerError) as caught:
        recognize(events, "SELECT * FROM S WHERE A AS x WITHIN 3 [ts]")
    told = str(caught.value)
    assert str(python) in told
    assert "has no module 'pyarrow'" in told
    assert "set PYSPARK_PYTHON or spark.pyspark.python, before the session starts" in told
    with pytest.raises(WorkerError, match="has no module"):
        register(spark)


def test_a_python_that_does_not_start_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(WorkerError, match=r"^/nowhere/python cannot be started; set"):
        check_workers(spark)


def test_another_python_that_has_everything_will_do(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
    check_workers(spark)
