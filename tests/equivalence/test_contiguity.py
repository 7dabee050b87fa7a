"""Contiguity sees the substream: whatever else a query computes, filters or chooses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions
from tests.effort import costly
from tests.equivalence.suite import stream
from tests.equivalence.test_aggregates import aggregated, check, found
from tests.equivalence.test_engine import SCHEMA
from tests.pairs import Pair
from tests.strategies import Language

TWO = "(A AS x ; B AS y)"
COMPUTED = f"{TWO} AGGREGATE Y[top = max(x.v)]"

SHAPES = {
    "computed column": f"SELECT STRICT x, y, max(x.v) AS top FROM S WHERE {TWO}",
    "computed column beside *": f"SELECT STRICT *, max(x.v) AS top FROM S WHERE {TWO}",
    "aggregate": f"SELECT STRICT * FROM S WHERE {COMPUTED}",
    "filter": f"SELECT STRICT * FROM S WHERE {COMPUTED} FILTER Y[top > 0]",
    "projection": f"SELECT STRICT * FROM S WHERE {COMPUTED} PROJECT [x, y, Y]",
    "operator": f"SELECT * FROM S WHERE STRICT({COMPUTED} FILTER Y[top > 0])",
    "operator on a projection": f"SELECT * FROM S WHERE STRICT({COMPUTED} PROJECT [x, y, Y])",
    "operator below": f"SELECT * FROM S WHERE STRICT({TWO}) AGGREGATE Y[top = max(x.v)]",
    "contiguous": "SELECT x, max(x.v) AS top FROM S WHERE A AS x : B AS y",
    "contiguous filter": "SELECT * FROM S WHERE (A AS x : B AS y) AGGREGATE Y[n = max(x.v)] "
    "FILTER Y[n > 0]",
    **{
        f"after {strategy}": f"SELECT STRICT * FROM S WHERE {strategy}({COMPUTED} "
        "FILTER Y[top > 0]) PROJECT [x, y]"
        for strategy in ("NEXT", "LAST", "MAX")
    },
    "after NEXT over a condition": f"SELECT STRICT * FROM S WHERE NEXT({TWO} FILTER x.v < y.v)",
    "after MAX, computed": f"SELECT STRICT x, y, sum(y.v) AS s FROM S WHERE MAX({TWO} "
    "FILTER x.v < y.v)",
}

APART = stream("A1p C2q B3p")
"""Neighbours in their substream, not in the stream."""
TOGETHER = stream("A1p B3p")
GAP = stream("A1p C2q C2p B3p")
"""No neighbours, in whichever stream."""


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("by_definition", [False, True])
def test_strict_sees_the_substream(text: str, by_definition: bool) -> None:
    query = ensue.compile(f"{text} PARTITION BY [k]")

    def count(rows: list[dict[str, Any]]) -> int:
        table = pa.Table.from_pylist(rows, SCHEMA)
        matches = find_matches(
            query, table, ReadOptions(), positions_only=False, by_definition=by_definition
        )
        assert len(list(matches)) == matches.count
        return matches.count

    assert [count(APART), count(TOGETHER), count(GAP)] == [1, 1, 0]


@pytest.mark.parametrize("name", ["aggregate", "filter", "projection", "after MAX"])
@pytest.mark.parametrize("by_definition", [False, True])
def test_counted_strict_sees_the_substream(name: str, by_definition: bool) -> None:
    text = SHAPES[name].replace("*", "count(*) AS n", 1)
    query = ensue.compile(f"{text} PARTITION BY [k]")
    for rows, expected in ((APART, [1]), (TOGETHER, [1]), (GAP, [])):
        table = pa.Table.from_pylist(rows, SCHEMA)
        matches = find_matches(
            query, table, ReadOptions(), positions_only=False, by_definition=by_definition
        )
        assert matches.to_arrow().to_pydict()["n"] == expected


def test_strict_beside_a_projection_asks_about_what_is_left() -> None:
    """The B between is bound, but not shown: so it is a gap."""
    query = ensue.compile("SELECT STRICT x, z, max(x.v) AS m FROM S WHERE A AS x ; B ; C AS z")
    assert query.run(stream("A1 B1 C1")).count == 0
    query = ensue.compile("SELECT STRICT y, z, max(x.v) AS m FROM S WHERE A AS x ; B AS y ; C AS z")
    assert [(m.start, m.end) for m in query.run(stream("A1 C2 B1 C1 C1"))] == [(0, 3)]


def test_strict_is_decided_by_the_automaton_unless_something_is_chosen_before() -> None:
    def refines(text: str) -> bool:
        return (
            "STRICT" in ensue.compile(text.replace("*", "count(*)", 1)).explain().split("\n\n")[0]
        )

    assert not refines(SHAPES["filter"])
    assert refines(SHAPES["after MAX"])


STRICT = aggregated(Language(), strict=True)
OVER_CONDITIONS = aggregated(Language(conditions=True), strict=True)


@given(st.one_of(STRICT, OVER_CONDITIONS))
def test_strict_with_aggregates_in_partitions_eq_reference(pair: Pair) -> None:
    check(pair)


@costly
@given(STRICT, st.data())
def test_strict_with_aggregates_pushed_bit_by_bit_eq_reference(
    pair: Pair, data: st.DataObject
) -> None:
    try:
        query = ensue.compile(pair.text)
    except ensue.CeqlError:
        return
    if not pair.rows:
        return
    table = pa.Table.from_pylist(pair.rows, SCHEMA)
    every = find_matches(query, table, ReadOptions(), positions_only=False, by_definition=True)
    session = query.open()
    pushed: Counter[str] = Counter()
    for start in range(len(pair.rows)):
        pushed += found(session.push(table.slice(start, 1)))
        if data.draw(st.integers(0, 3)) == 0:
            session = query.resume(session.snapshot())
    assert pushed + found(session.finish()) == found(every)
