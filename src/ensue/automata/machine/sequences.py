"""Machines of single events, of sequences and of repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ensue.automata.machine.protocol import Holds, Machine, Move, Moves, State


@dataclass(frozen=True, slots=True)
class One:
    """An event that satisfies a test, bound to the variables of a label."""

    tests: tuple[int, ...]
    label: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        if all(holds(test) for test in self.tests):
            yield Move(self.label, True, None)

    def next(self, state: State, holds: Holds) -> Moves:
        return ()


@dataclass(frozen=True, slots=True)
class NotOne:
    """An event that is no match of a one-event machine, bound to nothing."""

    inner: Machine
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        if not any(move.final for move in self.inner.first(holds)):
            yield Move(0, True, None)

    def next(self, state: State, holds: Holds) -> Moves:
        return ()


@dataclass(frozen=True, slots=True)
class EmptyWord:
    """The empty match."""

    nullable: bool = True

    def first(self, holds: Holds) -> Moves:
        return ()

    def next(self, state: State, holds: Holds) -> Moves:
        return ()


@dataclass(frozen=True, slots=True)
class Chain:
    """φ1 ; φ2 ; …, or with `:`. A state is inside an item, or between two items."""

    items: tuple[Machine, ...]
    contiguous: bool

    @property
    def nullable(self) -> bool:
        return all(item.nullable for item in self.items)

    def first(self, holds: Holds) -> Moves:
        return self._from(-1, holds)

    def next(self, state: State, holds: Holds) -> Moves:
        index, inner = state
        if inner is not None:
            yield from self._inside(index, self.items[index].next(inner, holds))
            return
        if not self.contiguous:
            yield Move(0, False, state)
        yield from self._from(index, holds)

    def _from(self, done: int, holds: Holds) -> Iterator[Move]:
        """Start the next item, or a later one when those between may be empty."""
        for index in range(done + 1, len(self.items)):
            yield from self._inside(index, self.items[index].first(holds))
            if not self.items[index].nullable:
                return

    def _inside(self, index: int, moves: Moves) -> Iterator[Move]:
        last = all(item.nullable for item in self.items[index + 1 :])
        for move in moves:
            if move.state is not None:
                yield Move(move.label, False, (index, move.state))
            if move.final and index + 1 < len(self.items):
                yield Move(move.label, last, (index, None))
            elif move.final:
                yield Move(move.label, True, None)


_BETWEEN = "between"


@dataclass(frozen=True, slots=True)
class Repeated:
    """φ+ or φ:+. A state is inside a round, or between two rounds."""

    inner: Machine
    contiguous: bool
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self._round(self.inner.first(holds))

    def next(self, state: State, holds: Holds) -> Moves:
        if state is not _BETWEEN:
            (inside,) = state
            yield from self._round(self.inner.next(inside, holds))
            return
        if not self.contiguous:
            yield Move(0, False, _BETWEEN)
        yield from self._round(self.inner.first(holds))

    def _round(self, moves: Moves) -> Iterator[Move]:
        for move in moves:
            if move.state is not None:
                yield Move(move.label, False, (move.state,))
            if move.final:
                yield Move(move.label, True, _BETWEEN)
