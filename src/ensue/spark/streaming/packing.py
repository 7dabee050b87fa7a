"""Events and rows on their way to a bucket and from it: Arrow messages in one binary column.

Beside the events there are rows that are none, but tell every bucket something: the time of day,
or a set of rules. Each kind has a control column, in which events have NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.spark.streaming.idle import TICK
from ensue.spark.streaming.messages import message_of, table_of

BUCKET, ROWS = "ensue_bucket", "ensue_rows"

RULES = "ensue_rules"
"""The column with a set of rules, in rows that are no events."""

_CONTROL = {TICK: ("long", pa.int64()), RULES: ("string", pa.string())}
"""The types of control columns, for Spark and for Arrow."""

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packed_schema(control: Sequence[str]) -> str:
    """Return the columns that `packer` gives."""
    more = [f"{each} {_CONTROL[each][0]}" for each in control]
    return ", ".join([f"{BUCKET} int", f"{ROWS} binary", *more])


def packer(control: Sequence[str]) -> Batches:
    """Return what puts the events of each bucket into one message a batch."""

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            numbers = batch.column(BUCKET).to_numpy(zero_copy_only=False)
            order = np.argsort(numbers, kind="stable")
            table = pa.Table.from_batches([batch]).drop_columns([BUCKET]).take(pa.array(order))
            found, starts = np.unique(numbers[order], return_index=True)
            ends = [*starts[1:].tolist(), len(numbers)]
            parts = [
                split_control(table.slice(start, end - start), control)
                for start, end in zip(starts.tolist(), ends, strict=True)
            ]
            messages = [message_of(events) if events.num_rows else None for events, _ in parts]
            told = [
                pa.array([values[number] for _, values in parts], _CONTROL[name][1])
                for number, name in enumerate(control)
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(found, pa.int32()), pa.array(messages, pa.binary()), *told],
                [BUCKET, ROWS, *control],
            )

    return packed


def split_control(table: pa.Table, control: Sequence[str]) -> tuple[pa.Table, list[Any]]:
    """Tell events from other rows, and return the last value of each control column."""
    values: list[Any] = []
    for name in control:
        if name not in table.column_names:
            values.append(None)
            continue
        column = table.column(name)
        values.append(pc.max(column).as_py())
        table = table.filter(pc.is_null(column)).drop_columns([name])
    return table, values


def unpacker() -> Batches:
    """Return what gives the rows that the processors have found."""

    def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for message in batch.column(ROWS).to_pylist():
                if message is not None:
                    yield from table_of(message).to_batches()

    return unpacked
