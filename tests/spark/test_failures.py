"""What is killed is started again, and nothing is lost or found twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.spark import recognize
from tests.spark.frames import frame_of, local_ids
from tests.spark.patience import FINISH
from tests.spark.processes import environment
from tests.spark.test_streaming import Source, pieces, shuffled, trades
from tests.waiting import PATIENCE, wait_until

QUERY = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 9 [ts]"


def test_a_task_whose_worker_is_killed_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    table = trades(300, random.Random(1))
    marker = str(tmp_path / "killed")

    def killing(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    found = recognize(frame_of(spark, table), QUERY, tiebreak="id")
    # In the same tasks as the recognition, after it.
    rows = found.select("match_id").mapInArrow(killing, "match_id string").collect()
    assert Path(marker).exists()
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    assert Counter(row.match_id for row in rows) == expected


DRIVER = f"""
import sys, warnings
warnings.simplefilter("ignore")
from ensue.spark import recognize, session
spark = session("local[2]", config={{"spark.sql.shuffle.partitions": "1"}})
folder = sys.argv[1]
schema = spark.read.parquet(folder + "/events").schema
events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
found = recognize(events.parquet(folder + "/events"), {QUERY!r}, tiebreak="id", lateness=4, tasks=2)
stream = found.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
"""


def numbers(folder: Path) -> set[int]:
    return {int(each.name) for each in folder.iterdir() if each.name.isdecimal()}


@contextmanager
def driver(program: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver and its JVM, which do not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.pipelines
def test_a_stream_whose_driver_is_killed_goes_on_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(2)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    source.flush(1000)
    checkpoint = tmp_path / "checkpoint"
    with driver(DRIVER, tmp_path) as first:
        # As soon as the second batch is planned, they die, in the middle of it.
        wait_until((checkpoint / "offsets" / "1").exists, "the second batch is planned", first)
    assert numbers(checkpoint / "offsets") - numbers(checkpoint / "commits")
    with driver(DRIVER, tmp_path) as again:
        assert again.wait(PATIENCE) == 0
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    rows = spark.read.parquet(str(tmp_path / "found")).select("match_id").collect()
    assert Counter(row.match_id for row in rows) == expected


OTHER_CORES = DRIVER.replace("local[2]", "local[3]").replace(
    '"spark.sql.shuffle.partitions": "1"', '"spark.sql.shuffle.partitions": "5"'
)


@pytest.mark.pipelines
def test_a_stream_goes_on_with_another_number_of_cores_and_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(3)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    parts = pieces(shuffled(table, 4, chance), 4, chance)
    for number, program in enumerate((DRIVER, OTHER_CORES)):
        for piece in parts[2 * number : 2 * number + 2]:
            source.write(piece)
        if number:
            source.flush(1000)
        with driver(program, tmp_path) as process:
            assert process.wait(PATIENCE) == 0
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    rows = spark.read.parquet(str(tmp_path / "found")).select("match_id").collect()
    assert Counter(row.match_id for row in rows) == expected


IDLE_DRIVER = DRIVER.replace("lateness=4", "lateness=4, time_unit='ms', idle_timeout='1 second'")
IDLE_DRIVER = IDLE_DRIVER.replace("availableNow=True", "processingTime='100 milliseconds'")


@pytest.mark.pipelines
def test_an_idle_stream_whose_driver_is_killed_gives_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(4)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for number in range(2):
        source.write(table.slice(60 * number, 60))
    expected = local_ids(ensue.run(QUERY, table, time="ts", time_unit="ms", tiebreak="id"))
    checkpoint, sink = tmp_path / "checkpoint", tmp_path / "found"

    def found() -> Counter[str]:
        if not (sink / "_spark_metadata" / "0").exists():
            return Counter()
        rows = spark.read.parquet(str(sink)).select("match_id").collect()
        return Counter(row.match_id for row in rows)

    with driver(IDLE_DRIVER, tmp_path) as first:
        # The third batch has no events left to read, but ticks.
        wait_until((checkpoint / "offsets" / "2").exists, "the third batch is planned", first)
    before = found()
    assert before < expected
    with driver(IDLE_DRIVER, tmp_path) as again:
        # No event moves the watermark any more, but the time of day does.
        wait_until(lambda: found() >= expected, "all matches have come out", again)
    assert found() == expected
