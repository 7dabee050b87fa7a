"""What is killed is started again, and nothing is lost or found twice."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import ensue
from ensue.spark import recognize
from tests.spark.frames import frame_of, local_ids
from tests.spark.test_streaming import trades

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
