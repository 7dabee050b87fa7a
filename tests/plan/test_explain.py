"""explain() says how conditions, aggregates and totals are computed, and what is pruned."""

from __future__ import annotations

import pytest

import ensue

PATTERN = "(A AS a ; (B AS b)+)"


def told(select: str, where: str) -> str:
    return ensue.compile(f"SELECT {select} FROM S WHERE {where} WITHIN 10 EVENTS").explain()


@pytest.mark.parametrize(
    ("select", "where", "expected"),
    [
        ("*", f"{PATTERN} FILTER b.v = a.v", "b.v = a.v:  hash index"),
        ("*", f"{PATTERN} FILTER b.v > a.v", "b.v > a.v:  search tree"),
        ("*", "(A AS a ; B AS b) FILTER b.v != a.v", "b.v != a.v:  search tree; all values"),
        ("*", f"{PATTERN} FILTER b.v + a.v > a.w", "b.v + a.v > a.w:  search tree"),
        ("*", "(A AS a ; B ; C AS c) FILTER a.v = c.v", "compare it is taken for all remembered"),
        ("*", "(A AS a ; B+ ; C AS c) FILTER a.v < c.v", "but a step that does not compare it"),
        ("NEXT *", "(A AS a ; B ; C AS c) FILTER a.v = c.v", "but a step that does not compare"),
        ("*", f"{PATTERN} FILTER b.v * a.v > a.w * b.w", "b.v * a.v > a.w * b.w:  on listing"),
        ("a, max(b.v) AS top", PATTERN, "top:  one pass over the events of each listed match"),
        ("*", f"{PATTERN} AGGREGATE Y[n = count(b)]", "as columns"),
        ("*", f"{PATTERN} AGGREGATE Y[n = count(b)] FILTER Y[n <= 3]", "Y[n <= 3]:  bounds"),
        ("*", f"{PATTERN} AGGREGATE Y[m = avg(b.v)] FILTER Y[m > 3]", "Y[m > 3]:  checked"),
        (
            "*",
            "A ; ((B AS b)+ AGGREGATE Y[s = sum(b.v)] FILTER Y[s < 9]) ; C",
            "AGGREGATE Y:  runs mark the events where it ends",
        ),
        (
            "*",
            "A ; ((B AS b)+ AGGREGATE Y[s = sum(b.v)] FILTER Y[s < 9]) ; C",
            "Y[s < 9]:  bounds the listing",
        ),
        (
            "*",
            f"NEXT({PATTERN} AGGREGATE Y[n = count(b)] FILTER Y[n <= 3]) ; C",
            "by definition, because of NEXT",
        ),
        ("count(*)", PATTERN, "Matches are counted, not listed: an event adds up the runs"),
        (
            "count(*), sum(b.v)",
            f"{PATTERN} FILTER b[increasing(v)]",
            "Matches are counted, not listed: for every completing event, the paths",
        ),
        (
            "count(*)",
            f"{PATTERN} AGGREGATE Y[n = count(b)] FILTER Y[n <= 3]",
            "Matches are listed to be counted, because of Y[n <= 3]",
        ),
        (
            "MAX count(*)",
            f"{PATTERN} FILTER b.v > a.v",
            "Matches are listed to be counted, because of SELECT MAX",
        ),
        (
            "count(*)",
            f"{PATTERN} FILTER b.v * a.v > a.w * b.w",
            "Matches are listed to be counted, because of b.v * a.v > a.w * b.w",
        ),
    ],
)
def test_explain_says_how_it_is_computed(select: str, where: str, expected: str) -> None:
    assert expected in told(select, where)


@pytest.mark.parametrize(
    ("select", "where", "expected"),
    [
        ("*", "A", "An event visits the start alone, whatever"),
        ("*", "A ; B", "An event visits at most 1 state, whatever"),
        ("*", "A ; B ; C", "An event visits at most 2 states, whatever"),
        ("*", "A", "automaton: 1 predicate on"),
        ("*", "(A AS a ; B AS b) FILTER b.v = a.v", "configurations of at most 1 state: those"),
        ("count(*)", "A ; B", "the runs of at most 1 state, 1 number each"),
    ],
)
def test_one_is_no_plural(select: str, where: str, expected: str) -> None:
    assert expected in told(select, where)
