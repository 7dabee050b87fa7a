"""A task that runs twice at once, on two hosts: one of the two counts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ensue
from tests.spark.frames import local_ids
from tests.spark.hosts import two_hosts
from tests.spark.patience import FINISH
from tests.spark.processes import answer
from tests.spark.test_failures import QUERY
from tests.spark.test_streaming import Source, pieces, shuffled, trades

DRIVER = f"""
import json, os, sys, threading, warnings
warnings.simplefilter("ignore")
from pyspark import TaskContext
from ensue.spark import recognize, session

speculation = {{"": "true", ".interval": "50ms", ".multiplier": "1.01", ".quantile": "0.1"}}
config = {{f"spark.speculation{{name}}": value for name, value in speculation.items()}}
config |= {{"spark.speculation.minTaskRuntime": "1ms", "spark.sql.shuffle.partitions": "2"}}
config |= {{"spark.locality.wait": "0", "spark.executor.memory": "512m"}}
folder, master = sys.argv[1:]
spark = session(master, config=config)

def stalled(batches):
    # In the same task as the recognition, after it: the first attempt at partition 0 in each
    # micro-batch but the first never ends by itself; another one finds that it was there.
    yield from batches
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId")
    if context.partitionId() or batch == "0":
        return
    try:
        os.close(os.open(f"{{folder}}/first-{{batch}}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        open(f"{{folder}}/second-{{batch}}", "w").close()
        return
    threading.Event().wait()

def ids(frame):
    return sorted(row.match_id for row in frame.select("match_id").collect())

schema = spark.read.parquet(folder + "/events").schema
finite = spark.read.schema(schema).parquet(folder + "/events")
finite = recognize(finite, {QUERY!r}, tiebreak="id", tasks=4)
batch = ids(finite.select("match_id").mapInArrow(stalled, "match_id string"))
events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
found = recognize(events.parquet(folder + "/events"), {QUERY!r}, tiebreak="id", lateness=4, tasks=4)
kept = found.select("match_id").mapInArrow(stalled, "match_id string")
stream = kept.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
print(json.dumps([batch, ids(spark.read.parquet(folder + "/found"))]))
spark.stop()
"""


@pytest.mark.pipelines
def test_the_losing_attempt_at_a_task_has_no_part_in_the_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(5)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    source.flush(1000)
    with two_hosts(tmp_path) as master:
        batch, stream = answer("-c", DRIVER, str(tmp_path), master, folder=tmp_path)
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    assert expected
    assert Counter(batch) == expected
    assert Counter(stream) == expected
    # One task of the batch job, and one of each micro-batch but the first, ran twice.
    assert len(list(tmp_path.glob("second-*"))) >= 4
