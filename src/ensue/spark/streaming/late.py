"""Watermarks as the engine counts time, and events that come after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ensue.spark.streaming.messages import joined, message_of, table_of
from ensue.stream.waiting import BEFORE_ALL_TIMES

Millisecond = tuple[int, int]
"""How long a millisecond of the watermark is in the engine's time: a fraction."""


def edge_of(watermark: int, millisecond: Millisecond) -> int:
    """Return a watermark in milliseconds as the engine counts time; 0: there is none yet."""
    if watermark <= 0:
        return BEFORE_ALL_TIMES
    length, parts = millisecond
    return watermark * length // parts


def moment_after(time: int, millisecond: Millisecond) -> int:
    """Return the first watermark, in milliseconds, that lies beyond a time."""
    length, parts = millisecond
    return time * parts // length + 1


class Arrivals(NamedTuple):
    """The events of a micro-batch."""

    message: bytes
    """Those on time, as Arrow messages."""
    kept: Sequence[pa.Table]
    """Those on time."""
    late: Sequence[pa.Table]
    """Those that came too late."""


def split_late(
    messages: Iterable[bytes], edge: int, times_of: Callable[[pa.Table], np.ndarray]
) -> Arrivals:
    """Split events into those on time and those that came too late."""
    parts: list[bytes] = []
    kept: list[pa.Table] = []
    late: list[pa.Table] = []
    for message in messages:
        table = table_of(message)
        on_time = times_of(table) >= edge
        if on_time.all():
            parts.append(message)
            kept.append(table)
            continue
        late.append(table.filter(pa.array(~on_time)))
        if on_time.any():
            kept.append(table.filter(pa.array(on_time)))
            parts.append(message_of(kept[-1]))
    return Arrivals(joined(parts), kept, late)


def late_rows(late: Iterable[pa.Table], name: str | None, schema: pa.Schema) -> Iterator[pa.Table]:
    """Give events that came too late as rows with a struct in that column; None: give none."""
    for table in () if name is None else late:
        fields = list(schema.field(name).type)
        arrays = [table.column(each.name).combine_chunks().cast(each.type) for each in fields]
        events = pa.StructArray.from_arrays(arrays, fields=fields)
        yield pa.Table.from_arrays(
            [
                events if each.name == name else pa.nulls(table.num_rows, each.type)
                for each in schema
            ],
            schema=schema,
        )
