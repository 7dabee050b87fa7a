"""The state of a stream's bucket, without Spark: it is as large as the window, and no larger."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import ensue
from ensue.errors import SnapshotError
from ensue.options import ReadOptions
from ensue.spark.bucket import Bucket
from ensue.spark.order import order_of
from ensue.spark.program import Program
from ensue.spark.rows import schema_of
from ensue.spark.worker import Task
from tests.spark.frames import SCHEMA

PLAIN = "SELECT * FROM S WHERE A AS x ; B AS y ; A AS z PARTITION BY [g] WITHIN 20 [ts] LIMIT 1"
ABSENT = (
    "SELECT * FROM S WHERE (A AS x ; B AS y) UNLESS (A FILTER A[v = 3]) "
    "PARTITION BY [g] WITHIN 20 [ts]"
)


def bucket(*texts: str) -> Bucket:
    options = ReadOptions(time="ts", tiebreak="id")
    programs = tuple(
        Program(f"q{n}", ensue.compile(text), SCHEMA, options) for n, text in enumerate(texts)
    )
    schema = schema_of(programs[0])
    order = order_of(programs[0], SCHEMA.names, given=False)
    return Bucket(Task(programs, schema, False, ({},) * len(programs), order), (1, 1))


def events(batch: int, count: int = 100) -> pa.Table:
    """Make a batch that takes ten units of time."""
    chance = random.Random(batch)
    rows = [
        {
            "id": batch * count + at,
            "type": chance.choice("AB"),
            "v": chance.randrange(4),
            "w": 0.5,
            "k": None,
            "g": chance.choice("pqrstuvw"),
            "ts": 1000 + 10 * batch + at * 10 // count,
        }
        for at in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("text", [PLAIN, ABSENT], ids=["plain", "absent"])
def test_state_is_bounded_by_the_window(text: str) -> None:
    block: bytes | None = None
    sizes, found = [], []
    for batch in range(40):
        # As in a worker that has never seen the query.
        state = bucket(text).open(block)
        assert state.add([events(batch)], 1000 + 10 * batch) == []
        found += [table for table in state.release(1000 + 10 * batch) if table.num_rows]
        block = state.block()
        sizes.append(len(block))
    found += list(bucket(text).open(block).rest())
    assert max(sizes[20:]) < 1.2 * max(sizes[5:20])
    ids = [each for table in found for each in table["match_id"].to_pylist()]
    whole = pa.concat_tables([events(batch) for batch in range(40)])
    expected = ensue.run(text, whole, time="ts", tiebreak="id")
    assert sorted(ids) == sorted(match.id for match in expected)
    assert ids


def test_a_block_of_other_queries_is_refused() -> None:
    block = bucket(PLAIN).open(None).block()
    for other in (bucket(ABSENT), bucket(PLAIN, ABSENT)):
        with pytest.raises(SnapshotError, match="new checkpointLocation"):
            other.open(block)
    with pytest.raises(SnapshotError):
        bucket(PLAIN).open(ensue.compile(PLAIN).open().snapshot())
