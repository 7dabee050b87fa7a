"""Section 4, words: keywords, names, quotes, comments, numbers."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import found, kept, plain, stream, supports


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A AS x ; B FILTER x[v > 1 AND NOT v IS NULL] WITHIN 5 EVENTS",
        "select * from S where A as x ; B filter x[v > 1 and not v is null] within 5 events",
        "Select * From S Where A As x ; B Filter x[v > 1 And Not v Is Null] Within 5 Events",
    ],
)
def test_keywords_are_not_case_sensitive(text: str) -> None:
    assert plain(ensue.run(text, stream("A1 A2 B"))) == [(1, 2, {"A": [1], "x": [1], "B": [2]})]


@pytest.mark.parametrize(
    "pattern",
    ["start(A ; B)", "Next(A ; B)", "max(A ; B)", "A ; B filter A[ABS(v) = 1 or Length('a') = 2]"],
)
def test_functions_are_not_case_sensitive(pattern: str) -> None:
    assert supports(pattern, stream("A1 B")) == {(0, 1)}


def test_event_types_are_case_sensitive() -> None:
    assert supports("a", stream("A a")) == {(1,)}
    assert supports("A", stream("A a")) == {(0,)}


def test_variables_are_case_sensitive() -> None:
    assert found("A AS x ; B AS X", stream("A B")) == [
        (0, 1, {"A": [0], "x": [0], "B": [1], "X": [1]})
    ]


def test_attributes_are_case_sensitive() -> None:
    assert kept("v = 1 AND V = 2", [{"v": 1, "V": 2}, {"v": 2, "V": 1}]) == [0]


def test_backquotes_make_any_word_a_name() -> None:
    events = [
        {"type": "order placed", "unit price": 3, "select": 1},
        {"type": "WHERE", "unit price": 5, "select": 1},
    ]
    text = """
        SELECT `from` FROM `my stream` WHERE (`order placed` AS `from` ; `WHERE` AS `two words`)
        FILTER `from`[`unit price` = 3 AND `select` = 1] AND `from`.`select` = `two words`.`select`
    """
    assert plain(ensue.run(text, events)) == [(0, 1, {"from": [0]})]


def test_backquotes_around_a_plain_name_change_nothing() -> None:
    assert supports("`A` AS `x` FILTER x[`v` = 1]", stream("A1 A2")) == {(0,)}


_FREE = (
    "START NEXT LAST MAX STRICT RANGE MINUTES EVENTS CREATE STREAM EVENT TIMESTAMP sum count hour"
)


@pytest.mark.parametrize("word", _FREE.split())
def test_words_that_are_not_reserved_are_names(word: str) -> None:
    events = [{"type": word, word: 1}, {"type": word, word: 2}]
    pattern = f"{word} AS x FILTER x[{word} = 2]"
    assert supports(pattern, events) == {(1,)}
    pattern = f"ANY AS {word} FILTER {word}[{word} = 1] AND {word}.{word} < 2"
    assert supports(pattern, events) == {(0,)}


_RESERVED = (
    "SELECT FROM WHERE FILTER AGGREGATE PROJECT PARTITION BY UNLESS OR AND ALL AS NOT NONE NULL IN "
    "BETWEEN LIKE RLIKE IS WITHIN CONSUME LIMIT EVERY TRUE FALSE"
)


@pytest.mark.parametrize("word", _RESERVED.split())
def test_reserved_words_are_no_names_in_either_case(word: str) -> None:
    for written in (word, word.lower()):
        with pytest.raises(ensue.CeqlSyntaxError):
            ensue.compile(f"SELECT * FROM S WHERE A AS {written} ; B")


@pytest.mark.parametrize("literal", ["'O''Brien'", '"O\'Brien"'], ids=["doubled", "other quotes"])
def test_a_quote_is_doubled_inside_its_own_quotes(literal: str) -> None:
    assert kept(f"v = {literal}", ["O'Brien", "O''Brien", "OBrien"]) == [0]


def test_double_quotes_are_doubled_inside_double_quotes() -> None:
    assert kept('v = "say ""hi"""', ['say "hi"', 'say ""hi""']) == [0]
    assert kept("v = 'say \"hi\"'", ['say "hi"', "say hi"]) == [0]


def test_a_string_may_be_empty_or_hold_comment_signs() -> None:
    assert kept("v = ''", ["", "'", None]) == [0]
    assert kept("v = '-- no /* comment */'", ["-- no /* comment */", ""]) == [0]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S -- from ; S\nWHERE A ; B",
        "SELECT * /* all\nof it */ FROM S WHERE A /**/ ; /* ** / */ B",
        "-- first\nSELECT * FROM S WHERE A ; B -- last",
        "SELECT * FROM S WHERE A ; B ;",
        "SELECT * FROM S WHERE A ; B WITHIN 3 EVENTS ;",
        "SELECT*FROM S WHERE A;B",
        "\n\tSELECT\r\n*\nFROM\nS\nWHERE\nA\n;\nB\n",
    ],
)
def test_comments_spaces_and_a_final_semicolon_say_nothing(text: str) -> None:
    assert plain(ensue.run(text, stream("A B"))) == [(0, 1, {"A": [0], "B": [1]})]


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1e3", 1000.0),
        ("1.5E-1", 0.15),
        ("2.5e+2", 250.0),
        ("0.25", 0.25),
        ("-3", -3.0),
        ("9007199254740992", 2.0**53),
    ],
)
def test_numbers_are_read_with_points_and_exponents(number: str, value: float) -> None:
    assert kept(f"v = {number}", [value, value * 2]) == [0]


@pytest.mark.parametrize(
    ("number", "expected"), [("-9223372036854775808", [0]), ("9223372036854775807", [1])]
)
def test_the_smallest_and_largest_integers_can_be_written(number: str, expected: list[int]) -> None:
    assert kept(f"v = {number}", [-(2**63), 2**63 - 1, 0]) == expected


def test_colon_and_plus_are_one_sign_and_apart_they_are_not() -> None:
    assert supports("A :+", stream("A A X A")) == {(0,), (1,), (0, 1), (3,)}
    with pytest.raises(ensue.CeqlSyntaxError):
        ensue.compile("SELECT * FROM S WHERE A : +")
