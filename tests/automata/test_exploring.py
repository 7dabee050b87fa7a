"""Looking ahead in an automaton: what is trimmed was in vain, and nothing else is."""

from __future__ import annotations

from hypothesis import given

from ensue.automata.build import compile_formula
from ensue.automata.compiled import Compiled
from ensue.automata.determine import START, Determined
from ensue.automata.explore import explore, look_ahead
from tests.automata.slow_twin import simulate, symbol_of
from tests.formulas import events_of, formula, formula_of
from tests.pairs import Pair, pairs


def machine_of(pair: Pair) -> Compiled | None:
    found = formula_of(pair.query)
    return None if found is None else compile_formula(found)


@given(pairs())
def test_trimmed_eq_determinised(pair: Pair) -> None:
    compiled = machine_of(pair)
    if compiled is None:
        return
    determined = Determined(compiled)
    ahead = look_ahead(compiled, determined)
    if ahead is None:
        return
    determined.dead = ahead.dead
    stream = events_of(pair.rows)
    assert simulate(compiled, stream, determined) == simulate(compiled, stream)


@given(pairs())
def test_a_step_is_explored_whatever_is_answered(pair: Pair) -> None:
    """Of all that was explored, what fits the answers of an event is the step at that event."""
    compiled = machine_of(pair)
    if compiled is None:
        return
    determined = Determined(compiled)
    states = {START}
    for position, event in enumerate(events_of(pair.rows)):
        symbol = symbol_of(compiled, event, position)
        reached = {START}
        for state in states:
            step = determined.step(state, symbol)
            (explored,) = (
                cell
                for answers, cell in explore(compiled, determined, state)
                if all(bool(symbol >> number & 1) is answer for number, answer in answers)
            )
            assert explored == step
            reached |= {each.state for each in step if each.state >= 0}
        states = reached


@given(pairs())
def test_labels_that_come_were_ahead(pair: Pair) -> None:
    compiled = machine_of(pair)
    if compiled is None:
        return
    determined = Determined(compiled)
    ahead = look_ahead(compiled, determined)
    if ahead is None:
        return
    runs = {START}
    for position, event in enumerate(events_of(pair.rows)):
        symbol = symbol_of(compiled, event, position)
        reached = {START}
        for state in runs:
            for step in determined.step(state, symbol):
                assert step.label & ~ahead.bits[state] == 0
                assert not (step.final and state in ahead.dead)
                if step.state >= 0:
                    assert (step.label, ahead.bits[step.state]) in ahead.steps
                    assert step.state in ahead.dead or state not in ahead.dead
                    reached.add(step.state)
        runs = reached


def test_a_state_that_cannot_accept_is_dead_and_is_trimmed() -> None:
    compiled = compile_formula(formula("A ; (B AND C)"))
    determined = Determined(compiled)
    ahead = look_ahead(compiled, determined)
    assert ahead is not None
    assert len(ahead.dead) == determined.size - 1, "nothing but the start is left"
    determined.dead = ahead.dead
    for _, cell in explore(compiled, determined, START):
        assert determined.trimmed(cell) == ()


def test_a_sequence_needs_a_state_for_each_event_before_the_last() -> None:
    compiled = compile_formula(formula("A ; B ; C ; D"))
    determined = Determined(compiled)
    assert look_ahead(compiled, determined) is not None
    assert determined.size == 4
