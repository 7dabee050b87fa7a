"""Queries on streaming DataFrames: events wait for the watermark, state lives in buckets of keys.

    events ── watermark ── leave out, pack by bucket ──▶ one processor a bucket ──▶ unpack rows

Between the steps events and rows travel as Arrow messages in one binary column, so that nothing is
converted to pandas on the way. The state of a bucket is one block: the events that still wait, and
for each query what its recogniser keeps. Spark's cost follows the number of groups, so that keys
are hashed into a fixed number of buckets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ensue.analysis.types import TIME_UNITS
from ensue.engine.block import below, pack, part, unpack
from ensue.engine.feed import LEAST
from ensue.engine.lateness import lateness_in_units
from ensue.engine.stream import column_at, times_of
from ensue.errors import EventError, SnapshotError
from ensue.predicates.symbols import GIVEN
from ensue.spark.batch import Pass, clock_of, column_of, hashed, wanted_events
from ensue.spark.program import Program, arrow_type_at
from ensue.spark.pushdown import NOTHING, pushed
from ensue.spark.types import spark_schema
from ensue.spark.worker import Run, Task, check_times

BUCKET, ROWS, LATE = "ensue_bucket", "ensue_rows", "ensue_late"
AT = "__ensue_at"
"""The time of an event as Spark's watermarks want it."""

_PACKED = f"{BUCKET} int, {ROWS} binary"
_FOUND = f"{ROWS} binary, {LATE} long"

Lateness = int | str | timedelta | None


def run(
    frame: DataFrame,
    each: Pass,
    schema: pa.Schema,
    *,
    names: bool,
    lateness: Lateness,
    buckets: int,
    pushdown: bool,
) -> DataFrame:
    """Find the matches of the queries of a pass in a stream."""
    columns, way = each.programs[0].columns, each.way
    push = pushed(each.programs) if pushdown else NOTHING
    if way.kind == "keys":
        keys = [hashed(path, columns) for path in way.keys]
        bucket = F.pmod(F.hash(*keys), F.lit(buckets))
    else:
        bucket = F.lit(0)
    timed = _with_watermark(frame, each, lateness)
    clock = F.col(AT) if AT in timed.columns else column_of(way.time)
    wanted = wanted_events(timed, each, push, {BUCKET: bucket}, clock)
    task = Task(each.programs, schema, names, tuple(map(push.given, each.programs)))
    processor = Processor(Bucket(task, millisecond(each.programs[0])))
    found = (
        wanted.mapInArrow(_packer(), _PACKED)
        .groupBy(BUCKET)
        .transformWithStateInPandas(processor, _FOUND, "Append", "EventTime")
    )
    # The counts come with the progress of the streaming query.
    watched = found.observe(f"ensue-{each.way.kind}", F.sum(LATE).alias("late"))
    return watched.mapInArrow(_unpacker(), spark_schema(schema))


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


# state


@dataclass(frozen=True)
class Bucket:
    """What happens to one bucket of keys, apart from Spark."""

    task: Task
    millisecond: tuple[int, int]

    @property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""
        told = [
            (each.name, each.query.fingerprint, each.positions_only, repr(each.options))
            for each in self.task.programs
        ]
        columns = self.task.programs[0].columns.to_string(show_schema_metadata=False)
        return hashlib.sha256(f"{told} {columns} {self.task.given}".encode()).hexdigest()

    def open(self, block: bytes | None) -> State:
        """Go on from a block, or begin."""
        runs = self.task.open()
        if block is None:
            return State(self, runs, None)
        saved = unpack(block)
        if saved.get("kind") != "bucket":
            raise SnapshotError("the checkpoint holds something else than the state of a stream")
        if saved["identity"] != self.identity:
            texts = "; ".join(saved["texts"])
            raise SnapshotError(
                "the checkpoint was made by another query, other options or other columns, and "
                "partial matches of one query mean nothing to another: start the stream with a "
                f"new checkpointLocation, or go back to what it was made with: {texts}"
            )
        for number, run in enumerate(runs):
            run.load(part(saved, str(number)))
        return State(self, runs, saved["pending"] if saved["waits"] else None)

    def edge(self, watermark: int) -> int:
        """Return a watermark in milliseconds as the engine counts time; 0: there is none yet."""
        if watermark <= 0:
            return LEAST
        length, parts = self.millisecond
        return watermark * length // parts

    def moment(self, time: int) -> int:
        """Return the first watermark, in milliseconds, that lies beyond a time."""
        length, parts = self.millisecond
        return time * parts // length + 1


@dataclass
class State:
    """The events of a bucket that wait, and its queries."""

    bucket: Bucket
    runs: list[Run]
    pending: pa.Table | None

    @property
    def program(self) -> Program:
        """Any of the programs: they agree on time and order."""
        return self.bucket.task.programs[0]

    def add(self, tables: list[pa.Table], watermark: int) -> int:
        """Let events wait, and return how many came too late for that."""
        edge, late = self.bucket.edge(watermark), 0
        kept = [] if self.pending is None else [self.pending]
        for table in tables:
            check_times(table, self.program.time)
            on_time = times_of(table, self.program.time) >= edge
            late += int(len(on_time) - on_time.sum())
            kept.append(table if on_time.all() else table.filter(pa.array(on_time)))
        kept = [each for each in kept if each.num_rows]
        self.pending = pa.concat_tables(kept).combine_chunks() if kept else None
        return late

    def release(self, watermark: int) -> Iterator[pa.Table]:
        """Give the rows that are certain now that time has come so far."""
        edge = self.bucket.edge(watermark)
        ready = None
        if self.pending is not None:
            ripe = times_of(self.pending, self.program.time) < edge
            if ripe.any():
                ready = self._sorted(self.pending.filter(pa.array(ripe)))
                rest = self.pending.filter(pa.array(~ripe))
                self.pending = rest.combine_chunks() if rest.num_rows else None
        for run in self.runs:
            if ready is not None:
                yield from self.bucket.task.rows(run, run.push(ready))
            if edge > LEAST:
                yield from self.bucket.task.rows(run, run.advance(edge))

    def _sorted(self, table: pa.Table) -> pa.Table:
        """Order as batch jobs do: by time, tiebreak, answers, and all columns."""
        program = self.program
        keys: dict[str, Any] = {"time": column_at(table, program.time)}
        if program.tiebreak is not None:
            keys["tiebreak"] = column_at(table, program.tiebreak)
        names = [GIVEN, *program.columns.names]
        for number, name in enumerate(name for name in names if name in table.column_names):
            column = table.column(name)
            if not kinds.is_nested(column.type):
                keys[str(number)] = column
        order = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
        return table.take(order)

    def alarms(self, watermark: int) -> list[int]:
        """Return when, in milliseconds of the watermark, there is something to do."""
        times = (
            [] if self.pending is None else [int(times_of(self.pending, self.program.time).min())]
        )
        times += [time for run in self.runs if (time := run.interval_end()) is not None]
        return [max(self.bucket.moment(time), watermark + 1) for time in times]

    def block(self) -> bytes:
        """Write all of it down."""
        sections: dict[str, Any] = {
            "kind": "bucket",
            "identity": self.bucket.identity,
            "texts": tuple(str(run.program.query) for run in self.runs),
            "waits": self.pending is not None,
        }
        if self.pending is not None:
            sections["pending"] = self.pending
        for number, run in enumerate(self.runs):
            sections |= below(str(number), run.save())
        return pack(sections)


class Processor(StatefulProcessor):
    """Spark's side of a bucket: reads and writes its state, sets its timers."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState("bucket", "block binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in events of a bucket."""
        tables = [table_of(bytes(each)) for frame in rows for each in frame[ROWS]]
        yield from self._step(tables, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Release what has waited long enough."""
        yield from self._step([], timerValues)

    def _step(self, tables: list[pa.Table], timers: Any) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        block = bytes(self._state.get()[0]) if self._state.exists() else None
        state = self.bucket.open(block)
        late = state.add(tables, watermark)
        found: list[bytes | None] = [
            message_of(table) for table in state.release(watermark) if table.num_rows
        ]
        self._state.update((state.block(),))
        set_already = set(self._handle.listTimers())
        for moment in set(state.alarms(watermark)) - set_already:
            self._handle.registerTimer(moment)
        counts = [late] + [0] * (len(found) - 1)
        yield pd.DataFrame({ROWS: found or [None], LATE: counts})

    def close(self) -> None:
        """Nothing to close."""
