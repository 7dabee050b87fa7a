"""Machines that change the labels of another: variables added, dropped or tested, hidden bits.

Hidden bits are labels that no variable has. They mark what conditions and AGGREGATEs need of a
match that is decided on listing: scopes, rounds, intervals, neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ensue.automata.machine.protocol import Holds, Machine, Move, Moves, State


class _Mapped(ABC):
    """Base of machines that map the label of each move, or drop the move."""

    __slots__ = ()
    inner: Machine

    @abstractmethod
    def change(self, label: int, holds: Holds) -> int | None:
        """Return the new label of a move, or None to drop the move."""

    @property
    def nullable(self) -> bool:
        return self.inner.nullable

    def first(self, holds: Holds) -> Moves:
        return self._changed(self.inner.first(holds), holds)

    def next(self, state: State, holds: Holds) -> Moves:
        return self._changed(self.inner.next(state, holds), holds)

    def _changed(self, moves: Moves, holds: Holds) -> Iterator[Move]:
        for move in moves:
            label = self.change(move.label, holds)
            if label is not None:
                yield Move(label, move.final, move.state)


@dataclass(frozen=True, slots=True)
class Named(_Mapped):
    """φ AS X: every bound event is bound to X too."""

    inner: Machine
    variable: int
    visible: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label | self.variable if label & self.visible else label


@dataclass(frozen=True, slots=True)
class Projected(_Mapped):
    """φ PROJECT [X, …]: only the listed variables are kept."""

    inner: Machine
    kept: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label & self.kept


@dataclass(frozen=True, slots=True)
class Copied(_Mapped):
    """φ with a hidden bit on every event bound to X: the events of X in one scope."""

    inner: Machine
    variable: int
    hidden: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label | self.hidden if label & self.variable else label


@dataclass(frozen=True, slots=True)
class Marked:
    """φ with a hidden bit on its first event: a new round of its scope begins."""

    inner: Machine
    marker: int

    @property
    def nullable(self) -> bool:
        return self.inner.nullable

    def first(self, holds: Holds) -> Moves:
        for label, final, state in self.inner.first(holds):
            yield Move(label | self.marker, final, state)

    def next(self, state: State, holds: Holds) -> Moves:
        return self.inner.next(state, holds)


@dataclass(frozen=True, slots=True)
class Bounded:
    """φ with hidden bits on its first and on its last event: its interval, for later checks."""

    inner: Machine
    begin: int
    end: int

    @property
    def nullable(self) -> bool:
        return self.inner.nullable

    def first(self, holds: Holds) -> Moves:
        return self._ended(self.inner.first(holds), self.begin)

    def next(self, state: State, holds: Holds) -> Moves:
        return self._ended(self.inner.next(state, holds), 0)

    def _ended(self, moves: Moves, begin: int) -> Iterator[Move]:
        for label, final, state in moves:
            if final:
                yield Move(label | begin | self.end, True, None)
            if state is not None:
                yield Move(label | begin, False, state)


@dataclass(frozen=True, slots=True)
class Support(_Mapped):
    """φ with one label for all variables: whether an event is bound."""

    inner: Machine

    def change(self, label: int, holds: Holds) -> int | None:
        return int(label != 0)


@dataclass(frozen=True, slots=True)
class Filtered(_Mapped):
    """φ FILTER X[p]: an event bound to X satisfies p."""

    inner: Machine
    variable: int
    test: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label if not label & self.variable or holds(self.test) else None


@dataclass(frozen=True, slots=True)
class Adjoined:
    """φ with a hidden bit on each bound event whose predecessor in the (sub)stream is bound too.

    It shows gaps when matches are listed: their positions count the events of all partitions.
    """

    inner: Machine
    visible: int
    hidden: int

    @property
    def nullable(self) -> bool:
        return self.inner.nullable

    def first(self, holds: Holds) -> Moves:
        return self._marked(False, self.inner.first(holds))

    def next(self, state: State, holds: Holds) -> Moves:
        after, inner = state
        return self._marked(after, self.inner.next(inner, holds))

    def _marked(self, after: bool, moves: Moves) -> Iterator[Move]:
        for label, final, state in moves:
            bound = bool(label & self.visible)
            marked = label | self.hidden if bound and after else label
            yield Move(marked, final, None if state is None else (bound, state))
