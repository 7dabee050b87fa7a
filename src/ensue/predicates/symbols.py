"""All predicates of a query on a batch, combined into one symbol an event.

Predicates that read the same column of strings are evaluated together, once for each distinct
string. Results are combined pair by pair: two columns of classes become one, renumbered so that
only combinations that occur have a number. A symbol stands for the truth of all predicates, one
bit each.

In batches of a few events, strings are looked up in a cache of earlier results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.expressions import Expression
from ensue.automata.compiled import AtStart, Predicate, TypeTest
from ensue.logic.evaluate import evaluate
from ensue.predicates.classes import NUMBERED_BY_TABLE, Classes, combined, split
from ensue.predicates.evaluate import Batch
from ensue.predicates.groups import Groups
from ensue.predicates.symbol_table import SymbolTable
from ensue.predicates.vectors import Strings

_SEARCHED_FROM = 1 << 10
"""In batches of so many events, comparisons with many constants are found by a search."""

_EVENT_BY_EVENT = 4
"""Batches of up to so many events are evaluated event by event."""

_CACHED_LOOKUPS = 32
"""Up to so many distinct strings are looked up in the cache, more are evaluated vectorised."""

_CACHE_SIZE = 1 << 14
"""The number of strings of a column whose results are cached."""


GIVEN = "__ensue_given"
"""The column of predicates that were evaluated before, in Spark SQL: one bit each."""


Column = tuple[str, ...] | None
"""A column of strings; None: the types of events."""


@dataclass(slots=True)
class Alphabet:
    """The symbols that have occurred: sets of true predicates, numbered in order of occurrence."""

    predicates: tuple[Predicate, ...]
    given: Mapping[int, int] = field(default_factory=dict)
    """Predicates that were evaluated before: their bits in the column GIVEN."""
    bits: list[int] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _start: int = field(init=False)
    """The bit of the predicate that an event is the first of its substream, or 0."""
    _classifier: Classifier = field(init=False)
    _table: SymbolTable | None = None
    """Symbols by the codes of strings, for the dictionaries of the last batch."""

    def __post_init__(self) -> None:
        self._classifier = Classifier(self.predicates, self.given)
        starts = (n for n, each in enumerate(self.predicates) if isinstance(each, AtStart))
        self._start = sum(1 << number for number in starts)

    def copied(self) -> Alphabet:
        """Return the same symbols, to which others may be added."""
        other = Alphabet(self.predicates, self.given)
        other.bits, other._numbers = self.bits.copy(), self._numbers.copy()
        return other

    def read(self, batch: Batch, streams: Strings | None, first: np.ndarray | None) -> np.ndarray:
        """Return the symbol of every event; `first` marks the first ones of substreams."""
        if batch.length <= _EVENT_BY_EVENT and not self._start:
            few = self._classifier.event_by_event(batch, streams)
            return np.array([self.number(bits) for bits in few], np.int32)
        if streams is None and not self._start:
            looked_up = self._looked_up(batch)
            if looked_up is not None:
                return looked_up
        found = self._classifier.classes(batch, streams)
        assert found is not None
        return self.symbols(found, first)

    def _looked_up(self, batch: Batch) -> np.ndarray | None:
        """Look symbols up by the codes of strings, where predicates read nothing else."""
        asked = self._classifier.asked_of_strings(batch)
        if asked is None:
            return None
        strings = [batch.types if column is None else batch.vector(column) for column in asked]
        plain = [each for each in strings if isinstance(each, Strings)]
        if not plain or len(plain) < len(strings):
            return None
        if self._table is None or not self._table.serves(plain):
            self._table = SymbolTable.of(
                plain,
                lambda: [answer(each) for answer, each in zip(asked.values(), plain, strict=True)],
            )
        return None if self._table is None else self._table.look_up(plain, self.number)

    def symbols(
        self, found: Classes, first: np.ndarray | None, places: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the symbol of every event by the class of each.

        With `places`, found.bits are distinct, and the bits of class c are at places[c].
        """
        by_class = np.array([self.number(bits) for bits in found.bits], np.int32)
        if places is not None:
            by_class = by_class[places]
        symbols: np.ndarray = by_class[found.numbers]
        if self._start:
            assert first is not None
            for row in np.flatnonzero(first):
                number = found.numbers[row]
                bits = found.bits[number if places is None else places[number]]
                symbols[row] = self.number(bits | self._start)
        return symbols

    def recall(self, bits: Sequence[int]) -> None:
        """Restore the numbers of symbols of a saved state, before any event is read."""
        for each in bits:
            self.number(each)

    def number(self, bits: int) -> int:
        """Return the symbol of a set of true predicates."""
        number = self._numbers.setdefault(bits, len(self.bits))
        if number == len(self.bits):
            self.bits.append(bits)
        return number


@dataclass(slots=True)
class Classifier:
    """Evaluates all predicates on a batch."""

    predicates: tuple[Predicate, ...]
    given: Mapping[int, int] = field(default_factory=dict)
    _schema: pa.Schema | None = None
    _groups: Groups | None = None
    _cached: dict[Any, dict[Any, int]] = field(default_factory=lambda: defaultdict(dict))
    """Results by column (None: the type) and value, as bits."""
    _together: dict[tuple[str | None, ...], int] = field(default_factory=dict)
    """Results by all that predicates read of an event, where that is strings alone."""

    def classes(
        self, batch: Batch, streams: Strings | None, most: int | None = None
    ) -> Classes | None:
        """Return a class for every event, or None if there are more classes than `most`."""
        if batch.length <= _EVENT_BY_EVENT:
            return Classes(np.arange(batch.length), self.event_by_event(batch, streams))
        groups = self._grouped(batch)
        found = Classes(np.zeros(batch.length, np.int32), [0])
        for classes in self._each(batch, streams, groups):
            found = combined(found, classes)
            if most is not None and len(found.bits) > most:
                return None
        if groups.others:
            found = Classes(found.numbers.astype(np.int32), found.bits.copy())
        done: set[int] = set()
        for several in groups.compared if batch.length >= _SEARCHED_FROM else ():
            own = several.classes(batch.vector(several.path))
            if own is not None:
                found = combined(found, own)
                done.update(each.number for each in several.asked)
            if most is not None and len(found.bits) > most:
                return None
        for number, predicate in groups.others:
            if number not in done:
                found = split(found, batch.holds(predicate), 1 << number)
            if most is not None and len(found.bits) > most:
                return None
        return found

    def _grouped(self, batch: Batch) -> Groups:
        """Group predicates by what they read; computed again only when the schema changes."""
        schema = batch.table.schema
        if self._groups is None or self._schema is None or not schema.equals(self._schema):
            self._schema, self._groups = schema, Groups.of(self.predicates, self.given, batch)
            self._together.clear()
        return self._groups

    def asked_of_strings(
        self, batch: Batch
    ) -> Mapping[Column, Callable[[Strings], list[int]]] | None:
        """Return, by column of strings (None: types), what gives the bits of each string.

        None where some predicate reads something else.
        """
        groups = self._grouped(batch)
        if groups.others or self.given:
            return None
        found: dict[Column, Callable[[Strings], list[int]]] = {}
        if groups.types:
            found[None] = lambda types: _type_bits(types, groups.types)
        for column, asked in groups.strings.items():
            found[column] = partial(self._string_bits, batch, column, asked)
        return found

    def _each(self, batch: Batch, streams: Strings | None, groups: Groups) -> list[Classes]:
        found = []
        if self.given:
            found.append(self._given_classes(batch))
        if groups.types:
            found.append(_type_classes(batch, streams, groups.types))
        return found + [
            self._string_classes(batch, column, asked) for column, asked in groups.strings.items()
        ]

    def _given_classes(self, batch: Batch) -> Classes:
        """Unpack predicates that were evaluated before."""
        packed = batch.table.column(GIVEN).to_numpy()
        if packed.min(initial=0) >= 0 and packed.max(initial=0) < NUMBERED_BY_TABLE:
            present = np.zeros(int(packed.max(initial=0)) + 1, bool)
            present[packed] = True
            occurring = np.flatnonzero(present)
            numbers = (np.cumsum(present) - 1).astype(np.int32)[packed]
        else:
            occurring, inverse = np.unique(packed, return_inverse=True)
            numbers = inverse.astype(np.int32)
        bits = [
            sum(1 << number for number, bit in self.given.items() if answers >> bit & 1)
            for answers in occurring.tolist()
        ]
        return Classes(numbers, bits)

    def _string_classes(
        self, batch: Batch, column: tuple[str, ...], asked: list[tuple[int, Expression]]
    ) -> Classes:
        """Evaluate all predicates on a column of strings on its dictionary."""
        strings = batch.vector(column)
        assert isinstance(strings, Strings)
        return Classes(strings.codes, self._string_bits(batch, column, asked, strings))

    def _string_bits(
        self,
        batch: Batch,
        column: tuple[str, ...],
        asked: list[tuple[int, Expression]],
        strings: Strings,
    ) -> list[int]:
        """Return the predicates that hold for each distinct string, as bits."""
        if len(strings.distinct) > _CACHED_LOOKUPS:
            return _vectorised(batch, column, strings, asked)
        bits = [0] * len(strings.distinct)
        texts = strings.distinct.to_pylist()
        self._add_bits(bits, column, texts, _holding, asked)
        return bits

    # batches of a few events

    def event_by_event(self, batch: Batch, streams: Strings | None) -> list[int]:
        """Return the true predicates of each of a few events as bits."""
        groups = self._grouped(batch)
        if groups.others or self.given:
            return self._each_by_column(batch, streams, groups)
        read = [batch.type_names()] if groups.types else []
        if groups.types and streams is not None:
            read.append(streams.texts())
        read += [batch.texts(column) for column in groups.strings]
        if not read:
            return [0] * batch.length
        known = self._together
        try:
            return [known[texts] for texts in zip(*read, strict=True)]
        except KeyError:
            bits = self._each_by_column(batch, streams, groups)
            if len(known) >= _CACHE_SIZE:
                known.clear()
            known.update(zip(zip(*read, strict=True), bits, strict=True))
            return bits

    def _each_by_column(self, batch: Batch, streams: Strings | None, groups: Groups) -> list[int]:
        bits = [0] * batch.length
        if self.given:
            answered = self._given_classes(batch)
            bits = [answered.bits[number] for number in answered.numbers.tolist()]
        if groups.types:
            names = batch.type_names()
            kinds = list(zip(names, _names(streams, len(names)), strict=True))
            self._add_bits(bits, None, kinds, _of_kind, groups.types)
        for column, asked in groups.strings.items():
            self._add_bits(bits, column, batch.texts(column), _holding, asked)
        for number, predicate in groups.others:
            for row in np.flatnonzero(batch.holds(predicate)):
                bits[row] |= 1 << number
        return bits

    def _add_bits(
        self,
        bits: list[int],
        column: Any,
        values: list[Any],
        answer: Callable[[Any, Any], int],
        asked: Any,
    ) -> None:
        """Set the bits of values, from the cache where a value occurred before."""
        known = self._cached[column]
        for row, value in enumerate(values):
            found = known.get(value)
            if found is None:
                if len(known) >= _CACHE_SIZE:
                    known.clear()
                found = known[value] = answer(asked, value)
            bits[row] |= found


def _names(streams: Strings | None, length: int) -> list[str | None]:
    if streams is None:
        return [None] * length
    names = streams.distinct.to_pylist()
    return [names[code] for code in streams.codes.tolist()]


def _type_classes(
    batch: Batch, streams: Strings | None, tests: list[tuple[int, TypeTest]]
) -> Classes:
    if streams is None:
        return Classes(batch.types.codes, _type_bits(batch.types, tests))
    names = batch.types.distinct.to_pylist()
    of = streams.distinct.to_pylist()
    bits = [_bits(tests, name, stream) for name in names for stream in of]
    codes = batch.types.codes.astype(np.int64) * len(of) + streams.codes
    return Classes(codes, bits)


def _type_bits(types: Strings, tests: list[tuple[int, TypeTest]]) -> list[int]:
    return [_bits(tests, name, None) for name in types.distinct.to_pylist()]


def _vectorised(
    batch: Batch, column: tuple[str, ...], strings: Strings, asked: list[tuple[int, Expression]]
) -> list[int]:
    codes = np.arange(len(strings.distinct), dtype=np.int32)
    distinct = Batch(batch.table.slice(0, 0), batch.types, batch.tally)
    distinct.replace_column(column, Strings(codes, strings.distinct))
    bits = [0] * len(codes)
    for number, predicate in asked:
        for code in np.flatnonzero(distinct.holds(predicate)):
            bits[code] |= 1 << number
    return bits


def _holding(asked: list[tuple[int, Expression]], text: str | None) -> int:
    """Return the bits of the predicates that a string satisfies."""
    return sum(1 << number for number, each in asked if evaluate(each, lambda _: text) is True)


def _of_kind(tests: list[tuple[int, TypeTest]], kind: tuple[str | None, str | None]) -> int:
    return _bits(tests, *kind)


def _bits(tests: list[tuple[int, TypeTest]], name: str | None, stream: str | None) -> int:
    bits = 0
    for number, test in tests:
        if test.type in (None, name) and (stream is None or test.stream in (None, stream)):
            bits |= 1 << number
    return bits
