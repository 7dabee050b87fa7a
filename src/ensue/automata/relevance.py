"""Which events are irrelevant to a query, and what every match has.

An event is irrelevant if its removal changes no match: it starts no run and changes no state,
unless the query counts events or uses START. So the relevant events are given by the predicates on
which some state does more. A predicate is necessary if no match is reached without an event that
satisfies it.
"""

from __future__ import annotations

from typing import NamedTuple

from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.determine import START, Cell, Determined
from ensue.automata.explore import Values, explore, look_ahead

Needed = frozenset[frozenset[int]]
"""Sets of predicates: an event is relevant only if all predicates of one set hold."""

_MOST_SETS = 100
"""With more sets, testing events costs more than reading them."""


class Relevance(NamedTuple):
    """What can be told of events and matches from the automaton alone."""

    needed: Needed | None
    """What must hold for an event to be relevant; None: any event may be.

    It is conservative: predicates that must not hold are dropped from the sets.
    """
    necessary: frozenset[int]
    """Predicates each of which holds for some event of every match."""


_UNKNOWN = Relevance(None, frozenset())

_Explored = list[list[tuple[Values, Cell]]]
"""By state, the transitions for all values of the predicates."""


def needed(compiled: Compiled) -> Needed | None:
    """Return what must hold for an event to be relevant; None: any event may be."""
    return relevance(compiled).needed


def relevance(compiled: Compiled) -> Relevance:
    """Find out which events can matter, and what every match has."""
    if compiled.absent or any(isinstance(each, AtStart) for each in compiled.predicates):
        return _UNKNOWN
    determined = Determined(compiled)
    ahead = look_ahead(compiled, determined)
    if ahead is None:
        return _UNKNOWN
    determined.dead = ahead.dead
    explored: _Explored = [
        []
        if state in ahead.dead
        else [
            (values, determined.trimmed(cell))
            for values, cell in explore(compiled, determined, state)
        ]
        for state in range(len(ahead.bits))
    ]
    return Relevance(_needed(explored), _necessary(compiled, explored))


def _needed(explored: _Explored) -> Needed | None:
    found: set[frozenset[int]] = set()
    for state, cells in enumerate(explored):
        for values, cell in cells:
            if _is_idle(state, cell):
                continue
            holding = frozenset(number for number, value in values if value)
            if not holding:
                return None
            found.add(holding)
    least = {each for each in found if not any(other < each for other in found)}
    return None if len(least) > _MOST_SETS else frozenset(least)


def _necessary(compiled: Compiled, explored: _Explored) -> frozenset[int]:
    """Try each predicate: can a match be completed by events none of which satisfies it?"""
    return frozenset(
        number
        for number in range(len(compiled.predicates))
        if not _completes_without(number, explored)
    )


def _completes_without(predicate: int, explored: _Explored) -> bool:
    reached, waiting = {START}, [START]
    while waiting:
        for values, cell in explored[waiting.pop()]:
            if (predicate, True) in values:
                continue
            for step in cell:
                if step.final:
                    return True
                if step.state >= 0 and step.state not in reached:
                    reached.add(step.state)
                    waiting.append(step.state)
    return False


def _is_idle(state: int, cell: Cell) -> bool:
    """Return whether a step starts no run and does not change the state."""
    if state == START:
        return not cell
    return len(cell) == 1 and cell[0] == (0, False, state)
