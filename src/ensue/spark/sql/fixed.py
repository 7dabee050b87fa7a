"""A table function for one query on events of known columns, which reads Arrow batches.

Table functions on Arrow have no `analyze`: their columns are fixed when they are registered, and
who calls them says how the table is partitioned and sorted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from pyspark import TaskContext

from ensue.errors import EventError
from ensue.spark.sql.sorted_run import SortedRun
from ensue.spark.worker import Task


class FixedRecognize:
    """The table function: one instance for each partition that the call names."""

    task: ClassVar[Task]
    call: ClassVar[str]
    """How it is called, for messages."""

    def __init__(self) -> None:
        self._run: SortedRun | None = None

    def eval(self, events: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take in events and give the rows that they complete."""
        if self._run is None:
            self._check_call()
            self._run = SortedRun(self.task)
        yield from self._run.push(self._conformed(events))

    def terminate(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when all events have been read."""
        if self._run is not None:
            yield from self._run.finish()

    def _conformed(self, events: pa.RecordBatch) -> pa.Table:
        columns = self.task.programs[0].columns
        missing = [name for name in columns.names if name not in events.schema.names]
        if missing:
            raise EventError(
                f"the table has no column '{missing[0]}', and the function was registered for "
                f"events with {', '.join(columns.names)}"
            )
        return pa.Table.from_batches([events]).select(columns.names).cast(columns)

    def _check_call(self) -> None:
        """Refuse a call whose answer would depend on how Spark happens to cut the table."""
        context = TaskContext.get()
        assert context is not None
        if context.getLocalProperty("streaming.sql.batchId") is not None:
            raise EventError(
                "a table function reads tables; for a stream call ensue.spark.recognize(df, query)"
            )
        # All rows of WITH SINGLE PARTITION are in the first partition.
        if context.partitionId() > 0 and not _is_partitioned():
            raise EventError(
                "without PARTITION BY or WITH SINGLE PARTITION Spark cuts the table anywhere, and "
                f"matches across the cuts are lost: write {self.call}"
            )


def _is_partitioned() -> bool:
    """Tell whether Spark calls for the partitions of PARTITION BY.

    Spark does not tell the function itself. Its worker calls through a class that keeps partitions
    apart; where a release calls it otherwise, calls are refused rather than answered wrongly.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if "WithPartition" in frame.f_code.co_qualname:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
