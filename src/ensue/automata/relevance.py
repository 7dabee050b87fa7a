"""Which events a query can tell apart from no event at all.

An event that starts no match and leaves every state as it is might as well not have come, unless
somebody counts events or asks for the first. So it is enough to know which answers to the
predicates do more than that.
"""

from __future__ import annotations

from ensue.automata.build import AtStart, Compiled
from ensue.automata.determine import START, Cell, Determined
from ensue.automata.explore import explore, prospects

Needed = frozenset[frozenset[int]]
"""Sets of predicates: an event matters only if all predicates of one of the sets hold."""

_MOST_SETS = 100


def needed(compiled: Compiled) -> Needed | None:
    """Tell what must hold for an event to matter; None: any event may.

    The answer is on the safe side: of the sets found only the predicates that hold are kept, not
    those that must not.
    """
    if compiled.absent or any(isinstance(each, AtStart) for each in compiled.predicates):
        return None
    determined = Determined(compiled)
    ahead = prospects(compiled, determined)
    if ahead is None:
        return None
    determined.hopeless = ahead.hopeless
    found: set[frozenset[int]] = set()
    for state in range(len(ahead.bits)):
        if state in ahead.hopeless:
            continue
        for answers, cell in explore(compiled, determined, state):
            if _leaves_alone(state, determined.trimmed(cell)):
                continue
            holding = frozenset(number for number, answer in answers if answer)
            if not holding:
                return None
            found.add(holding)
    least = {each for each in found if not any(other < each for other in found)}
    return None if len(least) > _MOST_SETS else frozenset(least)


def _leaves_alone(state: int, cell: Cell) -> bool:
    """Tell whether a step starts nothing, or stays where it is."""
    if state == START:
        return not cell
    return len(cell) == 1 and cell[0] == (0, False, state)
