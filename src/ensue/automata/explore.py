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
        types = {_type(compiled, number) for number, answer in given.items() if answer} - {None}

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
        for number, answer in list(asked.items()):
            if number in given:
                continue
            if answer:
                waiting.append({**chosen, number: False})
            chosen[number] = answer
        yield tuple(sorted(asked.items())), cell


def _type(compiled: Compiled, number: int) -> str | None:
    """Return the type that a predicate asks for, if it does."""
    test = compiled.predicates[number]
    return test.type if isinstance(test, TypeTest) else None


def _excluded(kind: str | None, types: set[str | None]) -> bool:
    """Tell whether an event of some type cannot be of this one: it has one type only."""
    return kind is not None and bool(types) and kind not in types


_MOST_STATES = 300
_MOST_STEPS = 3_000
_MOST_PREDICATES = 200


@dataclass(frozen=True, slots=True)
class Prospects:
    """What may still come after each state."""

    bits: list[int]
    """The bits of all labels."""
    hopeless: frozenset[int]
    """The states after which no match can end."""
    steps: frozenset[tuple[int, int]]
    """The label of every step, and the bits of all labels that may come after it."""


def prospects(compiled: Compiled, determined: Determined) -> Prospects | None:
    """Look ahead from every state; None where the automaton is too large to be looked at whole."""
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
    labelled = (
        (label, bits[target] if target >= 0 else 0) for some in after for label, _, target in some
    )
    return Prospects(bits, frozenset(hopeless), frozenset(labelled))
