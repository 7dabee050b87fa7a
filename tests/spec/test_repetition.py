"""Section 3: what may be absent, and what is repeated so many times."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import found, stream, supports


@pytest.mark.parametrize(
    ("pattern", "words", "expected"),
    [
        # once or not at all
        ("A? ; B", "A B", {(1,), (0, 1)}),
        ("A ; B?", "A B", {(0,), (0, 1)}),
        ("A ; B? ; C", "A B C", {(0, 2), (0, 1, 2)}),
        ("A ; B? ; C", "A B B C", {(0, 3), (0, 1, 3), (0, 2, 3)}),
        # any number of times
        ("A* ; B", "A A B", {(2,), (0, 2), (1, 2), (0, 1, 2)}),
        ("A ; B*", "A B", {(0,), (0, 1)}),
        ("A ; B* ; C", "A B B C", {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}),
        # any number of times without a gap
        ("A:* ; B", "A A X B", {(3,), (0, 3), (1, 3), (0, 1, 3)}),
        ("A:* ; B", "A X A B", {(3,), (0, 3), (2, 3)}),
        ("A:* : B", "A A B", {(2,), (1, 2), (0, 1, 2)}),
        # the empty match is the unit of : too
        ("A : B? : C", "A C", {(0, 1)}),
        ("A : B? : C", "A B C", {(0, 1, 2)}),
        ("A : B? : C", "A X C", set()),
        ("A? : B", "A X B", {(2,)}),
        ("A : B?", "A B", {(0,), (0, 1)}),
        # * repeats by ; also when it stands beside :
        ("A : B* : C", "A B X B C", {(0, 1, 3, 4)}),
        ("A : B:* : C", "A B X B C", set()),
        ("A : B:* : C", "A B B C", {(0, 1, 2, 3)}),
        ("A+ : B", "A X A B", {(2, 3), (0, 2, 3)}),
        # bounds
        ("A{2}", "A A A", {(0, 1), (0, 2), (1, 2)}),
        ("A{1,2}", "A A A", {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)}),
        ("A{2,}", "A A A", {(0, 1), (0, 2), (1, 2), (0, 1, 2)}),
        ("A{3,}", "A A A", {(0, 1, 2)}),
        ("A{1}", "A A", {(0,), (1,)}),
        ("A{0,1} ; B", "A B", {(1,), (0, 1)}),
        (
            "A{0,2} ; B",
            "A A A B",
            {(3,), (0, 3), (1, 3), (2, 3), (0, 1, 3), (0, 2, 3), (1, 2, 3)},
        ),
        ("A{0,} ; B", "A A B", {(2,), (0, 2), (1, 2), (0, 1, 2)}),
        # bounds without a gap
        ("A:{2}", "A A X A", {(0, 1)}),
        ("A:{2,3}", "A A A X A", {(0, 1), (1, 2), (0, 1, 2)}),
        ("A:{2,}", "A A A", {(0, 1), (1, 2), (0, 1, 2)}),
        ("A:{0,1} ; B", "A B", {(1,), (0, 1)}),
        ("A:{0,2} : B", "A A B", {(2,), (1, 2), (0, 1, 2)}),
        # what may be empty, below operators that leave the empty match as it is
        ("A ; (B* OR C) ; D", "A B C D", {(0, 3), (0, 1, 3), (0, 2, 3)}),
        ("A ; (B* OR C) ; D", "A B B D", {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}),
        ("A : (B? OR C) : D", "A C D", {(0, 1, 2)}),
        ("A : (B? OR C) : D", "A D", {(0, 1)}),
        ("A : (B? OR C) : D", "A X D", set()),
        ("A ; (B? AND (B OR C?)) ; D", "A B C D", {(0, 3), (0, 1, 3)}),
        ("A ; B? AS x ; D", "A B D", {(0, 2), (0, 1, 2)}),
        ("A ; (B? FILTER B[v > 9]) ; D", "A B D", {(0, 2)}),
        ("A ; (B? PROJECT [B]) ; D", "A B D", {(0, 2), (0, 1, 2)}),
        ("A ; (B? PARTITION BY [B.v]) ; D", "A B D", {(0, 2)}),
        ("A ; (B?)+ ; D", "A B B D", {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}),
        ("A ; (B?){2} ; D", "A B B D", {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}),
        ("A ; (B?){3} ; D", "A B D", {(0, 2), (0, 1, 2)}),
        ("A ; ((B? ; C?) AS x) ; D", "A B C D", {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}),
        ("A : ((B? ; C?) OR D)", "A D C", {(0,), (0, 1)}),
        # nested
        ("A ; (B ; C?)? ; D", "A B C D", {(0, 3), (0, 1, 3), (0, 1, 2, 3)}),
        ("A? ; (B? ; C)", "A B C", {(2,), (1, 2), (0, 2), (0, 1, 2)}),
        ("A ; (B? ; C?)", "A B C", {(0,), (0, 1), (0, 2), (0, 1, 2)}),
        ("A? ; B? ; C", "A B C", {(2,), (1, 2), (0, 2), (0, 1, 2)}),
        ("A : (B ; C)? : D", "A B X C D", {(0, 1, 3, 4)}),
        ("A : (B ; C)? : D", "A D", {(0, 1)}),
        ("(A? ; B)+", "A B B", {(1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}),
        ("(A ; B?){2}", "A A B", {(0, 1), (0, 1, 2)}),
        ("(A : B?){2}", "A B A", {(0, 2), (0, 1, 2)}),
        ("(A : B?):{2}", "A B A", {(0, 1, 2)}),
        ("(A{2} ; B)?; C", "A A B C", {(3,), (0, 1, 2, 3)}),
    ],
)
def test_repetitions_bind_exactly_these_events(
    pattern: str, words: str, expected: set[tuple[int, ...]]
) -> None:
    assert supports(pattern, stream(words)) == expected


def test_an_absent_variable_is_not_bound() -> None:
    assert found("(A AS x)? ; B AS y", stream("A B")) == [
        (0, 1, {"A": [0], "x": [0], "B": [1], "y": [1]}),
        (1, 1, {"B": [1], "y": [1]}),
    ]


def test_several_ways_to_the_same_bindings_are_one_match() -> None:
    assert found("A* ; A* ; B", stream("A B")) == [
        (0, 1, {"A": [0], "B": [1]}),
        (1, 1, {"B": [1]}),
    ]


def test_several_ways_to_other_bindings_are_several_matches() -> None:
    assert found("(A AS x)* ; (A AS y)* ; B", stream("A B")) == [
        (0, 1, {"A": [0], "B": [1], "x": [0]}),
        (0, 1, {"A": [0], "B": [1], "y": [0]}),
        (1, 1, {"B": [1]}),
    ]


def test_a_repetition_by_semicolon_of_pairs_needs_them_one_after_another() -> None:
    # pairs: (0,1), (0,3), (2,3); only the first ends before the last starts
    assert supports("(A ; B){2}", stream("A B A B")) == {(0, 1, 2, 3)}


def test_a_condition_inside_a_repetition_is_about_each_round() -> None:
    pattern = "((A AS x ; B AS y) FILTER x.v = y.v){2}"
    assert supports(pattern, stream("A1 B1 A2 B2")) == {(0, 1, 2, 3)}
    assert supports(pattern, stream("A1 B2 A2 B1")) == set()


@pytest.mark.parametrize(
    "pattern",
    ["A?", "A*", "A:*", "A{0,3}", "A:{0,2}", "A{0,}", "A? ; B?", "A* : B*", "A? OR B", "A ALL B?"],
)
def test_what_may_be_empty_as_a_whole_is_an_error(pattern: str) -> None:
    with pytest.raises(ensue.CeqlError) as told:
        ensue.compile(f"SELECT * FROM S WHERE {pattern}")
    assert told.value.line == 1
    assert told.value.column >= 23


@pytest.mark.parametrize("pattern", ["A{3,2}", "A:{3,2} ; B", "A{0}", "A:{2,1}"])
def test_empty_bounds_are_an_error(pattern: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(f"SELECT * FROM S WHERE {pattern}")
