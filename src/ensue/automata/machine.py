"""Machines: what a formula does with an interval of events, one event at a time.

A complex event of a one-event formula is a word: for each event of its interval, the predicates
that hold there and the set of variables it is bound to. So every formula denotes a regular
language, and every operator is an operation on such languages. A machine is a nondeterministic
acceptor of that language, worked out on demand: `first` gives the moves of a run that starts at
an event, `next` those of a run in some state.

A move has the variables the event gets (as bits), whether the word may end there, and the state
to go on from (None: it cannot). Acceptance on moves instead of states keeps waiting for the next
event a plain loop. States are hashable values that mean something to their machine only.

The printed constructions for UNLESS and for NEXT, LAST, MAX are not followed (they forget
matches inside the interval, and rivals with the same support): both are products with the set of
all states that a rival, or a forbidden match, can be in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

State = Any
"""Made of None, booleans, whole numbers, strings, tuples and frozensets, so that a snapshot can
write it down (see state/codec.py) and another process go on from it."""

Holds = Callable[[int], bool]
"""Tells whether a predicate, by its number, holds for the event at hand."""


class Move(NamedTuple):
    """One way to read an event."""

    label: int
    final: bool
    state: State | None


Moves = Iterable[Move]


class Machine(Protocol):
    """An acceptor of the words of a formula."""

    @property
    def nullable(self) -> bool:
        """Whether the empty match is among them (only inside a sequence)."""

    def first(self, holds: Holds) -> Moves:
        """Give the moves of a run that starts at this event."""

    def next(self, state: State, holds: Holds) -> Moves:
        """Give the moves of a run in a state."""


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
class Nothing:
    """The empty match."""

    nullable: bool = True

    def first(self, holds: Holds) -> Moves:
        return ()

    def next(self, state: State, holds: Holds) -> Moves:
        return ()


class _Mapped(ABC):
    """Moves whose label is changed, or that are dropped (None)."""

    __slots__ = ()
    inner: Machine

    @abstractmethod
    def change(self, label: int, holds: Holds) -> int | None:
        """Return what becomes of a label; None: its move is dropped."""

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
    """φ AS X: whatever is bound to something is bound to X too."""

    inner: Machine
    variable: int
    visible: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label | self.variable if label & self.visible else label


@dataclass(frozen=True, slots=True)
class Projected(_Mapped):
    """φ PROJECT [X, …]: only the listed variables stay."""

    inner: Machine
    kept: int

    def change(self, label: int, holds: Holds) -> int | None:
        return label & self.kept


@dataclass(frozen=True, slots=True)
class Copied(_Mapped):
    """φ with a hidden bit on every event bound to X: X as seen from one scope."""

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
    """φ with hidden bits on its first and on its last event: an interval to look at later."""

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
    """φ with one label for all variables: only whether an event is bound."""

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
class Chain:
    """φ1 ; φ2 ; …, or with `:`. States: inside an item, or past one and before the next."""

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
    """φ+ or φ:+. States: inside a round, or between two rounds."""

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


_BEFORE, _DONE = "before", "done"


class _Side(NamedTuple):
    """What one side of ALL may do at an event."""

    label: int
    state: State
    ends: bool


@dataclass(frozen=True, slots=True)
class Together:
    """φ1 ALL φ2 ALL …: each side runs somewhere in the interval, the union of all spans it."""

    items: tuple[Machine, ...]
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self.next((_BEFORE,) * len(self.items), holds)

    def next(self, state: State, holds: Holds) -> Moves:
        before: tuple[State, ...] = state
        outset = all(each is _BEFORE for each in before)
        combined: set[tuple[int, tuple[State, ...], bool]] = {(0, (), False)}
        for item, each in zip(self.items, before, strict=True):
            options = set(_side(item, each, holds))
            combined = {
                (label | side.label, (*states, side.state), ends or side.ends)
                for label, states, ends in combined
                for side in options
            }
        for label, states, ends in combined:
            if all(each is _DONE for each in states):
                if ends:
                    yield Move(label, True, None)
            elif not (outset and all(each is _BEFORE for each in states)):
                yield Move(label, False, states)


def _side(item: Machine, state: State, holds: Holds) -> Iterator[_Side]:
    if state is _DONE:
        yield _Side(0, _DONE, False)
        return
    if state is _BEFORE:
        yield _Side(0, _BEFORE, False)
        moves = item.first(holds)
    else:
        (inside,) = state
        moves = item.next(inside, holds)
    for move in moves:
        if move.final:
            yield _Side(move.label, _DONE, True)
        if move.state is not None:
            yield _Side(move.label, (move.state,), False)


@dataclass(frozen=True, slots=True)
class Without:
    """φ UNLESS ψ: beside a run of φ, all runs of ψ that started inside the interval.

    As soon as one of those is complete, the run of φ is dead for good.
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


@dataclass(frozen=True, slots=True)
class FromStart:
    """START(φ): only at the first event of the (sub)stream."""

    inner: Machine
    at_start: int
    nullable: bool = False

    def first(self, holds: Holds) -> Moves:
        return self.inner.first(holds) if holds(self.at_start) else ()

    def next(self, state: State, holds: Holds) -> Moves:
        return self.inner.next(state, holds)


@dataclass(frozen=True, slots=True)
class WithoutGap:
    """STRICT(φ): bound events follow one another; phase 0 is before, 1 in, 2 after them."""

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


@dataclass(frozen=True, slots=True)
class Adjoined:
    """φ with a hidden bit on each bound event whose predecessor in the (sub)stream is bound too.

    It tells gaps where matches are listed: their positions count the events of all partitions.
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


Rivals = tuple[frozenset[State], ...]

Compare = Callable[[int, bool, bool], int | None]
"""How a rival of some class stands after an event that we mark or not and it marks or not.

Class 0 has had the same support so far, class 1 would beat us if it ended now, class 2 would
not but may still; None has lost for good.
"""


def _next(rank: int, ours: bool, theirs: bool) -> int | None:
    """NEXT: the first difference decides."""
    if rank == 1 or ours == theirs:
        return rank
    return 1 if theirs else None


def _last(rank: int, ours: bool, theirs: bool) -> int | None:
    """LAST: the last difference decides."""
    if ours == theirs:
        return rank
    return 1 if theirs else 2


def _max(rank: int, ours: bool, theirs: bool) -> int | None:
    """MAX: a rival must mark all that we mark, and something more."""
    if ours == theirs:
        return rank
    return 1 if theirs else None


COMPARE: dict[str, Compare] = {"NEXT": _next, "LAST": _last, "MAX": _max}


@dataclass(frozen=True, slots=True)
class Unbeaten:
    """NEXT, LAST or MAX of φ: beside a run, all runs of φ from the same start, by class."""

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
        """Advance the rivals beside an event that we mark or not; tell whether one beats us."""
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
