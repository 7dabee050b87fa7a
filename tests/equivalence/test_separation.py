"""Conditions between two events that registers decide as ranges: sums, products, distances."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.automata.registers import FORMS_2, OLDER_FORMS
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from tests.equivalence.test_conditions import bound_to
from tests.equivalence.test_engine import found, run

SEPARATED = (
    "b.v - a.v > 0.3",
    "b.v + a.v <= 1.1",
    "a.v - b.v < b.v",
    "-b.v + a.v >= 0.1",
    "b.v * a.v > 0.3",
    "b.v / a.v > 1.1",
    "a.v / b.v <= 0.9",
    "(b.v - a.v) / a.v > 0.1",
    "(b.v - a.v) * 3 > a.n",
    "abs(b.v - a.v) < 0.3",
    "0.3 >= abs(a.v - b.v)",
    "b.v - a.v BETWEEN 0.1 AND 0.3",
    "b.v - a.v = 0.3",
    "b.n - a.v > 1",
    "(b.n - a.n) / a.n > 0.1",
    "b.n / a.n >= 1.5",
    "abs(b.n - a.n) < 3",
    "b.n - a.n BETWEEN 1 AND 2",
    "abs(b.t - a.t) < 2 SECONDS",
    "(b.t - a.t) / a.d > 1.5",
    "b.v * a.v > b.n",
    "a.p < b.p",
    "a.p >= b.n",
    "a.p != b.p",
    "b.p - a.p > 0.3",
    "a.p + b.p < b.v",
    "abs(b.p - a.p) <= 0.5",
    "b.v * a.p > 0.3",
    "b.n * a.n > 2",
    "a.n * b.n + a.n <= 3",
    "b.n * 2 - a.n * 3 < 1",
)
LEFT = ("b.v - a.v != 0.3", "abs(b.v - a.v) > 0.3", "b.v * a.v > a.n * b.n", "b.p > a.p + 1")
"""What is decided as matches are listed."""

TYPES = pa.schema(
    {
        "type": pa.string(),
        "v": pa.float64(),
        "n": pa.int64(),
        "t": pa.timestamp("ns"),
        "d": pa.duration("ns"),
        "p": pa.decimal128(12, 3),
    }
)

MOST = sys.float_info.max

_tenths = st.integers(-12, 12).map(lambda n: n * 0.1)
_odd = st.sampled_from([-0.0, 1 / 3, 0.1 + 0.2, 5e-324, 1e-300, 1e16, 2.0**400, 1e300, -MOST, MOST])
_large = st.sampled_from([2**53 + 1, -(2**60), 2**62, 2**63 - 1, -(2**63)])
_small = st.integers(-5, 5)


def _rows(values: st.SearchStrategy[float], numbers: st.SearchStrategy[int]) -> Any:
    row = st.fixed_dictionaries(
        {
            "type": st.sampled_from("AABC"),
            "v": st.none() | values,
            "n": st.none() | numbers,
            "t": st.integers(0, 40).map(lambda n: n * 250_000_000),
            "d": st.sampled_from([1, 10**9, 2 * 10**9]),
            "p": st.none() | st.integers(-3000, 3000).map(lambda n: Decimal(n) / 1000),
        }
    )
    return st.lists(row, min_size=2, max_size=9)


_streams = st.one_of(
    _rows(_tenths, _small), _rows(st.one_of(_tenths, _odd), st.one_of(_small, _large))
)
_patterns = st.sampled_from(["A AS a ; B AS b", "A+ AS a ; B AS b", "(A AS a ; B+ AS b)+ ; C"])


@cache
def _query(pattern: str, condition: str) -> ensue.Query | None:
    """Compile a query, unless it is of those that several events of two variables forbid."""
    try:
        return ensue.compile(
            f"SELECT * FROM S WHERE ({pattern}) FILTER {condition} WITHIN 7 EVENTS"
        )
    except ensue.CeqlError as error:
        assert "E410" in str(error)
        return None


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, TYPES)


@given(_patterns, st.sampled_from(SEPARATED + LEFT), _streams, st.booleans())
def test_engine_eq_reference(
    pattern: str, condition: str, rows: list[dict[str, Any]], compact_always: bool
) -> None:
    query = _query(pattern, condition)
    if query is None:
        return
    table = _table(rows)
    expected = run(query, table, by_definition=True)
    fast = run(query, table, compact_always=compact_always)
    assert found(fast) == found(expected)
    assert fast.count == expected.count


def _deferred(condition: str, *late: str) -> int:
    query = _query("A AS a ; B AS b", condition)
    assert query is not None
    row = {"type": "A", "v": 1.5, "n": 1, "t": 1, "d": 1, "p": Decimal("1.5")}
    plan = make_plan(bound_to(query, _table([row])), ExecutionMode(late=frozenset(late)))
    assert plan.compiled is not None
    return len(plan.compiled.plan.deferred)


@pytest.mark.parametrize("condition", SEPARATED)
def test_registers_decide(condition: str) -> None:
    assert _deferred(condition) == 0


@pytest.mark.parametrize("condition", LEFT)
def test_listing_decides(condition: str) -> None:
    assert _deferred(condition) == 1


def test_earlier_snapshots_go_on_as_they_began() -> None:
    assert _deferred("b.v - a.v > 0.3", OLDER_FORMS) == 1
    assert _deferred("b.n - a.n BETWEEN 1 AND 2", OLDER_FORMS) == 1
    assert _deferred("a.p < b.p", OLDER_FORMS) == 1
    assert _deferred("b.p - a.p > 0.3", OLDER_FORMS) == 1
    assert _deferred("b.n * a.n > 2", OLDER_FORMS) == 1
    assert _deferred("b.n - a.n > 1", OLDER_FORMS) == 0
    assert _deferred("b.n * a.n > 2", FORMS_2) == 1
    assert _deferred("b.p - a.p > 0.3", FORMS_2) == 1
    assert _deferred("b.v - a.v > 0.3", FORMS_2) == 0
    assert _deferred("a.p < b.p", FORMS_2) == 0


ROWS = [
    {"type": "A", "v": 1, "w": 0.1},
    {"type": "A", "v": 3, "w": 0.2},
    {"type": "B", "v": 4, "w": 0.3},
    {"type": "A", "v": 2, "w": 0.1},
    {"type": "B", "v": 9, "w": 0.4},
    {"type": "B", "v": 5, "w": 0.5},
]


@pytest.mark.parametrize(
    "condition", ["b.v - a.v > 2", "(b.v - a.v) / a.v > 1.5", "abs(b.w - a.w) < 0.15"]
)
@pytest.mark.parametrize("change", [lambda row: row, lambda row: {**row, "v": row["v"] + 0.0}])
def test_sessions_go_on(condition: str, change: Callable[[Any], Any]) -> None:
    """Before and after a snapshot, and where integers become doubles."""
    query = ensue.compile(
        f"SELECT * FROM S WHERE (A AS a ; B AS b) FILTER {condition} WITHIN 5 EVENTS"
    )
    rows = [*ROWS[:3], *map(change, ROWS[3:])]
    expected = [(m.start, m.end) for m in query.run(rows)]
    assert expected
    session = query.open()
    got = []
    for row in rows:
        got += [(m.start, m.end) for m in session.push([row])]
        session = query.resume(session.snapshot())
    assert sorted(got) == sorted(expected)
