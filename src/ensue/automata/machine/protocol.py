"""Machines: nondeterministic acceptors of the words of a formula, computed on demand.

A complex event of a formula on single events is a word: for each event of its interval, the
predicates that hold there and the set of variables that it is bound to. So every formula denotes a
regular language, and every operator is an operation on such languages. `first` returns the moves
of a run that starts at an event, `next` those of a run in some state.

A move has the variables that the event gets (as bits), whether the word may end there, and the
next state (None: the run cannot continue). Acceptance is on moves, not on states, so that waiting
for the next event is a plain loop. States are hashable values private to their machine.

The published constructions for UNLESS and for NEXT, LAST, MAX are not followed: they lose matches
inside the interval, and rivals with the same support. Here both are products with the set of all
states that a rival, or a forbidden match, can be in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

State = Any
"""Made of None, booleans, integers, strings, tuples and frozensets, so that a snapshot can store it
(see state/codec.py)."""


Holds = Callable[[int], bool]
"""Returns whether a predicate, by its number, holds for the current event."""


class Move(NamedTuple):
    """A transition on an event."""

    label: int
    final: bool
    state: State | None


Moves = Iterable[Move]


class Machine(Protocol):
    """An acceptor of the words of a formula."""

    @property
    def nullable(self) -> bool:
        """Whether it accepts the empty word (only inside a sequence)."""

    def first(self, holds: Holds) -> Moves:
        """Return the moves of a run that starts at this event."""

    def next(self, state: State, holds: Holds) -> Moves:
        """Return the moves of a run in a state."""
