"""Determinised machines against the machines they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given

from ensue.automata.build import compile_formula
from ensue.automata.compiled import Compiled
from ensue.automata.determine import START, Determined
from ensue.automata.machine import State
from ensue.logic.complex_event import ComplexEvent, Event
from tests.automata.slow_twin import simulate, symbol_of
from tests.effort import broad
from tests.formulas import events_of, formula_of
from tests.pairs import Pair, pairs

Word = frozenset[tuple[int, int]]
"""Which event got which label."""


def simulate_machine(compiled: Compiled, stream: Sequence[Event]) -> set[ComplexEvent]:
    """Follow all runs of a nondeterministic machine; equal labels are one complex event."""
    found: set[tuple[int, int, Word]] = set()
    runs: set[tuple[int, State, Word]] = set()
    for position, event in enumerate(stream):
        symbol = symbol_of(compiled, event, position)

        def holds(predicate: int, symbol: int = symbol) -> bool:
            return bool(symbol >> predicate & 1)

        moves = [(position, frozenset(), move) for move in compiled.machine.first(holds)]
        moves += [
            (start, word, move)
            for start, state, word in runs
            for move in compiled.machine.next(state, holds)
        ]
        runs = set()
        for start, word, (label, final, after) in moves:
            longer = word | {(position, label)} if label else word
            if final:
                found.add((start, position, longer))
            if after is not None:
                runs.add((start, after, longer))
    return {_complex_event(compiled, *each) for each in found}


def _complex_event(compiled: Compiled, start: int, end: int, word: Word) -> ComplexEvent:
    bindings = frozenset(
        (name, position)
        for position, label in word
        for bit, name in enumerate(compiled.variables)
        if label >> bit & 1
    )
    return ComplexEvent(start, end, bindings)


@broad
@given(pairs())
def test_determinised_eq_automaton(pair: Pair) -> None:
    formula = formula_of(pair.query)
    if formula is None:
        return
    compiled = compile_formula(formula)
    stream = events_of(pair.rows)
    found = simulate(compiled, stream)
    assert len(found) == len(set(found)), "a complex event is read by two runs"
    assert set(found) == simulate_machine(compiled, stream)


@given(pairs())
def test_a_deterministic_state_has_one_step_for_each_label(pair: Pair) -> None:
    formula = formula_of(pair.query)
    if formula is None:
        return
    compiled = compile_formula(formula)
    determined = Determined(compiled)
    states = {START}
    for position, event in enumerate(events_of(pair.rows)):
        symbol = symbol_of(compiled, event, position)
        reached = {START}
        for state in states:
            steps = determined.step(state, symbol)
            assert all(one.label < other.label for one, other in pairwise(steps))
            assert all(step.final or step.state >= 0 for step in steps)
            reached |= {step.state for step in steps if step.state >= 0}
        states = reached
