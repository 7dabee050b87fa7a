"""Queries on streaming DataFrames: events wait for the watermark, state lives in buckets of keys.

    events ── watermark ── leave out, pack by bucket ──▶ one processor a bucket ──▶ unpack rows

Between the steps events and rows travel as Arrow messages in one binary column, so that nothing is
converted to pandas on the way. The state of a bucket is a log of the events that its window still
needs; the operators stay alive in the workers (see log.py and live.py). Spark's cost follows the
number of groups, so keys are hashed into a fixed number of buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from typing import Protocol

import pyarrow as pa
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ensue.analysis.types import TIME_UNITS
from ensue.errors import EventError
from ensue.messages import Message, Option
from ensue.spark.batch import SharedScan, clock_of, column_of, hashed, task_of, wanted_events
from ensue.spark.partitioner import label, labels
from ensue.spark.program import Program, arrow_type_at
from ensue.spark.pushdown import Pushed
from ensue.spark.streaming.bucket import DEFAULT_BUCKETS, Bucket, Fetch
from ensue.spark.streaming.exchange import SealedBucket
from ensue.spark.streaming.idle import with_ticks
from ensue.spark.streaming.log import read_sections
from ensue.spark.streaming.metrics import observed
from ensue.spark.streaming.packing import BUCKET, packed_schema, packer, unpacker
from ensue.spark.streaming.processor import CHUNKS, FOUND, HEAD, Processor
from ensue.spark.types import spark_schema
from ensue.stream.lateness import lateness_in_units

AT = "__ensue_at"
"""The time of an event as Spark's watermarks want it."""


Lateness = int | str | timedelta | None


def run(
    frame: DataFrame,
    each: SharedScan,
    schema: pa.Schema,
    *,
    name: str,
    names: bool,
    late: str | None,
    lateness: Lateness,
    idle_timeout: int | None,
    buckets: int,
    push: Pushed,
) -> DataFrame:
    """Find the matches of the queries of a pass in a stream; its metrics are called `name`."""
    wanted, _ = bucketed(
        frame,
        each,
        lateness=lateness,
        idle_timeout=idle_timeout,
        buckets=buckets,
        push=push,
        all_columns=late is not None,
    )
    bucket = bucket_of(each, push, schema, names, late, buckets)
    processor = Processor(SealedBucket.of(replace(bucket, idle_timeout=idle_timeout)))
    queries = [program.name for program in each.programs] if names else None
    return processed(wanted, processor, schema, name, observed(queries))


def bucketed(
    frame: DataFrame,
    each: SharedScan,
    *,
    lateness: Lateness,
    idle_timeout: int | None,
    buckets: int,
    push: Pushed,
    all_columns: bool,
) -> tuple[DataFrame, Sequence[int]]:
    """Give the events of a stream the numbers of their buckets; return these too.

    With a timeout, ticks of a clock are rows beside the events.
    """
    columns, distribution = each.programs[0].columns, each.distribution
    numbers: Sequence[int] = (0,)
    if distribution.kind == "keys":
        numbers = labels(buckets)
        keys = [hashed(path, columns) for path in distribution.keys]
        number = label(F.pmod(F.hash(*keys), F.lit(buckets)), buckets)
    else:
        number = F.lit(0)
    timed = _with_watermark(frame, each, lateness)
    clock = F.col(AT) if AT in timed.columns else column_of(distribution.time)
    wanted = wanted_events(timed, each, push, {BUCKET: number}, clock, all_columns=all_columns)
    if idle_timeout is not None:
        _check_unit(each.programs[0])
        wanted = with_ticks(wanted, idle_timeout, BUCKET, numbers)
    return wanted, numbers


def processed(
    wanted: DataFrame, processor: Processor, schema: pa.Schema, name: str, metrics: list[Column]
) -> DataFrame:
    """Let processors have the events of their buckets; return the rows that they find."""
    texts = [f"{each} string" for each in processor.texts]
    found = (
        wanted.mapInArrow(packer(processor.control), packed_schema(processor.control))
        .groupBy(BUCKET)
        .transformWithStateInPandas(processor, ", ".join([FOUND, *texts]), "Append", "EventTime")
    )
    # The counts come with the progress of the streaming query.
    watched = found.observe(name, *metrics)
    return watched.mapInArrow(unpacker(), spark_schema(schema))


def bucket_of(
    each: SharedScan, push: Pushed, schema: pa.Schema, names: bool, late: str | None, buckets: int
) -> Bucket:
    """Return what happens to the buckets of a pass."""
    task = task_of(each, push, schema, names)
    count = buckets if each.distribution.kind == "keys" else DEFAULT_BUCKETS
    return Bucket(task, millisecond(each.programs[0]), late, count)


# time


def millisecond(program: Program) -> tuple[int, int]:
    """Return how long a millisecond of the watermark is in the engine's time: a fraction."""
    if not kinds.is_integer(arrow_type_at(program.columns, program.time)):
        return 1_000_000, 1
    if program.options.time_unit is None:
        return 1, 1
    unit = TIME_UNITS[program.options.time_unit]
    return (1_000_000 // unit, 1) if unit <= 1_000_000 else (1, unit // 1_000_000)


def _check_unit(program: Program) -> None:
    """Refuse to compare processing time with integers that count nobody knows what."""
    integers = kinds.is_integer(arrow_type_at(program.columns, program.time))
    if integers and program.options.time_unit is None:
        raise EventError(
            Message(
                Option("idle_timeout"), " on an integer time column needs ", Option("time_unit")
            )
        )


def _with_watermark(frame: DataFrame, each: SharedScan, lateness: Lateness) -> DataFrame:
    program, distribution = each.programs[0], each.distribution
    kind = arrow_type_at(program.columns, distribution.time)
    if lateness is None:
        if (
            len(distribution.time) == 1
            and "spark.watermarkDelayMs" in frame.schema[distribution.time[0]].metadata
        ):
            return frame
        raise EventError(
            Message(
                "a stream needs to know how late events may come: pass ",
                Option("lateness", "10 seconds"),
                ", or set a watermark on the time column",
            )
        )
    length, parts = millisecond(program)
    bound = lateness_in_units(lateness, kind, program.options.time_unit)
    delay = -(-bound * parts // length)
    return frame.withColumn(AT, _instant(each)).withWatermark(AT, f"{delay} milliseconds")


def _instant(each: SharedScan) -> Column:
    """Return the time of an event as a timestamp; without a unit, integers count milliseconds."""
    program = each.programs[0]
    clock = clock_of(each.distribution.time, program.columns)
    if not kinds.is_integer(arrow_type_at(program.columns, each.distribution.time)):
        return F.timestamp_micros(clock)
    unit = TIME_UNITS[program.options.time_unit or "ms"]
    if unit >= 1000:
        return F.timestamp_micros(clock * F.lit(unit // 1000))
    return F.timestamp_micros(F.floor(clock / F.lit(1000)))


# what is left when a stream is over


def rest(
    frame: DataFrame, buckets: Sequence[Restorable], schema: pa.Schema, checkpoint: str
) -> DataFrame:
    """Find what the events complete that still wait in the checkpoint of a stream."""
    by_identity = {each.identity: each for each in buckets}

    def finished(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            stored = {each["number"]: each["events"] for each in row["chunks"] or ()}
            # One that is of no query here says what is wrong with it.
            identity = str(read_sections(row["block"]).get("identity"))
            bucket = by_identity.get(identity, buckets[0])
            for table in bucket.restore(row["block"], stored.__getitem__).rest():
                yield from table.to_batches()

    found = [_stored(frame.sparkSession, checkpoint, number) for number in range(len(buckets))]
    return reduce(DataFrame.unionByName, found).mapInArrow(finished, spark_schema(schema))


class Rest(Protocol):
    """The state of a bucket of a stream that is over."""

    def rest(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when no more events come."""


class Restorable(Protocol):
    """What happens to a bucket, as far as a stream that is over needs it."""

    @property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""

    def restore(self, block: bytes, fetch: Fetch) -> Rest:
        """Rebuild the state from its head."""


def _stored(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """Read the heads of an operator's buckets from a checkpoint, each with its chunks."""
    reader = spark.read.format("statestore").option("operatorId", operator)
    heads = reader.option("stateVarName", HEAD).load(checkpoint)
    chunks = reader.option("stateVarName", CHUNKS).load(checkpoint)
    number, events = F.col("user_map_key.number"), F.col("user_map_value.events")
    lists = chunks.groupBy("key").agg(F.collect_list(F.struct(number, events)).alias("chunks"))
    return heads.join(lists, "key", "left").select(F.col("value.block").alias("block"), "chunks")
