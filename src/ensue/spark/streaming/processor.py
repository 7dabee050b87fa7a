"""Spark's side of a bucket: reads and writes its log, keeps operators alive, sets timers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ensue.spark.streaming.bucket import Bucket, State, Step
from ensue.spark.streaming.idle import TICK
from ensue.spark.streaming.live import LiveStates
from ensue.spark.streaming.log import KIND, decode_head, read_sections
from ensue.spark.streaming.messages import table_of
from ensue.spark.streaming.metrics import COUNTS

ROWS = "ensue_rows"
FOUND = f"{ROWS} binary, {COUNTS} array<long>"

HEAD, CHUNKS = "bucket", "chunks"
"""The names of the state variables; the first release had the whole state under the first."""

_LIVE: LiveStates[State] = LiveStates()
"""The operators that are alive in this worker."""


class Processor(StatefulProcessor):
    """Takes the micro-batches of the buckets of a partition."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._head = handle.getValueState(HEAD, "block binary")
        self._chunks = handle.getMapState(CHUNKS, "number long", "events binary")
        self._done: set[Any] = set()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in events of a bucket."""
        self._done.add(key)
        tables, ticks = [], []
        for frame in rows:
            tables += [table_of(bytes(each)) for each in frame[ROWS] if each is not None]
            ticks += [int(each) for each in frame[TICK].dropna()]
        yield from self._step(key, tables, timerValues, max(ticks, default=None))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Release what has waited long enough, unless events of this micro-batch have done so."""
        if key not in self._done:
            self._done.add(key)
            yield from self._step(key, [], timerValues)

    def _step(
        self, key: Any, tables: list[Any], timers: Any, tick: int | None = None
    ) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        state = self._state()
        step = state.step(tables, watermark, tick)
        self._store(step)
        query, batch = _micro_batch()
        _LIVE.put(step.head.version, state, query, key, batch)
        # One row at least, with the counts.
        found: list[bytes | None] = list(step.rows) or [None]
        more = [None] * (len(found) - 1)
        yield pd.DataFrame({ROWS: found, COUNTS: [step.counts.row(), *more]})

    def _state(self) -> State:
        """Return the live operators if they are current, else rebuild them from the log."""
        if not self._head.exists():
            return self.bucket.begin()
        block = bytes(self._head.get()[0])
        sections = read_sections(block)
        if sections["kind"] == KIND:
            head = decode_head(sections)
            live = _LIVE.take(head.version)
            if live is not None and live.bucket.identity == self.bucket.identity:
                return live
        return self.bucket.restore(block, self._fetch)

    def _fetch(self, number: int) -> bytes:
        return bytes(self._chunks.getValue((number,))[0])

    def _store(self, step: Step) -> None:
        for number in step.removed:
            self._chunks.removeKey((number,))
        for number, message in step.written.items():
            self._chunks.updateValue((number,), (message,))
        self._head.update((step.head.encode(),))
        set_already = set(self._handle.listTimers())
        for moment in set(step.alarms) - set_already:
            self._handle.registerTimer(moment)

    def close(self) -> None:
        """Nothing to close."""


def _micro_batch() -> tuple[str, int]:
    """Return the streaming query and the number of the micro-batch that this task belongs to."""
    context = TaskContext.get()
    assert context is not None
    query = context.getLocalProperty("sql.streaming.queryId") or ""
    return query, int(context.getLocalProperty("streaming.sql.batchId") or 0)
