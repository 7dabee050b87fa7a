"""Spark's side of a bucket: reads and writes its log, keeps operators alive, sets timers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ensue.spark.streaming.exchange import Reply, Request, SealedBucket
from ensue.spark.streaming.idle import TICK
from ensue.spark.streaming.metrics import COUNTS
from ensue.spark.streaming.operator_client import Operators
from ensue.spark.streaming.packing import ROWS

FOUND = f"{ROWS} binary, {COUNTS} array<long>"

HEAD, CHUNKS = "bucket", "chunks"
"""The names of the state variables; the first release had the whole state under the first."""


class Processor(StatefulProcessor):
    """Takes the micro-batches of the buckets of a partition.

    Rows with a value in a control column are no events, but tell all buckets something.
    """

    def __init__(
        self, bucket: SealedBucket, control: Sequence[str] = (TICK,), texts: Sequence[str] = ()
    ) -> None:
        self.bucket, self.control, self.texts = bucket, control, texts

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._head = handle.getValueState(HEAD, "block binary")
        self._chunks = handle.getMapState(CHUNKS, "number long", "events binary")
        self._operators = Operators(self.bucket)
        self._done: set[Any] = set()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in events of a bucket."""
        self._done.add(key)
        messages: list[bytes] = []
        control: dict[str, list[Any]] = {name: [] for name in self.control}
        for frame in rows:
            messages += [bytes(each) for each in frame[ROWS] if each is not None]
            for name, values in control.items():
                values.extend(frame[name].dropna())
        yield from self._step(key, messages, timerValues, *map(_latest, control.values()))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Release what has waited long enough, unless events of this micro-batch have done so."""
        if key not in self._done:
            self._done.add(key)
            yield from self._step(key, [], timerValues)

    def _step(
        self, key: Any, messages: list[bytes], timers: Any, *control: int | str | None
    ) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        stored = self._head.get()
        head = None if stored is None else bytes(stored[0])
        query, batch = _micro_batch()
        request = Request(query, batch, key, head, messages, watermark, control)
        reply = self._operators.advance(request, self)
        self._store(reply)
        # One row at least, with the counts.
        found: list[bytes | None] = list(reply.rows) or [None]
        more = [None] * (len(found) - 1)
        texts = {name: [text, *more] for name, text in zip(self.texts, reply.texts, strict=True)}
        yield pd.DataFrame({ROWS: found, COUNTS: [reply.counts.row(), *more], **texts})

    def fetch(self, number: int) -> bytes:
        """Return a chunk of the current bucket by its number."""
        return bytes(self._chunks.getValue((number,))[0])

    def timers(self) -> frozenset[int]:
        """Return when timers of the current bucket are set, in milliseconds."""
        return frozenset(self._handle.listTimers())

    def _store(self, reply: Reply) -> None:
        """Write what has changed; each call is a message to Java and back."""
        for number in reply.removed:
            self._chunks.removeKey((number,))
        for number, message in reply.written.items():
            self._chunks.updateValue((number,), (message,))
        self._head.update((reply.head,))
        for moment in reply.timers:
            self._handle.registerTimer(moment)

    def close(self) -> None:
        """Let go what was opened for the task."""
        self._operators.close()


def _latest(values: list[Any]) -> int | str | None:
    """Return the last of what all buckets were told; pandas has numbers beside NULL as doubles."""
    last = max(values, default=None)
    return last if last is None or isinstance(last, str) else int(last)


def _micro_batch() -> tuple[str, int]:
    """Return the streaming query and the number of the micro-batch that this task belongs to."""
    context = TaskContext.get()
    assert context is not None
    query = context.getLocalProperty("sql.streaming.queryId") or ""
    return query, int(context.getLocalProperty("streaming.sql.batchId") or 0)
