"""Queries on DataFrames of finite size: bring together what belongs together, sort, recognize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from ensue.analysis.schema import AttributePath
from ensue.predicates.spark_literals import column
from ensue.predicates.symbols import GIVEN
from ensue.predicates.vectors import path_column
from ensue.spark.distribution import Slices, TimedDistribution, slices_of
from ensue.spark.footers import known_range
from ensue.spark.kernels import Shipped
from ensue.spark.order import Key, order_of
from ensue.spark.partitioner import label
from ensue.spark.program import Program, arrow_type_at
from ensue.spark.pushdown import Pushed
from ensue.spark.types import spark_schema
from ensue.spark.watching import NEEDED, Watch
from ensue.spark.worker import SLICE, Task
from ensue.stream.times import Time, time_in_units

_TIME = "__ensue_time"
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class SharedScan:
    """Queries that see the same events in the same order, so that one pass serves them all."""

    distribution: TimedDistribution
    programs: tuple[Program, ...]
    kernels: Shipped | None = None
    """Compiled kernels for the workers."""
    versions: Mapping[str, str] | None = None
    """The version of each rule, where they are rules and not queries."""


def shared_scans(
    distributions: Sequence[tuple[TimedDistribution, Program]], kernels: Shipped | None = None
) -> list[SharedScan]:
    """Put queries together that can share a pass over the events."""
    found: dict[tuple[object, ...], SharedScan] = {}
    for distribution, program in distributions:
        key = (distribution.kind, distribution.time, distribution.keys, program.options)
        known = found.get(key)
        if known is None:
            found[key] = SharedScan(distribution, (program,), kernels)
        else:
            window = max(known.distribution.window, distribution.window)
            distribution, every = (
                replace(known.distribution, window=window),
                (*known.programs, program),
            )
            found[key] = SharedScan(distribution, every, kernels)
    return list(found.values())


def run(
    frame: DataFrame,
    each: SharedScan,
    schema: pa.Schema,
    *,
    names: bool,
    tasks: int | None,
    push: Pushed,
    watch: Watch | None,
    until: Time | None = None,
) -> DataFrame:
    """Find the matches of the queries of a pass; time comes to the last event, or to `until`."""
    distribution, columns = each.distribution, each.programs[0].columns
    wanted = wanted_events(frame, each, push, watch=watch)
    task = task_of(each, push, schema, names, keys=distribution.keys)
    if any(program.deadlines for program in each.programs):
        task = replace(task, until=_end_of_time(frame, each, until))
    count = tasks or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    order = _sorting(task.order)
    if distribution.kind == "slices":
        cut = _cut(frame, distribution, columns, count)
        if cut is not None:
            task = replace(task, slices=_in_engine_time(cut, distribution, columns))
            parts = cut.count
            wanted = _sliced(wanted, distribution, cut, columns)
            # As many partitions as slices: within one, all events have the same number.
            wanted = wanted.repartition(parts, label(F.col(SLICE), parts))
        else:
            wanted = wanted.repartition(1)
    elif distribution.kind == "keys":
        keys = [hashed(path, columns) for path in distribution.keys]
        wanted = wanted.repartition(*keys) if tasks is None else wanted.repartition(tasks, *keys)
    else:
        wanted = wanted.repartition(1)
    sorted_ = wanted.sortWithinPartitions(*order)
    return sorted_.mapInArrow(task.function(), spark_schema(schema))


def wanted_events(
    frame: DataFrame,
    each: SharedScan,
    push: Pushed,
    more: Mapping[str, Column] | None = None,
    clock: Column | None = None,
    *,
    all_columns: bool = False,
    watch: Watch | None = None,
) -> DataFrame:
    """Leave out events and columns that are not needed, and let Spark answer what it can.

    A watch observes what is left, before events without a key go. On a stream `clock` is the
    column of the watermark. Events that are left out move it too, so the filter must not go before
    it, and does not because it mentions that column.
    """
    timeless = (column_of(each.distribution.time) if clock is None else clock).isNull()
    columns = each.programs[0].columns
    read = _columns_read(each, push)
    chosen = [column_of((name,)) for name in columns.names if all_columns or name in read]
    if push.keep is not None:
        # An event without a time is an error, whether or not it matters.
        frame = frame.filter(F.expr(push.keep) | timeless)
    if push.texts:
        chosen.append(F.expr(push.packed()).alias(GIVEN))
    chosen += [value.alias(name) for name, value in (more or {}).items()]
    if watch is None:
        return _known_keys(frame, each.distribution, columns, timeless).select(*chosen)
    # Columns that nobody needs go first: no optimizer takes them out below an observation.
    seen = watch.observe(frame.select(*chosen, watch.packed().alias(NEEDED)))
    return _known_keys(seen, each.distribution, columns, timeless)


def task_of(
    each: SharedScan,
    push: Pushed,
    schema: pa.Schema,
    names: bool,
    keys: tuple[AttributePath, ...] = (),
) -> Task:
    """Return what the workers do about a pass, in batch jobs and in streams."""
    order = order_of(each.programs[0], _columns_read(each, push), given=bool(push.texts))
    given = tuple(map(push.given, each.programs))
    return Task(
        each.programs,
        schema,
        names,
        given,
        order,
        keys=keys,
        kernels=each.kernels,
        versions=each.versions,
    )


def columns_of(each: SharedScan, late: str | None) -> set[str]:
    """Name all columns that Spark or a worker reads of a stream: all where late events are rows."""
    if late is not None:
        return set(each.programs[0].columns.names)
    read = {name for program in each.programs for name in program.columns_read()}
    return read | {each.distribution.time[0], *(path[0] for path in each.distribution.keys)}


def _columns_read(each: SharedScan, push: Pushed) -> set[str]:
    return {name for program in each.programs for name in push.columns_read(program)}


# columns


def column_of(path: AttributePath) -> Column:
    """Return a column, or a field of a struct."""
    return F.col(column(path))


def _known_keys(
    frame: DataFrame, distribution: TimedDistribution, columns: pa.Schema, timeless: Column
) -> DataFrame:
    """Leave out events without a key, but keep those without a time: they are an error."""
    if not distribution.keys:
        return frame
    known = F.lit(True)
    for path in distribution.keys:
        if path_column(columns.empty_table(), path) is None:
            known = F.lit(False)
            continue
        key = column_of(path)
        known = known & key.isNotNull()
        if kinds.is_floating(arrow_type_at(columns, path)):
            known = known & ~F.isnan(key)
    return frame.filter(known | timeless)


def hashed(path: AttributePath, columns: pa.Schema) -> Column:
    """Return a key such that equal ones have equal bits."""
    if path_column(columns.empty_table(), path) is None:
        return F.lit(None).cast(T.StringType())
    floating = kinds.is_floating(arrow_type_at(columns, path))
    return column_of(path) + F.lit(0.0) if floating else column_of(path)


def _sorting(order: Sequence[Key]) -> list[Column]:
    """Return what Spark sorts by; events without a time come first, since they are an error."""
    found = []
    for number, key in enumerate(order):
        value = column_of(key.path)
        if key.is_missing:
            found.append(value.isNull().asc())
        else:
            found.append(value.asc_nulls_last() if number else value.asc_nulls_first())
    return found


# slices of time


def clock_of(path: AttributePath, columns: pa.Schema) -> Column:
    """Return a time as a whole number: its own units, or microseconds."""
    time, kind = column_of(path), arrow_type_at(columns, path)
    if kinds.is_date(kind):
        return F.unix_date(time).cast("long") * F.lit(86_400_000_000)
    if kinds.is_timestamp(kind):
        if kind.tz is not None:
            return F.unix_micros(time)
        zero = F.lit("1970-01-01 00:00:00").cast(T.TimestampNTZType())
        return F.timestamp_diff("MICROSECOND", zero, time)
    return time.cast("long")


def _end_of_time(frame: DataFrame, each: SharedScan, until: Time | None) -> int | None:
    """Return how far time comes in all events, as the engine counts it.

    What waits for its deadline in one task is decided by events of others too, and by those that
    cannot matter otherwise.
    """
    distribution, program = each.distribution, each.programs[0]
    kind = arrow_type_at(program.columns, distribution.time)
    unit = 1 if kinds.is_integer(kind) else _MICROSECOND
    times = [] if until is None else [time_in_units(until, kind, program.options.time_unit)]
    known = known_range(frame, distribution.time[0]) if len(distribution.time) == 1 else None
    if known is not None:
        times.append(known[1] * unit)
    else:
        clock = clock_of(distribution.time, program.columns)
        row = frame.agg(F.max(clock).alias("last")).first()
        if row is not None and row["last"] is not None:
            times.append(row["last"] * unit)
    return max(times, default=None)


def _cut(
    frame: DataFrame, distribution: TimedDistribution, columns: pa.Schema, most: int
) -> Slices | None:
    """Look at the first and last time and cut what is between; None: not worth cutting.

    All events are asked, those that cannot matter too, so that nothing but times is read.
    """
    known = known_range(frame, distribution.time[0]) if len(distribution.time) == 1 else None
    if known is None:
        clock = clock_of(distribution.time, columns)
        row = frame.agg(F.min(clock).alias("first"), F.max(clock).alias("last")).first()
        if row is None or row["first"] is None:
            return None
        known = row["first"], row["last"]
    window = distribution.window
    if not kinds.is_integer(arrow_type_at(columns, distribution.time)):
        window = -(-window // _MICROSECOND)
    cut = slices_of(*known, window, most)
    return cut if cut.count > 1 else None


def _sliced(
    wanted: DataFrame, distribution: TimedDistribution, cut: Slices, columns: pa.Schema
) -> DataFrame:
    """Give each event the number of its slice, and once more where the next one needs it."""
    window = distribution.window
    if not kinds.is_integer(arrow_type_at(columns, distribution.time)):
        window = -(-window // _MICROSECOND)
    timed = wanted.withColumn(
        _TIME, F.coalesce(clock_of(distribution.time, columns) - F.lit(cut.first), F.lit(0))
    )
    time = F.col(_TIME)
    own = ((time - time % F.lit(cut.length)) / F.lit(cut.length)).cast("int")
    overlaps = (time % F.lit(cut.length) >= F.lit(cut.length - window)) & (
        own < F.lit(cut.count - 1)
    )
    slices = F.when(overlaps, F.array(own, own + F.lit(1))).otherwise(F.array(own))
    return timed.withColumn(SLICE, F.explode(slices)).drop(_TIME)


def _in_engine_time(
    cut: Slices, distribution: TimedDistribution, columns: pa.Schema
) -> tuple[int, int]:
    if kinds.is_integer(arrow_type_at(columns, distribution.time)):
        return cut.first, cut.length
    return cut.first * _MICROSECOND, cut.length * _MICROSECOND
