"""The event store: the rows that matches may still refer to, and no others."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.engine.stream import Loaded, Options, Stream, check_next, order


@dataclass(slots=True)
class Store:
    """Stretches of the stream, the oldest dropped when nobody needs them."""

    time_path: AttributePath | None
    options: Options
    next_position: int = 0
    _stretches: deque[Stream] = field(default_factory=deque)

    @property
    def newest(self) -> Stream:
        """The stretch that came last."""
        return self._stretches[-1]

    def add(self, loaded: Loaded) -> None:
        """Check the order of a stretch and append it."""
        stream = order(loaded, self.time_path, self.options)
        stream = replace(stream, first=self.next_position)
        if self.time_path is None:
            stream = replace(stream, times=stream.times + self.next_position)
        elif self._stretches:
            check_next(self._stretches[-1], stream)
        self.next_position += stream.table.num_rows
        if stream.table.num_rows and self._stretches and not len(self.newest.times):
            self._stretches.pop()
        if not self._stretches or stream.table.num_rows:
            self._stretches.append(stream)

    def view(self) -> Stream:
        """Return all stretches that are there as one."""
        if len(self._stretches) == 1:
            return self._stretches[0]
        every = list(self._stretches)
        return replace(
            every[0],
            table=pa.concat_tables([each.table for each in every], promote_options="permissive"),
            types=pa.chunked_array(
                [chunk.cast(pa.string()) for each in every for chunk in each.types.chunks]
            ),
            times=np.concatenate([each.times for each in every]),
        )

    def forget_before(self, position: int) -> None:
        """Drop stretches that end before a position.

        The cut is never between two events of one time: ids of matches count events of one time.
        """
        stretches = self._stretches
        for cut in range(len(stretches) - 1, 0, -1):
            before, after = stretches[cut - 1], stretches[cut]
            if after.first <= position and before.times[-1] != after.times[0]:
                for _ in range(cut):
                    stretches.popleft()
                return
