"""Compiled kernels travel with the job: executors with an empty cache do not compile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import ensue
from ensue.datasets import stock_table
from ensue.spark.java import java_home
from ensue.spark.kernels import Shipped
from tests.seams import ADOPTED_KERNELS

CLUSTER = """
import json, logging, sys, warnings
import pyarrow as pa
import ensue.spark
from ensue.datasets import stock_table

folder = sys.argv[1]
said = []
class Keep(logging.Handler):
    def emit(self, record): said.append(record.getMessage())
logging.getLogger("ensue.spark").addHandler(Keep())
config = {
    "spark.executorEnv.ENSUE_CACHE_DIR": folder + "/empty",
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "512m",
    # No task before both executors are there, so that each gets one.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "400s",
}
spark = ensue.spark.session("local-cluster[2,1,1024]", config=config)

def kernels(batches):
    import os, sys
    list(batches)
    from numba.core.dispatcher import Dispatcher
    every = {
        id(value): value
        for name, module in list(sys.modules.items())
        if name.startswith("ensue.kernels.")
        for value in vars(module).values()
        if isinstance(value, Dispatcher)
    }
    loaded = sum(sum(each.stats.cache_hits.values()) for each in every.values())
    compiled = sum(sum(each.stats.cache_misses.values()) for each in every.values())
    rows = {"worker": [os.getpid()], "loaded": [loaded], "compiled": [compiled]}
    yield pa.RecordBatch.from_pydict(rows)

with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    ensue.spark.warm(spark)
table = stock_table(2000)
table = table.cast(pa.schema([
    (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
    for each in table.schema
]))
trades = spark.createDataFrame(table)
query = "SELECT a[id], b[id] FROM S WHERE SELL AS a ; BUY AS b PARTITION BY [name] WITHIN 9"
found = ensue.spark.recognize(trades, query + " [stock_time]", tiebreak="id")
ids = sorted(row.match_id for row in found.select("match_id").collect())
rows = spark.range(100).mapInArrow(kernels, "worker long, loaded long, compiled long").collect()
print(json.dumps({
    "ids": ids,
    "workers": [row.asDict() for row in rows],
    "warned": [str(each.message) for each in warned if each.category is ensue.CeqlWarning],
    "said": said,
}))
spark.stop()
"""

QUERY = "SELECT a[id], b[id] FROM S WHERE SELL AS a ; BUY AS b PARTITION BY [name] WITHIN 9"


def on_a_cluster(folder: Path) -> dict[str, Any]:
    """Run a query on two executors whose cache is empty; tell what their workers compiled."""
    home = java_home()
    more = {"JAVA_HOME": str(home)} if home is not None else {}
    run = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(folder)],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=540,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


@pytest.mark.pipelines
def test_executors_with_an_empty_cache_use_the_kernels_of_the_driver(tmp_path: Path) -> None:
    answer = on_a_cluster(tmp_path)
    assert answer["warned"] == answer["said"] == []
    assert len({each["worker"] for each in answer["workers"]}) == 2
    assert all(each["loaded"] > 0 for each in answer["workers"])
    assert [each["compiled"] for each in answer["workers"]] == [0, 0]
    trades = stock_table(2000)
    local = ensue.run(f"{QUERY} [stock_time]", trades, tiebreak="id")
    assert answer["ids"] == sorted(match.id for match in local)
    assert list((tmp_path / "empty").rglob("*.nbi")), "the executors' own cache was used"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Kernels in a file, as the driver sends them."""
    from ensue.kernels.compile import cache

    ensue.run(f"{QUERY} [stock_time]", [{"type": "SELL", "id": 1, "name": "A", "stock_time": 1}])
    data = cache.pack()
    assert data is not None
    path = tmp_path / "kernels.zip"
    path.write_bytes(data)
    return path


def test_kernels_that_fit_are_unpacked_once(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ensue.kernels.compile import cache

    with zipfile.ZipFile(packed) as archive:  # Other processes may have added to the folder since.
        own = {Path(name) for name in archive.namelist() if re.search(r"\.nb[ci]$", name)}
    assert any("evaluate" in str(name) for name in own)
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "other")
    assert cache.is_empty()
    assert cache.unpack(packed) is None
    assert {path.relative_to(cache.FOLDER) for path in cache.FOLDER.rglob("*.*")} >= own
    times = {path: path.stat().st_mtime_ns for path in cache.FOLDER.rglob("*.nb?")}
    assert cache.unpack(packed) is None
    assert times == {path: path.stat().st_mtime_ns for path in cache.FOLDER.rglob("*.nb?")}
    assert cache.pack() == packed.read_bytes()


def test_kernels_of_another_processor_are_not_used_and_the_worker_says_why(
    packed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from ensue.kernels.compile import cache
    from ensue.spark import kernels

    monkeypatch.setattr(cache, "FOLDER", tmp_path / "other")
    monkeypatch.setattr(cache, "IDENTITY", {**cache.IDENTITY, "processor": "z80"})
    ADOPTED_KERNELS.put(monkeypatch, {})
    monkeypatch.setattr(kernels.SparkFiles, "get", lambda name: str(packed.parent / name))
    for _ in range(2):
        problem = Shipped(packed.name, None).adopt()
        assert problem is not None
        assert problem.startswith("processor: ")
        assert problem.endswith(" there, z80 here")
    assert not (tmp_path / "other").exists()
    (told,) = caplog.messages
    assert "compiles its own" in told
    assert problem in told
