"""Steps that all configurations take alike, applied when somebody looks: against the reference."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.kernels.match import configurations
from tests import seams
from tests.equivalence.test_engine import found, run

SHAPES = (
    ("A AS a ; B AS b ; C AS c", "a.k = c.k"),
    ("A AS a ; B AS b ; D AS d ; C AS c", "a.k = c.k"),
    ("A AS a ; B+ AS b ; C AS c", "a.k = c.k"),
    ("A AS a ; (B OR D)+ AS b ; C AS c", "a.k = c.k"),
    ("D AS d ; A AS a ; B AS b ; C AS c", "a.k = c.k"),
    ("A+ AS a ; B AS b ; C AS c", "a[same(k)] AND a.k = c.k"),
    ("A AS a ; B AS b ; C AS c ; D AS d", "a.k = c.k AND b.x = d.x"),
    ("A AS a ; B AS b ; C AS c ; D AS d", "a.k = d.k AND b.x = d.x"),
    ("A AS a ; D ; B AS b ; C AS c", "a.k = b.k AND b.x = c.x"),
    ("A AS a ; D+ ; C AS c ; B ; C AS e", "a.k = c.k AND a.k = e.k"),
    ("(A AS a ; B ; C AS c)+ ; D", "a.k = c.k"),
    ("A AS a ; B AS b : C AS c", "a.k = c.k"),
    ("A AS a ; (B : D)+ ; C AS c", "a.k = c.k"),
    ("A AS a ; B ; (C AS c OR D AS d)", "a.k = c.k"),
    ("A AS a ; B ; (C AS c)* ; D", "a.k = c.k"),
    ("(A AS a ; B ; C AS c) UNLESS (D ; D)", "a.k = c.k"),
    ("(A AS a ; B ; C AS c) UNLESS (D AS d ; D AS e FILTER d.x = e.x)", "a.k = c.k"),
)
ORDERED = (
    ("A AS a ; B AS b ; C AS c", "a.k < c.k"),
    ("A AS a ; B AS b ; C AS c", "a.k != c.k"),
    ("A AS a ; B+ AS b ; C AS c", "a.k >= c.k"),
    ("A AS a ; B AS b ; D AS d ; C AS c", "a.k <= c.k"),
    ("A AS a ; B AS b ; C AS c", "a.x = c.x AND a.k < c.k"),
    ("A AS a ; B AS b ; C AS c", "a.k < c.k AND a.k != c.x"),
    ("A AS a ; B AS b ; C AS c ; D AS d", "a.k < c.k AND a.x = d.x"),
    ("A+ AS a ; B AS b ; C AS c", "a[increasing(x)] AND a.k < c.k"),
    ("A AS a ; B ; (C AS c OR D AS d)", "a.k < c.k AND a.x = d.x"),
    ("A AS a ; B AS b : C AS c", "a.k > c.k"),
    ("A AS a ; (B : D)+ ; C AS c", "a.k > c.k"),
    ("A AS a ; B ; (C AS c)* ; D", "a.k < c.k"),
    ("D AS d ; A AS a ; B AS b ; C AS c", "d.x = a.x AND a.k < c.k"),
    ("(A AS a ; B ; C AS c) UNLESS (D ; D)", "a.k < c.k"),
)
"""Where ranges of a search tree are asked for what steps owe to them (due.py)."""
CLAUSES = (
    "",
    "WITHIN 3 EVENTS",
    "WITHIN 6 EVENTS",
    "WITHIN 6 EVENTS CONSUME BY ANY",
    "PARTITION BY [p] WITHIN 4 EVENTS",
    "PARTITION BY [p] WITHIN 5 EVENTS CONSUME BY PARTITION",
    "WITHIN 7 EVENTS LIMIT 2",
)

rows = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from("AABBCCD"),
            "k": st.none() | st.integers(0, 2),
            "x": st.integers(0, 1),
            "p": st.sampled_from("pqq"),
        }
    ),
    min_size=2,
    max_size=15,
)


@cache
def _query(pattern: str, condition: str, clauses: str, lazy: bool = True) -> ensue.Query:
    """Return a query that is run either way, and whose tables are kept from run to run."""
    return ensue.compile(f"SELECT * FROM S WHERE ({pattern}) FILTER {condition} {clauses}")


@given(
    st.sampled_from(SHAPES + ORDERED),
    st.sampled_from(CLAUSES),
    rows,
    st.sampled_from([1, 1, 0]),
    st.booleans(),
    st.sampled_from([0, 0, 2, 64]),
    st.sampled_from([0, 0, 3]),
)
def test_engine_eq_reference(
    shape: tuple[str, str],
    clauses: str,
    rows: list[dict[str, Any]],
    lazy: int,
    compact: bool,
    scanned: int,
    shared: int,
) -> None:
    query = _query(*shape, clauses, bool(lazy))
    expected = run(query, rows, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        seams.LAZY_STEPS.put(patch, bool(lazy))
        patch.setattr(configurations, "SCAN_LIMIT", scanned)
        patch.setattr(configurations, "SHARED_FROM", shared)
        fast = run(query, rows, compact_always=compact)
    assert fast.count == expected.count
    if "LIMIT" not in clauses:
        assert found(fast) == found(expected)


def _told(matches: Any) -> list[Any]:
    return sorted((m.start, m.end, str(sorted(m.bindings.items()))) for m in matches)


@given(
    st.sampled_from(SHAPES + ORDERED),
    st.sampled_from(CLAUSES[:6]),
    rows,
    st.lists(st.integers(1, 4)),
    st.sampled_from([0, 64]),
)
def test_resumed_eq_uninterrupted(
    shape: tuple[str, str],
    clauses: str,
    rows: list[dict[str, Any]],
    cuts: list[int],
    scanned: int,
) -> None:
    """Steps wait in snapshots too."""
    query = _query(*shape, clauses)
    session, told, begin = query.open(), [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configurations, "SCAN_LIMIT", scanned)
        patch.setattr(configurations, "SHARED_FROM", 0)
        for size in [*cuts, len(rows)]:
            told += _told(session.push(rows[begin : begin + size]))
            session, begin = query.resume(session.snapshot()), begin + size
    assert sorted(told) == _told(query.run(rows))


@pytest.mark.parametrize("shape", SHAPES[:11] + ORDERED[:7])
@pytest.mark.parametrize("clauses", ["WITHIN 40 EVENTS", "PARTITION BY [p] WITHIN 30 EVENTS"])
def test_lazy_eq_one_by_one_in_long_windows(shape: tuple[str, str], clauses: str) -> None:
    """So many values that graphs are compacted, factors and slots grow, and parts are several."""
    random = Random(7)
    values = 60 if shape in ORDERED else 6
    rows = [
        {
            "type": random.choice("ABCD"),
            "k": random.randrange(values),
            "x": random.randrange(3),
            "p": random.choice("pqq"),
        }
        for _ in range(400)
    ]

    def counted(lazy: bool) -> list[int]:
        with pytest.MonkeyPatch.context() as patch:
            seams.LAZY_STEPS.put(patch, lazy)
            seams.FIRST_NODES.put(patch, 64)
            patch.setattr(configurations, "SCAN_LIMIT", 4)
            patch.setattr(configurations, "SHARED_FROM", 8)
            seams.EXPANDED_PART.put(patch, 1 << 13)
            session = _query(*shape, clauses, lazy).open()
            return [session.push(rows[begin : begin + 50]).count for begin in range(0, 400, 50)]

    assert sum(counted(True)) > 0
    assert counted(True) == counted(False)


@pytest.mark.parametrize(
    ("condition", "kinds", "most"), [("a.k = c.k", "AB", 6), ("a.k < c.k", "ABC", 80)]
)
def test_a_step_between_makes_few_nodes(condition: str, kinds: str, most: int) -> None:
    """B is taken for all values together: what is kept follows the events, and not their pairs."""
    rows = [{"type": kinds[n % len(kinds)], "k": n * 7919 % 2000} for n in range(2000)]
    with pytest.MonkeyPatch.context() as patch:
        kept: dict[bool, int] = {}
        for lazy in (True, False):
            seams.LAZY_STEPS.put(patch, lazy)
            query = _query("A AS a ; B AS b ; C AS c", condition, "WITHIN 2000 EVENTS", lazy)
            session = query.open()
            session.push(rows)
            kept[lazy] = session.stats["nodes"]
    assert kept[True] < most * len(rows)
    assert kept[False] > 100 * len(rows)
