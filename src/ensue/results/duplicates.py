"""Matches that are equal, found among many: those of several runs, or after a projection."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.results.aggregate_columns import AggregatedColumns, ComputedEvents

_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def first_of_equal(chunk: AggregatedColumns, order: np.ndarray, names: list[str]) -> np.ndarray:
    """Return where, in this order, matches stand that are equal to none before.

    Equal matches have equal hashes; those few whose hash another has too are compared.
    """
    hashes = _hashes(chunk, names)[order]
    by_hash = np.argsort(hashes, kind="stable")
    same = hashes[by_hash[1:]] == hashes[by_hash[:-1]]
    if not same.any():
        return np.arange(len(order))
    alike = np.zeros(len(order), bool)
    alike[by_hash[1:][same]] = alike[by_hash[:-1][same]] = True
    doubtful = np.flatnonzero(alike)
    first = _first_of_compared(chunk.taken(order[doubtful]), names)
    return np.sort(np.concatenate([np.flatnonzero(~alike), doubtful[first]]))


def _hashes(chunk: AggregatedColumns, names: list[str]) -> np.ndarray:
    found: np.ndarray = _mixed(chunk.start, "") + _mixed(chunk.end, "end")
    for name in names:
        lists = chunk.bound[name]
        offsets = lists.offsets.to_numpy()
        own = lists.values.to_numpy(zero_copy_only=False)
        found += _sums(_mixed(own, f"${name}"), offsets)
    for name, events in chunk.computed.items():
        words = _mixed(events.end, f"#{name}") + _mixed(events.place, "")
        for each in events.columns.values():
            for word in each.words():
                words = _spread(words + word.view(np.uint64))
        found += _sums(words, events.offsets)
    return found


def _mixed(values: np.ndarray, role: str) -> np.ndarray:
    return _spread(np.ascontiguousarray(values, np.int64).view(np.uint64) + _salt(role))


@lru_cache(maxsize=1024)
def _salt(text: str) -> np.uint64:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _spread(words: np.ndarray) -> np.ndarray:
    """Spread every bit over all (the finaliser of splitmix64)."""
    words = (words ^ words >> _SHIFTS[0]) * _FACTORS[0]
    words = (words ^ words >> _SHIFTS[1]) * _FACTORS[1]
    spread: np.ndarray = words ^ words >> _SHIFTS[2]
    return spread


def _sums(words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    running = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(words, out=running[1:])
    sums: np.ndarray = running[offsets[1:]] - running[offsets[:-1]]
    return sums


def _first_of_compared(chunk: AggregatedColumns, names: list[str]) -> np.ndarray:
    """Return which matches are equal to none before, by comparing all that they have."""
    keys = [chunk.end, chunk.start]
    for name in names:
        lists = chunk.bound[name]
        values = lists.values.to_numpy(zero_copy_only=False)
        keys.append(_codes(values.reshape(-1, 1), lists.offsets.to_numpy()))
    keys += [_codes(_table(each), each.offsets) for each in chunk.computed.values()]
    table = np.stack([np.asarray(key).astype(np.int64) for key in keys], axis=1)
    _, first = np.unique(table, axis=0, return_index=True)
    return first


def _table(events: ComputedEvents) -> np.ndarray:
    """Write computed events as rows of integers."""
    words = [word for each in events.columns.values() for word in each.words()]
    return np.stack([events.end.astype(np.int64), events.place, *words], axis=1)


def _codes(rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Number lists of rows, equal ones alike."""
    data = np.ascontiguousarray(rows.astype(np.int64))
    places = offsets.astype(np.int64) * data.shape[1] * data.itemsize
    buffers = [None, pa.py_buffer(places), pa.py_buffer(data)]
    texts = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    codes: np.ndarray = pc.dictionary_encode(texts).indices.to_numpy()
    return codes
