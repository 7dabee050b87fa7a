"""Integer times that become timestamps: the same times, counted in nanoseconds.

A time column of integers counts in its own unit, one of timestamps in nanoseconds. When a column
of integers brings its first double, its values become timestamps, and whatever was counted in the
old unit is multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.predicates.vectors import UnsupportedError
from ensue.stream.batch import EventBatch, InputBatch

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TimeScale:
    """A time column that holds timestamps from now on, and how long its unit is."""

    column: str
    kind: pa.DataType
    """The type of the column from now on."""
    nanoseconds: int
    """In one of its units so far."""
    derived: frozenset[str] = frozenset()
    """The columns of derived events that hold its times."""

    def is_time(self, column: str) -> bool:
        """Tell whether a column holds times."""
        return column == self.column or column in self.derived

    def time(self, time: int) -> int:
        """Return a time in nanoseconds."""
        self._check(abs(time))
        return time * self.nanoseconds

    def times(self, times: np.ndarray) -> np.ndarray:
        """Return times in nanoseconds."""
        if len(times):
            self._check(max(int(times.max()), -int(times.min())))
        return times * self.nanoseconds

    def _check(self, most: int) -> None:
        if most > _LARGEST // self.nanoseconds:
            raise UnsupportedError("times that do not fit into 64 bits as nanoseconds")

    def table(self, table: pa.Table) -> pa.Table:
        """Return rows whose times are timestamps."""
        for at, field in enumerate(table.schema):
            if not self.is_time(field.name) or not pa.types.is_integer(field.type):
                continue
            counted = table.column(at).cast(pa.int64())
            if len(counted) > counted.null_count:
                self._check(max(map(abs, pc.min_max(counted).as_py().values())))
            instants = pc.multiply(counted, self.nanoseconds).cast(pa.timestamp("ns"))
            table = table.set_column(at, field.name, instants.cast(self.kind))
        return table

    def rows(self, batch: InputBatch) -> InputBatch:
        """Return rows that wait, with timestamps."""
        return batch._replace(table=self.table(batch.table))

    def batch(self, events: EventBatch) -> EventBatch:
        """Return events whose times are nanoseconds."""
        ties = events.ties
        return replace(
            events,
            table=self.table(events.table),
            times=self.times(events.times),
            ties=ties and replace(ties, time=self.time(ties.time)),
        )
