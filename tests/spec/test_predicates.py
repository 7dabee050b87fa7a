"""Section 4, p: conditions on one event, with SQL's NULL."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

import ensue
from tests.spec.helpers import found, kept, run, stream, supports, valued

NAN = math.nan


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("v = 2", [1]),
        ("v == 2", [1]),
        ("v != 2", [0, 2]),
        ("v <> 2", [0, 2]),
        ("v < 2", [0]),
        ("v <= 2", [0, 1]),
        ("v > 2", [2]),
        ("v >= 2", [1, 2]),
        ("2 < v", [2]),
        ("v = 2.0", [1]),
        ("v = NULL", []),
        ("v != NULL", []),
        ("v IS NULL", [3]),
        ("v IS NOT NULL", [0, 1, 2]),
        ("NOT v = 2", [0, 2]),
        ("NOT (v = 1 OR v = 2)", [2]),
        ("NOT v IS NULL", [0, 1, 2]),
        ("v = 1 OR v = 2 AND v = 3", [0]),
        ("(v = 1 OR v = 2) AND v < 2", [0]),
        ("NOT v = 1 AND v < 3", [1]),
        ("TRUE", [0, 1, 2, 3]),
        ("FALSE", []),
        ("v = 2 OR TRUE", [0, 1, 2, 3]),
        ("(v = 2) IS NULL", [3]),
        ("v IN (1, 3)", [0, 2]),
        ("v IN {1, 3}", [0, 2]),
        ("v IN (2)", [1]),
        ("v NOT IN (1, 3)", [1]),
        ("v NOT IN {1, 3}", [1]),
        ("v IN (1, NULL)", [0]),
        ("v NOT IN (1, NULL)", []),
        ("(v IN (1, NULL)) IS NULL", [1, 2, 3]),
        ("v IN (0.5, 2.0)", [1]),
        ("v IN (v, 7)", [0, 1, 2]),
        ("v IN RANGE (1, 2)", [0, 1]),
        ("v BETWEEN 2 AND 3", [1, 2]),
        ("v BETWEEN 3 AND 2", []),
        ("v NOT BETWEEN 1 AND 2", [2]),
        ("v BETWEEN 1 AND 3 AND v != 2", [0, 2]),
        ("v BETWEEN 1 + 1 AND 2 * 2", [1, 2]),
        ("v BETWEEN NULL AND 2", []),
        ("v NOT BETWEEN NULL AND 2", [2]),
    ],
)
def test_comparisons_of_numbers(predicate: str, expected: list[int]) -> None:
    assert kept(predicate, [1, 2, 3, None]) == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("v = 'b'", [1]),
        ("v = 'B'", []),
        ("v < 'b'", [0]),
        ("v >= 'b'", [1, 2]),
        ("v IN ('a', 'c')", [0, 2]),
        ("v NOT IN ('a', 'c')", [1]),
        ("v BETWEEN 'a' AND 'b'", [0, 1]),
        ('v = "b"', [1]),
    ],
)
def test_comparisons_of_strings(predicate: str, expected: list[int]) -> None:
    assert kept(predicate, ["a", "b", "c", None]) == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("v IS NULL", [1, 2]),
        ("v IS NOT NULL", [0]),
        ("v = v", [0]),
        ("v != v", []),
        ("v < 5 OR v >= 5", [0]),
        ("NOT v > 5", [0]),
        ("coalesce(v, 9) = 9", [1, 2]),
        ("v NOT IN (5)", [0]),
    ],
)
def test_nan_reads_as_null(predicate: str, expected: list[int]) -> None:
    assert kept(predicate, [1.5, NAN, None]) == expected


def test_an_attribute_that_an_event_lacks_is_null() -> None:
    assert kept("w IS NULL", [{"v": 1}, {"v": 1, "w": 2}]) == [0]
    assert kept("w != 3", [{"v": 1}, {"v": 1, "w": 2}]) == [1]


# Every pair of true, false and unknown:   0   1   2   3   4   5   6   7   8
#                                          TT  TF  TN  FT  FF  FN  NT  NF  NN
PAIRS = [{"p": p, "q": q} for p, q in product([True, False, None], repeat=2)]


@pytest.mark.parametrize(
    ("predicate", "true", "unknown"),
    [
        ("p AND q", [0], [2, 6, 8]),
        ("p OR q", [0, 1, 2, 3, 6], [5, 7, 8]),
        ("NOT p", [3, 4, 5], [6, 7, 8]),
        ("p = q", [0, 4], [2, 5, 6, 7, 8]),
        ("p != q", [1, 3], [2, 5, 6, 7, 8]),
        ("NOT (p AND q)", [1, 3, 4, 5, 7], [2, 6, 8]),
        ("NOT (p OR q)", [4], [5, 7, 8]),
        ("p AND NOT q", [1], [2, 7, 8]),
        ("p IS NULL", [6, 7, 8], []),
        ("p = TRUE", [0, 1, 2], [6, 7, 8]),
    ],
)
def test_logic_is_three_valued(predicate: str, true: list[int], unknown: list[int]) -> None:
    false = sorted(set(range(9)) - {*true, *unknown})
    assert kept(f"({predicate})", PAIRS) == true
    assert kept(f"({predicate}) IS NULL", PAIRS) == unknown
    assert kept(f"NOT ({predicate})", PAIRS) == false


@pytest.mark.parametrize(
    ("pattern", "values", "expected"),
    [
        ("a%", ["a", "ab", "ba", "A", None], [0, 1]),
        ("%b", ["ab", "b", "ba"], [0, 1]),
        ("%b%", ["abc", "b", "ac"], [0, 1]),
        ("a_c", ["abc", "ac", "abbc", "a%c"], [0, 3]),
        ("_", ["", "a", "é", "ab"], [1, 2]),
        ("__%", ["a", "ab", "abc"], [1, 2]),
        ("%", ["", "a", None], [0, 1]),
        ("", ["", "a"], [0]),
        ("abc", ["abc", "abcd", "ABC"], [0]),
        ("a.c", ["abc", "a.c"], [1]),
        ("a*", ["aaa", "a*"], [1]),
        ("(a|b)[c]", ["ac", "(a|b)[c]"], [1]),
        ("a%b", ["a\nb", "ab", "abc"], [0, 1]),
        ("%a%a%", ["aa", "banana", "a"], [0, 1]),
    ],
)
def test_like_knows_percent_and_underscore_only(
    pattern: str, values: list[str | None], expected: list[int]
) -> None:
    assert kept(f"v LIKE '{pattern}'", values) == expected
    known = [i for i, value in enumerate(values) if value is not None]
    assert kept(f"v NOT LIKE '{pattern}'", values) == sorted(set(known) - set(expected))


@pytest.mark.parametrize(
    ("pattern", "values", "expected"),
    [
        ("b", ["abc", "xyz", None], [0]),
        ("^b", ["abc", "bc"], [1]),
        ("c$", ["abc", "cb"], [0]),
        ("^a.c$", ["abc", "xabc", "abcx"], [0]),
        ("[0-9]{3}", ["ab123", "12"], [0]),
        (r"\d+\.\d", ["v1.5", "v1x5"], [0]),
        ("(?i)ABC", ["xabcx", "xaBx"], [0]),
        ("^(GET|POST) ", ["GET /", "PUT /", "a POST "], [0]),
        ("", ["", "a"], [0, 1]),
        (r"\bcat\b", ["a cat sat", "concat"], [0]),
        (r"^\p{Lu}", ["École", "école"], [0]),
    ],
)
def test_rlike_finds_the_expression_anywhere(
    pattern: str, values: list[str | None], expected: list[int]
) -> None:
    assert kept(f"v RLIKE '{pattern}'", values) == expected
    known = [i for i, value in enumerate(values) if value is not None]
    assert kept(f"v NOT RLIKE '{pattern}'", values) == sorted(set(known) - set(expected))


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(", "a{2,1}", "[z-a]"])
def test_what_re2_does_not_know_is_an_error_of_the_query(pattern: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(f"SELECT * FROM S WHERE A FILTER A[v RLIKE '{pattern}']")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("type = 'B'", {(1,)}),
        ("type != 'B'", {(0,), (2,)}),
        ("type IN ('A', 'C')", {(0,), (2,)}),
        ("type LIKE '_' AND type > 'A'", {(1,), (2,)}),
        ("type = 'b'", set()),
    ],
)
def test_type_is_the_type_of_the_event(predicate: str, expected: set[tuple[int, ...]]) -> None:
    assert supports(f"ANY AS x FILTER x[{predicate}]", stream("A B C")) == expected
    renamed = [{"kind": event["type"]} for event in stream("A B C")]
    assert supports(f"ANY AS x FILTER x[{predicate}]", renamed, type="kind") == expected


def test_type_outside_brackets_is_that_of_a_variable() -> None:
    pattern = "ANY AS x ; ANY AS y FILTER x.type = y.type"
    assert supports(pattern, stream("A B A")) == {(0, 2)}
    assert supports("ANY AS x FILTER x.type = 'B'", stream("A B A")) == {(1,)}


def test_a_lone_name_is_same_even_when_it_is_boolean() -> None:
    events = valued([{"flag": False}, {"flag": False}, {"flag": True}, {"flag": None}])
    assert supports("A{1,2} AS x FILTER x[flag]", events) == {(0,), (1,), (2,), (0, 1)}
    assert kept("NOT flag", [{"flag": True}, {"flag": False}, {"flag": None}]) == [1]
    assert kept("flag AND TRUE", [{"flag": True}, {"flag": False}, {"flag": None}]) == [0]


def test_every_event_of_a_variable_must_satisfy_the_brackets() -> None:
    assert supports("A+ AS x FILTER x[v > 1]", stream("A1 A2 A3")) == {(1,), (2,), (1, 2)}


def test_brackets_on_nothing_are_true() -> None:
    pattern = "(A AS x)? ; B AS y FILTER x[v > 1] AND x.v < y.v AND x[same(v)]"
    assert supports(pattern, stream("A1 B5")) == {(1,)}
    assert supports(pattern, stream("A2 B5")) == {(1,), (0, 1)}


def test_or_between_brackets_holds_for_the_whole_match_and_inside_event_by_event() -> None:
    events = stream("A6 A1")
    assert supports("A+ AS x FILTER x[v > 5] OR x[v < 3]", events) == {(0,), (1,)}
    assert supports("A+ AS x FILTER x[v > 5 OR v < 3]", events) == {(0,), (1,), (0, 1)}


def test_and_between_brackets_is_one_filter_after_another() -> None:
    events = stream("A1 A2 A3")
    for pattern in (
        "A FILTER A[v > 1] AND A[v < 3]",
        "A FILTER A[v > 1] FILTER A[v < 3]",
        "A FILTER A[v > 1 AND v < 3]",
        "A FILTER (A[v > 1] OR A[v = 9]) AND A[v < 3]",
    ):
        assert supports(pattern, events) == {(1,)}


def test_after_filter_words_belong_to_the_filter_and_parentheses_end_it() -> None:
    events = stream("A1 B2")
    assert supports("(A FILTER A[v = 1]) OR B", events) == {(0,), (1,)}
    with pytest.raises(ensue.CeqlError):
        ensue.compile("SELECT * FROM S WHERE A FILTER A[v = 1] OR B")


def test_not_of_an_event_with_an_unknown_predicate_is_satisfied() -> None:
    # the A without v is not an A of which v > 1 is known to be true
    assert found("NOT(A FILTER A[v > 1])", stream("A2 A A1 B")) == [
        (1, 1, {}),
        (2, 2, {}),
        (3, 3, {}),
    ]


def test_any_binds_a_variable_of_that_name() -> None:
    assert found("ANY FILTER ANY[v > 1]", stream("A1 B2")) == [(1, 1, {"ANY": [1]})]


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([1, 2], {"type": "string", "v": "int"}),
        ([1.5, 2.5], {"type": "string", "v": "double"}),
    ],
)
@pytest.mark.parametrize(
    "predicate", ["v = 'x'", "v IN ('x', 'y')", "v BETWEEN 'a' AND 'b'", "v LIKE 'a%'"]
)
def test_a_number_is_not_compared_with_a_string(
    predicate: str, values: list[Any], schema: dict[str, str]
) -> None:
    with pytest.raises(ensue.CeqlTypeError):
        ensue.compile(f"SELECT * FROM S WHERE A FILTER A[{predicate}]", schema=schema)
    with pytest.raises(ensue.CeqlTypeError):
        run(f"A FILTER A[{predicate}]", valued(values))


LISTS = [["x", "y"], [], None, ["y", None], ["x", None]]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("'x' IN v", [0, 4]),
        ("'x' NOT IN v", [1]),
        ("NOT 'x' IN v", [1]),
        ("contains(v, 'x')", [0, 4]),
        ("NOT contains(v, 'x')", [1]),
        ("NULL IN v", []),
        ("NULL NOT IN v", []),
        ("lower('X') IN v", [0, 4]),
        ("length(v) = 0", [1]),
        ("length(v) = 2", [0, 3, 4]),
        ("v IS NULL", [2]),
    ],
)
def test_lists_are_looked_into(predicate: str, expected: list[int]) -> None:
    assert kept(predicate, LISTS) == expected


@pytest.mark.parametrize(
    "predicate",
    ["v = 'x'", "v = v", "v < 5", "v + 1 > 2", "v IN ('x')", "5 IN v", "lower(v) = 'x'"],
)
def test_a_list_is_no_single_value(predicate: str) -> None:
    with pytest.raises(ensue.CeqlTypeError, match="a list of strings"):
        kept(predicate, LISTS)
