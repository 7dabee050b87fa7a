"""The predicates of many queries on a batch, whatever they have in common answered once for all.

Predicates are taken apart at AND, OR and NOT. The distinct parts of all queries are answered and
joined into one class an event; whether a predicate is true then depends on the class alone, and
what a query makes of an event is looked up. Classes that matter to no query are left out for all
of them at once, unless somebody counts events. That an AND is true means that all its sides are,
that an OR is true that one is, also where some are NULL; NOT is moved inside before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensue.analysis.expressions import Expression, Operation
from ensue.analysis.types import Type
from ensue.automata.build import AtStart, Predicate
from ensue.automata.relevance import Needed
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet, Classes, Classifier
from ensue.predicates.vectors import Strings

_WIDEST = 62
"""So many predicates of one query fit into a word."""

_LONG = 1 << 10
_MOSTLY = 0.7
"""Of long batches, what matters to nobody is left out, where no more than this share matters."""

_MOST = 1 << 14
"""With more classes than this, every query had better look at the events itself."""


class Own(NamedTuple):
    """Events that a query reads."""

    rows: np.ndarray | None
    """Where they stand in the batch; None: all."""
    classes: np.ndarray | None
    """The class of each; None where there would be too many classes."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A batch, the class of each event, and what holds in each class."""

    batch: Batch
    streams: Strings | None
    numbers: np.ndarray | None
    """The class of each event; None where there would be too many classes."""
    truths: np.ndarray
    """[predicate of the union, class]."""
    kept: Own | None = None
    """The events that matter to any of the queries that can do without the others, where those
    are not most."""


class Union:
    """All distinct predicates of some alphabets."""

    def __init__(self, asked_by: Iterable[tuple[Alphabet, Needed | None]]) -> None:
        places: dict[Predicate, int] = {}
        given: dict[Predicate, int] = {}
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._needed: dict[int, list[list[int]]] = {}
        """Of queries that can do without some events, what must hold for one to matter."""
        for alphabet, needed in asked_by:
            asked = [
                (number, places.setdefault(predicate, len(places)))
                for number, predicate in enumerate(alphabet.predicates)
                if not isinstance(predicate, AtStart)
            ]
            given |= {alphabet.predicates[number]: bit for number, bit in alphabet.given.items()}
            numbers = np.array([number for number, _ in asked], np.int64)
            self._own[id(alphabet)] = numbers, np.array([place for _, place in asked], np.int64)
            if needed is not None and len(alphabet.predicates) <= _WIDEST:
                place_of = dict(asked)
                self._needed[id(alphabet)] = [[place_of[n] for n in some] for some in needed]
        self._predicates = list(places)
        self._given = frozenset(given)
        parts = dict.fromkeys([*given, *_parts(each for each in places if each not in given)])
        self._parts = {each: number for number, each in enumerate(parts)}
        bits = {self._parts[each]: bit for each, bit in given.items()}
        self._classifier = Classifier(tuple(self._parts), bits)

    def read(self, batch: Batch, streams: Strings | None) -> Shared:
        """Answer all predicates about a batch."""
        found = self._classifier.classes(batch, streams, _MOST)
        if found is None:
            return Shared(batch, streams, None, np.zeros((0, 0), bool))
        size = -(-len(self._parts) // 8) or 1
        packed = b"".join(bits.to_bytes(size, "little") for bits in found.bits)
        packed_bits = np.frombuffer(packed, np.uint8).reshape(len(found.bits), size)
        parts = np.unpackbits(packed_bits, axis=1, bitorder="little").astype(bool).T
        truths = [self._truth(each, parts) for each in self._predicates]
        every = np.array(truths) if truths else np.zeros((0, len(found.bits)), bool)
        numbers = found.numbers.astype(np.intp)
        if batch.length >= _LONG and self._needed:
            held = [every[places].all(axis=0) for sets in self._needed.values() for places in sets]
            matters = np.any(held, axis=0) if held else np.zeros(len(found.bits), bool)
            rows = np.flatnonzero(matters[numbers])
            if len(rows) <= _MOSTLY * batch.length:
                return Shared(batch, streams, numbers, every, Own(rows, numbers[rows]))
        return Shared(batch, streams, numbers, every)

    def own(self, alphabet: Alphabet, shared: Shared) -> Own:
        """Return the events that a query has to read, and their classes."""
        if shared.kept is None or id(alphabet) not in self._needed:
            return Own(None, shared.numbers)
        return shared.kept

    def _truth(self, predicate: Predicate, parts: np.ndarray) -> np.ndarray:
        """Tell in which classes a predicate is true."""
        truth: np.ndarray
        match predicate:
            case _ if predicate in self._given:
                truth = parts[self._parts[predicate]]
            case Operation(name="and", arguments=sides):
                truth = np.logical_and.reduce([self._truth(each, parts) for each in sides])
            case Operation(name="or", arguments=sides):
                truth = np.logical_or.reduce([self._truth(each, parts) for each in sides])
            case Operation(name="not", arguments=(Operation() as inner,)) if _splits(inner):
                truth = self._truth(_negated(inner), parts)
            case _:
                truth = parts[self._parts[predicate]]
        return truth

    def symbols(
        self, alphabet: Alphabet, shared: Shared, own: Own, first: np.ndarray | None
    ) -> np.ndarray:
        """Return the symbols of the events that one query reads."""
        numbers, places = self._own[id(alphabet)]
        if own.classes is None or (len(numbers) and numbers.max() > _WIDEST):
            return alphabet.read(shared.batch, shared.streams, first)
        of_class = np.left_shift(np.int64(1), numbers) @ shared.truths[places]
        bits, which = np.unique(of_class, return_inverse=True)
        return alphabet.symbols(Classes(own.classes, bits.tolist()), first, which)


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
