"""Queries on streaming DataFrames: events wait for the watermark, state lives in buckets of keys.

    events ── watermark ── leave out, pack by bucket ──▶ one processor a bucket ──▶ unpack rows

Between the steps events and rows travel as Arrow messages in one binary column, so that nothing is
converted to pandas on the way. The state of a bucket is one block: the events that still wait, and
for each query what its recogniser keeps. Spark's cost follows the number of groups, so that keys
are hashed into a fixed number of buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ensue.analysis.types import TIME_UNITS
from ensue.engine.block import unpack
from ensue.engine.lateness import lateness_in_units
from ensue.errors import EventError
from ensue.spark.batch import Pass, clock_of, column_of, hashed, task_of, wanted_events
from ensue.spark.bucket import Bucket
from ensue.spark.program import Program, arrow_type_at
from ensue.spark.pushdown import NOTHING, Pushed, pushed
from ensue.spark.spread import label
from ensue.spark.types import spark_schema

BUCKET, ROWS, LATE, STATE = "ensue_bucket", "ensue_rows", "ensue_late", "ensue_state"
AT = "__ensue_at"
"""The time of an event as Spark's watermarks want it."""

_STATE_NAME = "bucket"

_PACKED = f"{BUCKET} int, {ROWS} binary"
_FOUND = f"{ROWS} binary, {LATE} long, {STATE} long"

Lateness = int | str | timedelta | None


def run(
    frame: DataFrame,
    each: Pass,
    schema: pa.Schema,
    *,
    names: bool,
    late: str | None,
    lateness: Lateness,
    buckets: int,
    pushdown: bool,
) -> DataFrame:
    """Find the matches of the queries of a pass in a stream."""
    columns, way = each.programs[0].columns, each.way
    push = pushed(each.programs) if pushdown else NOTHING
    if way.kind == "keys":
        keys = [hashed(path, columns) for path in way.keys]
        number = label(F.pmod(F.hash(*keys), F.lit(buckets)), buckets)
    else:
        number = F.lit(0)
    timed = _with_watermark(frame, each, lateness)
    clock = F.col(AT) if AT in timed.columns else column_of(way.time)
    wanted = wanted_events(timed, each, push, {BUCKET: number}, clock, all_columns=late is not None)
    processor = Processor(bucket_of(each, push, schema, names, late))
    found = (
        wanted.mapInArrow(_packer(), _PACKED)
        .groupBy(BUCKET)
        .transformWithStateInPandas(processor, _FOUND, "Append", "EventTime")
    )
    # The counts come with the progress of the streaming query.
    watched = found.observe(
        f"ensue-{each.way.kind}", F.sum(LATE).alias("late"), F.sum(STATE).alias("state")
    )
    return watched.mapInArrow(_unpacker(), spark_schema(schema))


def bucket_of(each: Pass, push: Pushed, schema: pa.Schema, names: bool, late: str | None) -> Bucket:
    """Return what happens to the buckets of a pass."""
    task = task_of(each, push, schema, names)
    return Bucket(task, millisecond(each.programs[0]), late)


# time


def millisecond(program: Program) -> tuple[int, int]:
    """Return how long a millisecond of the watermark is in the engine's time: a fraction."""
    if not kinds.is_integer(arrow_type_at(program.columns, program.time)):
        return 1_000_000, 1
    if program.options.time_unit is None:
        return 1, 1
    unit = TIME_UNITS[program.options.time_unit]
    return (1_000_000 // unit, 1) if unit <= 1_000_000 else (1, unit // 1_000_000)


def _with_watermark(frame: DataFrame, each: Pass, lateness: Lateness) -> DataFrame:
    program, way = each.programs[0], each.way
    kind = arrow_type_at(program.columns, way.time)
    if lateness is None:
        if len(way.time) == 1 and "spark.watermarkDelayMs" in frame.schema[way.time[0]].metadata:
            return frame
        raise EventError(
            "a stream needs to know how late events may come: pass lateness=, such as "
            "'10 seconds', or set a watermark on the time column"
        )
    length, parts = millisecond(program)
    bound = lateness_in_units(lateness, kind, program.options.time_unit)
    delay = -(-bound * parts // length)
    return frame.withColumn(AT, _instant(each)).withWatermark(AT, f"{delay} milliseconds")


def _instant(each: Pass) -> Column:
    """Return the time of an event as a timestamp; without a unit, integers count milliseconds."""
    program = each.programs[0]
    clock = clock_of(each.way.time, program.columns)
    if not kinds.is_integer(arrow_type_at(program.columns, each.way.time)):
        return F.timestamp_micros(clock)
    unit = TIME_UNITS[program.options.time_unit or "ms"]
    if unit >= 1000:
        return F.timestamp_micros(clock * F.lit(unit // 1000))
    return F.timestamp_micros(F.floor(clock / F.lit(1000)))


# what is left when a stream is over


def rest(frame: DataFrame, buckets: Sequence[Bucket], checkpoint: str) -> DataFrame:
    """Find what the events complete that still wait in the checkpoint of a stream."""
    by_identity = {each.identity: each for each in buckets}
    schema = buckets[0].task.schema

    def finished(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in (block for batch in batches for block in batch.column(0).to_pylist()):
            # One that is of no query here says what is wrong with it.
            bucket = by_identity.get(str(unpack(block).get("identity")), buckets[0])
            for table in bucket.open(block).rest():
                yield from table.to_batches()

    reader = frame.sparkSession.read.format("statestore").option("stateVarName", _STATE_NAME)
    found = [
        reader.option("operatorId", number).load(checkpoint).select("value.block")
        for number in range(len(buckets))
    ]
    return reduce(DataFrame.unionByName, found).mapInArrow(finished, spark_schema(schema))


# packing


def _packer() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the events of each bucket into one message a batch."""
        for batch in batches:
            if not batch.num_rows:
                continue
            numbers = batch.column(BUCKET).to_numpy(zero_copy_only=False)
            order = np.argsort(numbers, kind="stable")
            table = pa.Table.from_batches([batch]).drop_columns([BUCKET]).take(pa.array(order))
            found, starts = np.unique(numbers[order], return_index=True)
            ends = [*starts[1:].tolist(), len(numbers)]
            messages = [
                message_of(table.slice(start, end - start))
                for start, end in zip(starts.tolist(), ends, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(found, pa.int32()), pa.array(messages, pa.binary())], [BUCKET, ROWS]
            )

    return packed


def _unpacker() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the rows that the processors have found."""
        for batch in batches:
            for message in batch.column(ROWS).to_pylist():
                if message is not None:
                    yield from table_of(message).to_batches()

    return unpacked


def message_of(table: pa.Table) -> bytes:
    """Write a table as one Arrow message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(message: bytes) -> pa.Table:
    """Read an Arrow message."""
    with pa.ipc.open_stream(message) as reader:
        return reader.read_all()


# Spark's side of a bucket


class Processor(StatefulProcessor):
    """Spark's side of a bucket: reads and writes its state, sets its timers."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState(_STATE_NAME, "block binary")
        self._done: set[Any] = set()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in events of a bucket."""
        self._done.add(key)
        tables = [table_of(bytes(each)) for frame in rows for each in frame[ROWS]]
        yield from self._step(tables, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Release what has waited long enough, unless events of this micro-batch have done so."""
        if key not in self._done:
            self._done.add(key)
            yield from self._step([], timerValues)

    def _step(self, tables: list[pa.Table], timers: Any) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        block = bytes(self._state.get()[0]) if self._state.exists() else None
        state = self.bucket.open(block)
        late = state.add(tables, watermark)
        given = chain(state.late_rows(late), state.release(watermark))
        found: list[bytes | None] = [message_of(table) for table in given if table.num_rows]
        written = state.block()
        self._state.update((written,))
        set_already = set(self._handle.listTimers())
        for moment in set(state.alarms(watermark)) - set_already:
            self._handle.registerTimer(moment)
        # One row at least, with the counts.
        more = [0] * (len(found) - 1)
        counts = {LATE: sum(each.num_rows for each in late), STATE: len(written)}
        told = {name: [number, *more] for name, number in counts.items()}
        yield pd.DataFrame({ROWS: found or [None], **told})

    def close(self) -> None:
        """Nothing to close."""
