"""The number of an event among those with the same time, tiebreak and partition.

Ids of matches are made of it, so it must not depend on how the stream was cut. Rows of a stream
are never dropped between two of one time unless the numbers of those that stay are written down.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.analysis.schema import AttributePath
from ensue.engine.keys import encoded
from ensue.engine.stream import Stream, column_at

Partition = tuple[AttributePath, ...]


def ordinals(stream: Stream, rows: np.ndarray, partition: Partition) -> np.ndarray:
    """Return the ordinals of some rows."""
    known = stream.ordinals.get(partition)
    result = np.full(len(rows), -1, np.int64) if known is None else known[rows]
    unknown = result < 0
    if unknown.any():
        result[unknown] = _counted(stream, rows[unknown], partition)
    return result


def _counted(stream: Stream, rows: np.ndarray, partition: Partition) -> np.ndarray:
    times = stream.times
    first = np.searchsorted(times, times[rows], "left")
    last = np.searchsorted(times, times[rows], "right")
    tied = last - first > 1
    counts = np.zeros(len(rows), np.int64)
    if not tied.any():
        return counts
    steps = np.zeros(len(times) + 1, np.int64)
    begins, where = np.unique(first[tied], return_index=True)
    np.add.at(steps, begins, 1)
    np.add.at(steps, last[tied][where], -1)
    among = np.flatnonzero(np.cumsum(steps[:-1]) > 0)
    table = stream.table.take(pa.array(among))
    paths = list(partition)
    if stream.tiebreak_path is not None:
        paths.append(stream.tiebreak_path)
    classes = [times[among], *(encoded(column_at(table, path))[0] for path in paths)]
    order = np.lexsort((among, *reversed(classes)))
    opens = np.zeros(len(among), bool)
    opens[0] = True
    for each in classes:
        opens[1:] |= each[order][1:] != each[order][:-1]
    places = np.arange(len(among))
    ranks = np.empty(len(among), np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(opens, places, 0))
    counts[tied] = ranks[np.searchsorted(among, rows[tied])]
    return counts
