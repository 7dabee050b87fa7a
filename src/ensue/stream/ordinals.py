"""The number of an event among those with the same time, tiebreak and partition.

Ids of matches are made of it, so it must not depend on how the stream was cut, nor on which rows
are still kept. Where rows are dropped, the numbers of those that stay are written down
(`Stream.ordinals`), and how many of the last time there were (`Stream.ties`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ensue.plan.result_schema import Numbering
from ensue.predicates.vectors import column_at
from ensue.stream.batch import EventBatch
from ensue.stream.keys import encoded
from ensue.stream.ties import COUNT, Ties


def ordinals(stream: EventBatch, rows: np.ndarray, numbering: Numbering) -> np.ndarray:
    """Return the ordinals of some rows; 0 for those that the numbering leaves out."""
    known = stream.ordinals.get(numbering)
    result = np.full(len(rows), -1, np.int64) if known is None else known[rows]
    unknown = result < 0
    if unknown.any():
        result[unknown] = _counted(stream, rows[unknown], numbering)
    return result


def count_last(stream: EventBatch, position: int, numberings: Iterable[Numbering]) -> Ties:
    """Count the events of a stream's last time, all of which came before a position."""
    time = int(stream.times[-1])
    begin = int(np.searchsorted(stream.times, time))
    counts = {each: _summed(stream, time, begin, each) for each in numberings}
    return Ties(time, position, counts)


def _summed(stream: EventBatch, time: int, begin: int, numbering: Numbering) -> pa.Table:
    """Add the events of the last time to those that are counted already."""
    begin = max(begin, _first_counted(stream, time, numbering))
    rows = np.arange(begin, len(stream.times))
    before = _before(stream, time, numbering)
    columns = _columns(stream, rows, numbering, before)
    order, opens = _grouped([encoded(each)[0] for each in columns], _size(before) + len(rows))
    totals = np.add.reduceat(_weights(before, len(rows))[order], np.flatnonzero(opens))
    first = pa.array(order[opens])
    found = {str(number): each.take(first) for number, each in enumerate(columns)}
    return pa.table({**found, COUNT: pa.array(totals, pa.int64())})


def _counted(stream: EventBatch, rows: np.ndarray, numbering: Numbering) -> np.ndarray:
    times, ties = stream.times, stream.ties
    first = np.searchsorted(times, times[rows], "left")
    last = np.searchsorted(times, times[rows], "right")
    first = np.maximum(first, _row_of(stream, numbering.since))
    tied = last - first > 1
    before = None
    if ties is not None:
        of_time = times[rows] == ties.time
        first[of_time] = np.maximum(first[of_time], _first_counted(stream, ties.time, numbering))
        before = _before(stream, ties.time, numbering) if of_time.any() else None
        tied |= of_time if before is not None else False
    tied &= rows >= first
    counts = np.zeros(len(rows), np.int64)
    if not tied.any():
        return counts
    begins, where = np.unique(first[tied], return_index=True)
    among = _ranges(begins, last[tied][where])
    earlier = np.full(_size(before), 0 if ties is None else ties.time)
    columns = _columns(stream, among, numbering, before)
    classes = [np.concatenate([earlier, times[among]]), *(encoded(each)[0] for each in columns)]
    order, opens = _grouped(classes, len(classes[0]))
    weights = _weights(before, len(among))[order]
    passed = np.cumsum(weights) - weights
    ranks = np.empty(len(order), np.int64)
    ranks[order] = passed - np.maximum.accumulate(np.where(opens, passed, 0))
    counts[tied] = ranks[len(earlier) + np.searchsorted(among, rows[tied])]
    return counts


def _ranges(begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """List the whole numbers of ranges, none of which is empty.

    >>> _ranges(np.array([2, 7]), np.array([5, 9])).tolist()
    [2, 3, 4, 7, 8]
    """
    lengths = ends - begins
    steps = np.ones(lengths.sum(), np.int64)
    steps[np.cumsum(lengths)[:-1]] = begins[1:] - ends[:-1] + 1
    steps[:1] = begins[:1]
    return np.cumsum(steps)


def _row_of(stream: EventBatch, position: int) -> int:
    """Return the first row at a position or after it."""
    if stream.positions is None:
        return max(position - stream.first, 0)
    return int(np.searchsorted(stream.positions, position))


def _first_counted(stream: EventBatch, time: int, numbering: Numbering) -> int:
    """Return the first row of a time that is not among those counted already, or left out."""
    ties, row = stream.ties, _row_of(stream, numbering.since)
    return max(row, _row_of(stream, ties.position)) if ties and ties.time == time else row


def _before(stream: EventBatch, time: int, numbering: Numbering) -> pa.Table | None:
    """Return what is counted already of a time."""
    ties = stream.ties
    return ties.counts.get(numbering) if ties is not None and ties.time == time else None


def _size(before: pa.Table | None) -> int:
    return 0 if before is None else before.num_rows


def _weights(before: pa.Table | None, rows: int) -> np.ndarray:
    """Return how many events each row stands for: those counted already come first."""
    known = np.zeros(0, np.int64) if before is None else before.column(COUNT).to_numpy()
    return np.concatenate([known, np.ones(rows, np.int64)])


def _columns(
    stream: EventBatch, rows: np.ndarray, numbering: Numbering, before: pa.Table | None
) -> list[pa.ChunkedArray]:
    """Return the columns that tell classes of events apart, after those counted already."""
    paths = list(numbering.partition)
    if stream.tiebreak_path is not None:
        paths.append(stream.tiebreak_path)
    names = {path[0]: None for path in paths if path[0] in stream.table.column_names}
    table = stream.table.select(list(names)).take(pa.array(rows)) if names else None
    found = []
    for number, path in enumerate(paths):
        column = pa.chunked_array([pa.nulls(len(rows))])
        if table is not None:
            column = column_at(table, path)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if before is not None:
            every = [pa.table({"": each}) for each in (before.column(str(number)), column)]
            column = pa.concat_tables(every, promote_options="permissive").column(0)
        found.append(column)
    return found


def _grouped(classes: list[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Order rows by their classes, stably, and tell which open one."""
    order = np.lexsort((np.arange(rows), *reversed(classes)))
    opens = np.zeros(rows, bool)
    opens[:1] = True
    for each in classes:
        opens[1:] |= each[order][1:] != each[order][:-1]
    return order, opens
