"""UNLESS whose right side names variables of its left, against the meaning by definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.language import tree
from tests import seams
from tests.columns import aggregate
from tests.conditions import correlated, word
from tests.effort import broad
from tests.equivalence.test_engine import compiled, found, note, run
from tests.equivalence.test_sessions import cut, everything, pushed, table
from tests.pairs import WINDOWS
from tests.strategies import Language, patterns, streams


@st.composite
def correlated_queries(draw: st.DrawFn) -> tree.Query:
    """A small pattern UNLESS one that is compared with it, with every clause around it."""
    pattern = draw(correlated(draw(patterns(Language(full=False), 2))))
    match draw(st.integers(0, 5)):
        case 0:
            pattern = tree.Sequence((pattern, tree.Event(word("C"))), contiguous=False)
        case 1:
            pattern = tree.Repeated(pattern, 1, 2, contiguous=False)
        case 2:
            pattern = draw(correlated(pattern))
    strategy = draw(st.sampled_from((None, None, None, "NEXT", "LAST", "MAX", "STRICT")))
    return tree.Query(
        (),
        tree.Selection(None if strategy is None else word(strategy), True, (), ()),
        (word("S"),),
        pattern,
        draw(st.sampled_from(((), (), (word("k"),)))),
        draw(st.sampled_from(WINDOWS)),
        draw(st.sampled_from((None, None, None, "ANY", "PARTITION"))),
        draw(st.sampled_from((None, None, None, 2))),
        None,
    )


@broad
@given(correlated_queries(), streams(9), st.booleans(), st.booleans())
def test_engine_eq_reference_with_correlated_unless(
    query: tree.Query, rows: list[dict[str, Any]], positions_only: bool, compact_always: bool
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        seams.ABSENCE_SLACK.put(patch, 0)
        seams.ABSENCE_PAIRS.put(patch, 3)
        fast = run(ready, rows, positions_only=positions_only, compact_always=compact_always)
    note(expected)
    if query.limit is None:
        assert found(fast) == found(expected)
    assert fast.count == expected.count


@given(correlated_queries(), streams(9), st.data())
def test_resumed_eq_uninterrupted_with_correlated_unless(
    query: tree.Query, rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    with pytest.MonkeyPatch.context() as patch:
        seams.ABSENCE_SLACK.put(patch, 0)
        session, got = ready.open(), []
        for piece in cut(data, rows):
            got.append(session.push(table(piece)))
            if data.draw(st.booleans()):
                session = ready.resume(session.snapshot())
        got.append(session.finish())
    expected = everything(pushed(ready.open(), [rows]))
    assert len(everything(got)) == len(expected)
    if query.limit is None:
        assert everything(got) == expected


@given(correlated_queries(), streams(9))
def test_counted_eq_listed_with_correlated_unless(
    query: tree.Query, rows: list[dict[str, Any]]
) -> None:
    listed = compiled(query)
    if listed is None or not rows or query.limit is not None:
        return
    star = aggregate(word("n"), word("count"), None)
    selection = tree.Selection(query.select.strategy, False, (), (star,))
    counted = compiled(tree.Query((), selection, *_rest(query)))
    assert counted is not None
    total = sum(row["n"] for row in counted.run(rows).to_arrow().to_pylist())
    assert total == listed.run(rows).count


def _rest(query: tree.Query) -> tuple[Any, ...]:
    return (query.sources, query.pattern, query.partition, query.window, query.consume)


def test_kept_matches_follow_the_window() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (A AS a ; C) UNLESS (B AS b FILTER b.k = a.k) WITHIN 10 EVENTS"
    )
    session = query.open()
    sizes = []
    for first in range(0, 40_000, 4_000):
        numbers = range(first, first + 4_000)
        session.push([{"type": "ABC"[n % 3], "k": n % 7} for n in numbers])
        sizes.append(len(session.snapshot()))
    assert max(sizes) < 2 * sizes[0]


@pytest.mark.parametrize("condition", ["b.k = a.k", "b.k > a.k + 4", "b.k * a.k = 12"])
def test_many_matches_of_both_sides_in_many_pushes(condition: str) -> None:
    query = ensue.compile(
        f"SELECT * FROM S WHERE (A AS a ; C) UNLESS (B AS b FILTER {condition}) WITHIN 60 EVENTS"
    )
    holds = {"b.k = a.k": int.__eq__, "b.k > a.k + 4": lambda b, a: b > a + 4}
    related = holds.get(condition, lambda b, a: b * a == 12)
    rows = [{"type": "ABC"[n * n % 7 % 3], "k": n * 31 % 11} for n in range(600)]
    expected = {
        (i, j)
        for i, a in enumerate(rows)
        for j in range(i + 1, min(i + 61, len(rows)))
        if a["type"] == "A" and rows[j]["type"] == "C"
        if not any(b["type"] == "B" and related(b["k"], a["k"]) for b in rows[i:j])
    }
    session = query.open()
    pieces = [session.push(rows[at : at + 7]) for at in range(0, len(rows), 7)]
    assert {(m.start, m.end) for piece in pieces for m in piece} == expected
    assert expected


def test_listing_what_must_not_happen_has_a_budget() -> None:
    query = ensue.compile(
        "SELECT * FROM S WHERE (A AS a ; C) UNLESS (B+ AS b ; D FILTER b.k = a.k) WITHIN 30 EVENTS"
    )
    rows = [{"type": kind, "k": 1} for kind in "AC" + "A" + 12 * "B" + "DCAC"]
    expected = [(m.start, m.end) for m in query.run(rows)]
    session = query.open(max_matches=1000)
    with pytest.raises(ensue.BudgetError, match=r"right of UNLESS.*max_matches="):
        session.push(rows)
    resumed = query.resume(session.snapshot(), max_matches=10_000)
    found = [(m.start, m.end) for m in resumed.push([])]
    assert found == [each for each in expected if each[1] > 14]
