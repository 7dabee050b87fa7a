"""Which events are irrelevant to a query: those whose removal changes no match.

An event is irrelevant if it starts no run and changes no state, unless the query counts events or
uses START. So the relevant events are given by the predicates on which some state does more.
"""

from __future__ import annotations

from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.determine import START, Cell, Determined
from ensue.automata.explore import explore, look_ahead

Needed = frozenset[frozenset[int]]
"""Sets of predicates: an event is relevant only if all predicates of one set hold."""

_MOST_SETS = 100
"""With more sets, testing events costs more than reading them."""


def needed(compiled: Compiled) -> Needed | None:
    """Return what must hold for an event to be relevant; None: any event may be.

    The result is conservative: predicates that must not hold are dropped from the sets.
    """
    if compiled.absent or any(isinstance(each, AtStart) for each in compiled.predicates):
        return None
    determined = Determined(compiled)
    ahead = look_ahead(compiled, determined)
    if ahead is None:
        return None
    determined.dead = ahead.dead
    found: set[frozenset[int]] = set()
    for state in range(len(ahead.bits)):
        if state in ahead.dead:
            continue
        for values, cell in explore(compiled, determined, state):
            if _is_idle(state, determined.trimmed(cell)):
                continue
            holding = frozenset(number for number, value in values if value)
            if not holding:
                return None
            found.add(holding)
    least = {each for each in found if not any(other < each for other in found)}
    return None if len(least) > _MOST_SETS else frozenset(least)


def _is_idle(state: int, cell: Cell) -> bool:
    """Return whether a step starts no run and does not change the state."""
    if state == START:
        return not cell
    return len(cell) == 1 and cell[0] == (0, False, state)
