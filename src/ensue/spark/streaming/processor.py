"""Spark's side of a bucket: reads and writes its log, keeps operators alive, sets timers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ensue.spark.streaming.bucket import Fetch, Step
from ensue.spark.streaming.idle import TICK
from ensue.spark.streaming.live import LiveStates
from ensue.spark.streaming.messages import table_of
from ensue.spark.streaming.metrics import COUNTS
from ensue.spark.streaming.packing import ROWS

FOUND = f"{ROWS} binary, {COUNTS} array<long>"

HEAD, CHUNKS = "bucket", "chunks"
"""The names of the state variables; the first release had the whole state under the first."""


class AnyState(Protocol):
    """The operators of a bucket."""

    @property
    def bucket(self) -> AnyBucket:
        """What they are of."""

    timers: frozenset[int] | None
    """When timers are set, in milliseconds; None: that is not known here."""

    def catch_up(self, block: bytes, fetch: Fetch) -> bool:
        """Become the state at a stored head; False: that cannot be told from this one."""

    @property
    def step(self) -> Callable[..., Step]:
        """Take in tables of events, a watermark, and the last value of each control column."""


class AnyBucket(Protocol):
    """What happens to a bucket, apart from Spark."""

    @property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""

    def begin(self) -> AnyState:
        """Return the state before the first event."""

    def restore(self, block: bytes, fetch: Fetch) -> AnyState:
        """Rebuild the state from its head."""

    def versions(self, block: bytes) -> Sequence[str]:
        """Return the versions that a stored head can be reached from, its own first."""


_LIVE: LiveStates[AnyState] = LiveStates()
"""The operators that are alive in this worker."""


class Processor(StatefulProcessor):
    """Takes the micro-batches of the buckets of a partition.

    Rows with a value in a control column are no events, but tell all buckets something.
    """

    def __init__(
        self, bucket: AnyBucket, control: Sequence[str] = (TICK,), texts: Sequence[str] = ()
    ) -> None:
        self.bucket, self.control, self.texts = bucket, control, texts

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._head = handle.getValueState(HEAD, "block binary")
        self._chunks = handle.getMapState(CHUNKS, "number long", "events binary")
        self._done: set[Any] = set()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in events of a bucket."""
        self._done.add(key)
        tables: list[Any] = []
        told: dict[str, list[Any]] = {name: [] for name in self.control}
        for frame in rows:
            tables += [table_of(bytes(each)) for each in frame[ROWS] if each is not None]
            for name, values in told.items():
                values.extend(frame[name].dropna())
        yield from self._step(key, tables, timerValues, *map(_latest, told.values()))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Release what has waited long enough, unless events of this micro-batch have done so."""
        if key not in self._done:
            self._done.add(key)
            yield from self._step(key, [], timerValues)

    def _step(
        self, key: Any, tables: list[Any], timers: Any, *told: int | str | None
    ) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        state = self._state()
        step = state.step(tables, watermark, *told)
        self._store(step)
        self._set_timers(state, step)
        query, batch = _micro_batch()
        _LIVE.put(step.head.version, state, query, key, batch)
        # One row at least, with the counts.
        found: list[bytes | None] = list(step.rows) or [None]
        more = [None] * (len(found) - 1)
        texts = {name: [text, *more] for name, text in zip(self.texts, step.texts, strict=True)}
        yield pd.DataFrame({ROWS: found, COUNTS: [step.counts.row(), *more], **texts})

    def _state(self) -> AnyState:
        """Return the live operators if they can go on, else rebuild them from the log."""
        stored = self._head.get()
        if stored is None:
            return self.bucket.begin()
        block = bytes(stored[0])
        live = _LIVE.take(self.bucket.versions(block))
        mine = live is not None and live.bucket.identity == self.bucket.identity
        if live is not None and mine and live.catch_up(block, self._fetch):
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

    def _set_timers(self, state: AnyState, step: Step) -> None:
        """Set timers that are not set; each question to the store is a message to Java and back."""
        known = state.timers
        if known is None:
            known = frozenset(self._handle.listTimers())
        for moment in frozenset(step.alarms) - known:
            self._handle.registerTimer(moment)
        # What has expired by the next micro-batch is no longer set.
        state.timers = frozenset(
            each for each in known.union(step.alarms) if each > step.head.watermark
        )

    def close(self) -> None:
        """Nothing to close."""


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
