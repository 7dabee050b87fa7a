"""The event store: the rows that matches may still refer to, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.engine.ordinals import Partition, ordinals
from ensue.engine.rows import load_rows, save_rows
from ensue.engine.stream import NAMES, Stream
from ensue.predicates.vectors import single_chunk

_LARGE = 1 << 15
"""Stretches with more rows than this are left alone."""

_MANY = 1 << 16
"""Of so many rows, those that no partial match refers to are looked for."""

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
    """How often each stretch has been put together; negative: it is left alone."""
    _kept: int = 0
    _added: int = 0
    _thinned: int = 0

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
            self._merge(self._levels[-1])

    def _merge(self, level: int) -> None:
        """Put the last stretches together, unless they are large enough to stay as they are."""
        last = self._stretches[-_FAN:]
        if sum(len(each.times) for each in last) > _LARGE:
            self._levels[-_FAN:] = range(-1, -_FAN - 1, -1)
            return
        del self._stretches[-_FAN:], self._levels[-_FAN:]
        self._stretches.append(_compact(_joined(last)))
        self._levels.append(level + 1)

    def view(self, *more: Stream) -> Callable[[], Stream]:
        """Return all stretches that are there now, to be put together when somebody asks.

        More that follow them may be given, of which the store keeps nothing.
        """
        every = tuple(self._stretches)
        if more and every and not len(every[-1].times):
            every = every[:-1]
        return lambda: _joined((*every, *more))

    def since(self, position: int) -> Stream:
        """Return all rows from a position on, of which none was thinned out."""
        after = [each for each in self._stretches if each.first + len(each.times) > position]
        whole = _joined(after)
        (row,) = whole.rows_at(np.array([position])).tolist()
        rest = whole.slice(row, len(whole.times))
        return replace(rest, first=position, positions=None)

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return sum(len(each.times) for each in self._stretches)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(each.table.nbytes + each.times.nbytes for each in self._stretches)

    @property
    def is_large(self) -> bool:
        """Whether it is worth while to look for rows that nobody needs between those needed."""
        return len(self._stretches) > 1 and self._kept + self._added > 2 * self._thinned + _MANY

    @property
    def has_grown(self) -> bool:
        """Whether it is worth while to look for rows that nobody needs."""
        return len(self._stretches) > 1 and 4 * self._added >= self._kept

    def keep_only(self, positions: np.ndarray, partitions: Iterable[Partition]) -> None:
        """Keep, of all but the last events, those at some positions only."""
        cut = self._cut(self._stretches[-1].first)
        if not cut:
            return
        old = _joined(self._stretches[:cut])
        rows = np.flatnonzero(np.isin(old.all_positions(), positions))
        if 2 * len(rows) <= len(old.times):
            numbers = {each: ordinals(old, rows, each) for each in partitions}
            thinned = replace(old.take(rows), ordinals=numbers)
            self._stretches[:cut], self._levels[:cut] = [thinned], [-1]
            if not len(rows):
                del self._stretches[0], self._levels[0]
        self._kept, self._added = self.rows, 0
        self._thinned = self._kept

    def keep_exactly(self, positions: np.ndarray, partitions: Iterable[Partition]) -> None:
        """Keep the events at some positions only; none that comes has the time of one here."""
        if self._stretches:
            every = _joined(self._stretches)
            rows = np.flatnonzero(np.isin(every.all_positions(), positions))
            numbers = {each: ordinals(every, rows, each) for each in partitions}
            self._stretches = [replace(every.take(rows), ordinals=numbers)]
            self._levels, self._kept, self._added = [-1], len(rows), 0
            self._thinned = self._kept

    def positions_from(self, first: int) -> np.ndarray:
        """Return the positions of all rows that are kept, from some position on."""
        every = _joined(self._stretches).all_positions() if self._stretches else np.zeros(0, int)
        return every[every >= first]

    def save(self) -> dict[str, Any]:
        """Write down all rows that are kept."""
        return {} if not self._stretches else save_rows(_joined(self._stretches))

    def load(self, saved: Mapping[str, Any], time_path: AttributePath | None) -> None:
        """Go on with rows that were saved."""
        if saved:
            self._stretches, self._levels = [load_rows(saved, time_path)], [-1]
            self._kept = self._thinned = self.rows

    def forget_before(self, position: int) -> None:
        """Drop stretches that end before a position.

        The cut is never between two events of one time: ids of matches count events of one time.
        """
        cut = self._cut(position)
        del self._stretches[:cut], self._levels[:cut]
        self._kept, self._added = self.rows, 0

    def _cut(self, position: int) -> int:
        """Return how many stretches end before a position and share no time with the next."""
        stretches = self._stretches
        for cut in range(len(stretches) - 1, 0, -1):
            before, after = stretches[cut - 1], stretches[cut]
            if after.first <= position and before.times[-1] != after.times[0]:
                return cut
        return 0


def _compact(stream: Stream) -> Stream:
    """Copy rows, so that they do not lie in many pieces."""
    return replace(
        stream,
        table=stream.table.combine_chunks(),
        types=pa.chunked_array([single_chunk(stream.types)]),
    )


def _joined(every: Sequence[Stream]) -> Stream:
    """Put stretches that follow one another together."""
    if len(every) == 1:
        return every[0]
    return replace(
        every[0],
        table=pa.concat_tables([each.table for each in every], promote_options="permissive"),
        types=_types(every),
        streams=_streams(every),
        times=np.concatenate([each.times for each in every]),
        positions=_positions(every),
        ordinals={
            partition: np.concatenate([_known(each, partition) for each in every])
            for partition in dict.fromkeys(p for each in every for p in each.ordinals)
        },
    )


def _types(every: Sequence[Stream]) -> pa.ChunkedArray:
    chunks = [chunk for each in every for chunk in each.types.chunks]
    kind = every[0].types.type
    if any(each.types.type != kind for each in every):
        kind = pa.string()
        chunks = [chunk.cast(kind) for chunk in chunks]
    return pa.chunked_array(chunks, kind)


def _streams(every: Sequence[Stream]) -> pa.ChunkedArray | None:
    if all(each.streams is None for each in every):
        return None
    chunks: list[pa.Array] = []
    for each in every:
        if each.streams is None:
            chunks.append(pa.nulls(len(each.times), NAMES))
        else:
            chunks += each.streams.chunks
    return pa.chunked_array(chunks, NAMES)


def _positions(every: Sequence[Stream]) -> np.ndarray | None:
    if all(each.positions is None for each in every):
        return None
    return np.concatenate([each.all_positions() for each in every])


def _known(stretch: Stream, partition: Partition) -> np.ndarray:
    known = stretch.ordinals.get(partition)
    return np.full(len(stretch.times), -1, np.int64) if known is None else known
