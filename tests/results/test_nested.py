"""Events computed inside a pattern, as columns: the same as one by one, ids included."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from tests.equivalence.test_aggregates import NESTED, NESTED_CONDITIONS, aggregated, run
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair


@given(st.one_of(aggregated(NESTED), aggregated(NESTED_CONDITIONS)))
def test_columns_eq_objects(pair: Pair) -> None:
    query = compiled(pair.query)
    if query is None or not pair.rows:
        return
    rows: list[dict[str, Any]] = run(query, pair.rows).to_arrow().to_pylist()
    found = list(run(query, pair.rows))
    assert [row["match_id"] for row in rows] == [each.id for each in found]
    for row, each in zip(rows, found, strict=True):
        if "Y" in each._of.schema.computed:
            assert row["Y"] == each.computed("Y")


@pytest.mark.parametrize(
    "pattern",
    [
        "((A AS x) AGGREGATE Y[m = max(x.v)]) ; ((A AS z) AGGREGATE Y[m = max(z.w)])",
        "(A AS x ; (A+ AS z AGGREGATE Y[m = max(z.w)])) AGGREGATE Y[m = max(x.v)]",
        "((A AS x) AGGREGATE Y[m = max(x.v)]) OR ((A AS z) AGGREGATE Y[m = max(z.w)])",
    ],
)
def test_a_column_of_whole_numbers_and_doubles_has_doubles(pattern: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE ({pattern}) AGGREGATE Z[l = list(Y.m)]")
    rows = [{"type": "A", "v": 1, "w": 0.5}, {"type": "A", "v": 2, "w": 1.5}]
    table = query.run(rows).to_arrow().to_pylist()
    matches = list(query.run(rows))
    assert matches
    for row, match in zip(table, matches, strict=True):
        assert row["Y"] == match.computed("Y")
        assert row["Z"] == match.computed("Z")
        assert [each["m"] for each in match.computed("Y")] == match.computed("Z")[0]["l"]
    assert any(1.5 in row["Z"][0]["l"] for row in table)


def test_a_column_has_values_that_go_together() -> None:
    pattern = "((A AS x) AGGREGATE Y[m = max(x.v)]) ; ((A AS z) AGGREGATE Y[m = max(z.k)])"
    rows = [{"type": "A", "v": 1, "k": "p"}, {"type": "A", "v": 2, "k": "q"}]
    with pytest.raises(ensue.CeqlTypeError, match=r"'Y\.m' is a string here and an int in another"):
        ensue.run(f"SELECT * FROM S WHERE {pattern}", rows)


EVENTS = [
    {"type": "A", "k": "b", "d": Decimal("1.5"), "t": datetime(2026, 1, 2), "v": 3},
    {"type": "A", "k": None, "d": None, "t": None, "v": None},
    {"type": "A", "k": "a", "d": Decimal("0.5"), "t": datetime(2026, 1, 1), "v": 4},
    {"type": "B", "k": "c", "d": None, "t": None, "v": 0},
]
BUILT_IN = {
    "count(x)": 3,
    "count(x.k)": 2,
    "count(DISTINCT x.k)": 2,
    "min(x.k)": "a",
    "max(x.k)": "b",
    "first(x.k)": "b",
    "last(x.k)": "a",
    "list(x.k)": ["b", "a"],
    "min(x.t)": datetime(2026, 1, 1),
    "last(x.t)": datetime(2026, 1, 1),
    "sum(x.d)": 2.0,
    "max(x.d)": Decimal("1.5"),
    "avg(x.v)": 3.5,
    "range(x.v)": 1,
    "stddev(x.v)": 0.5**0.5,
    "product(x.v)": 12,
    "median(x.v)": 3.5,
    "percentile(x.v, 1)": 4.0,
    "sum(x.v * 2) / count(x)": 14 / 3,
}


@pytest.mark.parametrize(("function", "expected"), BUILT_IN.items(), ids=BUILT_IN)
@pytest.mark.parametrize("place", ["at the top", "inside", "selected"])
def test_every_function_of_the_language_at_every_place(
    function: str, expected: Any, place: str
) -> None:
    text = {
        "at the top": f"SELECT * FROM S WHERE (A{{3}} AS x ; B) AGGREGATE Y[r = {function}]",
        "inside": f"SELECT * FROM S WHERE (A{{3}} AS x AGGREGATE Y[r = {function}]) ; B",
        "selected": f"SELECT NONE, {function} AS r FROM S WHERE A{{3}} AS x ; B",
    }[place]
    (match,) = ensue.run(text, EVENTS)
    (found,) = match.computed(None if place == "selected" else "Y")
    wanted = pytest.approx(expected) if isinstance(expected, float) else expected
    assert found["r"] == wanted
    (row,) = ensue.run(text, EVENTS).to_arrow().to_pylist()
    assert (row["r"] if place == "selected" else row["Y"][0]["r"]) == found["r"]


def test_computed_events_of_rounds_are_aggregated_again_and_filtered() -> None:
    text = """
        SELECT * FROM S
        WHERE (((A AS x):+ : B) AGGREGATE Y[top = max(x.k), n = count(x)] FILTER Y[n < 3]){2}
        AGGREGATE Z[words = list(Y.top), longest = max(Y.n), last = last(Y.top)]
    """
    events = [{"type": kind, "k": k} for kind, k in zip("AABABAAAB", "pqxrysstx", strict=True)]
    found = {(m.start, m.end): (m.computed("Y"), m.computed("Z")) for m in ensue.run(text, events)}
    assert found[0, 4] == (
        [{"top": "q", "n": 2}, {"top": "r", "n": 1}],
        [{"words": ["q", "r"], "longest": 2, "last": "r"}],
    )
    assert {start for start, _ in found} == {0, 1, 3}
