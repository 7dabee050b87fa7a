"""Ways to keep a log of events in a Spark stream, compared without any recognition.

Each design keys the events by bucket, appends those of a micro-batch to the log of their bucket
and drops what has left a window of ten micro-batches; what it costs is the price of the design. All
run on the same files, one a micro-batch, beside a stream that is only shuffled and passed through.

    rows, transformWithState      Spark hands the rows of a bucket to Python as pandas
    packed, transformWithState    rows are packed into Arrow messages before the shuffle: ours
    packed, whole state           the same with applyInPandasWithState, whose state is one value
    packed, log of our own        foreachBatch writes a file for each bucket and micro-batch
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.lab import Lab
from bench.processes import FailedError, isolated
from bench.sequences import MILLION
from bench.spark import SCHEMA, stream_session, write_trades
from bench.spark_steps import tree_seconds
from bench.tables import Column, Group, Row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_PATIENCE = 900.0
_BUCKETS = 16
_WINDOW = 10
"""So many micro-batches are in the window."""
_STEADY = _WINDOW + 1
"""The first micro-batch that finds a full window."""
_FILES = _STEADY + 5
_KEYS = 10_000

DESIGNS = (
    "passed through",
    "rows, transformWithState",
    "packed, transformWithState",
    "packed, whole state",
    "packed, log of our own",
)


def design_costs(folder: str, checkpoint: str, design: str) -> dict[str, float]:
    """Run a stream in one design; return its costs for a micro-batch once the window is full."""
    from pyspark.sql import functions as F  # noqa: N812

    spark = stream_session()
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(folder)
    bucket = F.pmod(F.hash("account"), F.lit(_BUCKETS)).alias("bucket")
    if design == "passed through":
        found = files.repartition("account").mapInArrow(_passed, SCHEMA)
    else:
        found = _designed(files.select("*", bucket), design)
    writer = found.writeStream.option("checkpointLocation", checkpoint)
    if design == "packed, log of our own":
        writer = writer.foreachBatch(_logged(checkpoint))
    else:
        writer = writer.format("noop")
    began = tree_seconds()
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    batches = [each for each in running.recentProgress if each.numInputRows]
    times = [each.durationMs["triggerExecution"] / 1000 for each in batches[_STEADY:]]
    cpu = tree_seconds() - began
    written = sum(each.stat().st_size for each in Path(checkpoint).rglob("*") if each.is_file())
    spark.stop()
    return {
        "latency": statistics.median(times),
        "cpu": cpu / len(batches),
        "written": written / len(batches),
    }


def _designed(keyed: DataFrame, design: str) -> DataFrame:
    if design == "rows, transformWithState":
        grouped = keyed.groupBy("bucket")
        return grouped.transformWithStateInPandas(_processor(), "rows long", "Append", "None")
    packed = keyed.mapInArrow(_packed, "bucket int, message binary")
    if design == "packed, transformWithState":
        grouped = packed.groupBy("bucket")
        return grouped.transformWithStateInPandas(_processor(), "rows long", "Append", "None")
    if design == "packed, whole state":
        return packed.groupBy("bucket").applyInPandasWithState(
            _whole_state, "rows long", "window binary, number long", "append", "NoTimeout"
        )
    return packed


def _passed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put the events of each bucket of a batch into one Arrow message."""
    import numpy as np
    import pyarrow as pa

    for batch in batches:
        numbers = batch.column("bucket").to_numpy()
        order = np.argsort(numbers, kind="stable")
        found, starts = np.unique(numbers[order], return_index=True)
        ends = [*starts[1:].tolist(), len(numbers)]
        sorted_rows = batch.take(pa.array(order))
        messages = [
            _message(sorted_rows.slice(start, end - start))
            for start, end in zip(starts.tolist(), ends, strict=True)
        ]
        yield pa.record_batch(
            [pa.array(found, pa.int32()), pa.array(messages, pa.binary())], ["bucket", "message"]
        )


def _message(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _processor() -> Any:
    """Return a processor that appends a chunk to a map, and drops the one that has left."""
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Processor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._next = handle.getValueState("next", "number long")
            self._chunks = handle.getMapState("chunks", "number long", "events binary")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:  # noqa: N802
            number = self._next.get()[0] if self._next.exists() else 0
            chunks: list[bytes] = []
            for frame in rows:
                if "message" in frame:
                    chunks += map(bytes, frame["message"])
                else:
                    chunks.append(_message(pa.RecordBatch.from_pandas(frame)))
            self._chunks.updateValue((number,), (b"".join(chunks),))
            if number >= _WINDOW:
                self._chunks.removeKey((number - _WINDOW,))
            self._next.update((number + 1,))
            yield pd.DataFrame({"rows": [len(chunks)]})

        def close(self) -> None:
            pass

    return Processor()


def _whole_state(key: Any, rows: Any, state: Any) -> Iterator[Any]:
    """Append a chunk to the bytes of the window, which are one value of the state.

    All chunks are about as long, so that a tenth of a full window is what leaves it.
    """
    import pandas as pd

    new = b"".join(bytes(each) for frame in rows for each in frame["message"])
    held, number = (bytes(state.get[0]), state.get[1]) if state.exists else (b"", 0)
    if number >= _WINDOW:
        held = held[len(held) // _WINDOW :]
    state.update((held + new, number + 1))
    yield pd.DataFrame({"rows": [len(new)]})


def _logged(checkpoint: str) -> Any:
    """Return what writes the messages of a micro-batch as one file for each bucket."""
    folder = Path(checkpoint, "log")
    folder.mkdir(parents=True)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        import pyarrow as pa

        chunks: dict[int, list[bytes]] = {}
        for batch in batches:
            for number, message in zip(*(each.to_pylist() for each in batch.columns), strict=True):
                chunks.setdefault(number, []).append(message)
        for number, messages in chunks.items():
            beside = folder / f"{number}-{uuid.uuid4().hex}"
            beside.write_bytes(b"".join(messages))
        yield pa.record_batch([pa.array([len(chunks)], pa.int64())], ["rows"])

    def each_batch(frame: DataFrame, _: int) -> None:
        shuffled = frame.repartition("bucket").mapInArrow(write, "rows long")
        shuffled.write.format("noop").mode("overwrite").save()

    return each_batch


def _measure(lab: Lab) -> list[Row]:
    rows: list[Row] = []
    for size in (10_000, 100_000) if lab.quick else (10_000, 100_000, MILLION):
        folder = str(lab.folder / f"designs-{size}")
        lab.call(write_trades, folder=folder, events=size * _FILES, files=_FILES, keys=_KEYS)
        base: dict[str, float] = {}
        for number, design in enumerate(DESIGNS):
            lab.say(f"{design}, {size:,} rows a micro-batch")
            begin: Row = {"design": design, "rows": size}
            try:
                costs = isolated(
                    design_costs,
                    _PATIENCE,
                    folder=folder,
                    checkpoint=f"{folder}-checkpoint-{number}",
                    design=design,
                )
            except FailedError as error:
                rows.append({**begin, "failed": str(error)})
                continue
            base = base or costs
            rows.append(
                {
                    **begin,
                    **costs,
                    "rate": size / costs["latency"],
                    "wait": costs["latency"] / base["latency"],
                    "work": costs["cpu"] / base["cpu"],
                }
            )
    return rows


GROUP = Group(
    "stream-designs",
    "Ways to keep a log of events in a Spark stream, local[2], 16 buckets, without recognition",
    (
        Column("design", "design", "text"),
        Column("rows", "rows a micro-batch", "size"),
        Column("rate", "rows/s", "rate"),
        Column("latency", "latency, median", "seconds"),
        Column("wait", "to pass-through", "number"),
        Column("cpu", "CPU a micro-batch", "seconds"),
        Column("work", "to pass-through", "number"),
        Column("written", "written a micro-batch", "bytes"),
    ),
    _measure,
)
