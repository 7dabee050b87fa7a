"""All predicates of a query on a batch, combined into one small symbol an event.

Predicates that look at the same column of strings are answered together, once for each distinct
string. Answers are joined pair by pair: two columns of classes become one, renumbered so that
only combinations that occur have a number. A symbol stands for the bits of all predicates.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from ensue.analysis.expressions import Attribute, EventType, subexpressions
from ensue.automata.build import AtStart, Predicate, TypeTest
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import Strings, UnsupportedError

_FEW = 64
"""Up to so many combinations, it does not matter whether all of them occur."""

_DENSE = 1 << 20
"""Up to so many, those that occur are numbered by a table, beyond by sorting."""


@dataclass(frozen=True, slots=True)
class Classes:
    """A class number for each event, and the bits that each class stands for."""

    numbers: np.ndarray
    bits: list[int]


@dataclass(slots=True)
class Alphabet:
    """The symbols that have occurred: bits of predicates, numbered as they come."""

    predicates: tuple[Predicate, ...]
    bits: list[int] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def read(self, batch: Batch, streams: Strings | None, first: np.ndarray | None) -> np.ndarray:
        """Return the symbol of every event; `first` marks those that open their substream."""
        found = Classes(np.zeros(batch.length, np.int32), [0])
        for classes in self._classes(batch, streams, first):
            found = _joined(found, classes)
        numbers = np.array([self._number(bits) for bits in found.bits], np.int32)
        symbols: np.ndarray = numbers[found.numbers]
        return symbols

    def _number(self, bits: int) -> int:
        number = self._numbers.setdefault(bits, len(self.bits))
        if number == len(self.bits):
            self.bits.append(bits)
        return number

    def _classes(
        self, batch: Batch, streams: Strings | None, first: np.ndarray | None
    ) -> list[Classes]:
        by_column: dict[tuple[str, ...] | None, list[int]] = defaultdict(list)
        found: list[Classes] = []
        for number, predicate in enumerate(self.predicates):
            match predicate:
                case TypeTest():
                    by_column[None].append(number)
                case AtStart():
                    assert first is not None
                    found.append(Classes(first.astype(np.int32), [0, 1 << number]))
                case _:
                    column = _only_string_column(predicate, batch)
                    if column is None:
                        holds = batch.holds(predicate)
                        found.append(Classes(holds.astype(np.int32), [0, 1 << number]))
                    else:
                        by_column[column].append(number)
        for column, numbers in by_column.items():
            if column is None:
                found.append(self._type_classes(batch, streams, numbers))
            else:
                found.append(self._string_classes(batch, column, numbers))
        return found

    def _type_classes(self, batch: Batch, streams: Strings | None, numbers: list[int]) -> Classes:
        names = batch.types.distinct.to_pylist()
        tests = [(number, self.predicates[number]) for number in numbers]
        if streams is None:
            bits = [_bits(tests, name, None) for name in names]
            return Classes(batch.types.codes, bits)
        of = streams.distinct.to_pylist()
        bits = [_bits(tests, name, stream) for name in names for stream in of]
        codes = batch.types.codes.astype(np.int64) * len(of) + streams.codes
        return Classes(codes, bits)

    def _string_classes(self, batch: Batch, column: tuple[str, ...], numbers: list[int]) -> Classes:
        """Answer all predicates about a column of strings on its dictionary."""
        strings = batch.vector(column)
        assert isinstance(strings, Strings)
        codes = np.arange(len(strings.distinct), dtype=np.int32)
        distinct = Batch(batch.table.slice(0, 0), batch.types, batch.tally)
        distinct.pretend(column, Strings(codes, strings.distinct))
        bits = [0] * len(codes)
        for number in numbers:
            for code in np.flatnonzero(distinct.holds(self.predicates[number])):  # type: ignore[arg-type]
                bits[code] |= 1 << number
        return Classes(strings.codes, bits)


def _only_string_column(predicate: Predicate, batch: Batch) -> tuple[str, ...] | None:
    """Return the one column of strings that a predicate reads, if it reads nothing else."""
    assert not isinstance(predicate, TypeTest | AtStart)
    parts = list(subexpressions(predicate))
    paths = {each.path for each in parts if isinstance(each, Attribute)}
    if len(paths) != 1 or any(isinstance(each, EventType) for each in parts):
        return None
    (path,) = paths
    try:
        return path if isinstance(batch.vector(path), Strings) else None
    except UnsupportedError:
        return None


def _bits(tests: list[tuple[int, Predicate]], name: str | None, stream: str | None) -> int:
    bits = 0
    for number, test in tests:
        assert isinstance(test, TypeTest)
        if test.type in (None, name) and (stream is None or test.stream in (None, stream)):
            bits |= 1 << number
    return bits


def _joined(left: Classes, right: Classes) -> Classes:
    """Join two columns of classes into one that has a class for every pair that occurs."""
    left, right = _merged(left), _merged(right)
    if len(left.bits) == 1:
        return Classes(right.numbers, [left.bits[0] | bits for bits in right.bits])
    if len(right.bits) == 1:
        return Classes(left.numbers, [right.bits[0] | bits for bits in left.bits])
    width = len(right.bits)
    size = len(left.bits) * width
    pairs = left.numbers.astype(np.int32 if size <= _DENSE else np.int64) * width + right.numbers
    if size <= _FEW:
        return Classes(pairs, [a | b for a in left.bits for b in right.bits])
    if size <= _DENSE:
        present = np.zeros(size, bool)
        present[pairs] = True
        occurring = np.flatnonzero(present)
        renumbered = (np.cumsum(present) - 1).astype(np.int32)
        numbers = renumbered[pairs]
    else:
        occurring, inverse = np.unique(pairs, return_inverse=True)
        numbers = inverse.astype(np.int32)
    bits = [left.bits[pair // width] | right.bits[pair % width] for pair in occurring.tolist()]
    return Classes(numbers, bits)


def _merged(classes: Classes) -> Classes:
    """Give classes with equal bits one number."""
    distinct = list(dict.fromkeys(classes.bits))
    if len(distinct) == len(classes.bits):
        return classes
    place = {bits: number for number, bits in enumerate(distinct)}
    renumbered = np.array([place[bits] for bits in classes.bits], np.int32)
    return Classes(renumbered[classes.numbers], distinct)
