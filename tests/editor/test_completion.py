"""Completion and hover at places of queries that are being written: `|` is the cursor."""

from __future__ import annotations

import pytest

from ensue.analysis import functions, patterns
from ensue.analysis.types import NANOSECONDS, TYPE_NAMES
from ensue.editor import vocabulary as v
from ensue.editor.classes import PUNCTUATION
from ensue.editor.completion import complete
from ensue.editor.document import Document
from ensue.editor.hover import hover
from ensue.language.automaton import tables
from ensue.language.build_query import STRATEGIES
from ensue.language.contextual import STRATEGY
from ensue.language.tokens import STATEMENT_END
from tests.editor.examples import queries, rule_texts

STOCKS = (
    "CREATE STREAM Stocks { EVENT SELL { price: double, at.day: int }, "
    "EVENT BUY { name: string } } ;"
)
RULE = "+++\nschema = {user = 'string', count = 'int'}\nparams = {low = 3}\n+++\n"


def offered(text: str, kind: str | None = None) -> list[str]:
    items = complete(Document(text.replace("|", "")), text.index("|"))
    return [item.text for item in items if kind in (None, item.kind)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{STOCKS} SELECT * FROM Stocks WHERE SELL AS s FILTER s.|", ["price", "at.day"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE SELL AS s FILTER s.at.|", ["day"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY+ AS b FILTER b[na|", ["name"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY AS b FILTER b[abs(|)]", ["name"]),
        (f"{STOCKS} SELECT b[|] FROM Stocks WHERE (SELL ; BUY AS b) FILTER", ["name"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY PARTITION BY [|", ["price", "at.day", "name"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY WITHIN 5 [|", ["price", "at.day", "name"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY WITHIN 5 HOURS [|", ["price", "at.day", "name"]),
        (f"{RULE}SELECT * FROM S WHERE A AS a FILTER a.|", ["user", "count"]),
        ("SELECT * FROM S WHERE A AS a ; B FILTER a.price > 1 AND B.|", ["price"]),
        ("SELECT * FROM S WHERE A AS a AGGREGATE Y[n = sum(a.v)] FILTER Y.|", ["n"]),
    ],
)
def test_attributes(text: str, wanted: list[str]) -> None:
    assert offered(text, "attribute") == wanted


def test_derived_streams_have_their_columns() -> None:
    text = (
        f"{STOCKS} CREATE STREAM D AS SELECT *, sum(s.price) AS total FROM Stocks "
        "WHERE SELL+ AS s PARTITION BY [name] WITHIN 9 EVENTS ; "
        "SELECT * FROM D WHERE D AS d FILTER d.|"
    )
    assert {"total", "name", "end_time"} <= set(offered(text, "attribute"))
    assert offered(text.split("WHERE D")[0] + "WHERE |", "event") == ["D"]
    assert "D" in offered(text.split("FROM D")[0] + "FROM |", "stream")


@pytest.mark.parametrize(
    ("text", "kind", "wanted"),
    [
        ("|", "keyword", ["CREATE STREAM", "SELECT"]),
        ("SELECT |", "keyword", [*STRATEGIES, "ANY", "NONE", "NULL", "TRUE", "FALSE", "CASE"]),
        ("SELECT * |", "keyword", ["FROM"]),
        ("SELECT * FROM S |", "keyword", ["WHERE"]),
        (f"{STOCKS} SELECT * FROM |", "stream", ["Stocks"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE NOT(|", "event", ["SELL", "BUY"]),
        (f"{STOCKS} SELECT * FROM Stocks WHERE SELL ; |", "event", ["SELL", "BUY"]),
        ("SELECT * FROM S WHERE A AS a ; B FILTER |", "variable", ["a", "A", "B"]),
        ("SELECT | FROM S WHERE A AS a", "variable", ["a", "A"]),
        ("SELECT * FROM S WHERE A WITHIN 5 |", "unit", list(v.UNITS)),
        ("SELECT * FROM S WHERE A CONSUME BY |", "keyword", ["PARTITION", "ANY", "NONE"]),
        ("CREATE STREAM S { EVENT A { price: |", "type", list(v.TYPES)),
        ("CREATE STREAM S { |", "keyword", ["EVENT"]),
        ("SELECT * FROM S WHERE A AS |", None, []),
        ("SELECT * FROM S WHERE A -- |", None, []),
        ("SELECT * FROM S WHERE A FILTER A[v = 'x|']", None, []),
        (f"{RULE}SELECT * FROM S WHERE A AS a FILTER a[count > $|]", "parameter", ["$low"]),
    ],
)
def test_words_and_names(text: str, kind: str | None, wanted: list[str]) -> None:
    assert offered(text, kind) == wanted


def test_functions_are_offered_where_they_may_stand() -> None:
    assert "lower" in offered("SELECT * FROM S WHERE A FILTER A[|", "function")
    assert "increasing" in offered("SELECT * FROM S WHERE A FILTER A[|", "function")
    assert "median" in offered("SELECT a, | FROM S WHERE A AS a", "function")
    assert "median" in offered("SELECT * FROM S WHERE A AS a AGGREGATE Y[m = |", "function")
    assert offered("SELECT * FROM S WHERE |", "function") == list(v.PATTERN_FUNCTIONS)


def test_settings_are_offered_in_headers() -> None:
    assert {"title", "time", "lateness"} <= set(offered("+++\nti|\n+++\nSELECT", "setting"))
    assert offered("+++\ntitle = '|'\n+++\nSELECT") == []


def test_nothing_fails_on_any_beginning_of_a_query() -> None:
    for text in (*rule_texts()[::13], *queries()[::80]):
        document = Document(text)
        for offset in range(0, len(text) + 1, 3):
            complete(Document(text[:offset]), offset)
            hover(document, offset)


# Hover


def said(text: str) -> str | None:
    found = hover(Document(text.replace("|", "")), text.index("|"))
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{STOCKS} SELECT * FROM Stocks WHERE |SELL", "SELL: events of type SELL"),
        (f"{STOCKS} SELECT * FROM |Stocks WHERE SELL", "STREAM Stocks"),
        (f"{STOCKS} SELECT * FROM Stocks WHERE SELL AS s FILTER s.at.|day > 1", "at.day: int"),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY FILTER BUY[|name = 'x']", "name: string"),
        (f"{STOCKS} SELECT * FROM Stocks WHERE BUY PARTITION BY [|name]", "name: string"),
        (f"{RULE}SELECT * FROM S WHERE A FILTER A[count > |$low]", "$low = 3"),
        ("SELECT * FROM S WHERE A FILTER A[v > |$low]", "its value is given when"),
        ("SELECT |NEXT * FROM S WHERE A", "SELECT NEXT"),
        ("SELECT * FROM S WHERE |NEXT(A)", "same start and end"),
        ("SELECT * FROM S WHERE A |NOT FOLLOWED BY B WITHIN 1 DAY", "after which no q comes"),
        ("SELECT * FROM S WHERE A WITHIN 1 |day", "A length of time in days"),
        ("SELECT * FROM S WHERE A FILTER A[|lower(v) = 'x']", "In small letters."),
        ("SELECT * FROM S WHERE A AS a AGGREGATE Y[n = sum(a.v)] FILTER |Y[n > 1]", "n = sum(a.v)"),
        ("+++\n|title = 'x'\n+++\nSELECT * FROM S WHERE A", "what the rule is called"),
    ],
)
def test_hover(text: str, wanted: str) -> None:
    assert wanted.lower() in (said(text) or "").lower()


def test_hover_is_silent_where_there_is_nothing_to_say() -> None:
    assert said("SELECT * FROM S WHERE A -- |x") is None
    assert said("+++\n|nothing = 1\n+++\nSELECT") is None


# The vocabulary is the language's


def test_the_vocabulary_is_complete() -> None:
    kinds = {kind for row in tables().states for kind in row}
    terminals = {kind for kind in kinds if kind.isupper() or not kind.isidentifier()}
    named = {"NAME", "INTEGER", "DECIMAL", "STRING", "PARAMETER", "$END", STATEMENT_END, STRATEGY}
    closing = {*PUNCTUATION, "}"} - {"["}
    assert terminals - named - closing == {*v.KEYWORDS, *v.SIGNS}
    assert set(v.FUNCTIONS) == set(functions.KNOWN)
    assert set(v.TRENDS) == set(functions.TRENDS)
    assert set(v.AGGREGATES) == set(functions.AGGREGATES)
    assert set(v.PATTERN_FUNCTIONS) == set(patterns.FUNCTIONS)
    assert set(v.STRATEGIES) == set(STRATEGIES)
    assert set(v.UNITS) == {"EVENTS", *(f"{unit}S" for unit in NANOSECONDS)}
    assert {name.strip("`") for name in v.TYPES} <= set(TYPE_NAMES)
