"""A watermark that moves on by processing time while a stream is idle.

Spark moves the watermark with events only: when none come, matches, absences and intervals wait
for ever. Where `idle_timeout=` asks for it, a source of ticks is read beside the events. Each tick
carries the time of day and goes to every bucket, so that a bucket can tell how long the watermark
has stood still. Ticks are part of a micro-batch like any other rows: one that is run again, after
a failure or from a checkpoint, sees the same ticks and gives the same answer. Timers of processing
time would not do: an operator of Spark has timers of one kind only, and needs those of event time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ensue.analysis.durations import duration
from ensue.messages import Message, Option

TICK = "ensue_tick"
"""The column with the time of day, in milliseconds, of rows that are ticks and not events."""

_TICKS_A_TIMEOUT = 4


@dataclass(slots=True)
class IdleClock:
    """How long the watermark of Spark has stood still, as one bucket knows it.

    Invariant: `reached`, the watermark that the bucket goes by, never goes back, and is ahead of
    Spark's only by time in which micro-batches have looked for events and found none that is
    later than all before.
    """

    timeout: int
    """Milliseconds, as all that follow."""
    watermark: int = 0
    """The watermark of Spark; 0: there is none yet."""
    since: int | None = None
    """The tick that this watermark was first seen with."""
    latest: int | None = None
    """The last tick."""
    reached: int = 0

    def advance(self, watermark: int, tick: int | None) -> int:
        """Take note of a micro-batch, and return the watermark to go by.

        The tick of this micro-batch does not count yet: its events have not moved Spark's
        watermark, which tells the next micro-batch whether the stream was idle until this tick.
        So neither the time in which a stream was stopped nor a slow micro-batch counts as idle
        when events were there in the end.

        >>> clock = IdleClock(timeout=30)
        >>> [clock.advance(1000, tick) for tick in (70, 90, 110, 130)]
        [1000, 1000, 1000, 1040]
        """
        if watermark > self.watermark:
            self.watermark, self.since = watermark, None
        idle = 0 if self.since is None or self.latest is None else self.latest - self.since
        ahead = idle if self.watermark > 0 and idle >= self.timeout else 0
        self.reached = max(self.reached, self.watermark + ahead)
        if tick is not None:
            self.latest = tick if self.latest is None else max(tick, self.latest)
            self.since = self.latest if self.since is None else self.since
        return self.reached

    def save(self) -> tuple[int | None, ...]:
        """Return all that changes."""
        return self.watermark, self.since, self.latest, self.reached

    def load(self, saved: tuple[int | None, ...]) -> None:
        """Go on from there."""
        watermark, self.since, self.latest, reached = saved
        self.watermark, self.reached = watermark or 0, reached or 0


def milliseconds(timeout: str | timedelta) -> int:
    """Read `idle_timeout=`.

    >>> milliseconds("1.5 s")
    1500
    """
    found = duration(timeout, "idle_timeout") // 1_000_000
    if found <= 0:
        raise ValueError(
            Message(Option("idle_timeout", timeout), " must be at least a millisecond")
        )
    return found


def with_ticks(events: DataFrame, timeout: int, bucket: str, buckets: Sequence[int]) -> DataFrame:
    """Add rows that are ticks, each to every bucket; events have NULL in their column."""
    every = F.explode(F.array(*map(F.lit, buckets))).alias(bucket)
    beside = ticks(events.sparkSession, timeout).select(TICK, every)
    marked = events.withColumn(TICK, F.lit(None).cast("long"))
    return marked.unionByName(beside, allowMissingColumns=True)


def ticks(spark: SparkSession, timeout: int) -> DataFrame:
    """Return a stream of ticks, several for each timeout but one a second at most."""
    step = max(timeout // (_TICKS_A_TIMEOUT * 1000), 1)
    rate = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    wanted = rate.filter(F.col("value") % F.lit(step) == 0)
    return wanted.select(F.unix_millis("timestamp").alias(TICK))
