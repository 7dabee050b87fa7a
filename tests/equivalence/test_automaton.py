"""Machines against the meaning by definition."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from ensue.analysis.bind import bind
from ensue.automata.build import compile_formula
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic.build import to_formula
from ensue.logic.formula import Formula
from ensue.logic.reference import Event, Reference
from tests.effort import broad
from tests.equivalence.slow_twin import simulate
from tests.strategies import Language, queries, streams


def formula_of(query: tree.Query) -> Formula | None:
    source = Source(format_query(query))
    try:
        return to_formula(bind(parse_source(source), source))
    except CeqlError:
        return None


def events_of(rows: list[dict[str, Any]]) -> list[Event]:
    return [
        Event(row["type"], {**row, "w": row["w"] if row["w"] == row["w"] else None}, row["ts"])
        for row in rows
    ]


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
