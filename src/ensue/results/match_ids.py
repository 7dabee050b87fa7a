"""Match ids: 128 bits that depend on the query and on the events of a match, on nothing else.

An event is known by (partition key, time, tiebreak, ordinal among equal ones), so that an id does
not depend on positions, on how the stream was cut, or on other keys. These are hashed to a pair of
64-bit words, seeded by the query's fingerprint. A match is a set of (variable, event) pairs, its
first and its last event, and its computed events: their words are mixed once more and added up
modulo 2^64, which works for many matches at a time on plain columns. Ids tell matches apart; they
are no protection against an attacker who wants two matches to have the same id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.logic.complex_event import ComplexEvent, Computed
from ensue.plan.result_schema import Numbering
from ensue.predicates.vectors import column_at
from ensue.results.match_set import ComputedLists, MatchColumns
from ensue.stream.batch import EventBatch
from ensue.stream.ordinals import ordinals

_WORDS = 2
_NUMBER = np.array([[0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F]], np.uint64)
_REAL = np.array([[0x165667B19E3779F9, 0xD6E8FEB86659FD93]], np.uint64)
_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_FACTORS = tuple(map(np.uint64, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
_DIGITS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), "<u2")
_INTEGERS = 2.0**63


@dataclass(slots=True)
class MatchIds:
    """Works out the ids of the matches in a batch of events."""

    stream: EventBatch
    fingerprint: str
    numbering: Numbering
    _words: np.ndarray = field(init=False)
    """Two words for each row, where they are known."""
    _known: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.stream.times)
        self._words = np.empty((count, _WORDS), np.uint64)
        self._known = np.zeros(count, bool)

    def ids(self, found: MatchColumns, names: Iterable[str]) -> pa.Array:
        """Return the ids of some matches with these variables, 32 hexadecimal digits each."""
        lists = {name: found.bound[name] for name in names}
        values: dict[str, np.ndarray] = {
            name: each.values.to_numpy(zero_copy_only=False) for name, each in lists.items()
        }
        # One question about all events costs less than one for each role.
        self._know(np.concatenate([found.start, found.end, *values.values()]))
        totals = self._mixed(found.start, "start") + self._mixed(found.end, "end")
        for name, each in lists.items():
            totals += _sums(self._mixed(values[name], f"${name}"), each.offsets.to_numpy())
        if found.computed is not None:
            for name, events in found.computed.items():
                self._add_computed(totals, name, events)
        elif found.listed is not None:
            totals += self._computed([each.match.computed for each in found.listed()])
        return _written(_mix(totals))

    def id(self, match: ComplexEvent) -> str:
        """Return the id of one match, the same as `ids` gives for many."""
        bound = sorted(match.bindings)
        roles = ["start", "end", *(f"${name}" for name, _ in bound)]
        positions = np.array([match.start, match.end, *(at for _, at in bound)], np.int64)
        rows = self.stream.rows_at(positions)
        self._learn(rows[~self._known[rows]])
        words = _mix(self._words[rows] + np.concatenate([_text_words(role) for role in roles]))
        totals = words.sum(axis=0, keepdims=True, dtype=np.uint64)
        if match.computed:
            totals += self._computed([match.computed])
        return str(_written(_mix(totals))[0])

    def _mixed(self, positions: np.ndarray, role: str, place: int | None = None) -> np.ndarray:
        """Return the words of events in some role, or of those computed at a place of the query."""
        rows = self.stream.rows_at(positions)
        if not len(rows):
            return np.zeros((0, _WORDS), np.uint64)
        low, high = int(rows.min()), int(rows.max()) + 1
        few = high - low > len(rows)
        mixed = _mix((self._words[rows] if few else self._words[low:high]) + _text_words(role))
        if place is not None:
            mixed = _mix(mixed + _numbers(np.array([place])))
        return mixed if few else mixed.take(rows - low, axis=0)

    def _know(self, positions: np.ndarray) -> None:
        """Work out the words of events that are not known yet."""
        rows = self.stream.rows_at(positions)
        if not len(rows) or self._known[rows].all():
            return
        low, high = int(rows.min()), int(rows.max()) + 1
        asked = np.zeros(high - low, bool)
        asked[rows - low] = True
        self._learn(np.flatnonzero(asked & ~self._known[low:high]) + low)

    def _learn(self, rows: np.ndarray) -> None:
        """Work out the words of rows."""
        if not len(rows):
            return
        stream = self.stream
        words = _mix(_numbers(stream.times[rows]) + _text_words(self.fingerprint))
        paths = self.numbering.partition
        if stream.tiebreak_path is not None:
            paths = (*paths, stream.tiebreak_path)
        for path in paths:
            words = _mix(words + _values(column_at(stream.table, path).take(pa.array(rows))))
        words = _mix(words + _numbers(ordinals(stream, rows, self.numbering)))
        self._words[rows], self._known[rows] = words, True

    def _add_computed(self, totals: np.ndarray, name: str, events: ComputedLists) -> None:
        """Add the words of computed events to those of their matches."""
        for place, columns in events.names.items():
            own = np.flatnonzero(events.place == place)
            self._know(events.end[own])
            words = self._mixed(events.end[own], f"#{name}", place)
            for column in columns:
                each = events.columns[column]
                values = _column_words(each.values[own], each.valid[own], each.distinct)
                words = _mix(words + values)
            offsets = events.offsets
            if len(own) < len(events.end):
                offsets = np.searchsorted(own, offsets)
            totals += _sums(words, offsets)

    def _computed(self, every: Sequence[Iterable[tuple[str, Computed]]]) -> np.ndarray:
        """Return the words of computed events, added up for each match."""
        totals = np.zeros((len(every), _WORDS), np.uint64)
        for row, events in enumerate(every):
            for name, y in events:
                self._know(np.array([y.end]))
                words = self._mixed(np.array([y.end]), f"#{name}", y.place)
                for _, value in y.columns:
                    words = _mix(words + _value_words(value))
                totals[row] += words[0]
        return totals


# words


def _mix(words: np.ndarray) -> np.ndarray:
    """Spread every bit over all (the finaliser of splitmix64)."""
    words = words ^ (words >> _SHIFTS[0])
    words *= _FACTORS[0]
    words ^= words >> _SHIFTS[1]
    words *= _FACTORS[1]
    words ^= words >> _SHIFTS[2]
    return words


def _sums(words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Add up the words of each list."""
    count = len(offsets) - 1
    first, last = int(offsets[0]), int(offsets[-1])
    if last - first == count and (np.diff(offsets) == 1).all():
        return words[first:last]
    running = np.zeros((len(words) + 1, _WORDS), np.uint64)
    np.cumsum(words, axis=0, out=running[1:])
    sums: np.ndarray = running[offsets[1:]] - running[offsets[:-1]]
    return sums


@lru_cache(maxsize=4096)
def _text_words(text: str) -> np.ndarray:
    """Hash a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8 * _WORDS)
    return np.frombuffer(digest.digest(), "<u8").astype(np.uint64).reshape(1, _WORDS)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Hash whole numbers."""
    plain = np.ascontiguousarray(values, np.int64).view(np.uint64)
    return plain.reshape(-1, 1) * _NUMBER + _NUMBER


def _reals(values: np.ndarray) -> np.ndarray:
    """Hash doubles; those that are whole numbers are hashed as such."""
    whole = (values >= -_INTEGERS) & (values < _INTEGERS) & (np.floor(values) == values)
    odd = np.where(np.isnan(values), np.nan, values).view(np.uint64).reshape(-1, 1)
    words: np.ndarray = odd * _REAL + _REAL
    if whole.any():
        words[whole] = _numbers(values[whole].astype(np.int64))
    return words


def _value_words(value: Any) -> np.ndarray:
    """Hash a value of Python; equal values have equal words, whatever they were computed by."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return _numbers(np.array([value]))
    if isinstance(value, float):
        return _reals(np.array([value]))
    return _text_words(json.dumps(plain(value)))


def _every_value(values: Iterable[Any]) -> np.ndarray:
    words = [_value_words(value) for value in values]
    return np.concatenate(words) if words else np.zeros((0, _WORDS), np.uint64)


def _column_words(
    values: np.ndarray, valid: np.ndarray, distinct: Sequence[Any] | None
) -> np.ndarray:
    """Hash numbers, or ranks of something else, some of which are NULL."""
    if distinct is not None:
        known = _every_value([*distinct, None])
        return known[np.where(valid, values, len(distinct))]
    if values.dtype == np.float64:
        words = _reals(values)
    elif values.dtype == np.bool_:
        words = _every_value([False, True])[values.astype(np.int64)]
    else:
        words = _numbers(values)
    if not valid.all():
        words[~valid] = _value_words(None)
    return words


def _values(column: pa.ChunkedArray) -> np.ndarray:
    """Hash the values of a column."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        # An instant is the same in whatever unit and zone it is written.
        try:
            column = column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64())
        except pa.ArrowInvalid:  # a year that nanoseconds do not reach
            return _every_value(map(plain, column.to_pylist()))
        kind = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        valid = column.is_valid().to_numpy()
        return _column_words(column.cast(pa.int64()).fill_null(0).to_numpy(), valid, None)
    if pa.types.is_nested(kind):
        return _every_value(column.to_pylist())
    coded = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
    return np.concatenate(
        [_coded_words(chunk) for chunk in coded.chunks] or [np.zeros((0, _WORDS), np.uint64)]
    )


def _coded_words(chunk: pa.DictionaryArray) -> np.ndarray:
    codes = chunk.indices.fill_null(-1).to_numpy().astype(np.int64)
    present, where = np.unique(codes, return_inverse=True)
    values = chunk.dictionary
    known = [None if code < 0 else values[code].as_py() for code in present.tolist()]
    return _every_value(known)[where]


def _written(words: np.ndarray) -> pa.Array:
    """Write words in hexadecimal digits."""
    count = len(words)
    data = _DIGITS[np.ascontiguousarray(words, "<u8").view(np.uint8)]
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(16 * _WORDS)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), count, buffers)


def plain(value: Any) -> Any:
    """Write a value so that JSON says the same everywhere, an instant whatever its time zone."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return value.isoformat()
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
