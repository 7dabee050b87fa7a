"""Partition keys: values to small numbers that stay the same while anybody needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.engine.stream import column_at

_SLACK = 1 << 16
"""So many keys may be known in vain before the living are looked for."""


@dataclass(slots=True)
class Keys:
    """The keys seen so far, each with a number; numbers of forgotten keys are used again."""

    paths: tuple[AttributePath, ...]
    _numbers: dict[Any, int] = field(default_factory=dict)
    _free: list[int] = field(default_factory=list)
    _room: int = 0
    _living: int = 0
    _counts: np.ndarray = field(default_factory=lambda: np.zeros(64, np.int64))

    def read(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the key of each event (-1: NULL), and which events are the first of their key."""
        codes, values = self._codes(table)
        fresh = [value not in self._numbers for value in values]
        numbers = np.array([self._number(value) for value in values] or [0], np.int32)
        keys = np.where(codes >= 0, numbers[codes], np.int32(-1))
        opens = np.zeros(len(codes), bool)
        if any(fresh):
            present, where = np.unique(codes, return_index=True)
            is_fresh = np.array([*fresh, False])
            opens[where[is_fresh[present]]] = True
        return keys.astype(np.int32), opens

    def _number(self, value: Any) -> int:
        number = self._numbers.get(value)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = self._room
                self._room += 1
            self._numbers[value] = number
        return number

    def _codes(self, table: pa.Table) -> tuple[np.ndarray, list[Any]]:
        """Number the keys of a table, and list them in the order of these numbers."""
        codes, values = _encoded(column_at(table, self.paths[0]))
        for path in self.paths[1:]:
            more, others = _encoded(column_at(table, path))
            known = (codes >= 0) & (more >= 0)
            pairs = codes[known] * np.int64(max(len(others), 1)) + more[known]
            present, inverse = np.unique(pairs, return_inverse=True)
            codes = np.full(len(known), -1, np.int64)
            codes[known] = inverse
            width = max(len(others), 1)
            values = [(values[pair // width], others[pair % width]) for pair in present.tolist()]
        return codes, values

    def counters(self) -> np.ndarray:
        """Return, for each key, how many of its events were read."""
        if self._room > len(self._counts):
            grown = np.zeros(2 * self._room, np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        return self._counts

    @property
    def has_grown(self) -> bool:
        """Whether it is worth looking for keys to forget."""
        return len(self._numbers) > 2 * self._living + _SLACK

    def keep_only(self, living: np.ndarray) -> None:
        """Forget all keys but those with these numbers."""
        kept = set(living.tolist())
        self._free += [number for number in self._numbers.values() if number not in kept]
        self._numbers = {value: n for value, n in self._numbers.items() if n in kept}
        self._living = len(self._numbers)


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """Return a code for each row (-1: NULL or NaN) and the values behind the codes."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.zeros(0, np.int64), []
    indices = pa.chunked_array([chunk.indices.cast(pa.int64()) for chunk in column.chunks])
    codes: np.ndarray = pc.fill_null(indices, -1).to_numpy()
    return codes, column.chunk(0).dictionary.to_pylist()
