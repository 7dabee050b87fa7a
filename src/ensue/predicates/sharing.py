"""The predicates of many queries on a batch, whatever they have in common answered once for all.

Predicates are taken apart at AND, OR and NOT. The distinct parts of all queries are answered and
joined into one class an event; whether a predicate is true then depends on the class alone, and
what a query makes of an event is looked up. That an AND is true means that all its sides are,
that an OR is true that one is, also where some are NULL; NOT is moved inside before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ensue.analysis.expressions import Expression, Operation
from ensue.analysis.types import Type
from ensue.automata.build import AtStart, Predicate
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet, Classes, Classifier
from ensue.predicates.vectors import Strings

_WIDEST = 62
"""So many predicates of one query fit into a word."""

_MOST = 1 << 14
"""With more classes than this, every query had better look at the events itself."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A batch, the class of each event, and what holds in each class."""

    batch: Batch
    streams: Strings | None
    numbers: np.ndarray | None
    """The class of each event; None where there would be too many classes."""
    truths: np.ndarray
    """[predicate of the union, class]."""


class Union:
    """All distinct predicates of some alphabets."""

    def __init__(self, alphabets: Iterable[Alphabet]) -> None:
        places: dict[Predicate, int] = {}
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for alphabet in alphabets:
            asked = [
                (number, places.setdefault(predicate, len(places)))
                for number, predicate in enumerate(alphabet.predicates)
                if not isinstance(predicate, AtStart)
            ]
            numbers = np.array([number for number, _ in asked], np.int64)
            self._own[id(alphabet)] = numbers, np.array([place for _, place in asked], np.int64)
        self._predicates = list(places)
        self._parts = {each: n for n, each in enumerate(dict.fromkeys(_parts(places)))}
        self._classifier = Classifier(tuple(self._parts))

    def read(self, batch: Batch, streams: Strings | None) -> Shared:
        """Answer all predicates about a batch."""
        found = self._classifier.classes(batch, streams, _MOST)
        if found is None:
            return Shared(batch, streams, None, np.zeros((0, 0), bool))
        size = -(-len(self._parts) // 8) or 1
        packed = b"".join(bits.to_bytes(size, "little") for bits in found.bits)
        rows = np.frombuffer(packed, np.uint8).reshape(len(found.bits), size)
        parts = np.unpackbits(rows, axis=1, bitorder="little").astype(bool).T
        truths = [self._truth(each, parts) for each in self._predicates]
        every = np.array(truths) if truths else np.zeros((0, len(found.bits)), bool)
        return Shared(batch, streams, found.numbers.astype(np.intp), every)

    def _truth(self, predicate: Predicate, parts: np.ndarray) -> np.ndarray:
        """Tell in which classes a predicate is true."""
        truth: np.ndarray
        match predicate:
            case Operation(name="and", arguments=sides):
                truth = np.logical_and.reduce([self._truth(each, parts) for each in sides])
            case Operation(name="or", arguments=sides):
                truth = np.logical_or.reduce([self._truth(each, parts) for each in sides])
            case Operation(name="not", arguments=(Operation() as inner,)) if _splits(inner):
                truth = self._truth(_negated(inner), parts)
            case _:
                truth = parts[self._parts[predicate]]
        return truth

    def symbols(self, alphabet: Alphabet, shared: Shared, first: np.ndarray | None) -> np.ndarray:
        """Return the symbols of one query."""
        numbers, places = self._own[id(alphabet)]
        if shared.numbers is None or (len(numbers) and numbers.max() > _WIDEST):
            return alphabet.read(shared.batch, shared.streams, first)
        of_class = np.left_shift(np.int64(1), numbers) @ shared.truths[places]
        bits, which = np.unique(of_class, return_inverse=True)
        return alphabet.symbols(Classes(shared.numbers, bits.tolist()), first, which)


def _parts(predicates: Iterable[Predicate]) -> Iterable[Predicate]:
    """Take predicates apart at AND, OR and NOT."""
    for predicate in predicates:
        match predicate:
            case Operation(name="and" | "or", arguments=sides):
                yield from _parts(sides)
            case Operation(name="not", arguments=(Operation() as inner,)) if _splits(inner):
                yield from _parts([_negated(inner)])
            case _:
                yield predicate


def _splits(inner: Operation) -> bool:
    return inner.name in ("and", "or", "not")


def _negated(inner: Operation) -> Expression:
    """Move NOT inside: NOT of an AND is the OR of NOTs."""
    if inner.name == "not":
        return inner.arguments[0]
    sides = tuple(Operation("not", (each,), Type.BOOLEAN) for each in inner.arguments)
    return Operation("or" if inner.name == "and" else "and", sides, Type.BOOLEAN)
