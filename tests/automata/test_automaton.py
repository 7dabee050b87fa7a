"""Machines against the meaning by definition."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from ensue.automata.build import compile_formula
from ensue.language import tree
from ensue.logic.reference import Reference
from tests.automata.slow_twin import simulate
from tests.effort import broad
from tests.formulas import events_of, formula_of
from tests.strategies import Language, queries, streams


@broad
@given(queries(Language()), streams(6))
def test_automaton_eq_reference(query: tree.Query, rows: list[dict[str, Any]]) -> None:
    formula = formula_of(query)
    if formula is None:
        return
    stream = events_of(rows)
    found = simulate(compile_formula(formula), stream)
    assert len(found) == len(set(found)), "a complex event is read by two runs"
    assert set(found) == Reference(stream).meaning(formula)
