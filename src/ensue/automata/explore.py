"""Exploring automata by asking: what a state does, whatever the answers to its predicates.

A step is worked out again and again, each time with other answers to the predicates it asks
about, until all answers have been given. So only predicates that matter in a state are looked at
there, however many the query has.
"""

from __future__ import annotations

from collections.abc import Iterator

from ensue.automata.build import Compiled, TypeTest
from ensue.automata.determine import START, Cell, Determined
from ensue.errors import BudgetError

Answers = tuple[tuple[int, bool], ...]


def explore(
    compiled: Compiled, determined: Determined, state: int
) -> Iterator[tuple[Answers, Cell]]:
    """Work out a step of a state under all answers that can be given together."""
    waiting: list[dict[int, bool]] = [{}]
    while waiting:
        given = waiting.pop()
        asked = dict(given)

        def holds(number: int, asked: dict[int, bool] = asked) -> bool:
            if number not in asked:
                asked[number] = _implied(compiled, number, asked) is not False
            return asked[number]

        cell = determined.work_out(state, holds)
        chosen = dict(given)
        for number, answer in list(asked.items()):
            if number in given:
                continue
            if answer and _implied(compiled, number, chosen) is None:
                waiting.append({**chosen, number: False})
            chosen[number] = answer
        yield tuple(sorted(asked.items())), cell


def _implied(compiled: Compiled, number: int, known: dict[int, bool]) -> bool | None:
    """Tell what is certain about a predicate: an event has one type only."""
    if number in known:
        return known[number]
    test = compiled.predicates[number]
    if isinstance(test, TypeTest) and test.type is not None:
        for other, answer in known.items():
            rival = compiled.predicates[other]
            if answer and isinstance(rival, TypeTest) and rival.type not in (None, test.type):
                return False
    return None


_MOST_STATES = 300
_MOST_STEPS = 20_000


def future_bits(compiled: Compiled, determined: Determined) -> list[int] | None:
    """Return, for every state, the bits of all labels that may come after it.

    None where the automaton is too large to be looked at as a whole.
    """
    after: list[set[tuple[int, int]]] = []
    steps = 0
    state = START
    while state < determined.size:
        found: set[tuple[int, int]] = set()
        try:
            for _, cell in explore(compiled, determined, state):
                found |= {(step.label, step.state) for step in cell}
                steps += 1
                if steps > _MOST_STEPS or determined.size > _MOST_STATES:
                    return None
        except BudgetError:
            return None
        after.append(found)
        state += 1
    future = [0] * len(after)
    changed = True
    while changed:
        changed = False
        for state, found in enumerate(after):
            bits = future[state]
            for label, target in found:
                bits |= label | (future[target] if target >= 0 else 0)
            changed = changed or bits != future[state]
            future[state] = bits
    return future
