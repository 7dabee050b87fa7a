"""The event store: the rows that matches may still refer to, and no others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.kernels.sets import distinct
from ensue.plan.result_schema import Numbering
from ensue.predicates.vectors import single_chunk
from ensue.stream.batch import NAMES, EventBatch
from ensue.stream.ordinals import count_last, ordinals
from ensue.stream.rows import load_rows, save_rows
from ensue.stream.ties import Ties
from ensue.stream.time_scale import TimeScale

_MERGED_UP_TO_ROWS = 1 << 15
"""Batches with more rows than this are left alone."""

_THINS_FROM_ROWS = 1 << 13
"""Of so many rows, those that no partial match refers to are looked for."""

_TIED_ROWS_WORTH_DROPPING = 1 << 10
"""So many rows that share their time with rows that stay are worth being counted and dropped."""

_MERGED_AT_ONCE = 32
"""So many batches of about one size are put together into one."""


@dataclass(slots=True)
class EventStore:
    """Batches of the stream, the oldest dropped when they are not needed any more.

    Events may come one by one, so small batches are put together into larger ones; there are
    never more than some dozens, whatever the window. Of the events of a time some may be dropped
    and others kept: ids of matches number them, so those that are gone are counted.
    """

    _batches: list[EventBatch] = field(default_factory=list)
    _levels: list[int] = field(default_factory=list)
    """How often each batch has been put together; negative: it is left alone."""
    _ties: Ties | None = None
    """How many events of the first time there were before those that are kept."""
    _kept: int = 0
    _added: int = 0
    _thinned: int = 0

    @property
    def following(self) -> int:
        """The position after the last row that came."""
        last = self._batches[-1:]
        return sum(each.first + len(each.times) for each in last)

    @property
    def newest(self) -> EventBatch:
        """The batch that came last."""
        return self._batches[-1]

    def add(self, stream: EventBatch) -> None:
        """Append a batch."""
        if not len(stream.times):
            if not self._batches:
                self._batches.append(stream)
                self._levels.append(0)
            return
        if self._batches and not len(self._batches[-1].times):
            self._batches.pop()
            self._levels.pop()
        self._batches.append(stream)
        self._levels.append(0)
        self._added += len(stream.times)
        while self._levels[-_MERGED_AT_ONCE:].count(self._levels[-1]) == _MERGED_AT_ONCE:
            self._merge(self._levels[-1])

    def _merge(self, level: int) -> None:
        """Put the last batches together, unless they are large enough to stay as they are."""
        last = self._batches[-_MERGED_AT_ONCE:]
        if sum(len(each.times) for each in last) > _MERGED_UP_TO_ROWS:
            self._levels[-_MERGED_AT_ONCE:] = range(-1, -_MERGED_AT_ONCE - 1, -1)
            return
        del self._batches[-_MERGED_AT_ONCE:], self._levels[-_MERGED_AT_ONCE:]
        self._batches.append(_compact(_joined(last)))
        self._levels.append(level + 1)

    def view(self, *more: EventBatch) -> Callable[[], EventBatch]:
        """Return all batches that are there now, to be concatenated on demand.

        More that follow them may be given, of which the store keeps nothing.
        """
        every = tuple(self._batches)
        if more and every and not len(every[-1].times):
            every = every[:-1]
        ties = self._ties
        if ties is None:
            return lambda: _joined((*every, *more))
        return lambda: replace(_joined((*every, *more)), ties=ties)

    def since(self, position: int) -> EventBatch:
        """Return all rows from a position on, of which none was thinned out."""
        after = [each for each in self._batches if each.first + len(each.times) > position]
        if not after:
            return replace(self.newest.slice(0, 0), first=position, positions=None)
        whole = _joined(after)
        (row,) = whole.rows_at(np.array([position])).tolist()
        rest = whole.slice(row, len(whole.times))
        return replace(rest, first=position, positions=None)

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        return sum(len(each.times) for each in self._batches)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(each.table.nbytes + each.times.nbytes for each in self._batches)

    @property
    def is_large(self) -> bool:
        """Whether it is worth while to look for rows between those needed."""
        return (
            len(self._batches) > 1
            and self._kept + self._added > 2 * self._thinned + _THINS_FROM_ROWS
        )

    @property
    def has_grown(self) -> bool:
        """Whether it is worth while to look for rows that are not needed."""
        return len(self._batches) > 1 and 4 * self._added >= self._kept

    def keep_only(
        self, positions: np.ndarray, numberings: Iterable[Numbering] = (), *, last_too: bool = False
    ) -> None:
        """Keep the events at some positions only, and unless asked for all of the last batch.

        Where that would gain little, nothing is done, except that `last_too` always does it.
        """
        cut = len(self._batches) - (0 if last_too else 1)
        if cut > 0 and self.rows:
            numberings = tuple(numberings)
            old = self._with_ties(_joined(self._batches[:cut]))
            rows = np.flatnonzero(np.isin(old.all_positions(), positions))
            if last_too or 2 * len(rows) <= len(old.times):
                numbers = {each: ordinals(old, rows, each) for each in numberings}
                thinned = replace(old.take(rows), ordinals=numbers, ties=None)
                self._ties = self._ties_at(cut, numberings)
                gone = not len(rows) and cut < len(self._batches)
                self._batches[:cut] = [] if gone else [thinned]
                self._levels[:cut] = [] if gone else [-1]
        self._kept, self._added = self.rows, 0
        self._thinned = self._kept

    def trimmed(
        self, first: int, needed: np.ndarray | None, numberings: Iterable[Numbering] = ()
    ) -> EventStore:
        """Return a store of the rows from a position on, or of those needed where they are few."""
        numberings = tuple(numberings)
        other = replace(self, _batches=self._batches[:], _levels=self._levels[:])
        other.forget_before(first, numberings, exactly=True)
        if needed is not None and 2 * len(distinct(needed)) <= other.rows:
            other.keep_only(needed, numberings, last_too=True)
        return other

    def positions_from(self, first: int) -> np.ndarray:
        """Return the positions of all rows that are kept, from some position on."""
        every = _joined(self._batches).all_positions() if self._batches else np.zeros(0, int)
        return every[every >= first]

    def save(self) -> dict[str, Any]:
        """Save all rows that are kept."""
        return {} if not self._batches else save_rows(self.view()())

    def load(self, saved: Mapping[str, Any], time_path: AttributePath | None) -> None:
        """Go on with rows that were saved."""
        if saved:
            kept = load_rows(saved, time_path)
            self._ties = kept.ties
            self._batches, self._levels = [replace(kept, ties=None)], [-1]
            self._kept = self._thinned = self.rows

    def rescaled(self, scale: TimeScale) -> EventStore:
        """Return a store of the same rows, whose times are nanoseconds."""
        ties = self._ties
        return replace(
            self,
            _batches=[scale.batch(each) for each in self._batches],
            _levels=self._levels[:],
            _ties=ties and replace(ties, time=scale.time(ties.time)),
        )

    def forget_before(
        self, position: int, numberings: Iterable[Numbering] = (), *, exactly: bool = False
    ) -> None:
        """Drop batches that end before a position, or exactly the rows before it.

        Where that leaves events of a time of which others are dropped, these are counted for the
        numberings (see ordinals.py). That takes time, so it is done for many of them at once.
        """
        if exactly:
            self._split(position)
        batches, numberings = self._batches, tuple(numberings)
        ends = [each.first for each in batches[1:]]
        cut = bisect_right(ends, position)
        if numberings and not exactly:
            clean = cut
            while clean and self._shares_time(clean):
                clean -= 1
            tied = sum(len(each.times) for each in batches[clean:cut])
            if tied < max(_TIED_ROWS_WORTH_DROPPING, 0 if self._ties is None else self._ties.size):
                cut = clean
        if cut:
            self._ties = self._ties_at(cut, numberings)
            del batches[:cut], self._levels[:cut]
        self._kept, self._added = self.rows, 0

    def _split(self, position: int) -> None:
        """Make a batch begin at a position, or an empty last one where all lie before it."""
        for number, each in enumerate(self._batches):
            last = number == len(self._batches) - 1
            row = int(np.searchsorted(each.all_positions(), position))
            if row and (row < len(each.times) or last):
                parts = [each.slice(0, row), each.slice(row, len(each.times))]
                parts[1] = replace(parts[1], first=max(position, each.first))
                self._batches[number : number + 1] = parts
                self._levels[number : number + 1] = [-1, -1]
                return

    def _shares_time(self, cut: int) -> bool:
        """Tell whether there are, or may come, events of one time on both sides of a cut."""
        last, following = self._time(cut - 1, -1), self._time(cut, 0)
        return following is None or last == following

    def _time(self, number: int, row: int) -> int | None:
        """Return the time of a row of a batch, if there is one."""
        times = self._batches[number].times if number < len(self._batches) else ()
        return int(times[row]) if len(times) else None

    def _ties_at(self, cut: int, numberings: Sequence[Numbering]) -> Ties | None:
        """Count the events before a cut that may have the time of others after it."""
        if not numberings:
            return None
        ties, last, following = self._ties, self._time(cut - 1, -1), self._time(cut, 0)
        if ties is not None and last is not None and ties.time > last:
            # Rows between the cut and these counts were thinned out, and know their numbers.
            return ties if following is None or following <= ties.time else None
        if last is None or not self._shares_time(cut):
            return ties if ties is not None and following in (None, ties.time) else None
        begin = cut - 1
        while begin and self._time(begin - 1, -1) == last:
            begin -= 1
        old = self._with_ties(_joined(self._batches[begin:cut]))
        position = int(old.all_positions()[-1]) + 1
        return count_last(old, max(position, ties.position if ties else 0), numberings)

    def _with_ties(self, stream: EventBatch) -> EventBatch:
        return stream if self._ties is None else replace(stream, ties=self._ties)


def _compact(stream: EventBatch) -> EventBatch:
    """Copy rows, so that they do not lie in many chunks."""
    return replace(
        stream,
        table=stream.table.combine_chunks(),
        types=pa.chunked_array([single_chunk(stream.types)]),
    )


def _joined(every: Sequence[EventBatch]) -> EventBatch:
    """Put batches that follow one another together."""
    if len(every) == 1:
        return every[0]
    return replace(
        every[0],
        table=_tables(every),
        types=_types(every),
        streams=_streams(every),
        times=np.concatenate([each.times for each in every]),
        positions=_positions(every),
        ordinals={
            numbering: np.concatenate([_known(each, numbering) for each in every])
            for numbering in dict.fromkeys(n for each in every for n in each.ordinals)
        },
    )


def _tables(every: Sequence[EventBatch]) -> pa.Table:
    tables = [each.table for each in every]
    if all(each.schema.equals(tables[0].schema) for each in tables):
        return pa.concat_tables(tables)
    return pa.concat_tables(tables, promote_options="permissive")


def _types(every: Sequence[EventBatch]) -> pa.ChunkedArray:
    chunks = [chunk for each in every for chunk in each.types.chunks]
    kind = every[0].types.type
    if any(each.types.type != kind for each in every):
        kind = pa.string()
        chunks = [chunk.cast(kind) for chunk in chunks]
    return pa.chunked_array(chunks, kind)


def _streams(every: Sequence[EventBatch]) -> pa.ChunkedArray | None:
    if all(each.streams is None for each in every):
        return None
    chunks: list[pa.Array] = []
    for each in every:
        if each.streams is None:
            chunks.append(pa.nulls(len(each.times), NAMES))
        else:
            chunks += each.streams.chunks
    return pa.chunked_array(chunks, NAMES)


def _positions(every: Sequence[EventBatch]) -> np.ndarray | None:
    if all(each.positions is None for each in every):
        return None
    return np.concatenate([each.all_positions() for each in every])


def _known(batch: EventBatch, numbering: Numbering) -> np.ndarray:
    known = batch.ordinals.get(numbering)
    return np.full(len(batch.times), -1, np.int64) if known is None else known
