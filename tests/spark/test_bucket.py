"""The state of a stream's bucket, without Spark: a log as long as the window, and its replay."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

import ensue
from ensue.errors import SnapshotError
from ensue.options import ReadOptions
from ensue.spark.order import order_of
from ensue.spark.program import Program
from ensue.spark.rows import schema_of
from ensue.spark.streaming.bucket import Bucket, State, Step
from ensue.spark.streaming.live import LiveStates
from ensue.spark.streaming.log import REMEMBERED_VERSIONS, SNAPSHOT
from ensue.spark.streaming.messages import message_of, table_of
from ensue.spark.worker import Task
from tests import seams
from tests.spark.frames import SCHEMA

PLAIN = "SELECT * FROM S WHERE A AS x ; B AS y ; A AS z PARTITION BY [g] WITHIN 20 [ts] LIMIT 1"
ABSENT = (
    "SELECT * FROM S WHERE (A AS x ; B AS y) UNLESS (A FILTER A[v = 3]) "
    "PARTITION BY [g] WITHIN 20 [ts]"
)
INTERVALS = (
    "SELECT count(*) AS n FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 20 [ts] "
    "EVERY 15 MILLISECONDS"
)
CONSUMED = "SELECT * FROM S WHERE A ; B ; A PARTITION BY [g] WITHIN 20 [ts] CONSUME BY PARTITION"
UNBOUNDED = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] LIMIT 1"
EVENTS = "SELECT * FROM S WHERE A AS x ; B AS y PARTITION BY [g] WITHIN 3 EVENTS"
START = "SELECT * FROM S WHERE START(A ; B) PARTITION BY [g] WITHIN 90 [ts]"


def bucket(*texts: str) -> Bucket:
    options = ReadOptions(time="ts", time_unit="ms", tiebreak="id")
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


class Stored:
    """What Spark's state store holds of a bucket."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.chunks: dict[int, bytes] = {}
        self.written = 0

    def take(self, step: Step) -> None:
        self.keep(step.head.encode(), step.written, step.removed)

    def keep(self, head: bytes, written: Mapping[int, bytes], removed: Iterable[int]) -> None:
        for number in removed:
            del self.chunks[number]
        self.chunks |= written
        self.head = head
        self.written += len(head) + sum(map(len, written.values()))

    def restore(self, made: Bucket) -> State:
        if self.head is None:
            return made.begin()
        return made.restore(self.head, self.chunks.__getitem__)

    def live(self, made: Bucket, held: LiveStates[State]) -> tuple[State, int]:
        """Return the state as a worker gets it, and how many chunks it fetched for that."""
        if self.head is None:
            return made.begin(), 0
        fetched: list[int] = []

        def fetch(number: int) -> bytes:
            fetched.append(number)
            return self.chunks[number]

        state = held.take(made.versions(self.head))
        if state is not None and state.catch_up(self.head, fetch):
            return state, len(fetched)
        return made.restore(self.head, fetch), len(fetched)

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks.values()))


REPLAYED = {"plain": PLAIN, "absent": ABSENT, "intervals": INTERVALS}
SNAPSHOTS = {"consumed": CONSUMED, "unbounded": UNBOUNDED, "events": EVENTS, "start": START}


@pytest.mark.parametrize("text", [*REPLAYED.values(), *SNAPSHOTS.values()])
@pytest.mark.parametrize("workers", [1, 2, 4, 0], ids=["one", "two", "four", "always another"])
def test_rebuilt_eq_live_eq_local(text: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.LEAST_SNAPSHOT.put(monkeypatch, 5_000)
    chance, stored, found = random.Random(7), Stored(), []
    held: list[LiveStates[State]] = [LiveStates() for _ in range(workers)]
    replayed = 0
    for batch in range(12):
        # Any worker may have the bucket; what one of them holds may be some micro-batches old.
        own = chance.choice(held) if held else LiveStates[State]()
        live, fetched = stored.live(bucket(text), own)
        replayed += fetched
        late = 10 if batch % 3 else 0
        step = live.step([message_of(events(batch))], 1000 + 10 * batch - late)
        stored.take(step)
        own.put(step.head.version, live, "q", 0, batch)
        found += map(table_of, step.rows)
    assert replayed == 0 if workers == 1 else replayed > 0
    found += list(stored.restore(bucket(text)).rest())
    whole = pa.concat_tables([events(batch) for batch in range(12)])
    expected = ensue.run(text, whole, time="ts", time_unit="ms", tiebreak="id")
    if expected.schema.totals is None:
        ids = [each for table in found for each in table["match_id"].to_pylist()]
        assert sorted(ids) == sorted(match.id for match in expected)
        assert ids
    else:
        rows = [(row["g"], row["time"], row["n"]) for table in found for row in table.to_pylist()]
        assert sorted(rows) == sorted((row.partition["g"], row.time, row["n"]) for row in expected)
        assert rows


@pytest.mark.parametrize("text", REPLAYED.values(), ids=REPLAYED)
def test_state_is_bounded_by_the_window_and_writes_by_the_events(text: str) -> None:
    stored, sizes = Stored(), []
    state = bucket(text).begin()
    for batch in range(40):
        stored.take(state.step([message_of(events(batch))], 1000 + 10 * batch))
        sizes.append(stored.size)
        assert state.log.nbytes <= stored.size
    assert max(sizes[20:]) < 1.2 * max(sizes[5:20])
    brought = sum(len(message_of(events(batch))) for batch in range(40))
    assert stored.written < 1.2 * brought


@pytest.mark.parametrize("text", SNAPSHOTS.values(), ids=SNAPSHOTS)
def test_snapshots_are_written_in_proportion_to_the_events(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.LEAST_SNAPSHOT.put(monkeypatch, 20_000)
    stored = Stored()
    state = bucket(text).begin()
    for batch in range(60):
        stored.take(state.step([message_of(events(batch))], 1000 + 10 * batch))
    assert SNAPSHOT in stored.chunks
    brought = sum(len(message_of(events(batch))) for batch in range(60))
    assert stored.written < 3 * brought
    # Chunks that a snapshot stands for are gone.
    assert len(stored.chunks) < 60


def test_the_block_of_the_first_release_is_taken_over() -> None:
    earlier = bucket(PLAIN).begin()
    earlier.step([message_of(events(0))], 0)
    stored = Stored()
    stored.take(
        bucket(PLAIN).restore(earlier.block(), {}.__getitem__).step([message_of(events(1))], 1010)
    )
    earlier.step([message_of(events(1))], 1010)
    for batch in range(2, 6):
        # What the block knew is still known to workers that have never seen it.
        step = stored.restore(bucket(PLAIN)).step([message_of(events(batch))], 1000 + 10 * batch)
        stored.take(step)
        assert step.rows == earlier.step([message_of(events(batch))], 1000 + 10 * batch).rows
        assert step.rows


def test_state_of_other_queries_is_refused() -> None:
    stored = Stored()
    stored.take(bucket(PLAIN).begin().step([message_of(events(0))], 0))
    fewer = replace(bucket(PLAIN), count=8)  # keys would be in other buckets
    for other in (bucket(ABSENT), bucket(PLAIN, ABSENT), fewer):
        with pytest.raises(SnapshotError, match=r"(?s)new checkpointLocation.*WITHIN 20"):
            stored.restore(other)
    with pytest.raises(SnapshotError):
        bucket(PLAIN).restore(ensue.compile(PLAIN).open().snapshot(), {}.__getitem__)


def test_live_states_are_found_by_version_alone_and_let_go() -> None:
    states: LiveStates[str] = LiveStates()
    states.put("v1", "first", "q", 3, batch=0)
    assert states.take(("v0",)) is None
    assert states.take(("v2", "v1")) == "first"
    assert states.take(("v1",)) is None  # it is about to change
    states.put("v2", "second", "q", 3, batch=1)
    states.put("v3", "third", "q", 3, batch=2)
    assert states.take(("v2",)) is None  # an older version of its bucket
    states.put("w1", "moved away", "q", 4, batch=3)
    states.put("w2", "of another query", "r", 4, batch=3)
    states.put("v6", "here", "q", 3, batch=3 + REMEMBERED_VERSIONS)
    assert states.take(("w1",)) is None
    assert states.take(("w2",)) == "of another query"


@pytest.mark.parametrize("text", [PLAIN, ABSENT, INTERVALS, UNBOUNDED])
@pytest.mark.parametrize("survives", [True, False], ids=["live", "rebuilt"])
def test_an_idle_stream_gives_what_a_later_event_would_bring_out(text: str, survives: bool) -> None:
    made = replace(bucket(text), idle_timeout=30)
    stored, state, found = Stored(), made.begin(), []
    batches = [[message_of(events(0))], [message_of(events(1))], *[[]] * 9]
    watermarks = [0, 1000, *[1009] * 9]
    for number, (tables, watermark) in enumerate(zip(batches, watermarks, strict=True)):
        if not survives:
            state = stored.restore(made)
        step = state.step(tables, watermark, 5_000_000 + 10 * number)
        stored.take(step)
        found += map(table_of, step.rows)
        # The third micro-batch is the first to see the last watermark; four later, 30 have passed.
        assert step.head.watermark == watermark + max(number - 3, 0) * 10 * (number >= 6)
    waits = stored.restore(made)
    assert not waits.waiting
    whole = pa.concat_tables([events(0), events(1)])
    expected = ensue.run(text, whole, time="ts", time_unit="ms", tiebreak="id")
    assert expected.count > 0
    assert sum(table.num_rows for table in found) == expected.count
    assert not [table for table in waits.rest() if table.num_rows]
    late = waits.step([message_of(events(3))], 1009, None)
    assert late.counts.late == 100


def test_neither_a_stop_nor_a_slow_micro_batch_is_idle_when_events_were_there() -> None:
    made = replace(bucket(PLAIN), idle_timeout=30)
    state = made.begin()
    state.step([message_of(events(0))], 0, 100)
    state.step([], 1009, 110)
    # The stream was stopped for long; the events that had come meanwhile are on time.
    step = state.step([message_of(events(2))], 1009, 900_000)
    assert (step.counts.late, step.head.watermark) == (0, 1009)
    step = state.step([message_of(events(3))], 1029, 900_010)
    assert (step.counts.late, step.head.watermark) == (0, 1029)
