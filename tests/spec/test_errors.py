"""Section 7: errors that name their place, and warnings with a hint."""

from __future__ import annotations

import warnings

import pytest

import ensue

STOCKS = {"SELL": {"price": "double", "name": "string"}, "BUY": {"price": "double"}}


def compile_error(text: str, schema: object = STOCKS) -> ensue.CeqlError:
    with pytest.raises(ensue.CeqlError) as told:
        ensue.compile(text, schema)
    return told.value


def test_an_error_names_its_place_and_the_nearest_name() -> None:
    error = compile_error("SELECT *\nFROM S\nWHERE SELL FILTER SELL[prise > 10]")
    assert isinstance(error, ensue.CeqlNameError)
    assert isinstance(error, ValueError)
    assert (error.line, error.column) == (3, 24)
    assert error.hint == "did you mean 'price'?"
    assert error.code
    lines = str(error).splitlines()
    (shown,) = (i for i, line in enumerate(lines) if "SELL[prise > 10]" in line)
    under = lines[shown + 1]
    assert under.index("^") == lines[shown].index("prise")
    assert under.count("^") == len("prise")
    assert "prise" in lines[0]


def test_an_error_knows_the_name_of_the_text() -> None:
    with pytest.raises(ensue.CeqlError, match=r"q\.ceql:1:"):
        ensue.compile("SELECT * FROM S WHERE", name="q.ceql")


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        ("", ensue.CeqlSyntaxError, 1, 1),
        ("SELECT * FROM S WHERE SELL ;; BUY", ensue.CeqlSyntaxError, 1, 29),
        ("SELECT * FROM S\nWHERE SELL FILTR SELL[price > 1]", ensue.CeqlSyntaxError, 2, 12),
        ("SELECT * FROM S WHERE SELL FILTER SELL[name = 'x]", ensue.CeqlSyntaxError, 1, 47),
        ("SELECT * FROM S WHERE SELL AS x FILTER y[price > 1]", ensue.CeqlNameError, 1, 40),
        ("SELECT * FROM S WHERE SEL", ensue.CeqlNameError, 1, 23),
        ("SELECT x FROM S WHERE SELL", ensue.CeqlNameError, 1, 8),
        ("SELECT * FROM S WHERE SELL PROJECT [x]", ensue.CeqlNameError, 1, 37),
        ("SELECT * FROM S WHERE SELL FILTER SELL[name > 5]", ensue.CeqlTypeError, 1, 40),
    ],
)
def test_the_place_is_where_the_mistake_is(
    text: str, kind: type[ensue.CeqlError], line: int, column: int
) -> None:
    error = compile_error(text)
    assert isinstance(error, kind)
    assert (error.line, error.column) == (line, column)
    assert "^" in str(error)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("SELL AS x+", "AS x)+"),
        ("SELL FILTER SELL[prise > 1]", "price"),
        ("SELL FILTER NOT SELL[price > 1]", "SELL[NOT"),
        ("SELL FILTER SELL[lenght(name) > 1]", "length"),
        ("SELLL ; BUY", "SELL"),
        ("SELL AND", None),
        ("NOT(SELL) AS x", None),
        ("(SELL PROJECT [SELL]) AS x FILTER y[price > 1]", None),
        ("SELL{3,2}", None),
        ("SELL ; BUY WITHIN 5", None),
        ("SELL ; BUY WITHIN 5 MINUTS", "MINUTES"),
        ("SELL FILTER SELL[sum(price) > 1]", None),
        ("SELL FILTER SELL[price > ]", None),
        ("SELL FILTER SELL.price", None),
        ("SELL FILTER price > 1", "SELL"),
        ("SELL FILTER BUY[price > 1]", None),
        ("SELL FILTER SELL[name RLIKE '(']", None),
        ("SELL FILTER SELL[name = TIMESTAMP 'soon']", None),
        ("SELL AGGREGATE Y[s = sum(SELL.name)]", None),
        ("NEXTT(SELL ; BUY)", "NEXT"),
        ("SELL PARTITION BY [name] LIMIT 1 WITHIN 3 EVENTS", None),
        ("NOT(SELL ; BUY)", None),
    ],
)
def test_mistakes_are_errors_and_where_possible_say_what_to_write(
    pattern: str, hint: str | None
) -> None:
    error = compile_error(f"SELECT * FROM S WHERE {pattern}")
    assert error.column > 20
    if hint is not None:
        assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE " + "A ; " * 70_000 + "A",
        "SELECT * FROM S WHERE " + "(" * 250 + "A" + ")" * 250,
        "SELECT * FROM S WHERE A{20001}",
        "SELECT * FROM S WHERE (A{200} ; B){200}",
        "SELECT * FROM S WHERE A FILTER A[" + "(" * 250 + "v = 1" + ")" * 250 + "]",
    ],
    ids=["text", "nesting", "nodes", "product of nodes", "nesting of predicates"],
)
def test_limits_are_errors(text: str) -> None:
    with pytest.raises(ensue.CeqlError):
        ensue.compile(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE " + "(" * 150 + "A" + ")" * 150,
        "SELECT * FROM S WHERE A{1000}",
        "SELECT * FROM S WHERE " + "A ; " * 5_000 + "A",
    ],
    ids=["nesting", "nodes", "a long sequence"],
)
def test_below_the_limits_queries_are_compiled(text: str) -> None:
    ensue.compile(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("A+", "WITHIN"),
        ("A:+ ; B", "WITHIN"),
        ("A ; B* ; C", "WITHIN"),
        ("A{2,} ; B", "WITHIN"),
        ("A ; NOT(B) ; C", "did you mean UNLESS?"),
        ("A AND B", ";"),
        ("(A AS x) AND (A AS y)", ""),
        ("A ; B PARTITION BY [k]", ""),
        ("A ; B PARTITION BY [k] WITHIN 5 EVENTS", ""),
        ("START(A ; B) PARTITION BY [k] WITHIN 5 MINUTES", ""),
        ("A{2} AS x FILTER x[v > 5] OR x[v < 3]", "x["),
        ("A{2} AS x FILTER x.v > 5 OR x.v < 3", "x["),
        ("A{2} AS x FILTER x[v > 5] OR x.v < 3", "x["),
    ],
)
def test_legal_queries_that_may_not_mean_what_they_say_are_warned_of(text: str, hint: str) -> None:
    with pytest.warns(ensue.CeqlWarning) as told:
        ensue.compile(f"SELECT * FROM S WHERE {text}")
    assert any(hint in str(each.message) for each in told)


@pytest.mark.parametrize(
    "text",
    [
        "A ; B",
        "A+ ; B WITHIN 10 EVENTS",
        "A : NOT(B) : C",
        "A ; C UNLESS B",
        "A AND A",
        "(A OR B) AND (B OR C)",
        "A ; B PARTITION BY [k] WITHIN 5 MINUTES",
        "A{2} AS x FILTER x[v > 5 OR v < 3]",
        "A AS x ; B AS y FILTER x[v > 5] OR y[v < 3]",
        "A AS x ; B AS y FILTER x.v > y.v OR x[v > 1]",
    ],
)
def test_other_queries_are_not_warned_of(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensue.compile(f"SELECT * FROM S WHERE {text}")


def test_all_errors_of_ensue_are_of_one_family() -> None:
    kinds = (
        ensue.CeqlSyntaxError,
        ensue.CeqlNameError,
        ensue.CeqlTypeError,
        ensue.CeqlSemanticError,
    )
    assert all(issubclass(kind, ensue.CeqlError) for kind in kinds)
    assert issubclass(ensue.CeqlError, ValueError)
    assert all(
        issubclass(kind, Exception)
        for kind in (ensue.EventError, ensue.SnapshotError, ensue.BudgetError)
    )
