"""Events that wait for the watermark, in the batches in which they arrived.

Batches stand in a heap by their earliest time, so that a watermark that passes nothing costs
nothing, and one that passes some events touches their batches alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ensue.stream.batch import InputBatch

BEFORE_ALL_TIMES, AFTER_ALL_TIMES = -(2**63), 2**63
"""Before all times, and after them."""


class Arrived(NamedTuple):
    """Rows with their times, and the order in which they arrived."""

    batch: InputBatch
    times: np.ndarray
    arrivals: np.ndarray

    def take(self, rows: np.ndarray) -> Arrived:
        """Choose some rows."""
        return Arrived(self.batch.take(rows), self.times[rows], self.arrivals[rows])


@dataclass(slots=True, order=True)
class _Entry:
    """A batch in the heap; compared by its earliest time."""

    earliest: int
    number: int
    arrived: Arrived = field(compare=False)


@dataclass(slots=True)
class WaitingEvents:
    """A buffer of events by time: each is released once, by the first watermark after its time."""

    _heap: list[_Entry] = field(default_factory=list)
    _arrived: int = 0

    def __len__(self) -> int:
        return sum(len(each.arrived.times) for each in self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def arrived(self) -> int:
        """How many events have arrived so far."""
        return self._arrived

    @property
    def earliest(self) -> int | None:
        """The time of the first event that waits."""
        return self._heap[0].earliest if self._heap else None

    def add(self, batch: InputBatch, times: np.ndarray) -> None:
        """Let rows wait."""
        if len(times):
            arrivals = np.arange(self._arrived, self._arrived + len(times))
            self._arrived += len(times)
            self._put(Arrived(batch, times, arrivals))

    def restore(self, arrived: Arrived | None, count: int) -> None:
        """Go on with what waited, and the number of events that had arrived."""
        self._arrived = count
        if arrived is not None:
            self._put(arrived)

    def _put(self, arrived: Arrived) -> None:
        earliest, number = int(arrived.times.min()), int(arrived.arrivals[0])
        heapq.heappush(self._heap, _Entry(earliest, number, arrived))

    def release(self, watermark: int) -> Arrived | None:
        """Return all rows before a time, in no order, and forget them; None: there are none."""
        passed: list[Arrived] = []
        while self._heap and self._heap[0].earliest < watermark:
            passed.append(heapq.heappop(self._heap).arrived)
        if not passed:
            return None
        every = _together(passed)
        stays = (
            every.times >= watermark
            if watermark < AFTER_ALL_TIMES
            else np.zeros(len(every.times), bool)
        )
        if not stays.any():
            return every
        self._put(every.take(np.flatnonzero(stays)))
        return every.take(np.flatnonzero(~stays))

    def everything(self) -> Arrived | None:
        """Return all rows that wait; they stay."""
        return _together([each.arrived for each in self._heap]) if self._heap else None


def _together(every: Sequence[Arrived]) -> Arrived:
    """Put rows that arrived at different times into one table."""
    if len(every) == 1:
        return every[0]
    batches = [each.batch for each in every]
    types = [chunk for each in batches for chunk in each.types.chunks]
    kind = types[0].type
    if any(chunk.type != kind for chunk in types):
        kind = pa.string()
        types = [chunk.cast(kind) for chunk in types]
    streams = None
    if batches[0].streams is not None:
        streams = np.concatenate([each.streams for each in batches if each.streams is not None])
    return Arrived(
        InputBatch(
            pa.concat_tables([each.table for each in batches], promote_options="permissive"),
            batches[0].closed,
            pa.chunked_array(types, kind).unify_dictionaries(),
            streams,
        ),
        np.concatenate([each.times for each in every]),
        np.concatenate([each.arrivals for each in every]),
    )
