"""Partition keys as small numbers, and the clocks that windows are measured on.

A key keeps its number while anybody needs it; numbers of dropped keys are used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.bound import Window
from ensue.analysis.schema import AttributePath
from ensue.kernels.match.evaluate import count_ordinals
from ensue.kernels.sets import distinct
from ensue.predicates.vectors import Strings, column_at, plain_dictionary, single_chunk, vector_of
from ensue.stream.batch import EventBatch
from ensue.stream.key_table import KeyTable, askable, plain_array

_UNUSED_KEYS = 1 << 16
"""So many keys may be kept without need before the live ones are looked for."""

MANY_KEYS = 1 << 14
"""More keys than these are kept in a table, fewer in a dictionary, which needs no kernel."""


@dataclass(slots=True)
class Keys:
    """The keys seen so far, each with a number; numbers of forgotten keys are used again.

    The keys of the first batch are numbered as they come and not indexed, until a
    second batch comes: then `settle` writes down those that are still of interest.
    """

    paths: tuple[AttributePath, ...]
    room: int = 0
    """All numbers are below this."""
    _numbers: dict[Any, int] = field(default_factory=dict)
    _table: KeyTable | None = None
    """In the place of the dictionary, where keys of one kind are very many."""
    _unsettled: pa.Array | None = None
    _free: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    _living: int = 0
    _counts: np.ndarray = field(default_factory=lambda: np.zeros(64, np.int64))
    _unopened: set[int] = field(default_factory=set)
    """Keys that have a number, but none of whose events was read."""

    def read(self, table: pa.Table, *, openings: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the key of each event (-1: NULL) and, if asked, which are the first of theirs."""
        if self._table is not None and not openings and len(self.paths) == 1:
            keys = self._looked_up(self._table, column_at(table, self.paths[0]))
            if keys is not None:
                return keys, None
        codes, values = self._codes(table)
        opens = np.zeros(len(codes), bool) if openings else None
        if self.room == 0:
            self.room = len(values)
            self._unsettled = values
            fresh = np.ones(len(values) + 1, bool)
            numbers = np.arange(max(len(values), 1), dtype=np.int32)
        else:
            numbers, fresh = self._found(values)
            if self._unopened:
                fresh[:-1] |= np.isin(numbers[: len(values)], list(self._unopened))
                self._unopened.clear()
        fresh[-1] = False
        if opens is not None and fresh.any():
            present, where = np.unique(codes, return_index=True)
            opens[where[fresh[present]]] = True
        keys = numbers[codes]
        if len(codes) and codes.min() < 0:
            keys[codes < 0] = -1
        return keys, opens

    def _looked_up(self, known: KeyTable, column: pa.ChunkedArray) -> np.ndarray | None:
        """Return the key of each event from the table, without telling values apart before.

        None: they are of another kind than those that are there, or numbered by a dictionary.
        """
        asked = askable(single_chunk(column))
        if asked is None or not known.holds(asked):
            return None
        keys = known.find(asked)
        rows = np.flatnonzero(keys < 0)
        if len(rows):
            new = column.take(pa.array(rows))
            codes, values = encoded(new)
            keys[rows] = self._found(values)[0][codes]
        self._unopened.clear()
        return keys

    def unread(self, keys: np.ndarray, opens: np.ndarray | None, *, counted: bool) -> None:
        """Take back the last of the events that were read; they will be read again next.

        `counted` tells whether they were given their numbers within their keys.
        """
        if counted:
            np.subtract.at(self._counts, keys[keys >= 0], 1)
        if opens is not None and opens.any():
            if self._unsettled is not None:
                self.settle(None)
            self._unopened = set(keys[opens].tolist())

    def _found(self, values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of keys, at least one, and which are new; these get theirs."""
        asked = None
        if self._table is not None:
            asked = askable(values)
            if not self._table.holds(asked):
                self._leave_table()
        if self._table is not None and asked is not None:
            numbers = np.append(self._table.find(asked), np.int32(0))
            fresh = numbers < 0
            rows = np.flatnonzero(fresh)
            if len(rows):
                numbers[rows] = own = self._new_numbers(len(rows))
                self._table.put(asked, rows, own)
            return numbers[: max(len(values), 1)], fresh
        known = values.to_pylist()
        if pa.types.is_struct(values.type):
            known = list(map(_hashable, known))
        numbers = np.array([*map(self._numbers.get, known, repeat(-1)), 0], np.int32)
        fresh = numbers < 0
        rows = np.flatnonzero(fresh)
        numbers[rows] = own = self._new_numbers(len(rows))
        for row, number in zip(rows.tolist(), own.tolist(), strict=True):
            self._numbers[known[row]] = number
        if len(self._numbers) > MANY_KEYS:
            self._enter_table(list(self._numbers), self.numbers())
        return numbers[: max(len(known), 1)], fresh

    def _new_numbers(self, count: int) -> np.ndarray:
        """Give out numbers, those of forgotten keys first."""
        again = self._free[len(self._free) - min(count, len(self._free)) :]
        self._free = self._free[: len(self._free) - len(again)]
        more = count - len(again)
        self.room += more
        return np.concatenate([again[::-1], np.arange(self.room - more, self.room)])

    def _enter_table(self, values: Sequence[Any] | pa.Array, numbers: np.ndarray) -> bool:
        """Keep keys in a table, if they are all integers or all strings."""
        array = values if isinstance(values, pa.Array) else plain_array(values)
        asked = None if array is None else askable(array)
        if asked is None:
            return False
        self._table, self._numbers = KeyTable(len(asked.offsets) > 0), {}
        self._table.put(asked, np.arange(len(numbers)), numbers)
        return True

    def _leave_table(self) -> None:
        """Keep keys in a dictionary, because there are some of another kind."""
        assert self._table is not None
        numbers = self._table.numbers()
        values = self._table.values(numbers)
        self._numbers = dict(zip(values, numbers.tolist(), strict=True))
        self._table = None

    def numbers(self) -> np.ndarray:
        """Return the numbers of all keys, after `settle`."""
        if self._table is not None:
            return self._table.numbers()
        return np.fromiter(self._numbers.values(), np.int64, len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers) if self._table is None else self._table.count

    def _codes(self, table: pa.Table) -> tuple[np.ndarray, pa.Array]:
        """Number the keys of a table, and list them in the order of these numbers."""
        codes, values = encoded(column_at(table, self.paths[0]))
        for path in self.paths[1:]:
            more, others = encoded(column_at(table, path))
            known = (codes >= 0) & (more >= 0)
            width = max(len(others), 1)
            pairs = codes[known].astype(np.int64) * width + more[known]
            present, inverse = np.unique(pairs, return_inverse=True)
            codes = np.full(len(known), -1, np.int64)
            codes[known] = inverse
            left, right = (
                values.take(pa.array(present // width)),
                others.take(pa.array(present % width)),
            )
            values = pa.StructArray.from_arrays([left, right], ["", "_"])
        return codes, values

    def counters(self) -> np.ndarray:
        """Return, for each key, how many of its events were read."""
        if self.room > len(self._counts):
            grown = np.zeros(2 * self.room, np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        return self._counts

    @property
    def wants_settling(self) -> bool:
        """Whether it is time to tell which keys live on."""
        return self._unsettled is not None or len(self) > 2 * self._living + _UNUSED_KEYS

    def settle(self, living: np.ndarray | None) -> None:
        """Forget all keys but those with these numbers, in any order (None: forget none)."""
        lives = np.full(self.room, living is None)
        if living is not None:
            lives[living] = True
        if self._unsettled is not None:
            every = np.flatnonzero(lives)
            values = self._unsettled.take(pa.array(every))
            if len(every) <= MANY_KEYS or not self._enter_table(values, every):
                known = map(_hashable, values.to_pylist())
                self._numbers = dict(zip(known, every.tolist(), strict=True))
            self._free = np.flatnonzero(~lives)
            self._unsettled = None
        elif living is not None:
            every = self.numbers()
            kept = lives[every]
            self._free = np.concatenate([self._free, every[~kept]])
            if self._table is not None:
                self._table.keep(every[kept])
            else:
                items = zip(self._numbers.items(), kept.tolist(), strict=True)
                self._numbers = dict(item for item, stays in items if stays)
        self._living = len(self)

    def save(self) -> dict[str, Any]:
        """Save the keys, after `settle`."""
        numbers = self.numbers()
        counts = self.counters()[numbers] if len(numbers) else numbers
        values = list(self._numbers) if self._table is None else self._table.values(numbers)
        saved = {"values": values, "numbers": numbers, "counts": counts}
        return saved | {"unopened": tuple(self._unopened)} if self._unopened else saved

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on with keys that were saved; ValueError where they cannot be."""
        numbers = saved["numbers"]
        if len(numbers) and (numbers.min() < 0 or len(distinct(numbers)) < len(numbers)):
            raise ValueError("two keys have one number")
        self.room = int(numbers.max(initial=0)) + 1
        self._numbers = dict(zip(saved["values"], numbers.tolist(), strict=True))
        if len(numbers) > MANY_KEYS:
            self._enter_table(saved["values"], numbers)
        self._free = np.setdiff1d(np.arange(self.room), numbers)
        self._living = len(numbers)
        self.counters()[numbers] = saved["counts"]
        self._unopened = set(saved.get("unopened", ()))


def _hashable(value: Any) -> Any:
    """Return a value that can be looked up: pairs come as dicts."""
    return tuple(map(_hashable, value.values())) if isinstance(value, dict) else value


def encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Return a code for each row (-1: NULL or NaN) and the values behind the codes."""
    column = plain_dictionary(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, pc.add(column, 0.0))  # -0.0 is 0.0
    elif pa.types.is_temporal(column.type):
        column = _as_integers(column)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    elif pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    array = single_chunk(column)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes = array.indices
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int64()), -1)
    return codes.to_numpy(zero_copy_only=False), array.dictionary


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Number instants and durations in their own units: Python has no nanoseconds."""
    narrow = pa.types.is_date32(column.type) or pa.types.is_time32(column.type)
    return column.cast(pa.int32()).cast(pa.int64()) if narrow else column.cast(pa.int64())


_NO_KEYS = np.zeros(0, np.int32)


def read_keys(
    keys: Keys | None, stream: EventBatch, *, openings: bool, begins: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the key of each event, and if asked which events open their substream.

    Without keys that is the event at the position where the stream begins.
    """
    if keys is not None:
        return keys.read(stream.table, openings=openings)
    if not openings:
        return _NO_KEYS, None
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
    """Take back what was read of the keys of all but the first events of a batch."""
    if known is not None:
        known.unread(keys[read:], None if opens is None else opens[read:], counted=counted)


def read_clocks(
    window: Window | None, known: Keys | None, stream: EventBatch, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return what windows are measured on, and for numbers within keys the next of each."""
    if window is None or window.kind != "events":
        return np.ascontiguousarray(stream.times), None
    return read_ordinals(known, stream, keys)


def read_ordinals(
    known: Keys | None, stream: EventBatch, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Number events within their keys, and return the next number of each key before them."""
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
