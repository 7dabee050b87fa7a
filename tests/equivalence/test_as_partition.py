"""When an equality over all events of a pattern is as good as PARTITION BY, and when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given

import ensue
from ensue.analysis.variables import Variables
from ensue.language import tree
from tests.conditions import word
from tests.equivalence.test_engine import compiled, found, run
from tests.pairs import Pair, pairs
from tests.strategies import Language

PLAIN = Language(contiguous=False, full=False)
"""No contiguity, no UNLESS, NOT, START or STRICT: nothing that sees what lies between."""


def _projects(node: tree.Node) -> bool:
    """Tell whether some events are forgotten before the equality is asked of the rest."""
    return isinstance(node, tree.Projected) or any(map(_projects, tree.children(node)))


def covered(query: tree.Query) -> tree.Query:
    """Demand one key of all events of a query, by its pattern."""
    names = sorted({min(atom.variables) for atom in Variables().atoms(query.pattern)})
    keys = tuple(tree.Path((word(name), word("k"))) for name in names)
    return replace(query, pattern=tree.Partitioned(query.pattern, keys), partition=())


@given(pairs(PLAIN))
def test_an_equality_over_all_events_eq_partition_by(pair: Pair) -> None:
    query = pair.query
    if query.select.strategy is not None and query.select.strategy.text == "STRICT":
        query = replace(query, select=replace(query.select, strategy=None))
    if query.window is not None and query.window.attribute is None:
        query = replace(query, window=None)
    if query.consume == "PARTITION":
        query = replace(query, consume="ANY")
    by_pattern = compiled(covered(query))
    by_key = compiled(replace(query, partition=(word("k"),)))
    if by_pattern is None or by_key is None or not pair.rows or _projects(query.pattern):
        return
    expected = found(run(by_key, pair.rows))
    event(f"matches: {bool(expected)}")
    assert found(run(by_pattern, pair.rows)) == expected
    if query.select.strategy is None:
        assert "PARTITION BY [k] would find the same" in by_pattern.explain()


@pytest.mark.parametrize(
    ("pattern", "window", "words"),
    [
        ("A : B", "", "Ap Cq Bp"),
        ("(A ; B) UNLESS C", "", "Ap Cq Bp"),
        ("A ; B", "WITHIN 1 EVENTS", "Ap Cq Bp"),
        ("START(A ; B)", "", "Cq Ap Bp"),
        ("STRICT(A ; B)", "", "Ap Cq Bp"),
        ("A : NOT(C) : B", "", "Ap Cq Dp Bp"),
    ],
)
def test_what_sees_other_events_tells_them_apart(pattern: str, window: str, words: str) -> None:
    rows = [{"type": each[0], "k": each[1], "ts": n} for n, each in enumerate(words.split())]
    by_key = ensue.compile(f"SELECT * FROM S WHERE {pattern} PARTITION BY [k] {window}")
    by_pattern = ensue.compile(
        f"SELECT * FROM S WHERE ({pattern}) PARTITION BY [A.k, B.k] {window}"
    )
    assert by_key.run(rows).count == 1
    assert by_pattern.run(rows).count == 0
    assert "would find the same" not in by_pattern.explain()


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        ("(A AS a ; B AS b ; C AS c) FILTER a.k = b.k AND b.k = c.k", True),
        ("(A AS a ; B+ AS b) FILTER b.k = a.k AND a.v < b.v", True),
        ("(A AS a ; B AS b ; C AS c) FILTER a.k = b.k", False),
        ("(A AS a ; (B AS b)? ; C AS c) FILTER a.k = b.k AND b.k = c.k", False),
        ("(A AS a ; B AS b) FILTER a.k = b.v", False),
        ("(A AS a ; B+ AS b ; C) FILTER a.k = b.k", False),
    ],
)
def test_a_chain_of_equalities_over_all_events_is_noticed(pattern: str, same: bool) -> None:
    told = ensue.compile(f"SELECT * FROM S WHERE {pattern}").explain()
    assert ("PARTITION BY [k] would find the same" in told) is same
