"""The order of streams that meet in one query: a derived event comes after what completed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.stream.batch import NAMES, EventBatch


class Events(NamedTuple):
    """Events that a step brings on one level, and their places in the order of all streams.

    A place is a row of numbers: the number of an event of the input, and for every derived event
    on the way from it the numbers of its stream and of its match. They are compared from the left,
    and the least number stands for nothing more, so what an event completes comes right after it.
    """

    batch: EventBatch
    places: np.ndarray
    known: np.ndarray
    """When they are known: at their times, or later where time had to show that nothing follows."""


def of_streams(stream: EventBatch, names: Sequence[str]) -> np.ndarray:
    """Return the rows of some streams; an event that came without one is of all."""
    if stream.streams is None:
        return np.arange(len(stream.times))
    own = pc.is_in(stream.streams.cast(pa.string()), pa.array([*names, None], pa.string()))
    return np.flatnonzero(own.to_numpy(zero_copy_only=False))


NOTHING = -(1 << 63)
"""Stands behind a place that is shorter than others."""

LATER = 1 << 32
"""Larger than the number of any stream: what time decides comes after what an event completes."""


def merged(parts: Sequence[Events], first: int) -> Events:
    """Put the events of several streams into one order, and number them from a position on."""
    batches = [each.batch for each in parts]
    if len(parts) == 1:
        (batch,), places, known = batches, parts[0].places, parts[0].known
    else:
        known = np.concatenate([each.known for each in parts])
        width = max(each.places.shape[1] for each in parts)
        places = np.vstack([padded(each.places, width) for each in parts])
        batch = EventBatch(
            pa.concat_tables([each.table for each in batches], promote_options="permissive"),
            _names([each.types for each in batches]),
            _names([_streams(each) for each in batches]),
            np.concatenate([each.times for each in batches]),
            batches[0].time_path,
            batches[0].tiebreak_path,
            first,
        )
        order = np.lexsort(places.T[::-1])
        if (order[1:] < order[:-1]).any():
            batch, places, known = batch.take(order), places[order], known[order]
    times = batch.times
    if batch.time_path is None:
        times = np.arange(first, first + len(times))
    return Events(replace(batch, times=times, first=first, positions=None), places, known)


def padded(places: np.ndarray, width: int) -> np.ndarray:
    """Give places so many numbers."""
    return np.pad(places, ((0, 0), (0, width - places.shape[1])), constant_values=NOTHING)


def _streams(batch: EventBatch) -> pa.ChunkedArray:
    """Return the stream of each event, NULL where it is not known."""
    if batch.streams is not None:
        return batch.streams
    return pa.chunked_array([pa.nulls(len(batch.times), NAMES)])


def _names(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Put columns of names together."""
    chunks = [chunk.cast(pa.string()) for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).dictionary_encode().cast(NAMES)
