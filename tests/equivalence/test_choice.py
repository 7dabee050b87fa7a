"""The choice of SELECT, on the match graph and on listing, against the definition.

Streams are longer than elsewhere, and patterns plainer: what is chosen on the graph depends on how
the unions of a state grew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from tests import seams
from tests.conditions import word
from tests.effort import broad
from tests.equivalence.test_engine import compiled, described, found, run
from tests.equivalence.test_sessions import cut, everything, table
from tests.pairs import Pair, pairs
from tests.strategies import Language

CHOICES = ("NEXT", "LAST", "MAX", "FIRST")

PATTERNS = (
    "A ; B",
    "A ; B ; C",
    "A+ ; B",
    "A ; B+ ; C",
    "A+ ; B+",
    "(A OR B)+ ; C",
    "A ; B? ; C",
    "A ; (B ; C)+",
    "((A ; B) OR (B ; A)) ; C",
    "(A AS x OR A AS y) ; B+ ; C",
    "A{2,3} ; B",
    "A ; (B OR C) ; A",
    "A : B+ ; C",
    "NOT(A) ; B ; C",
    "(A ; B ; C) PROJECT [B, C]",
    "A ALL B",
    "(A ; B ; C) FILTER A.v < C.v",
    "(A ; B+ ; C) FILTER A.v = C.v",
    "(A+ AS x ; B) FILTER x[increasing(v)]",
    "((A ; B) WITHIN 2 EVENTS) ; C",
    "(A AS x ; B AS y ; C AS z) FILTER x.v + y.v = z.v",
)

WINDOWS = ("", "", "WITHIN 3 EVENTS", "WITHIN 6 EVENTS", "WITHIN 2 [ts]", "WITHIN 5 [ts]")
CONSUMPTIONS = ("", "", "", "CONSUME BY ANY", "CONSUME BY PARTITION")


@st.composite
def plain_streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to 14 events of three types, two keys and three values, some at the same time."""
    kinds = draw(st.lists(st.sampled_from("AABBC"), min_size=2, max_size=14))
    time = 0
    rows = []
    for kind in kinds:
        time += draw(st.sampled_from((0, 1, 1)))
        key = draw(st.sampled_from(("p", "p", "q")))
        rows.append({"type": kind, "v": draw(st.integers(0, 2)), "w": 0.5, "k": key, "ts": time})
    return rows


@st.composite
def choosing_queries(draw: st.DrawFn) -> str:
    """A query that chooses among the matches of a plain pattern."""
    partition = draw(st.sampled_from(("", "", "PARTITION BY [k]")))
    shown = draw(st.sampled_from(("*", "*", "*", "B", "NONE")))
    pattern = draw(st.sampled_from(PATTERNS))
    clauses = (partition, draw(st.sampled_from(WINDOWS)), draw(st.sampled_from(CONSUMPTIONS)))
    return " ".join(
        ("SELECT", draw(st.sampled_from(CHOICES)), shown, "FROM S WHERE", pattern, *clauses)
    )


@broad
@given(choosing_queries(), plain_streams(), st.booleans(), st.booleans())
def test_choice_eq_reference(
    text: str, rows: list[dict[str, Any]], positions_only: bool, compact_always: bool
) -> None:
    query = ensue.compile(text)
    expected = run(query, rows, positions_only=positions_only, by_definition=True)
    event(f"{query.plan.operator}, on the graph: {query.plan.choice is not None}")
    fast = run(query, rows, positions_only=positions_only, compact_always=compact_always)
    assert found(fast) == found(expected)
    assert fast.count == expected.count


@broad
@given(choosing_queries(), plain_streams(), st.integers(4, 30))
def test_choice_made_on_listing_eq_reference(
    text: str, rows: list[dict[str, Any]], room: int
) -> None:
    query = ensue.compile(text)
    expected = run(query, rows, by_definition=True)
    words = text.split(" ")
    counting = ensue.compile(" ".join([*words[:2], "count(*) AS n, sum(B.v) AS s", *words[3:]]))
    totals = run(counting, rows, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        # So little room that some is chosen at once, and some as matches are listed.
        for seam in (
            seams.CHOSEN_FIRST_NODES,
            seams.CHOSEN_NODES_A_HIT,
            seams.CHOSEN_LEAST_ROOM,
            seams.CHOSEN_PART,
        ):
            seam.put(patch, room)
        seams.CHOSEN_ROOM.put(patch, 0)
        assert found(run(query, rows)) == found(expected)
        assert run(query, rows).count == expected.count
        assert [(row.time, row.values) for row in run(counting, rows)] == [
            (row.time, row.values) for row in totals
        ]


@given(pairs(Language(conditions=True, aggregates=True, windows=True)), st.sampled_from(CHOICES))
def test_choice_among_random_patterns_eq_reference(pair: Pair, choice: str) -> None:
    select = replace(pair.query.select, strategy=word(choice))
    query, rows = compiled(replace(pair.query, select=select)), pair.rows
    if query is None or not rows:
        return
    assert found(run(query, rows)) == found(run(query, rows, by_definition=True))


@given(choosing_queries(), plain_streams(), st.data())
def test_choice_in_pieces_with_snapshots_eq_whole(
    text: str, rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    query = ensue.compile(text)
    expected = described(query.run(table(rows)))
    session = query.open()
    got = []
    for piece in cut(data, rows):
        got.append(session.push(table(piece)))
        if data.draw(st.booleans()):
            session = query.resume(session.snapshot())
    got.append(session.finish())
    assert everything(got) == expected


@given(choosing_queries(), plain_streams())
def test_counted_choice_eq_listed(text: str, rows: list[dict[str, Any]]) -> None:
    words = text.split(" ")
    counting = ensue.compile(" ".join([*words[:2], "count(*) AS n, sum(B.v) AS s", *words[3:]]))
    counted = run(counting, rows)
    expected = run(counting, rows, by_definition=True)
    event(counting.plan.operator)
    assert [(row.time, row.values) for row in counted] == [
        (row.time, row.values) for row in expected
    ]


def test_the_choice_is_made_on_the_graph_also_over_conditions() -> None:
    for pattern in PATTERNS[:-2]:
        for choice in ("NEXT", "LAST", "FIRST"):
            query = ensue.compile(f"SELECT {choice} * FROM S WHERE {pattern} WITHIN 9 EVENTS")
            assert query.plan.choice == choice, (choice, pattern)
    late = ensue.compile(f"SELECT LAST * FROM S WHERE {PATTERNS[-1]} WITHIN 9 EVENTS")
    assert late.plan.choice is None
    assert late.plan.residual is not None
    assert late.plan.residual.choice == "LAST"


@pytest.mark.parametrize("pattern", ["A ; B? ; C", "((A ; B) OR (B ; A)) ; C"])
def test_first_eq_reference_where_what_has_completed_is_met_again(pattern: str) -> None:
    # After the first B, most of what a C finds left of a spine has completed before.
    kinds = [*"AAB", *("A" * 36), "C", *("AC" * 3), "B", *("AAC" * 3)]
    rows = [{"type": kind, "v": 0, "k": "p", "ts": at} for at, kind in enumerate(kinds)]
    query = ensue.compile(f"SELECT FIRST * FROM S WHERE {pattern}")
    assert query.plan.choice == "FIRST"
    expected = run(query, rows, by_definition=True)
    assert found(run(query, rows)) == found(expected)
    assert found(run(query, rows, compact_always=True)) == found(expected)
