"""The shared scan: predicates of many queries on a batch, common parts evaluated once.

Predicates are split at AND, OR and NOT. The distinct parts of all queries are evaluated and
combined into one class an event. Whether a predicate is true depends on the class alone, so each
query looks its symbols up by class. Events of classes that are relevant to no query are skipped
for all queries at once, except for those that count events. An AND is true if all its sides are,
an OR if one is, also where some are NULL; NOT is moved inward first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ensue.analysis.expressions import Expression, Operation
from ensue.analysis.types import Type
from ensue.automata.compiled import AtStart, Predicate
from ensue.automata.relevance import Needed
from ensue.predicates.classes import Classes
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet, Classifier
from ensue.predicates.vectors import Strings

_WORD_BITS = 62
"""The number of predicates of one query that fit into a word."""

_SKIPS_FROM = 1 << 10
"""Batches of at least so many events are searched for events that no query needs."""

_SKIPS_UP_TO = 0.7
"""Events are skipped if at most this share of a batch is relevant; otherwise copying costs more."""

_MOST_CLASSES = 1 << 14
"""With more classes than this, it is cheaper for each query to evaluate its predicates itself."""


class Selected(NamedTuple):
    """The events that a query reads."""

    rows: np.ndarray | None
    """Their rows in the batch; None: all."""
    classes: np.ndarray | None
    """The class of each; None if there are too many classes."""


@dataclass(slots=True)
class _ClassIndex:
    """The rows of each class."""

    order: np.ndarray
    """All rows by class, those of one class in order."""
    offsets: np.ndarray
    """Where those of each class begin, and the end."""

    @classmethod
    def of(cls, numbers: np.ndarray, counts: np.ndarray) -> _ClassIndex:
        narrow = numbers.astype(np.uint16)  # small numbers are sorted much faster
        offsets = np.append(0, np.cumsum(counts))
        return cls(np.argsort(narrow, kind="stable"), offsets)


@dataclass(slots=True)
class Shared:
    """A batch, the class of each event, and the predicates that are true in each class."""

    batch: Batch
    streams: Strings | None
    numbers: np.ndarray | None
    """The class of each event; None if there are too many classes."""
    truths: np.ndarray
    """[predicate of the union, class]."""
    kept: Selected | None = None
    """The events relevant to any query that skips irrelevant ones, if these are few enough."""
    _counts: np.ndarray | None = None
    _index: _ClassIndex | None = None

    @property
    def counts(self) -> np.ndarray:
        """How many events each class has."""
        if self._counts is None:
            assert self.numbers is not None
            self._counts = np.bincount(self.numbers, minlength=self.truths.shape[1])
        return self._counts

    def count(self, truth: np.ndarray) -> int:
        """Count the events of the classes of a mask."""
        return int(self.counts[truth].sum())

    def rows(self, truth: np.ndarray) -> np.ndarray:
        """Return the rows of the events of the classes of a mask, in order."""
        classes = np.flatnonzero(truth & (self.counts > 0))
        if not len(classes):
            return np.zeros(0, np.intp)
        if self._index is None:
            assert self.numbers is not None
            self._index = _ClassIndex.of(self.numbers, self.counts)
        begins, ends = self._index.offsets[classes], self._index.offsets[classes + 1]
        order = self._index.order
        parts = [order[begin:end] for begin, end in zip(begins, ends, strict=True)]
        return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))


class Union:
    """All distinct predicates of some alphabets."""

    def __init__(self, alphabets: Iterable[tuple[Alphabet, Needed | None]]) -> None:
        places: dict[Predicate, int] = {}
        given: dict[Predicate, int] = {}
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._needed: dict[int, list[list[int]]] = {}
        """For queries that skip events: sets of predicates of which one must hold for an event."""
        for alphabet, needed in alphabets:
            asked = [
                (number, places.setdefault(predicate, len(places)))
                for number, predicate in enumerate(alphabet.predicates)
                if not isinstance(predicate, AtStart)
            ]
            given |= {alphabet.predicates[number]: bit for number, bit in alphabet.given.items()}
            numbers = np.array([number for number, _ in asked], np.int64)
            self._own[id(alphabet)] = numbers, np.array([place for _, place in asked], np.int64)
            if needed is not None and len(alphabet.predicates) <= _WORD_BITS:
                place_of = dict(asked)
                self._needed[id(alphabet)] = [[place_of[n] for n in some] for some in needed]
        self._predicates = list(places)
        self._given = frozenset(given)
        parts = dict.fromkeys([*given, *_parts(each for each in places if each not in given)])
        self._parts = {each: number for number, each in enumerate(parts)}
        bits = {self._parts[each]: bit for each, bit in given.items()}
        self._classifier = Classifier(tuple(self._parts), bits)

    def read(self, batch: Batch, streams: Strings | None) -> Shared:
        """Evaluate all predicates on a batch."""
        found = self._classifier.classes(batch, streams, _MOST_CLASSES)
        if found is None:
            return Shared(batch, streams, None, np.zeros((0, 0), bool))
        size = -(-len(self._parts) // 8) or 1
        packed = b"".join(bits.to_bytes(size, "little") for bits in found.bits)
        packed_bits = np.frombuffer(packed, np.uint8).reshape(len(found.bits), size)
        parts = np.unpackbits(packed_bits, axis=1, bitorder="little").astype(bool).T
        truths = [self._truth(each, parts) for each in self._predicates]
        every = np.array(truths) if truths else np.zeros((0, len(found.bits)), bool)
        numbers = found.numbers.astype(np.intp)
        if batch.length >= _SKIPS_FROM and self._needed:
            held = [every[places].all(axis=0) for sets in self._needed.values() for places in sets]
            relevant = np.any(held, axis=0) if held else np.zeros(len(found.bits), bool)
            rows = np.flatnonzero(relevant[numbers])
            if len(rows) <= _SKIPS_UP_TO * batch.length:
                return Shared(batch, streams, numbers, every, Selected(rows, numbers[rows]))
        return Shared(batch, streams, numbers, every)

    def own(self, alphabet: Alphabet, shared: Shared) -> Selected:
        """Return the events that a query has to read, and their classes."""
        if shared.kept is None or id(alphabet) not in self._needed:
            return Selected(None, shared.numbers)
        return shared.kept

    def rarest(
        self, alphabet: Alphabet, shared: Shared, necessary: frozenset[int]
    ) -> np.ndarray | None:
        """Return the classes in which that of some predicates is true that fewest events satisfy.

        None where a query reads all events, or there is no such predicate.
        """
        if shared.numbers is None or id(alphabet) not in self._needed or not necessary:
            return None
        numbers, places = self._own[id(alphabet)]
        truths = shared.truths[places[np.isin(numbers, list(necessary))]]
        if not len(truths):
            return None
        rarest: np.ndarray = truths[int(np.argmin(truths @ shared.counts))]
        return rarest

    def skips(
        self, alphabet: Alphabet, shared: Shared, ignores: Callable[[list[int], int], bool]
    ) -> bool:
        """Tell whether a query need not read a batch, since it ignores all symbols in it.

        `ignores` is given symbols, and how many of them there are in the alphabet.
        """
        if shared.numbers is None or id(alphabet) not in self._needed:
            return False
        numbers, places = self._own[id(alphabet)]
        of_class = np.left_shift(np.int64(1), numbers) @ shared.truths[places]
        symbols = [alphabet.number(bits) for bits in np.unique(of_class).tolist()]
        return ignores(symbols, len(alphabet.bits))

    def _truth(self, predicate: Predicate, parts: np.ndarray) -> np.ndarray:
        """Return a mask of the classes in which a predicate is true."""
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
        self, alphabet: Alphabet, shared: Shared, own: Selected, first: np.ndarray | None
    ) -> np.ndarray:
        """Return the symbols of the events that one query reads."""
        numbers, places = self._own[id(alphabet)]
        if own.classes is None or (len(numbers) and numbers.max() > _WORD_BITS):
            return alphabet.read(shared.batch, shared.streams, first)
        of_class = np.left_shift(np.int64(1), numbers) @ shared.truths[places]
        bits, which = np.unique(of_class, return_inverse=True)
        return alphabet.symbols(Classes(own.classes, bits.tolist()), first, which)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What queries on one stream have in common, on a batch of it."""

    union: Union
    shared: Shared
    ends: bool = False
    """Whether no events follow those of the batch."""
    narrowed: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """By columns, the batch without the events that no query needs."""


def _parts(predicates: Iterable[Predicate]) -> Iterable[Predicate]:
    """Split predicates at AND, OR and NOT."""
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
    """Move NOT inward: NOT of an AND is the OR of NOTs."""
    if inner.name == "not":
        return inner.arguments[0]
    sides = tuple(Operation("not", (each,), Type.BOOLEAN) for each in inner.arguments)
    return Operation("or" if inner.name == "and" else "and", sides, Type.BOOLEAN)
