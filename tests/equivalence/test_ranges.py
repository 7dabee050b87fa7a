"""Steps that many configurations take as one: ranges of a search tree against the reference."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.kernels.match import configurations
from tests.equivalence.test_engine import found, run

SHAPES = (
    ("A AS a ; C AS c", "a.x != c.x"),
    ("A AS a ; C AS c", "a.x < c.x"),
    ("A AS a ; C AS c", "a.x >= c.y"),
    ("A AS a ; C AS c", "abs(a.x - c.x) < 2"),
    ("A AS a ; C AS c", "abs(a.y - c.x) <= 0.5"),
    ("A AS a ; C AS c", "a.x BETWEEN c.x AND c.y"),
    ("A AS a ; C AS c", "a.x != c.x AND a.k = c.k"),
    ("A AS a ; C AS c", "a.x <= c.x AND a.k = c.k"),
    ("A AS a ; C AS c", "abs(a.x - c.x) < 2 AND a.k = c.k"),
    ("A+ AS a ; C AS c", "a[increasing(x)]"),
    ("A+ AS a ; C AS c", "a[nonincreasing(y)] AND a[same(k)]"),
    ("A+ AS a ; C AS c", "a.x < c.x"),
    ("A AS a ; B AS b ; C AS c", "a.x < b.x AND b.y != c.y"),
    ("A AS a ; B AS b ; C AS c", "a.x < b.x AND a.x < c.x"),
    ("A AS a ; B ; C AS c", "a.x < c.x"),
    ("(A AS a ; B AS b)+ ; C AS c", "a.x < b.x"),
    ("A AS a ; B+ AS b ; C AS c", "a.x > b.x AND b.y < c.y"),
)
CLAUSES = (
    "",
    "WITHIN 6 EVENTS",
    "WITHIN 6 EVENTS CONSUME BY ANY",
    "PARTITION BY [k] WITHIN 4 EVENTS",
)

_rows = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from("AAABCC"),
            "x": st.none() | st.integers(0, 5),
            "y": st.none() | st.integers(0, 10).map(lambda n: n / 2),
            "k": st.sampled_from("pqq"),
        }
    ),
    min_size=2,
    max_size=12,
)


@cache
def _query(pattern: str, condition: str, clauses: str) -> ensue.Query:
    return ensue.compile(f"SELECT * FROM S WHERE ({pattern}) FILTER {condition} {clauses}")


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(CLAUSES),
    _rows,
    st.sampled_from([0, 0, 1, 3]),
    st.booleans(),
)
def test_engine_eq_reference(
    shape: tuple[str, str], clauses: str, rows: list[dict[str, Any]], few: int, compact_always: bool
) -> None:
    query = _query(*shape, clauses)
    expected = run(query, rows, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configurations, "SCAN_LIMIT", few)
        fast = run(query, rows, compact_always=compact_always)
    assert found(fast) == found(expected)
    assert fast.count == expected.count


@pytest.mark.parametrize("shape", SHAPES[:10])
@pytest.mark.parametrize("pushed", [7, 64])
def test_trees_eq_scans_in_long_windows(shape: tuple[str, str], pushed: int) -> None:
    """So many values that graphs are compacted and grow, and trees are deep."""
    query = _query(*shape, "WITHIN 150 EVENTS")
    rows = [
        {"type": "AAC"[n * 7 % 3], "x": n * 7919 % 311, "y": n * 31 % 89 / 2, "k": str(n % 3)}
        for n in range(600)
    ]

    def counted(few: int) -> list[tuple[int, int]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(configurations, "SCAN_LIMIT", few)
            session = query.open()
            found: list[tuple[int, int]] = []
            for begin in range(0, len(rows), pushed):
                matches = session.push(rows[begin : begin + pushed])
                found.append((begin, matches.count))
            return found

    assert counted(0) == counted(1 << 40)
