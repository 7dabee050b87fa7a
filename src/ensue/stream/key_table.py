"""Numbers of very many keys: a hash table in arrays, of integers or of strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.kernels.hashing import Asked, Known, find_numbers, hash_strings, take_slots
from ensue.kernels.layout import NIL
from ensue.kernels.memory import doubled, read_only

_FIRST_SLOTS = 64

_NO_BYTES = read_only(np.zeros(0, np.int8))
_NO_OFFSETS = read_only(np.zeros(0, np.int64))


def askable(values: pa.Array) -> Asked | None:
    """Return values as the table looks for them; None: they are neither integers nor strings."""
    kind = values.type
    if values.null_count:
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        offsets, data = _bytes_of(values)
        words = np.empty(len(values), np.int64)
        hash_strings(offsets, data, words)
        return Asked(read_only(words), offsets, data)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        words = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return Asked(read_only(words), _NO_OFFSETS, _NO_BYTES)
    return None


def plain_array(values: Sequence[Any]) -> pa.Array | None:
    """Return Python's values as an array; None: they are not all integers or all strings."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return pa.array(values, pa.large_string())
    if kinds == {int} and min(values) >= -(1 << 63) and max(values) < 1 << 63:
        return pa.array(values, pa.int64())
    return None


def _bytes_of(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets and the bytes of strings."""
    large = values.cast(pa.large_string())
    _, offsets, data = large.buffers()
    places = np.frombuffer(offsets, np.int64, len(large) + 1, 8 * large.offset)
    own = _NO_BYTES if data is None else np.frombuffer(data, np.int8)
    return read_only(places), read_only(own)


@dataclass(slots=True)
class KeyTable:
    """Values with numbers that are given to them."""

    strings: bool
    count: int = 0
    _known: Known = field(init=False)
    _used: int = 0
    """How many bytes belong to strings, those that were dropped included."""

    def __post_init__(self) -> None:
        self._known = Known(
            np.full(_FIRST_SLOTS, NIL, np.int32),
            np.zeros(_FIRST_SLOTS, np.int64),
            np.zeros(_FIRST_SLOTS if self.strings else 1, np.int64),
            np.zeros(_FIRST_SLOTS if self.strings else 1, np.int32),
            np.zeros(_FIRST_SLOTS, np.int8),
        )

    def holds(self, asked: Asked | None) -> bool:
        """Tell whether values are of the kind of those that are there."""
        return asked is not None and self.strings == (len(asked.offsets) > 0)

    def find(self, asked: Asked) -> np.ndarray:
        """Return the numbers of values, -1 where they have none."""
        found = np.empty(len(asked.words), np.int32)
        find_numbers(self._known, asked, found)
        return found

    def put(self, asked: Asked, rows: np.ndarray, numbers: np.ndarray) -> None:
        """Give numbers to values in some rows, which have none."""
        self._reserve(int(numbers.max(initial=-1)) + 1)
        known = self._known
        known.words[numbers] = asked.words[rows]
        if self.strings:
            first, size = asked.offsets[rows], asked.offsets[rows + 1] - asked.offsets[rows]
            known.begin[numbers], known.length[numbers] = (
                self._write(asked.bytes, first, size),
                size,
            )
        self.count += len(numbers)
        if 2 * self.count > len(self._known.slots):
            numbers = np.concatenate([self.numbers(), numbers])
            self._relink(numbers)
        else:
            take_slots(self._known, read_only(numbers.astype(np.int64)))

    def _write(self, source: np.ndarray, first: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Append strings, and return where they begin."""
        begin: np.ndarray = np.cumsum(size) - size
        total = int(size.sum())
        room = doubled(len(self._known.bytes), self._used + total)
        if room > len(self._known.bytes):
            grown = np.zeros(room, np.int8)
            grown[: self._used] = self._known.bytes[: self._used]
            self._known = self._known._replace(bytes=grown)
        places = np.repeat(first - begin, size) + np.arange(total)
        self._known.bytes[self._used : self._used + total] = source[places]
        begin += self._used
        self._used += total
        return begin

    def _reserve(self, numbers: int) -> None:
        """Make room for so many numbers."""
        known = self._known
        if numbers <= len(known.words):
            return
        size = doubled(len(known.words), numbers)
        grown = {"words": np.zeros(size, np.int64)}
        if self.strings:
            grown |= {"begin": np.zeros(size, np.int64), "length": np.zeros(size, np.int32)}
        for name, array in grown.items():
            old = getattr(known, name)
            array[: len(old)] = old
        self._known = known._replace(**grown)

    def _relink(self, numbers: np.ndarray) -> None:
        """Put some numbers into slots anew, and no others."""
        slots = np.full(doubled(_FIRST_SLOTS, 4 * len(numbers)), NIL, np.int32)
        self._known = self._known._replace(slots=slots)
        take_slots(self._known, read_only(numbers.astype(np.int64)))

    def numbers(self) -> np.ndarray:
        """Return the numbers of all values."""
        slots = self._known.slots
        found: np.ndarray = slots[slots != NIL].astype(np.int64)
        return found

    def keep(self, numbers: np.ndarray) -> None:
        """Forget all values but those with these numbers."""
        known = self._known
        if self.strings:
            old, first, size = known.bytes, known.begin[numbers], known.length[numbers]
            self._used = 0
            self._known = known._replace(bytes=np.zeros(_FIRST_SLOTS, np.int8))
            begin = self._write(old, first, size.astype(np.int64))
            self._known.begin[numbers] = begin
        self.count = len(numbers)
        self._relink(numbers)

    def values(self, numbers: np.ndarray) -> list[Any]:
        """Return the values that have these numbers."""
        known = self._known
        if not self.strings:
            plain: list[Any] = known.words[numbers].tolist()
            return plain
        size = known.length[numbers].astype(np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
        places = np.repeat(known.begin[numbers] - offsets[:-1], size) + np.arange(offsets[-1])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(known.bytes[places])]
        texts = pa.Array.from_buffers(pa.large_string(), len(numbers), buffers)
        found: list[Any] = texts.to_pylist()
        return found
