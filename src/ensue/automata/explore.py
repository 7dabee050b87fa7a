"""Exploration of the whole automaton, for all values of its predicates.

It finds the dead states, from which no match can be reached (they are trimmed), and the labels
that may still come after each state (registers that none of them reads are cleared).

The transitions of a state are computed again for each combination of values of the predicates
that they depend on. So only predicates that matter in a state are enumerated there, however many
the query has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ensue.automata.compiled import Compiled, TypeTest
from ensue.automata.determine import START, Cell, Determined
from ensue.errors import BudgetError

Values = tuple[tuple[int, bool], ...]


def explore(
    compiled: Compiled, determined: Determined, state: int
) -> Iterator[tuple[Values, Cell]]:
    """Yield the transitions of a state for all consistent values of its predicates."""
    waiting: list[dict[int, bool]] = [{}]
    while waiting:
        given = waiting.pop()
        asked = dict(given)
        types = {_type(compiled, number) for number, value in given.items() if value} - {None}

        def holds(
            number: int, asked: dict[int, bool] = asked, types: set[str | None] = types
        ) -> bool:
            if number not in asked:
                kind = _type(compiled, number)
                asked[number] = not _excluded(kind, types)
                if asked[number] and kind is not None:
                    types.add(kind)
            return asked[number]

        cell = determined.work_out(state, holds)
        chosen = dict(given)
        for number, value in list(asked.items()):
            if number in given:
                continue
            if value:
                waiting.append({**chosen, number: False})
            chosen[number] = value
        yield tuple(sorted(asked.items())), cell


def _type(compiled: Compiled, number: int) -> str | None:
    """Return the event type that a predicate tests, or None."""
    test = compiled.predicates[number]
    return test.type if isinstance(test, TypeTest) else None


def _excluded(kind: str | None, types: set[str | None]) -> bool:
    """Return whether an event of these types cannot have this one: it has one type only."""
    return kind is not None and bool(types) and kind not in types


_MOST_STATES = 300
_MOST_STEPS = 3_000
_MOST_PREDICATES = 200
"""Automata beyond these limits are not explored."""


@dataclass(frozen=True, slots=True)
class Lookahead:
    """What may come after each state."""

    bits: list[int]
    """By state, the bits of all labels that may come."""
    dead: frozenset[int]
    """The states from which no match can be reached."""
    steps: frozenset[tuple[int, int]]
    """The label of every step, and the bits of all labels that may come after it."""
    steps_from: tuple[frozenset[tuple[int, bool, int]], ...] = ()
    """By state, the label of each of its steps, whether it completes matches, and its target."""


def look_ahead(compiled: Compiled, determined: Determined) -> Lookahead | None:
    """Explore the whole automaton; None if it is too large."""
    if len(compiled.predicates) > _MOST_PREDICATES:
        return None
    after: list[set[tuple[int, bool, int]]] = []
    steps = 0
    while len(after) < determined.size:
        found: set[tuple[int, bool, int]] = set()
        try:
            for _, cell in explore(compiled, determined, len(after)):
                found.update(cell)
                steps += 1
                if steps > _MOST_STEPS or determined.size > _MOST_STATES:
                    return None
        except BudgetError:
            return None
        after.append(found)
    bits, alive = [0] * len(after), [False] * len(after)
    changed = True
    while changed:
        changed = False
        for state, found in enumerate(after):
            ahead, live = bits[state], alive[state]
            for label, final, target in found:
                ahead |= label | (bits[target] if target >= 0 else 0)
                live = live or final or (target >= 0 and alive[target])
            changed = changed or (ahead, live) != (bits[state], alive[state])
            bits[state], alive[state] = ahead, live
    dead = (state for state, live in enumerate(alive) if not live and state != START)
    labelled = (
        (label, bits[target] if target >= 0 else 0) for some in after for label, _, target in some
    )
    return Lookahead(bits, frozenset(dead), frozenset(labelled), tuple(map(frozenset, after)))
