"""The reference against the definitions of section 3 of the language, operator by operator.

Each expected set was written down by hand from the sentence that defines the operator.
"""

from __future__ import annotations

import pytest

from ensue.logic.complex_event import ComplexEvent
from ensue.logic.reference import Reference
from tests.equivalence.suite import stream
from tests.formulas import events_of, formula

Found = tuple[int, int, str]
"""Start, end, and the positions of each variable: "A:0,1 x:1"."""


def written(match: ComplexEvent) -> Found:
    names = sorted({name for name, _ in match.bindings})
    bound = (f"{name}:{','.join(map(str, match.positions(name)))}" for name in names)
    return match.start, match.end, " ".join(bound)


def meaning(pattern: str, words: str) -> set[Found]:
    reference = Reference(events_of(stream(words)))
    return {written(match) for match in reference.meaning(formula(pattern))}


@pytest.mark.parametrize(
    ("pattern", "words", "expected"),
    [
        # R, ANY, NOT
        ("A", "A B A", {(0, 0, "A:0"), (2, 2, "A:2")}),
        ("ANY", "A B", {(0, 0, "ANY:0"), (1, 1, "ANY:1")}),
        ("NOT(A)", "A B C", {(1, 1, ""), (2, 2, "")}),
        ("NOT(A FILTER A[v > 1])", "A1 A2 B", {(0, 0, ""), (2, 2, "")}),
        # ; anything may happen between, : nothing
        ("A ; B", "A C B B", {(0, 2, "A:0 B:2"), (0, 3, "A:0 B:3")}),
        ("A : B", "A B C B", {(0, 1, "A:0 B:1")}),
        ("A ; B ; C", "A B C", {(0, 2, "A:0 B:1 C:2")}),
        # OR, AND, ALL
        ("A OR B", "A B", {(0, 0, "A:0"), (1, 1, "B:1")}),
        ("(A OR B) AND (B OR C)", "A B C", {(1, 1, "B:1")}),
        ("A AND B", "A B", set()),
        ("A ALL B", "B A", {(0, 1, "A:1 B:0")}),
        ("(A ; B) ALL (A ; C)", "A B C", {(0, 2, "A:0 B:1 C:2")}),
        # AS
        ("A AS x", "A", {(0, 0, "A:0 x:0")}),
        ("(A ; B) AS x", "A C B", {(0, 2, "A:0 B:2 x:0,2")}),
        # iteration
        ("A+", "A B A", {(0, 0, "A:0"), (2, 2, "A:2"), (0, 2, "A:0,2")}),
        ("A:+", "A A B A", {(0, 0, "A:0"), (1, 1, "A:1"), (0, 1, "A:0,1"), (3, 3, "A:3")}),
        ("A{2}", "A A A", {(0, 1, "A:0,1"), (0, 2, "A:0,2"), (1, 2, "A:1,2")}),
        ("A{1,2}", "A A", {(0, 0, "A:0"), (1, 1, "A:1"), (0, 1, "A:0,1")}),
        ("A:{2}", "A A B A", {(0, 1, "A:0,1")}),
        ("(A ; B)+", "A B A B", {
            (0, 1, "A:0 B:1"), (0, 3, "A:0 B:3"), (2, 3, "A:2 B:3"), (0, 3, "A:0,2 B:1,3"),
        }),
        # what may be absent is the unit of ; and of :
        ("A ; B? ; C", "A B C", {(0, 2, "A:0 C:2"), (0, 2, "A:0 B:1 C:2")}),
        ("A : B? : C", "A C", {(0, 1, "A:0 C:1")}),
        ("A ; B* ; C", "A B B C", {
            (0, 3, "A:0 C:3"), (0, 3, "A:0 B:1 C:3"), (0, 3, "A:0 B:2 C:3"),
            (0, 3, "A:0 B:1,2 C:3"),
        }),
        # PROJECT leaves the interval as it is
        ("(A ; B) PROJECT [B]", "A C B", {(0, 2, "B:2")}),
        ("(A+ ; B) PROJECT [B]", "A A B", {(0, 2, "B:2"), (1, 2, "B:2")}),
        # UNLESS looks at the whole interval, both ends
        ("(A ; C) UNLESS B", "A C B C", {(0, 1, "A:0 C:1")}),
        ("(A ; C) UNLESS (A ; A)", "A A C", {(1, 2, "A:1 C:2")}),
        ("(A AS a ; C) UNLESS (B AS b FILTER b.k = a.k)", "Ap Bq C Bp C", {(0, 2, "A:0 C:2 a:0")}),
        # START, STRICT
        ("START(A ; B)", "A A B", {(0, 2, "A:0 B:2")}),
        ("STRICT(A ; B)", "A A B", {(1, 2, "A:1 B:2")}),
        ("STRICT((A ; C ; B) PROJECT [A, B])", "A C B", set()),
        # strategies inside a pattern: only matches of one interval compete
        ("NEXT(A ; A ; B)", "A A A B", {(0, 3, "A:0,1 B:3"), (1, 3, "A:1,2 B:3")}),
        ("LAST(A ; A ; B)", "A A A B", {(0, 3, "A:0,2 B:3"), (1, 3, "A:1,2 B:3")}),
        ("MAX(A+)", "A A A", {
            (0, 0, "A:0"), (1, 1, "A:1"), (2, 2, "A:2"), (0, 1, "A:0,1"), (1, 2, "A:1,2"),
            (0, 2, "A:0,1,2"),
        }),
        # FILTER, section 4
        ("A+ FILTER A[v > 1]", "A1 A2", {(1, 1, "A:1")}),
        ("(A ; B?) ; C FILTER B[v > 1]", "A B1 C", {(0, 2, "A:0 C:2")}),
        ("(A AS a ; B AS b) FILTER a.v < b.v", "A1 B1 B2", {(0, 2, "A:0 B:2 a:0 b:2")}),
        ("(A AS a ; B+ AS b) FILTER a.v < b.v", "A1 B2 B1 B3", {
            (0, 1, "A:0 B:1 a:0 b:1"), (0, 3, "A:0 B:3 a:0 b:3"), (0, 3, "A:0 B:1,3 a:0 b:1,3"),
        }),
        ("A+ FILTER A[increasing(v)]", "A2 A1 A3", {
            (0, 0, "A:0"), (1, 1, "A:1"), (2, 2, "A:2"), (0, 2, "A:0,2"), (1, 2, "A:1,2"),
        }),
        ("A+ FILTER A[same(v)]", "A1 A A1", {(0, 0, "A:0"), (2, 2, "A:2"), (0, 2, "A:0,2")}),
        ("(A ; B) PARTITION BY [A.k, B.k]", "Ap A Bq Bp B", {(0, 3, "A:0 B:3")}),
    ],
)  # fmt: skip
def test_the_meaning_of_an_operator(pattern: str, words: str, expected: set[Found]) -> None:
    assert meaning(pattern, words) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A{1,2}", "A OR (A ; A)"),
        ("A:{2,3}", "(A : A) OR (A : A : A)"),
        ("A+ ; B", "(A ; B) OR (A ; A+ ; B)"),
        ("A ; B? ; C", "(A ; C) OR (A ; B ; C)"),
        ("A ; (B ; C)", "(A ; B) ; C"),
        ("A ALL B", "B ALL A"),
        ("(A ; B) FILTER A[v > 1] AND B[v > 1]", "((A ; B) FILTER A[v > 1]) FILTER B[v > 1]"),
        (
            "(A ; B) FILTER A[v > 1] OR B[v > 1]",
            "((A ; B) FILTER A[v > 1]) OR ((A ; B) FILTER B[v > 1])",
        ),
        ("(A ; B) FILTER A.v > 1", "(A ; B) FILTER A[v > 1]"),
    ],
)
def test_what_the_language_calls_the_same_has_one_meaning(one: str, other: str) -> None:
    words = "A1 B2 A2 C1 B1 A3 A2 A1 C3 B3"
    assert meaning(one, words) == meaning(other, words) != set()
