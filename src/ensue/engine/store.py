"""The event store: the rows that matches may still refer to, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ensue.engine.stream import Stream

_FAN = 32
"""So many stretches of about one size are put together into one."""


@dataclass(slots=True)
class Store:
    """Stretches of the stream, the oldest dropped when nobody needs them.

    Events may come one by one, so small stretches are put together into larger ones; there are
    never more than some dozens, whatever the window.
    """

    _stretches: list[Stream] = field(default_factory=list)
    _levels: list[int] = field(default_factory=list)
    """How often each stretch has been put together."""
    _kept: int = 0
    _added: int = 0

    @property
    def newest(self) -> Stream:
        """The stretch that came last."""
        return self._stretches[-1]

    def add(self, stream: Stream) -> None:
        """Append a stretch."""
        if not len(stream.times):
            if not self._stretches:
                self._stretches.append(stream)
                self._levels.append(0)
            return
        if self._stretches and not len(self._stretches[-1].times):
            self._stretches.pop()
            self._levels.pop()
        self._stretches.append(stream)
        self._levels.append(0)
        self._added += len(stream.times)
        while self._levels[-_FAN:].count(self._levels[-1]) == _FAN:
            level = self._levels[-1]
            joined = _joined(self._stretches[-_FAN:])
            del self._stretches[-_FAN:], self._levels[-_FAN:]
            self._stretches.append(joined)
            self._levels.append(level + 1)

    def view(self) -> Callable[[], Stream]:
        """Return all stretches that are there now, to be put together when somebody asks."""
        every = tuple(self._stretches)
        return lambda: _joined(every)

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return sum(len(each.times) for each in self._stretches)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(each.table.nbytes + each.times.nbytes for each in self._stretches)

    @property
    def has_grown(self) -> bool:
        """Whether it is worth while to look for rows that nobody needs."""
        return len(self._stretches) > 1 and 4 * self._added >= self._kept

    def forget_before(self, position: int) -> None:
        """Drop stretches that end before a position.

        The cut is never between two events of one time: ids of matches count events of one time.
        """
        stretches = self._stretches
        for cut in range(len(stretches) - 1, 0, -1):
            before, after = stretches[cut - 1], stretches[cut]
            if after.first <= position and before.times[-1] != after.times[0]:
                del stretches[:cut], self._levels[:cut]
                break
        self._kept, self._added = sum(len(each.times) for each in stretches), 0


def _joined(every: list[Stream] | tuple[Stream, ...]) -> Stream:
    """Put stretches that follow one another together."""
    if len(every) == 1:
        return every[0]
    streams = None
    if every[0].streams is not None:
        chunks = [
            chunk for each in every if each.streams is not None for chunk in each.streams.chunks
        ]
        streams = pa.chunked_array(chunks)
    return replace(
        every[0],
        table=pa.concat_tables([each.table for each in every], promote_options="permissive"),
        types=pa.chunked_array(
            [chunk.cast(pa.string()) for each in every for chunk in each.types.chunks], pa.string()
        ),
        streams=streams,
        times=np.concatenate([each.times for each in every]),
    )
