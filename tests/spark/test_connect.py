"""The same answers over Spark Connect, where there is neither a JVM at hand nor an RDD."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ensue.spark.java import java_home
from tests.spark.frames import local
from tests.spark.patience import FINISH
from tests.spark.test_streaming import SEVERAL, Source, pieces, shuffled, trades
from tests.waiting import PATIENCE

CLIENT = f"""
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from ensue.spark import missing, recognize
from ensue.spark.sessions import ROCKSDB

spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
assert "connect" in type(spark).__module__
folder = sys.argv[1]
events = spark.read.parquet(folder + "/events")
options = dict(time="ts", tiebreak="id")

def ids(frame):
    return sorted([row.query, row.match_id] for row in frame.select("query", "match_id").collect())

batch = ids(recognize(events, {SEVERAL!r}, **options))
files = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
found = recognize(
    files.parquet(folder + "/events"), {SEVERAL!r}, **options, lateness=4, tasks=2
)
stream = found.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
rules = {{"keys": {SEVERAL["keys"]!r}}}
ruled = recognize(
    files.parquet(folder + "/events"), rules=lambda: rules, key="g", **options, lateness=4, tasks=2
)
stream = ruled.writeStream.format("parquet").option("path", folder + "/found_by_rules")
stream = stream.option("checkpointLocation", folder + "/rules").trigger(availableNow=True)
{FINISH}
by_rules = spark.read.parquet(folder + "/found_by_rules").withColumnRenamed("rule", "query")
typo = recognize(events, "SELECT * FROM S WHERE A ; BE WITHIN 9 [ts]", **options)
before = missing(typo)
typo.count()
said = [before, missing(typo)]
print(json.dumps([batch, ids(spark.read.parquet(folder + "/found")), ids(by_rules), said]))
"""


@pytest.mark.pipelines
def test_batch_and_stream_over_connect(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(3)
    table = trades(120, chance)
    source = Source(spark, tmp_path / "events")
    for piece in pieces(shuffled(table, 4, chance), 2, chance):
        source.write(piece)
    source.flush(1000)
    home = java_home()
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={
            **os.environ,
            **({} if home is None else {"JAVA_HOME": str(home)}),
            "PYSPARK_PYTHON": sys.executable,
        },
    )
    assert done.returncode == 0, done.stderr[-4000:]
    batch, stream, by_rules, (before, after) = json.loads(done.stdout.splitlines()[-1])
    expected = local(SEVERAL, table, time="ts", tiebreak="id")
    every = Counter((name, each) for name, ids in expected.items() for each in ids.elements())
    assert Counter(map(tuple, batch)) == every
    assert Counter(map(tuple, stream)) == every
    of_keys = Counter({each: count for each, count in every.items() if each[0] == "keys"})
    assert Counter(map(tuple, by_rules)) == of_keys
    assert before is None
    assert [each.partition(",")[0] for each in after] == ["no event has type 'BE'"]
