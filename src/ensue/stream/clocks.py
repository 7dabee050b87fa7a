"""What a query reads of a stretch of the stream, besides predicates: keys and clocks."""

from __future__ import annotations

import numpy as np

from ensue.analysis.bound import Window
from ensue.kernels.match.evaluate import count_ordinals
from ensue.predicates.vectors import Strings, vector_of
from ensue.stream.batch import EventBatch
from ensue.stream.keys import Keys

_NO_KEYS = np.zeros(0, np.int32)


def read_keys(
    keys: Keys | None, stream: EventBatch, *, openings: bool, begins: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the key of each event, and if asked which events open their substream.

    Without keys that is the event at the position where the stream begins.
    """
    if keys is not None:
        return keys.read(stream.table, openings=openings)
    opens = np.zeros(stream.table.num_rows, bool)
    opens[:1] = stream.first == begins
    return _NO_KEYS, opens


def unread(
    known: Keys | None,
    keys: np.ndarray,
    opens: np.ndarray | None,
    read: int,
    *,
    counted: bool,
) -> None:
    """Take back what was read of the keys of all but the first events of a stretch."""
    if known is not None:
        known.unread(keys[read:], None if opens is None else opens[read:], counted=counted)


def read_clocks(
    window: Window | None, known: Keys | None, stream: EventBatch, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what windows are measured on, and for numbers within keys the next of each."""
    if window is None or window.kind != "events":
        return np.ascontiguousarray(stream.times), None
    if known is None:
        rows = stream.table.num_rows
        return np.arange(stream.first, stream.first + rows, dtype=np.int64), None
    ordinals = np.zeros(len(keys), np.int64)
    counts = known.counters()
    before = counts.copy()
    count_ordinals(keys, counts, ordinals)
    return ordinals, before


def read_streams(stream: EventBatch) -> Strings | None:
    """Return the streams of events, where there are several."""
    if stream.streams is None:
        return None
    streams = vector_of(stream.streams)
    assert isinstance(streams, Strings)
    return streams
