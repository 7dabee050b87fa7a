"""`match.explain()`: each event with its variables, and what held with which values."""

from __future__ import annotations

import pickle
from datetime import datetime
from typing import Any

from hypothesis import given

import ensue
from tests.effort import costly
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair, pairs
from tests.strategies import Language

EVENTS: list[dict[str, Any]] = [
    {"type": "SELL", "price": 26.0, "name": "MSFT", "ts": 1},
    {"type": "BUY", "price": 20.0, "name": "MSFT", "ts": 2},
    {"type": "BUY", "price": 28.0, "name": "<b>", "ts": 4},
]


def explained(text: str, events: list[dict[str, Any]] = EVENTS) -> list[str]:
    return [str(match.explain()) for match in ensue.compile(text).run(events)]


def test_events_conditions_and_window_are_shown() -> None:
    where = "((SELL AS a ; BUY AS c) FILTER a[price > 25] AND c.price > 1.05 * a.price) UNLESS D"
    (text,) = explained(f"SELECT * FROM S WHERE {where} WITHIN 5 [ts]")
    assert text.splitlines() == [
        "match 0..2, 1 to 4",
        "  0  a  type='SELL'  price=26  name='MSFT'  ts=1",
        "  2  c  type='BUY'  price=28  name='<b>'  ts=4",
        "  a[price > 25]:  26 > 25",
        "  c.price > 1.05 * a.price:  28 > 27.3",
        "  WITHIN 5 [ts]:  took 3",
        "  no D in between",
    ]


def test_a_side_of_or_that_does_not_hold_is_left_out() -> None:
    texts = explained("SELECT * FROM S WHERE SELL AS a FILTER a[price > 25] OR a[price < 9]")
    assert "a[price > 25]:  26 > 25" in texts[0]
    assert "price < 9" not in texts[0]


def test_computed_events_are_explained() -> None:
    where = "((BUY AS b)+ AGGREGATE Y[top = max(b.price)]) FILTER Y[top > 21]"
    assert all(
        "Y[top > 21]:  28 > 21" in text for text in explained(f"SELECT * FROM S WHERE {where}")
    )


def test_trends_and_keys_show_their_values() -> None:
    where = "((BUY AS b)+ FILTER b[increasing(price)]) PARTITION BY [BUY.type]"
    texts = explained(f"SELECT MAX * FROM S WHERE {where}")
    assert "b[increasing(price)]:  20, 28" in texts[-1]
    assert "'BUY'" in texts[-1]


def test_variables_that_select_leaves_out_are_not_explained() -> None:
    texts = explained("SELECT c FROM S WHERE (SELL AS a ; BUY AS c) FILTER c.price > a.price")
    assert "c.price" not in texts[0]
    assert explained("SELECT NONE FROM S WHERE SELL AS a FILTER a[price > 1]") == ["match 0..0"]


def test_a_pickled_match_is_explained_without_calls_of_python() -> None:
    double = ensue.function(lambda x: 2 * x, args=["double"], returns="double", arrays="numpy")
    query = ensue.compile(
        "SELECT * FROM S WHERE SELL AS a FILTER a[price > 25] AND a[twice(price) > 3]",
        functions={"twice": double},
    )
    match = query.run(EVENTS)[0]
    assert "twice" in str(match.explain())
    again = str(pickle.loads(pickle.dumps(match)).explain())
    assert "a[price > 25]:  26 > 25" in again
    assert "twice" not in again


def test_times_are_shown_as_times() -> None:
    events = [{"type": "A", "at": datetime(2026, 1, 1, 9, 30)}]
    query = ensue.compile(
        "SELECT * FROM S WHERE A AS a FILTER a[at > TIMESTAMP '2026-01-01 09:00:00']"
    )
    (match,) = query.run(events, time="at")
    assert "2026-01-01 09:30:00 > 2026-01-01 09:00:00" in str(match.explain())


def test_values_are_no_html() -> None:
    (match,) = ensue.compile("SELECT * FROM S WHERE BUY AS b FILTER b[name = '<b>']").run(EVENTS)
    shown = match.explain()._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


@costly
@given(pairs(Language(conditions=True, aggregates=True, windows=True)))
def test_what_no_or_excuses_held(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    matches = ready.run(pair.rows)
    if matches.schema.totals is not None:
        return
    for match in matches.head(3):
        explanation = match.explain()
        assert [each.position for each in explanation.events] == match.positions
        bound = match.bindings
        for required in matches.schema.satisfied.conditions:
            text = required.condition.text
            names = getattr(required.condition, "variables", None) or ()
            if names and not required.optional and all(len(bound.get(n, ())) == 1 for n in names):
                assert any(held.text == text for held in explanation.conditions)
