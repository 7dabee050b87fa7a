"""Aggregates that the user gives: against built-in ones, by definition, in snapshots; failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions
from tests.effort import costly
from tests.engine.test_user_functions import ROWS, answers, table

SQUARES = ensue.aggregate(
    (0, 0),
    lambda v: (1, v * v),
    lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lambda t: t[1] / t[0] if t[0] else None,
)
AGGREGATES = {
    "total": ensue.aggregate(0, lambda v: v, lambda a, b: a + b, returns="int"),
    "highest": ensue.aggregate(None, lambda v: v, lambda a, b: b if a is None else max(a, b)),
    "mean_square": SQUARES,
    "letters": ensue.aggregate(
        frozenset(),
        lambda k: {k},
        lambda a, b: a | b,
        lambda s: "".join(sorted(s)),
        returns="string",
    ),
}
PAIRS = [
    ("SELECT *, total(b.v) AS r FROM S WHERE A ; B+ AS b", "total(b.v)", "sum(b.v)"),
    ("SELECT *, highest(b.w * 2) + 1 AS r FROM S WHERE A ; B+ AS b", "highest(", "max("),
    (
        "SELECT *, mean_square(b.v) AS r FROM S WHERE A ; B+ AS b",
        "mean_square(b.v)",
        "avg(b.v * b.v)",
    ),
    (
        "SELECT * FROM S WHERE (A ; B+ AS b) AGGREGATE Y[s = total(b.v)] FILTER Y[s > 2]",
        "total(",
        "sum(",
    ),
    (
        "SELECT Z FROM S WHERE (A ; ((B AS b)+ AGGREGATE Y[s = total(b.v)])) "
        "AGGREGATE Z[t = total(Y.s)]",
        "total(",
        "sum(",
    ),
]


@pytest.mark.parametrize(("text", "mine", "theirs"), PAIRS, ids=[text for text, *_ in PAIRS])
@costly
@given(rows=ROWS, cut=st.integers(0, 8))
@pytest.mark.filterwarnings("ignore::ensue.CeqlWarning", "ignore::ensue.EventWarning")
def test_an_aggregate_of_the_user_eq_the_same_one_of_the_language(
    text: str, mine: str, theirs: str, rows: list[dict[str, Any]], cut: int
) -> None:
    query = ensue.compile(f"{text} WITHIN 5 EVENTS", aggregates=AGGREGATES)
    expected = answers(ensue.run(f"{text.replace(mine, theirs)} WITHIN 5 EVENTS", table(rows)))
    assert answers(query.run(table(rows))) == expected
    options = ReadOptions()
    by_definition = find_matches(
        query, table(rows), options, positions_only=False, by_definition=True
    )
    assert answers(by_definition) == expected
    session = query.open()
    found = answers(session.push(table(rows[:cut])))
    session = query.resume(session.snapshot())
    found += answers(session.push(table(rows[cut:]))) + answers(session.finish())
    assert sorted(found, key=repr) == expected


def test_results_may_be_strings_and_nulls_are_left_out() -> None:
    events = [{"type": "A", "k": each} for each in ("b", None, "a", "b")]
    query = "SELECT NONE, letters(x.k) AS r FROM S WHERE A{4} AS x"
    (match,) = ensue.run(query, events, aggregates=AGGREGATES)
    assert match.computed() == [{"r": "ab"}]


def test_a_failing_aggregate_names_itself_the_query_and_its_values() -> None:
    broken = ensue.aggregate(0, lambda v: 1 // v, lambda a, b: a + b, returns="int")
    query = ensue.compile(
        "SELECT *, inverse(x.v) AS r FROM S WHERE A+ AS x WITHIN 3 EVENTS",
        aggregates={"inverse": broken},
        name="mine",
    )
    session = query.open()
    found = session.push([{"type": "A", "v": 0}])
    told = r"the aggregate 'inverse' of the query 'mine' failed on \[0\]: ZeroDivisionError"
    with pytest.raises(ensue.FunctionError, match=told):
        list(found)


def test_a_snapshot_of_another_version_of_an_aggregate_is_refused() -> None:
    def query(version: str) -> ensue.Query:
        total = ensue.aggregate(0, int, lambda a, b: a + b, returns="int", version=version)
        return ensue.compile(
            "SELECT *, total(x.v) AS r FROM S WHERE A AS x", aggregates={"total": total}
        )

    with pytest.raises(ensue.SnapshotError, match="version 1 of the function 'total'"):
        query("2").resume(query("1").open().snapshot())


def test_over_all_matches_an_event_counts_once_for_each_match_that_binds_it() -> None:
    events = [{"type": kind, "v": at} for at, kind in enumerate("ABBC")]
    text = "SELECT count(*) AS n, {}(x.v) AS r FROM S WHERE A ; (B AS x)+ ; C"
    (mine,) = ensue.run(text.format("total"), events, aggregates=AGGREGATES)
    (theirs,) = ensue.run(text.format("sum"), events)
    assert mine.values == theirs.values == {"n": 3, "r": 6}
