"""What a query asks for and no event has is named, and nothing else is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.errors import CeqlError
from ensue.options import ReadOptions
from tests.pairs import Pair, pairs
from tests.strategies import Language

TRADES = [
    {"type": "SELL", "name": "MSFT", "price": 10.0},
    {"type": "BUY", "name": "ORCL", "price": 11.0},
] * 4


def said(work: Callable[[], Any]) -> list[str]:
    """Return the warnings that some work gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ensue.UnseenWarning)
        work()
    return [str(each.message) for each in caught]


def said_of(where: str, events: Any = TRADES, **options: Any) -> list[str]:
    return said(lambda: ensue.run(f"SELECT * FROM S WHERE {where}", events, **options).count)


@pytest.mark.parametrize(
    ("where", "sentences"),
    [
        ("SEL ; BUY", ["no event has type 'SEL'; there are SELL, BUY"]),
        ("SEL+ ; BYE", ["no event has type 'SEL'", "no event has type 'BYE'"]),
        ("SELL FILTER SELL[prise > 3]", ["no event has attribute 'prise'; did you mean 'price'?"]),
        ("SELL FILTER SELL[name = 'MSTF']", ["no event has name = 'MSTF'; there are MSFT, ORCL"]),
        ("SELL FILTER SELL[name IN ('A', 'B')]", ["no event has name = 'A' or 'B'; there are"]),
        ("ANY AS x FILTER x[type = 'SEL']", ["no event has type 'SEL'; there are SELL, BUY"]),
        ("SELL FILTER SELL[qty = 'x' AND price > 3]", ["no event has attribute 'qty'; there are"]),
        (
            "SELL AS s ; BUY AS b FILTER s.prise < b.price",
            ["no event has attribute 'prise'; did you mean 'price'?"],
        ),
        ("(SEL OR BYE) ; BUY", ["no event has type 'SEL'", "no event has type 'BYE'"]),
        ("SELL PARTITION BY [nam]", ["no event has attribute 'nam'; did you mean 'name'?"]),
    ],
)
def test_what_no_event_has_is_named(where: str, sentences: list[str]) -> None:
    found = said_of(where)
    assert len(found) == len(sentences), found
    for got, wanted in zip(found, sentences, strict=True):
        assert got.startswith(wanted)


@pytest.mark.parametrize(
    "where",
    [
        "SELL ; BUY",
        "SELL OR SEL",
        "SELL ; SEL? ; BUY",
        "SELL ; SEL* ; BUY",
        "SELL UNLESS SEL",
        "SELL ; NOT(SEL) ; BUY",
        "SELL FILTER SELL[name = 'MSFT' OR name = 'MSTF']",
        "SELL FILTER SELL[name IN ('MSFT', 'MSTF')]",
        "SELL FILTER SELL[NOT name = 'MSTF']",
        "SELL FILTER SELL[name != 'MSTF']",
        "SELL FILTER SELL[prise IS NULL]",
        "SELL FILTER SELL[coalesce(prise, price) > 3]",
        "SELL FILTER SELL[price > 1000]",
        "(SELL OR SEL) AS x FILTER SEL[prise > 3]",
    ],
)
def test_what_a_match_can_do_without_is_not(where: str) -> None:
    assert said_of(where) == []


def test_no_events_at_all_are_no_news() -> None:
    assert said_of("SEL", []) == []


def test_events_without_types_are_explained() -> None:
    rows = [{"kind": "SELL"}] * 8
    (sentence,) = said_of("SELL", rows)
    assert sentence == (
        "no event has type 'SELL'; there is S, because there is no column 'type': pass type="
    )


def test_attribute_that_is_always_null_is_named() -> None:
    rows = [{"type": "A", "v": None}] * 8
    assert said_of("A FILTER A[v > 3]", rows) == ["the attribute 'v' is NULL in all events"]


def test_dictionaries_may_have_values_that_no_row_has() -> None:
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0, 0, 2]), ["SELL", "BUY", "HOLD"])
    assert said_of("BUY", pa.table({"type": kinds})) == [
        "no event has type 'BUY'; there are SELL, HOLD"
    ]


def test_many_values_are_not_all_shown() -> None:
    table = pa.table(
        {"type": ["A"] * 5000, "name": [f"user{number}" for number in range(4999)] + ["x" * 1000]}
    )
    (sentence,) = said_of("A FILTER A[name = 'usr42']", table)
    assert sentence.startswith("no event has name = 'usr42'; there are user42, ")
    assert sentence.endswith(", …")
    assert sentence.count(",") == 20


def test_totals_and_definition_warn_too() -> None:
    sentence = "no event has type 'SEL'; there are SELL, BUY"
    assert said(lambda: ensue.run("SELECT count(*) FROM S WHERE SEL ; BUY", TRADES)) == [sentence]
    query = ensue.compile("SELECT * FROM S WHERE SEL ; BUY")
    by_definition = said(
        lambda: find_matches(query, TRADES, ReadOptions(), positions_only=False, by_definition=True)
    )
    assert by_definition == [sentence]


def test_many_queries_share_a_sentence() -> None:
    queries = {name: f"SELECT * FROM S WHERE SEL ; {name}" for name in ("SELL", "BUY")}
    queries["fine"] = "SELECT * FROM S WHERE SELL"
    sentence = "no event has type 'SEL'; there are SELL, BUY (queries 'SELL', 'BUY')"
    assert said(lambda: ensue.run(queries, TRADES)) == [sentence]

    def live() -> None:
        session = ensue.open(queries)
        for row in TRADES:
            session.push(row)
        session.finish()

    assert said(live) == [sentence]


def test_file_warns_when_all_of_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "trades.csv"
    path.write_text("type,price\n" + "SELL,1\nBUY,2\n" * 4)
    matches = ensue.compile("SELECT * FROM S WHERE SEL").run(path)
    assert said(lambda: list(matches)) == ["no event has type 'SEL'; there are SELL, BUY"]


def test_resumed_session_knows_what_was_seen_before() -> None:
    query = ensue.compile("SELECT * FROM S WHERE SELL ; SEL FILTER SELL[name = 'MSFT']")

    def resumed() -> None:
        session = query.open()
        session.push(TRADES)
        session = query.resume(session.snapshot())
        session.push({"type": "HOLD"})
        session.finish()

    assert said(resumed) == ["no event has type 'SEL'; there are SELL, BUY, HOLD"]


def test_warning_points_at_the_line_of_the_caller() -> None:
    with pytest.warns(ensue.UnseenWarning) as caught:
        ensue.run("SELECT * FROM S WHERE SEL", TRADES)
    assert [Path(each.filename) for each in caught] == [Path(__file__)]


LANGUAGES = (Language(), Language(conditions=True), Language(aggregates=True))


@st.composite
def poorer_pairs(draw: st.DrawFn) -> Pair:
    """A query, and a stream that lacks a type, an attribute, or values that it may ask for."""
    pair = draw(st.sampled_from(LANGUAGES).flatmap(pairs))
    kinds = draw(st.sets(st.sampled_from("ABC"), max_size=2))
    lost = draw(st.sampled_from(("v", "w", "k", None, None)))
    keys = draw(st.sampled_from((("p", "q", None), ("p", None), ("q", "p"), (None,))))
    rows = [
        {name: value for name, value in row.items() if name != lost}
        for row in pair.rows
        if row["type"] not in kinds and row["k"] in keys
    ]
    return Pair(pair.query, rows)


@given(poorer_pairs(), st.data())
def test_nothing_is_named_where_there_is_a_match(pair: Pair, data: st.DataObject) -> None:
    counts: list[int] = []

    def at_once() -> None:
        options = ReadOptions(time="ts")
        found = find_matches(query, pair.rows, options, positions_only=False, by_definition=True)
        counts.append(found.count)

    def in_pieces() -> None:
        session = query.open(time="ts")
        left = pair.rows
        while left:
            size = data.draw(st.integers(1, len(left)))
            session.push(left[:size])
            left = left[size:]
            if data.draw(st.booleans()):
                session = query.resume(session.snapshot())
        session.finish()

    try:
        query = ensue.compile(pair.text)
        sentences = said(at_once)
    except CeqlError:
        return
    event("named" if sentences else "not named")
    assert not (sentences and counts[0]), sentences
    without_others = [each.partition(";")[0] for each in sentences]
    assert [each.partition(";")[0] for each in said(in_pieces)] == without_others


def test_types_in_a_field_of_an_object_have_a_column() -> None:
    rows = [{"event": {"action": "login"}}, {"event": {"action": "logout"}}]
    with pytest.warns(ensue.UnseenWarning) as caught:
        ensue.run("SELECT * FROM S WHERE log_in ; logout", rows, type="event.action").count  # noqa: B018
    assert [str(each.message) for each in caught] == [
        "no event has type 'log_in'; there are login, logout"
    ]
