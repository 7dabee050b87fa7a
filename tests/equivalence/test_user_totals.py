"""Aggregates of the user over all matches: random monoids against the meaning by definition."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.errors import CeqlError
from ensue.kernels.graph.path_folds import power
from ensue.language import tree
from ensue.language.printer import format_query
from tests.columns import aggregate
from tests.conditions import bound_names, word
from tests.equivalence.test_counting import OPTIONS, counted, table
from tests.pairs import Pair, pairs
from tests.strategies import Language

_LEAST = -(2**62)

MONOIDS = {
    "largest": ensue.aggregate(
        _LEAST, int, max, lambda t: None if t == _LEAST else t, returns="int"
    ),
    "divisor": ensue.aggregate(0, abs, math.gcd, returns="int"),
    "bits": ensue.aggregate(0, lambda v: 1 << (v % 8), lambda a, b: a | b, returns="int"),
    "modular": ensue.aggregate(0, lambda v: v % 7, lambda a, b: (a + b) % 7, returns="int"),
    "values": ensue.aggregate(
        frozenset(), lambda v: {v}, lambda a, b: a | b, lambda s: str(sorted(s)), returns="string"
    ),
    "moments": ensue.aggregate(
        (0, 0),
        lambda v: (1, v),
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda t: t[1] / t[0] if t[0] else None,
    ),
    "fast_modular": ensue.aggregate(
        0, lambda v: v % 7, lambda a, b: (a + b) % 7, returns="int", compiled=True
    ),
    "fast_least": ensue.aggregate(
        math.inf,
        lambda v: v + 0.5,
        lambda a, b: min(b, a),
        lambda t: None if math.isinf(t) else t,
        compiled=True,
    ),
}
"""Some are idempotent, for some it matters how often a value is combined."""


@st.composite
def folding(draw: st.DrawFn, language: Language | None = None) -> Pair:
    """A random query that counts, with aggregates of the user beside, and a stream for it."""
    pair = draw(pairs(language, 7))
    names = bound_names(pair.query.pattern)
    columns = [aggregate(word("n"), word("count"), None)]
    for index in range(draw(st.integers(1, 2))):
        argument = tree.Path((word(draw(st.sampled_from(names))), word("v")))
        name = word(draw(st.sampled_from(sorted(MONOIDS))))
        columns.append(aggregate(word(f"c{index}"), name, argument))
    select = tree.Selection(pair.query.select.strategy, False, (), tuple(columns))
    every = draw(st.sampled_from((None, None, None, tree.Duration(((4, word("SECONDS")),)))))
    return Pair(replace(pair.query, select=select, every=every, limit=None), pair.rows)


ANY = st.one_of(folding(), folding(Language(conditions=True)), folding(Language(aggregates=True)))


@given(ANY)
def test_folded_eq_reference(pair: Pair) -> None:
    try:
        query = ensue.compile(format_query(pair.query), aggregates=MONOIDS)
    except CeqlError:
        return
    if not pair.rows:
        return
    expected = counted(query, table(pair.rows), by_definition=True)
    event(query.plan.operator)
    assert counted(query, table(pair.rows)) == expected


@given(ANY, st.integers(0, 7))
def test_folded_in_a_session_eq_whole(pair: Pair, cut: int) -> None:
    try:
        query = ensue.compile(format_query(pair.query), aggregates=MONOIDS)
    except CeqlError:
        return
    if not pair.rows:
        return
    expected = counted(query, table(pair.rows))
    session = query.open(time=OPTIONS.time, time_unit=OPTIONS.time_unit)
    found = session.push(table(pair.rows[:cut])).to_arrow().to_pylist()
    session = query.resume(session.snapshot())
    found += session.push(table(pair.rows[cut:])).to_arrow().to_pylist()
    assert found + session.finish().to_arrow().to_pylist() == expected


@given(st.integers(0, 2**70), st.integers(-50, 50))
def test_power_eq_so_many_times(times: int, value: int) -> None:
    assert power(lambda a, b: (a + b) % 1009, 0, value % 1009, times) == times * value % 1009


TEXT = "FROM S WHERE A ; (B AS b)+ ; C WITHIN 200 EVENTS"


@pytest.mark.parametrize("between", [5, 100])
@pytest.mark.parametrize("name", ["modular", "fast_modular"])
def test_more_matches_than_64_bits_can_count_are_folded_exactly(name: str, between: int) -> None:
    rows: list[dict[str, Any]] = [{"type": "B", "v": at % 11} for at in range(between)]
    events = [{"type": "A", "v": None}, *rows, {"type": "C", "v": None}]
    query = ensue.compile(f"SELECT count(*) AS n, {name}(b.v) AS c {TEXT}", aggregates=MONOIDS)
    assert query.plan.operator == "count on the graph"
    (row,) = query.run(events)
    assert row["c"] == sum(each["v"] for each in rows) * 2 ** (between - 1) % 7


@pytest.mark.parametrize(("name", "twin"), [("fast_modular", "modular")])
def test_a_compiled_aggregate_eq_its_twin_in_each_match(name: str, twin: str) -> None:
    events = [{"type": kind, "v": at * 5 % 13} for at, kind in enumerate("ABBABCBBC")]
    found = [
        [
            m.computed()
            for m in ensue.run(f"SELECT *, {each}(b.v) AS c {TEXT}", events, aggregates=MONOIDS)
        ]
        for each in (name, twin)
    ]
    assert found[0] == found[1]
    assert len({str(each) for each in found[0]}) > 3


def test_a_value_that_cannot_be_lifted_loses_nothing() -> None:
    inverse = {"inverse": ensue.aggregate(0.0, lambda v: 1 / v, lambda a, b: a + b)}
    query = ensue.compile(
        f"SELECT count(*) AS n, inverse(b.v) AS c {TEXT}", aggregates=inverse, name="odd"
    )
    session = query.open()
    session.push([{"type": "A", "v": 1}, {"type": "B", "v": 4}])
    failed = r"the aggregate 'inverse' of the query 'odd' failed on 0: ZeroDivisionError"
    with pytest.raises(ensue.FunctionError, match=failed):
        session.push([{"type": "B", "v": 0}, {"type": "C", "v": 1}])
    (row,) = session.push([{"type": "B", "v": 2}, {"type": "C", "v": 1}])
    assert row.values == {"n": 3, "c": 1.5}


def test_a_compiled_aggregate_is_on_numbers() -> None:
    with pytest.raises(TypeError, match="zero of a compiled aggregate is an int or a float"):
        ensue.aggregate(frozenset(), len, max, compiled=True)
