"""Exploring automata by asking: what a state does, whatever the answers to its predicates.

Looking ahead from every state tells which can never lead to a match (they are trimmed), and which
labels may still come (registers that none of them reads are emptied).

A step is worked out again and again, each time with other answers to the predicates it asks
about, until all answers have been given. So only predicates that matter in a state are looked at
there, however many the query has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
_MOST_STEPS = 3_000


@dataclass(frozen=True, slots=True)
class Prospects:
    """What may still come after each state."""

    bits: list[int]
    """The bits of all labels."""
    hopeless: frozenset[int]
    """The states after which no match can end."""


def prospects(compiled: Compiled, determined: Determined) -> Prospects | None:
    """Look ahead from every state; None where the automaton is too large to be looked at whole."""
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
    bits, hopes = [0] * len(after), [False] * len(after)
    changed = True
    while changed:
        changed = False
        for state, found in enumerate(after):
            ahead, hope = bits[state], hopes[state]
            for label, final, target in found:
                ahead |= label | (bits[target] if target >= 0 else 0)
                hope = hope or final or (target >= 0 and hopes[target])
            changed = changed or (ahead, hope) != (bits[state], hopes[state])
            bits[state], hopes[state] = ahead, hope
    hopeless = (state for state, hope in enumerate(hopes) if not hope and state != START)
    return Prospects(bits, frozenset(hopeless))
