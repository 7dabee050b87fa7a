"""Section 3: UNLESS whose right side names variables of its left."""

from __future__ import annotations

import pytest

import ensue

Row = dict[str, object]


def events(words: str) -> list[Row]:
    """Write `A1` for an event of type A with k = 1, `A-` where k is NULL; v is the position."""
    return [
        {"type": word[0], "k": None if word[1:] == "-" else int(word[1:]), "v": place}
        for place, word in enumerate(words.split())
    ]


def intervals(pattern: str, words: str) -> set[tuple[int, int]]:
    matches = ensue.run(f"SELECT * FROM S WHERE {pattern}", events(words))
    return {(match.start, match.end) for match in matches}


@pytest.mark.parametrize(
    ("pattern", "words", "expected"),
    [
        # no B with the k of this A
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "A1 B2 C0", {(0, 2)}),
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "A1 B1 C0", set()),
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "A1 A2 B1 C0", {(1, 3)}),
        # only what lies inside the interval counts, its ends included
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "B1 A1 C0 B1", {(1, 2)}),
        ("(A AS a ; C) UNLESS (C AS c FILTER c.k = a.k)", "A1 C1", set()),
        # by the name of a type
        ("(A ; C) UNLESS (B FILTER B.k = A.k)", "A1 B2 C0 A1 B1 C0", {(0, 2)}),
        # NULL is equal to nothing
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "A- B- C0", {(0, 2)}),
        # other conditions, several, and with OR
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k > a.k)", "A1 B1 C0 A1 B2 C0", {(0, 2)}),
        ("(A AS a ; C AS c) UNLESS (B AS b FILTER b.k = a.k AND b.v < c.k)", "A1 B1 C1", {(0, 2)}),
        ("(A AS a ; C AS c) UNLESS (B AS b FILTER b.k = a.k AND b.v < c.k)", "A1 B1 C2", set()),
        ("(A AS a ; C AS c) UNLESS (B AS b FILTER b.k = a.k OR b.k = c.k)", "A1 B2 C2", set()),
        ("(A AS a ; C AS c) UNLESS (B AS b FILTER b.k = a.k + c.k)", "A1 B3 C2", set()),
        ("(A AS a ; C AS c) UNLESS (B AS b FILTER b.k = a.k + c.k)", "A1 B2 C2", {(0, 2)}),
        # a condition on the left alone says when the right matters
        ("(A AS a ; C) UNLESS (B FILTER a[k > 1])", "A1 B0 C0", {(0, 2)}),
        ("(A AS a ; C) UNLESS (B FILTER a[k > 1])", "A2 B0 C0", set()),
        ("(A AS a ; C) UNLESS ((B FILTER a[k > 1]) OR D)", "A1 D0 C0", set()),
        # several events on the right, all of which must satisfy it
        ("(A AS a ; C) UNLESS (B AS b ; D AS d FILTER b.k = a.k)", "A1 B2 D1 C0", {(0, 3)}),
        ("(A AS a ; C) UNLESS (B AS b ; D AS d FILTER b.k = a.k)", "A1 B1 D2 C0", set()),
        ("(A AS a ; C) UNLESS (B{2} AS b FILTER b.k = a.k)", "A1 B1 B2 C0", {(0, 3)}),
        ("(A AS a ; C) UNLESS (B{2} AS b FILTER b.k = a.k)", "A1 B1 B2 B1 C0", set()),
        # nothing bound to a variable of the condition: it holds
        ("((A AS a OR D) ; C) UNLESS (B AS b FILTER b.k = a.k)", "D1 B2 C0", set()),
        ("((A AS a)? ; D ; C) UNLESS (B AS b FILTER b.k = a.k)", "A1 D0 B2 C0", {(0, 3)}),
        ("(A AS a ; C) UNLESS (B AS b OR D FILTER b.k = a.k)", "A1 D0 C0", set()),
        # inside an iteration, each round with its own event
        ("((A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)){2}", "A1 B2 C0 A2 B1 C0", {(0, 5)}),
        ("((A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)){2}", "A1 B2 C0 A2 B2 C0", set()),
        # an UNLESS right of an UNLESS
        (
            "(A AS a ; C) UNLESS ((B AS b FILTER b.k = a.k) UNLESS (B AS d FILTER d.k = b.k))",
            "A1 B1 C0",
            {(0, 2)},
        ),
        (
            "(A AS a ; C) UNLESS ((B AS b ; B) UNLESS (D AS d FILTER d.k = b.k AND d.k = a.k))",
            "A1 B1 D1 B0 C0",
            {(0, 4)},
        ),
        (
            "(A AS a ; C) UNLESS ((B AS b ; B) UNLESS (D AS d FILTER d.k = b.k AND d.k = a.k))",
            "A2 B1 D1 B0 C0",
            set(),
        ),
        # computed events on the left
        (
            "(((A AS x ; A AS y) AGGREGATE Y[n = sum(A.k)]) ; C) UNLESS (B AS b FILTER b.k = Y.n)",
            "A1 A2 B3 C0",
            set(),
        ),
        (
            "(((A AS x ; A AS y) AGGREGATE Y[n = sum(A.k)]) ; C) UNLESS (B AS b FILTER b.k = Y.n)",
            "A1 A1 B3 C0",
            {(0, 3)},
        ),
        # below a strategy
        ("NEXT((A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)) ; D", "A1 B2 C0 D0", {(0, 3)}),
        ("(A AS a ; C) UNLESS NEXT(B AS b FILTER b.k = a.k)", "A1 B1 C0", set()),
        ("(A AS a : B ; C) UNLESS (NOT(B FILTER B.k = a.k) ; C)", "A1 B1 C0", set()),
    ],
)
def test_unless_with_conditions_on_its_left(
    pattern: str, words: str, expected: set[tuple[int, int]]
) -> None:
    assert intervals(pattern, words) == expected


def test_what_the_right_side_names_binds_nothing() -> None:
    query = "SELECT * FROM S WHERE (A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)"
    (match,) = ensue.run(query, events("A1 B2 C0"))
    assert match.bindings == {"A": [0], "C": [2], "a": [0]}


def test_a_partition_sees_its_own_events() -> None:
    query = (
        "SELECT * FROM S WHERE (A AS a ; C) UNLESS (B AS b FILTER b.k = a.k) PARTITION BY [shop]"
    )
    rows = [
        {"type": kind, "k": 1, "shop": shop}
        for kind, shop in (("A", "x"), ("A", "y"), ("B", "y"), ("C", "x"), ("C", "y"))
    ]
    assert [(match.start, match.end) for match in ensue.run(query, rows)] == [(0, 3)]


def test_lists_are_not_compared() -> None:
    query = "SELECT * FROM S WHERE (A AS a ; C) UNLESS (B AS b FILTER b.tags = a.tags)"
    rows = [
        {"type": kind, "tags": tags}
        for kind, tags in (("A", ["x"]), ("A", ["y"]), ("B", ["y"]), ("C", []))
    ]
    with pytest.raises(ensue.CeqlTypeError, match="a list of strings is compared with a list"):
        ensue.run(query, rows)
    session = ensue.compile(query).open()
    session.push({"type": "C"})
    with pytest.raises(ensue.EventError, match="compares lists"):
        session.push(rows)
