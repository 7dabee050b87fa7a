"""Functions that the user gives: in predicates, conditions and expressions; failures; snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from tests.effort import costly

FUNCTIONS = {
    "twice": ensue.function(lambda v: pc.multiply(v, 2), args=["int"], returns="int"),
    "plus": ensue.function(
        lambda a, b: a + b, args=["double", "double"], returns="double", arrays="numpy"
    ),
    "known": ensue.function(
        lambda text: pc.coalesce(text, pa.scalar("?")), args=["string"], returns="string"
    ),
    "later": ensue.function(
        lambda t: pc.add(t, pa.scalar(10**9, pa.duration("ns"))),
        args=["timestamp"],
        returns="timestamp",
    ),
}
PAIRS = [
    ("SELECT * FROM S WHERE A AS a FILTER a[twice(v) > 2]", "2 * v"),
    ("SELECT * FROM S WHERE A AS a ; B AS b FILTER twice(a.v) = b.v", "2 * a.v"),
    ("SELECT * FROM S WHERE A AS a ; B+ AS b FILTER plus(a.v, b.w) < 3", "a.v + b.w"),
    ("SELECT *, sum(twice(b.v)) AS s FROM S WHERE A ; B+ AS b", "2 * b.v"),
    ("SELECT *, twice(count(b)) AS s FROM S WHERE A ; B+ AS b", "2 * count(b)"),
    ("SELECT count(*), max(plus(b.v, b.w)) AS m FROM S WHERE A ; B+ AS b", "b.v + b.w"),
    (
        "SELECT * FROM S WHERE (A ; B+ AS b) AGGREGATE Y[s = sum(b.v)] FILTER Y[twice(s) > 4]",
        "2 * s",
    ),
    ("SELECT * FROM S WHERE (A AS a ; B+ AS b) FILTER b[known(k) = '?']", "coalesce(k, '?')"),
]


def plainly(text: str, instead: str) -> str:
    """Write a query without its function."""
    start = min(text.index(f"{name}(") for name in FUNCTIONS if f"{name}(" in text)
    depth, end = 0, start
    while True:
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
        if depth == 0 and text[end - 1] == ")":
            return text[:start] + instead + text[end:]


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from("AB"),
            "v": st.none() | st.integers(-2, 4),
            "w": st.none() | st.sampled_from((0.5, -1.0, 2.0)),
            "k": st.none() | st.sampled_from("xy"),
        }
    ),
    min_size=1,
    max_size=8,
)
SCHEMA = pa.schema({"type": pa.string(), "v": pa.int64(), "w": pa.float64(), "k": pa.string()})


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def answers(matches: ensue.Matches) -> list[dict[str, Any]]:
    found = matches.to_arrow().to_pylist()
    return sorted(({**row, "match_id": None} for row in found), key=repr)


@pytest.mark.parametrize(("text", "instead"), PAIRS, ids=[text for text, _ in PAIRS])
@costly
@given(rows=ROWS, cut=st.integers(0, 8))
@pytest.mark.filterwarnings("ignore::ensue.CeqlWarning", "ignore::ensue.EventWarning")
def test_a_function_means_what_the_same_expression_means(
    text: str, instead: str, rows: list[dict[str, Any]], cut: int
) -> None:
    query = ensue.compile(f"{text} WITHIN 5 EVENTS", functions=FUNCTIONS)
    expected = answers(ensue.run(f"{plainly(text, instead)} WITHIN 5 EVENTS", table(rows)))
    assert answers(query.run(table(rows))) == expected
    session = query.open()
    found = answers(session.push(table(rows[:cut])))
    session = query.resume(session.snapshot())
    found += answers(session.push(table(rows[cut:])))
    found += answers(session.finish())
    assert sorted(found, key=repr) == expected


def test_instants_are_given_with_their_nanoseconds() -> None:
    rows = pa.table({"type": ["A"], "t": pa.array([5], pa.timestamp("us"))})
    query = "SELECT *, later(a.t) - a.t AS d FROM S WHERE A AS a FILTER a[later(t) > t]"
    (match,) = ensue.run(query, rows, functions=FUNCTIONS)
    assert match.computed()[0]["d"].total_seconds() == 1


def fails_on_two(v: np.ndarray) -> np.ndarray:
    if (v == 2).any():
        raise ZeroDivisionError("two")
    return v


BROKEN = {"odd": ensue.function(fails_on_two, args=["int"], returns="int", arrays="numpy")}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A AS a ; A AS b FILTER a[odd(v) > 0]",
        "SELECT * FROM S WHERE A AS a ; A AS b FILTER odd(a.v) < odd(b.v)",
        "SELECT *, sum(odd(b.v)) AS s FROM S WHERE A AS a ; A AS b",
        "SELECT count(*), sum(odd(b.v)) AS s FROM S WHERE A AS a ; A AS b",
    ],
)
def test_a_failure_names_function_query_and_row_and_loses_nothing(text: str) -> None:
    query = ensue.compile(f"{text} WITHIN 9 EVENTS", functions=BROKEN, name="mine")
    session = query.open()
    session.push([{"type": "A", "v": 1}])
    before = session.snapshot()
    with pytest.raises(ensue.FunctionError) as error:
        session.push([{"type": "A", "v": 3}, {"type": "A", "v": 4}, {"type": "A", "v": 2}])
    told = "the function 'odd' of the query 'mine' failed on row 2, odd(2): ZeroDivisionError: two"
    assert str(error.value) == told
    assert error.value.row == 2
    assert session.snapshot() == before
    assert session.push([{"type": "A", "v": 3}]).count == 1


def test_rows_on_which_a_function_fails_can_be_collected() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A FILTER A[odd(v) > 0]", functions=BROKEN)
    session = query.open(on_error="collect")
    found = session.push([{"type": "A", "v": value} for value in (1, 2, 3, 2)])
    assert found.count == 2
    assert [each.row for each in session.rejected] == [1, 3]


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (lambda v: v[:1], "returned 1 values for 2 rows"),
        (lambda v: ["x"] * len(v), "ArrowInvalid"),
        (lambda v: None, "TypeError"),
    ],
)
def test_what_a_function_returns_is_checked(fn: Any, told: str) -> None:
    functions = {"odd": ensue.function(fn, args=["int"], returns="int")}
    with pytest.raises(ensue.FunctionError, match=told):
        ensue.run(
            "SELECT * FROM S WHERE A FILTER A[odd(v) > 0]",
            [{"type": "A", "v": 1}, {"type": "A", "v": 2}],
            functions=functions,
        )


def test_a_snapshot_of_another_version_is_refused() -> None:
    def query(version: str) -> ensue.Query:
        odd = ensue.function(fails_on_two, args=["int"], returns="int", version=version)
        return ensue.compile("SELECT * FROM S WHERE A FILTER A[odd(v) > 0]", functions={"odd": odd})

    snapshot = query("1").open().snapshot()
    query("1").resume(snapshot)
    with pytest.raises(ensue.SnapshotError, match="version 1 of the function 'odd'"):
        query("2").resume(snapshot)


def test_functions_are_checked_when_they_are_given() -> None:
    with pytest.raises(ValueError, match="did you mean 'double'"):
        ensue.function(len, args=["duble"], returns="int")
    with pytest.raises(ValueError, match="a function of the language"):
        ensue.compile("SELECT * FROM S WHERE A", functions={"abs": FUNCTIONS["twice"]})
    with pytest.raises(TypeError, match=r"ensue\.function"):
        ensue.compile("SELECT * FROM S WHERE A", functions={"mine": len})  # type: ignore[dict-item]
    with pytest.raises(ensue.CeqlTypeError, match="twice takes an int, but this is a string"):
        ensue.compile("SELECT * FROM S WHERE A FILTER A[twice('x') = 2]", functions=FUNCTIONS)
