"""Input that is sorted already: every row gets the next position as it comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensue.analysis.schema import AttributePath
from ensue.stream.batch import EventBatch, InputBatch


@dataclass(slots=True)
class SortedInput:
    """Numbers the events of a stream that is in order already."""

    time_path: AttributePath
    tiebreak_path: AttributePath | None
    next_position: int = 0
    latest: int | None = None
    """The time of the last event."""

    def read(self, batch: InputBatch, times: np.ndarray) -> EventBatch:
        """Return rows with their positions."""
        before = times[0] if self.latest is None else self.latest
        assert (np.diff(times, prepend=before) >= 0).all(), "the input is not in order"
        events = EventBatch(
            batch.table,
            batch.types,
            None,
            times,
            self.time_path,
            self.tiebreak_path,
            self.next_position,
        )
        self.next_position += len(times)
        self.latest = int(times[-1])
        return events
