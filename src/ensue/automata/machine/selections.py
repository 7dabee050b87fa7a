"""Machines of START, STRICT, NEXT, LAST and MAX.

NEXT, LAST and MAX are products of a run with the set of all states that its rivals can be in: runs
from the same start, by how their support compares with that of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ensue.automata.machine.protocol import Holds, Machine, Move, Moves, State


@dataclass(frozen=True, slots=True)
class FromStart:
    """START(φ): a run may only start at the first event of the (sub)stream."""

    inner: Machine
    at_start: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self.inner.first(holds) if holds(self.at_start) else ()

    def next(self, state: State, holds: Holds) -> Moves:
        return self.inner.next(state, holds)


@dataclass(frozen=True, slots=True)
class WithoutGap:
    """STRICT(φ): bound events are consecutive; phase 0 is before, 1 among, 2 after them."""

    inner: Machine
    visible: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self._phased(0, self.inner.first(holds))

    def next(self, state: State, holds: Holds) -> Moves:
        phase, inner = state
        return self._phased(phase, self.inner.next(inner, holds))

    def _phased(self, phase: int, moves: Moves) -> Iterator[Move]:
        for label, final, state in moves:
            bound = label & self.visible
            if bound and phase == 2:
                continue
            after = 1 if bound else (2 if phase else 0)
            yield Move(label, final, None if state is None else (after, state))


Rivals = tuple[frozenset[State], ...]


Compare = Callable[[int, bool, bool], int | None]
"""Returns the new class of a rival, given its class, whether the run marks the event, and whether
the rival does.

Class 0 has the same support so far, class 1 would beat the run if it ended now, class 2 would not
but still may; None can no longer beat it.
"""


def compare_next(rank: int, ours: bool, theirs: bool) -> int | None:
    """NEXT: the first difference decides."""
    if rank == 1 or ours == theirs:
        return rank
    return 1 if theirs else None


def compare_last(rank: int, ours: bool, theirs: bool) -> int | None:
    """LAST: the last difference decides."""
    if ours == theirs:
        return rank
    return 1 if theirs else 2


def compare_max(rank: int, ours: bool, theirs: bool) -> int | None:
    """MAX: a rival must mark all events that the run marks, and one more."""
    if ours == theirs:
        return rank
    return 1 if theirs else None


COMPARE: dict[str, Compare] = {"NEXT": compare_next, "LAST": compare_last, "MAX": compare_max}


@dataclass(frozen=True, slots=True)
class Unbeaten:
    """NEXT, LAST or MAX of φ: the product of a run with all runs from the same start, by class."""

    inner: Machine
    compare: Compare
    visible: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        moves = list(self.inner.first(holds))
        return self._compared(moves, [(0, moves)])

    def next(self, state: State, holds: Holds) -> Moves:
        inner, rivals = state
        theirs = [
            (rank, [move for each in states for move in self.inner.next(each, holds)])
            for rank, states in enumerate(rivals)
        ]
        return self._compared(list(self.inner.next(inner, holds)), theirs)

    def _compared(
        self, moves: Sequence[Move], theirs: Sequence[tuple[int, Sequence[Move]]]
    ) -> Iterator[Move]:
        outcomes = {
            marked: self._against(marked, theirs) for marked in set(map(self._marks, moves))
        }
        for move in moves:
            label, final, state = move
            rivals, beaten = outcomes[self._marks(move)]
            if final or state is not None:
                yield Move(label, final and not beaten, None if state is None else (state, rivals))

    def _marks(self, move: Move) -> bool:
        return bool(move.label & self.visible)

    def _against(
        self, marked: bool, theirs: Sequence[tuple[int, Sequence[Move]]]
    ) -> tuple[Rivals, bool]:
        """Advance the rivals; `marked`: the run marks the event. Return whether one beats it."""
        classes: tuple[set[State], ...] = (set(), set(), set())
        beaten = False
        for rank, moves in theirs:
            for move in moves:
                after = self.compare(rank, marked, self._marks(move))
                if after is None:
                    continue
                beaten = beaten or (after == 1 and move.final)
                if move.state is not None:
                    classes[after].add(move.state)
        return tuple(map(frozenset, classes)), beaten
