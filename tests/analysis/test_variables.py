"""What is said of a pattern's variables before anything runs holds in every match."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from ensue.analysis.variables import Variables, always_bound
from ensue.language import tree
from ensue.language.parser import parse
from ensue.logic.reference import Reference
from tests.effort import broad
from tests.formulas import events_of, formula_of
from tests.pairs import Pair, pairs

EVERYTHING = tree.Selection(None, True, (), ())


@broad
@given(pairs())
def test_matches_bind_what_the_analysis_says(pair: Pair) -> None:
    """No other names, always those that are always bound, and events of the types it knows."""
    pattern = pair.query.pattern
    formula = formula_of(replace(pair.query, select=EVERYTHING))
    if formula is None:
        return
    variables = Variables()
    known = variables.of(pattern)
    stream = events_of(pair.rows)
    for match in Reference(stream).meaning(formula):
        bound = {name for name, _ in match.bindings}
        assert always_bound(pattern) <= bound <= variables.names(pattern) == known.keys()
        for name in bound:
            positions = match.positions(name)
            assert len(positions) == 1 or variables.may_repeat(pattern, name)
            types = known[name].types
            assert types is None or {stream[at].type for at in positions} <= types


def pattern_of(text: str) -> tree.Pattern:
    return parse(f"SELECT * FROM S WHERE {text}").pattern


@pytest.mark.parametrize(
    ("pattern", "names", "always", "repeated"),
    [
        ("A ; B", "A B", "A B", ""),
        ("A+ ; B", "A B", "A B", "A"),
        ("A ; A", "A", "A", "A"),
        ("A OR B", "A B", "", ""),
        ("(A AS x) OR (B AS x)", "A B x", "x", ""),
        ("A ; B?", "A B", "A", ""),
        ("A ; B*", "A B", "A", "B"),
        ("A{1} ; B{2}", "A B", "A B", "B"),
        ("(A ; B) AS x", "A B x", "A B x", "x"),
        ("(A ; B) AS x PROJECT [x]", "x", "x", "x"),
        ("(A ; B) PROJECT [A]", "A", "A", ""),
        ("NOT(A) : B", "B", "B", ""),
        ("(A ; B) UNLESS C", "A B", "A B", ""),
        ("A ALL A", "A", "A", "A"),
        ("A AND A", "A", "A", ""),
        ("ANY AS e ; B", "ANY B e", "ANY B e", ""),
    ],
)
def test_the_variables_of_a_pattern(pattern: str, names: str, always: str, repeated: str) -> None:
    parsed = pattern_of(pattern)
    variables = Variables()
    assert variables.names(parsed) == set(names.split())
    assert always_bound(parsed) == set(always.split())
    assert {n for n in names.split() if variables.may_repeat(parsed, n)} == set(repeated.split())
