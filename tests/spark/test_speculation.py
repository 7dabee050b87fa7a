"""A task that runs twice at once, on two executors: one of the two counts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ensue
from tests.spark.frames import local_ids
from tests.spark.patience import FINISH
from tests.spark.processes import answer
from tests.spark.test_failures import QUERY
from tests.spark.test_streaming import Source, pieces, shuffled, trades

DRIVER = f"""
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
from pyspark import TaskContext
from ensue.spark import recognize, session

speculation = {{"": "true", ".interval": "50ms", ".multiplier": "1.01", ".quantile": "0.1"}}
config = {{f"spark.speculation{{name}}": value for name, value in speculation.items()}}
config |= {{"spark.speculation.minTaskRuntime": "1ms", "spark.sql.shuffle.partitions": "2"}}
spark = session("local-cluster[2,1,1024]", config=config)
folder = sys.argv[1]

def stalled(batches):
    # In the same task as the recognition, after it: the first attempt at partition 0 in the second
    # micro-batch and later waits until another one has come as far.
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
    while not os.path.exists(f"{{folder}}/second-{{batch}}"):
        time.sleep(0.01)
    # The other one is to be the faster one.
    time.sleep(1)

schema = spark.read.parquet(folder + "/events").schema
events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
found = recognize(events.parquet(folder + "/events"), {QUERY!r}, tiebreak="id", lateness=4, tasks=4)
kept = found.select("match_id").mapInArrow(stalled, "match_id string")
stream = kept.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
print(json.dumps([row.match_id for row in spark.read.parquet(folder + "/found").collect()]))
spark.stop()
"""


@pytest.mark.pipelines
def test_a_stream_with_speculative_tasks_gives_the_local_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(5)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 3, chance):
        source.write(piece)
    source.flush(1000)
    found = answer("-c", DRIVER, str(tmp_path), folder=tmp_path)
    expected = local_ids(ensue.run(QUERY, table, tiebreak="id"))
    assert expected
    assert Counter(found) == expected
    assert len(list(tmp_path.glob("second-*"))) >= 2
