"""The parser, its tables, the printer, and texts that are no queries."""

from __future__ import annotations

import time
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ensue
from ensue.errors import CeqlError
from ensue.language import tree
from ensue.language.generate import TABLES, generate
from ensue.language.parser import parse
from ensue.language.printer import format_query
from tests.any_trees import any_queries


def test_the_tables_are_those_of_the_grammar() -> None:
    assert TABLES.read_text() == generate() + "\n", "run make tables"


@given(any_queries())
def test_printed_then_parsed_is_the_same_tree(query: tree.Query) -> None:
    assert parse(format_query(query)) == query


@given(any_queries())
def test_printing_again_changes_nothing(query: tree.Query) -> None:
    once = format_query(query)
    assert format_query(parse(once)) == once


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A ; B ; C", "(A ; B ; C)"),
        ("A : B ; C", "(A : B) ; C"),
        ("A ; B ALL C", "(A ; B) ALL C"),
        ("A ALL B AND C", "(A ALL B) AND C"),
        ("A AND B OR C", "(A AND B) OR C"),
        ("A OR B UNLESS C", "(A OR B) UNLESS C"),
        ("A UNLESS B UNLESS C", "(A UNLESS B) UNLESS C"),
        ("A UNLESS B FILTER A[v = 1]", "(A UNLESS B) FILTER A[v = 1]"),
        ("A+ AS x : B", "((A+) AS x) : B"),
        ("A:++", "((A:+)+)"),
        ("A FILTER A[v = 1] PROJECT [A]", "(A FILTER A[v = 1]) PROJECT [A]"),
        ("A{1,}", "A+"),
        ("A{0,1} ; B", "A? ; B"),
        ("A filter a[v IN RANGE (1, 2)]", "A FILTER a[v BETWEEN 1 AND 2]"),
        (
            "A FILTER A[- v * 2 + 1 < 3 AND NOT v = 1 OR v = 2]",
            "A FILTER A[(((((- v) * 2) + 1) < 3) AND (NOT (v = 1))) OR (v = 2)]",
        ),
    ],
)
def test_operators_bind_as_the_language_page_says(text: str, same: str) -> None:
    assert parse(f"SELECT * FROM S WHERE {text}") == parse(f"SELECT * FROM S WHERE {same}")


def test_chains_are_one_node() -> None:
    pattern = parse("SELECT * FROM S WHERE A ; B ; C ; D").pattern
    assert isinstance(pattern, tree.Sequence)
    assert len(pattern.items) == 4


def test_spans_cover_what_they_came_from() -> None:
    text = "SELECT * FROM S WHERE (A AS x ; B) FILTER x[price > 10]"
    pattern = parse(text).pattern
    assert isinstance(pattern, tree.Filtered)
    assert text[slice(*pattern.condition.span)] == "x[price > 10]"
    assert text[slice(*pattern.pattern.span)] == "A AS x ; B"


def answered(text: str) -> None:
    """Compile a text; anything but a query or a CeqlError fails, and so does a long wait."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ensue.CeqlWarning)
        try:
            ensue.compile(text)
        except CeqlError as error:
            assert str(error)
            assert error.line >= 1
            assert error.column >= 1
    assert time.process_time() - started < 10, "hangs"


@given(st.text())
@example("\0")
@example("SELECT * FROM S WHERE A FILTER A[x = '\ud800']")
def test_any_text_is_answered(text: str) -> None:
    answered(text)


_pieces = st.sampled_from(
    "SELECT * FROM S WHERE A AS x ; B : + :+ { 1 , 2 } ( ) [ ] FILTER PARTITION BY WITHIN EVENTS 5 "
    "SECONDS AND OR NOT ALL UNLESS x . v > 'a' $p IN BETWEEN LIKE IS NULL count AGGREGATE Y = sum "
    "PROJECT LIMIT EVERY CONSUME ANY NONE CREATE STREAM EVENT TIMESTAMP 1.5 - / %".split()
)


@given(st.lists(_pieces, max_size=40))
def test_any_soup_of_words_is_answered(words: list[str]) -> None:
    answered(" ".join(words))
    answered("SELECT * FROM S WHERE A " + " ".join(words))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "'" * 1_000_000,
        "(" * 10_000,
        "SELECT * FROM S WHERE " + "(" * 10_000 + "A" + ")" * 10_000,
        "SELECT * FROM S WHERE A" + "+" * 10_000,
        "SELECT * FROM S WHERE A" + " AS x" * 10_000,
        "SELECT * FROM S WHERE A" + " FILTER A[v = 1]" * 10_000,
        "SELECT * FROM S WHERE A FILTER A[" + "NOT " * 10_000 + "v = 1]",
        "SELECT * FROM S WHERE A FILTER A[" + "- " * 10_000 + "v = 1]",
        "SELECT * FROM S WHERE A FILTER A[v = " + "1 + " * 10_000 + "1]",
        "SELECT * FROM S WHERE " + "A ; " * 60_000 + "A",
        "SELECT * FROM S WHERE " + "A OR " * 9_000 + "A",
        "SELECT * FROM S WHERE A FILTER A[v IN (" + "1, " * 60_000 + "1)]",
        "SELECT * FROM S WHERE A FILTER " + " AND ".join(["(A[v = 1] OR A[v = 2])"] * 1000),
        "SELECT * FROM S WHERE A FILTER " + "(" * 90 + "A[v = 1]" + " OR A[v = 2])" * 90,
        "SELECT * FROM S WHERE A{9000000000000000000}",
        "SELECT * FROM S WHERE A WITHIN 1e300 DAYS",
        "SELECT * FROM S WHERE " + "UNLESS " * 1000,
        "/*" * 100_000,
        "`" * 100_000,
        "-" * 250_000,
        "SELECT * FROM S WHERE A FILTER A[name RLIKE '" + "(a*)*" * 1000 + "']",
    ],
    ids=lambda text: f"{text[:40]}…{len(text)}",
)
def test_hostile_texts_are_answered_quickly(text: str) -> None:
    answered(text)
