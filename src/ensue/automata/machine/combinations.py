"""Machines of OR, AND, ALL and UNLESS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ensue.automata.machine.protocol import Holds, Machine, Move, Moves, State


@dataclass(frozen=True, slots=True)
class Choice:
    """φ1 OR φ2 OR …"""

    items: tuple[Machine, ...]

    @property
    def nullable(self) -> bool:
        return any(item.nullable for item in self.items)

    def first(self, holds: Holds) -> Moves:
        for index, item in enumerate(self.items):
            yield from self._tagged(index, item.first(holds))

    def next(self, state: State, holds: Holds) -> Moves:
        index, inner = state
        return self._tagged(index, self.items[index].next(inner, holds))

    def _tagged(self, index: int, moves: Moves) -> Iterator[Move]:
        for label, final, state in moves:
            yield Move(label, final, None if state is None else (index, state))


@dataclass(frozen=True, slots=True)
class Agreement:
    """φ1 AND φ2: both read the events with the same labels."""

    left: Machine
    right: Machine
    visible: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self._agreed(self.left.first(holds), self.right.first(holds))

    def next(self, state: State, holds: Holds) -> Moves:
        left, right = state
        return self._agreed(self.left.next(left, holds), self.right.next(right, holds))

    def _agreed(self, left: Moves, right: Moves) -> Iterator[Move]:
        rights = list(right)
        for a in left:
            for b in rights:
                if (a.label ^ b.label) & self.visible:
                    continue
                alive = a.state is not None and b.state is not None
                if alive or (a.final and b.final):
                    state = (a.state, b.state) if alive else None
                    yield Move(a.label | b.label, a.final and b.final, state)


BEFORE, DONE = "before", "done"


class Side(NamedTuple):
    """A move of one side of ALL."""

    label: int
    state: State
    ends: bool


@dataclass(frozen=True, slots=True)
class Together:
    """φ1 ALL φ2 ALL …: each side matches within the interval, and together they span it."""

    items: tuple[Machine, ...]
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self.next((BEFORE,) * len(self.items), holds)

    def next(self, state: State, holds: Holds) -> Moves:
        before: tuple[State, ...] = state
        outset = all(each is BEFORE for each in before)
        combined: set[tuple[int, tuple[State, ...], bool]] = {(0, (), False)}
        for item, each in zip(self.items, before, strict=True):
            options = set(side_moves(item, each, holds))
            combined = {
                (label | side.label, (*states, side.state), ends or side.ends)
                for label, states, ends in combined
                for side in options
            }
        for label, states, ends in combined:
            if all(each is DONE for each in states):
                if ends:
                    yield Move(label, True, None)
            elif not (outset and all(each is BEFORE for each in states)):
                yield Move(label, False, states)


def side_moves(item: Machine, state: State, holds: Holds) -> Iterator[Side]:
    """Return the moves of one side of ALL: it may start, go on, or wait for the others."""
    if state is DONE:
        yield Side(0, DONE, False)
        return
    if state is BEFORE:
        yield Side(0, BEFORE, False)
        moves = item.first(holds)
    else:
        (inside,) = state
        moves = item.next(inside, holds)
    for move in moves:
        if move.final:
            yield Side(move.label, DONE, True)
        if move.state is not None:
            yield Side(move.label, (move.state,), False)


@dataclass(frozen=True, slots=True)
class Without:
    """φ UNLESS ψ: the product of a run of φ with all runs of ψ that started inside the interval.

    When one of those accepts, the run of φ ends without a match.
    """

    inner: Machine
    absent: Machine
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self._guarded(self.inner.first(holds), frozenset(), holds)

    def next(self, state: State, holds: Holds) -> Moves:
        inner, running = state
        return self._guarded(self.inner.next(inner, holds), running, holds)

    def _guarded(self, moves: Moves, running: frozenset[State], holds: Holds) -> Iterator[Move]:
        after: set[State] = set()
        for rivals in (self.absent.first(holds), *(self.absent.next(r, holds) for r in running)):
            for rival in rivals:
                if rival.final:
                    return
                after.add(rival.state)
        guard = frozenset(after)
        for label, final, state in moves:
            yield Move(label, final, None if state is None else (state, guard))
