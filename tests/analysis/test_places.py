"""Errors of the analysis stand where the mistake is: under these words and no others."""

from __future__ import annotations

import pytest

import ensue
from ensue.errors import CeqlError

STOCKS = {
    "SELL": {"price": "double", "name": "string", "volume": "int", "ts": "timestamp"},
    "BUY": {"price": "double", "name": "string", "volume": "int", "ts": "timestamp"},
}


@pytest.mark.parametrize(
    ("code", "marked"),
    [
        ("E201", "SELL FILTER SELL[«prise» > 10]"),
        ("E201", "(SELL AS s ; BUY AS b) FILTER s.price < b.«prise»"),
        ("E202", "SELL ; BUY WITHIN 10 «MINUTS»"),
        ("E203", "SELL FILTER SELL[name = «$nme»]"),
        ("E204", "SELL AS a FILTER a[«a.price» > 10]"),
        ("E206", "SELL AS a FILTER «c»[price > 10]"),
        ("E206", "((SELL AS a ; BUY) PROJECT [BUY]) FILTER «a»[price > 10]"),
        ("E208", "SELL FILTER «price» > 10"),
        ("E209", "SELL FILTER SELL[«lenght»(name) > 3]"),
        ("E210", "«Trades»>SELL"),
        ("E211", "SELL ; «BYU»"),
        ("E212", "«FIRST»(SELL ; BUY)"),
        ("E213", "SELL AS a AGGREGATE Y[m = «mode»(a.price)]"),
        ("E216", "SELL ; BUY PARTITION BY [«nam»]"),
        ("E301", "SELL FILTER SELL[ts > «TIMESTAMP '31.01.2026'»]"),
        ("E305", "SELL FILTER SELL[«price + 1»]"),
        ("E306", "SELL FILTER SELL[«name = 5»]"),
    ],
)
def test_an_error_marks_what_is_wrong(code: str, marked: str) -> None:
    before, _, rest = f"SELECT *\nFROM Stocks\nWHERE {marked}".partition("«")
    wrong, _, after = rest.partition("»")
    with pytest.raises(CeqlError) as caught:
        ensue.compile(before + wrong + after, STOCKS)
    (found,) = caught.value.diagnostics
    text = before + wrong + after
    assert (found.code, text[slice(*found.span)]) == (code, wrong)
    assert found.span.start == len(before)
    assert (caught.value.line, caught.value.column) == (3, len(before.splitlines()[-1]) + 1)


def test_all_errors_of_a_query_are_told_in_the_order_of_the_text() -> None:
    text = "SELECT * FROM S WHERE (SELL FILTER SELL[prise > 1]) ; (BUY FILTER BUY[nam = 'x'])"
    with pytest.raises(CeqlError) as caught:
        ensue.compile(f"{text} WITHIN 5 MINUTS", STOCKS)
    told = [(each.code, text[slice(*each.span)]) for each in caught.value.diagnostics[:2]]
    assert told == [("E201", "prise"), ("E201", "nam")]
    assert [each.code for each in caught.value.diagnostics] == ["E201", "E201", "E202"]
