"""Queries on the events of one partition of a table function, which come in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.errors import EventError
from ensue.spark.order import sorted_rows
from ensue.spark.pipeline import SortedPipeline, check_times
from ensue.spark.worker import Task
from ensue.stream.reorder import times_of


@dataclass(slots=True)
class SortedRun:
    """Reads chunks of events whose times do not go back.

    Events of one time are put in the order that batch jobs have, by tiebreak and columns. So those
    of the last time are held back until a later one comes, and Spark need not sort by more than
    the time.
    """

    task: Task
    _pipeline: SortedPipeline | None = None
    _held: pa.Table | None = None

    def push(self, table: pa.Table) -> Iterator[pa.Table]:
        """Take in events, and give the rows that they complete."""
        if not table.num_rows:
            return
        time = self.task.programs[0].time
        check_times(table, time)
        if self._held is not None:
            table = pa.concat_tables([self._held, table])
        times = times_of(table, time)
        if (np.diff(times) < 0).any():
            raise EventError(
                f"the events do not come in the order of '{'.'.join(time)}': write ORDER BY "
                f"{'.'.join(time)} after PARTITION BY … or WITH SINGLE PARTITION, inside the call"
            )
        before = int(np.searchsorted(times, times[-1]))
        self._held = table.slice(before).combine_chunks()
        if before:
            yield from self._rows(table.slice(0, before))

    def finish(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when all events have been read."""
        if self._held is not None:
            yield from self._rows(self._held)
        if self._pipeline is not None:
            yield from self.task.rows(self._pipeline.finish())

    def _rows(self, events: pa.Table) -> Iterator[pa.Table]:
        if self._pipeline is None:
            self._pipeline = self.task.open()
        ordered = events.take(sorted_rows(events, self.task.order))
        return self.task.rows(self._pipeline.push(ordered))
