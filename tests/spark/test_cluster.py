"""Executors in processes of their own, as on a cluster: batch and stream give the local answer."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import local
from tests.spark.patience import FINISH
from tests.spark.processes import answer
from tests.spark.test_streaming import SEVERAL, Source, pieces, shuffled, trades

DRIVER = f"""
import json, os, sys, warnings
warnings.simplefilter("ignore")
from ensue.spark import recognize, session

spark = session("local-cluster[2,1,1024]", config={{"spark.sql.shuffle.partitions": "4"}})
folder = sys.argv[1]
events = spark.read.parquet(folder + "/events")
options = dict(time="ts", tiebreak="id")

def ids(frame):
    return sorted([row.query, row.match_id] for row in frame.select("query", "match_id").collect())

def parents(batches):
    import pyarrow
    for batch in batches:
        yield pyarrow.record_batch({{"daemon": [os.getppid()] * batch.num_rows}})

batch = ids(recognize(events, {SEVERAL!r}, **options, tasks=4))
files = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
found = recognize(files.parquet(folder + "/events"), {SEVERAL!r}, **options, lateness=4, tasks=4)
stream = found.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
spread = spark.range(8, numPartitions=8).mapInArrow(parents, "daemon long").distinct().count()
print(json.dumps([batch, ids(spark.read.parquet(folder + "/found")), spread]))
spark.stop()
"""


@pytest.mark.pipelines
def test_batch_and_stream_with_two_executors(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(4)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 2, chance):
        source.write(piece)
    source.flush(1000)
    # Executors write their logs and copies of files below the working directory.
    batch, stream, executors = answer("-c", DRIVER, str(tmp_path), folder=tmp_path)
    expected = local(SEVERAL, table, time="ts", tiebreak="id")
    every = Counter((name, each) for name, ids in expected.items() for each in ids.elements())
    assert every
    assert Counter(map(tuple, batch)) == every
    assert Counter(map(tuple, stream)) == every
    # Each executor has a Python daemon, whose children are the workers.
    assert executors == 2
