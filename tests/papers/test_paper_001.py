"""[ACEL] (aggregation): the stock stream of its Example 3.1 and the queries on it."""

from __future__ import annotations

import pytest

import ensue
from tests.papers.paper_examples import ComplexEvent, Event, binding, complex_event, recognize


def trade(type: str, name: str, price: int) -> Event:
    """Build one event of the stock stream."""
    return {"type": type, "name": name, "price": price}


# Example 3.1; its table counts positions from 0, as we do.
STOCKS = [
    trade("SELL", "MSFT", 101),
    trade("SELL", "MSFT", 102),
    trade("SELL", "INTL", 80),
    trade("BUY", "INTL", 80),
    trade("SELL", "AMZN", 1900),
    trade("SELL", "INTL", 81),
    trade("BUY", "AMZN", 1920),
    trade("BUY", "MSFT", 101),
    trade("BUY", "INTL", 79),
    trade("SELL", "INTL", 80),
]

# The stream calls Intel INTL and the formulas call it INTC; the stream's name is used here.
COMPANIES = """msft[name = 'MSFT'] AND msft[price > 100] AND intel[name = 'INTL']
    AND amzn[name = 'AMZN'] AND amzn[price < 2000]"""
TRIPLE = f"(SELL AS msft ; SELL AS intel ; SELL AS amzn) FILTER {COMPANIES}"

HIGHEST_INTEL = f"""
    SELECT * FROM Stocks
    WHERE (SELL AS msft ; (SELL AS intel)+ ; SELL AS amzn) FILTER {COMPANIES}
    AGGREGATE M[MAX = max(intel.price)]
"""

LONG_TREND = """
    SELECT * FROM Stocks
    WHERE ((BUY OR SELL) AS l ; (BUY OR SELL)+ AS m ; (BUY OR SELL) AS h)
    FILTER l[price < 100] AND m[price >= 100] AND m[price <= 2000] AND h[price > 2000]
    AGGREGATE M[QNT = count(m.price)]
    FILTER M[QNT > 5]
"""


def computed(text: str, events: list[Event], variable: str) -> dict[ComplexEvent, list[Event]]:
    """Run a query and give, for each match, the computed events bound to a variable."""
    found = [
        (complex_event(m.start, m.end, m.bindings), m.computed(variable))
        for m in ensue.run(text, events)
    ]
    assert len(found) == len(dict(found)), "a match was reported more than once"
    return dict(found)


def sale(events: list[Event], msft: int, intel: list[int], amzn: int) -> ComplexEvent:
    """Build the match of a Microsoft sale, Intel sales and an Amazon sale."""
    return binding(events, msft=[msft], intel=intel, amzn=[amzn])


def test_triples_of_sales() -> None:
    """Example 3.2: one Intel sale lies between the Microsoft sales and the Amazon sale."""
    found = recognize(f"SELECT * FROM Stocks WHERE {TRIPLE}", STOCKS)
    assert found == {sale(STOCKS, 0, [2], 4), sale(STOCKS, 1, [2], 4)}


def test_attribute_projection_shows_the_price_only() -> None:
    """Example 3.3: Intel events lose all attributes but the price, the others keep theirs."""
    text = f"SELECT SELL, msft, intel[price], amzn FROM Stocks WHERE {TRIPLE}"
    assert recognize(text, STOCKS) == {sale(STOCKS, 0, [2], 4), sale(STOCKS, 1, [2], 4)}
    for match in ensue.run(text, STOCKS):
        (intel,) = match.events("intel")
        (amzn,) = match.events("amzn")
        assert intel["price"] == 80
        assert "name" not in intel
        assert (amzn["name"], amzn["price"]) == ("AMZN", 1900)


def test_highest_price_of_the_sequence() -> None:
    """Example 5.1: the maximum goes to an attribute of a computed event."""
    assert computed(HIGHEST_INTEL, STOCKS, "M") == {
        sale(STOCKS, 0, [2], 4): [{"MAX": 80}],
        sale(STOCKS, 1, [2], 4): [{"MAX": 80}],
    }


def test_highest_price_is_of_each_match() -> None:
    """Example 5.1 when event 6 sells too: each sequence of Intel sales has its own maximum."""
    events = [*STOCKS[:6], trade("SELL", "AMZN", 1920), *STOCKS[7:]]
    expected = {sale(events, msft, [2], 4): [{"MAX": 80}] for msft in (0, 1)}
    for msft in (0, 1):
        expected[sale(events, msft, [2], 6)] = [{"MAX": 80}]
        expected[sale(events, msft, [5], 6)] = [{"MAX": 81}]
        expected[sale(events, msft, [2, 5], 6)] = [{"MAX": 81}]
    assert computed(HIGHEST_INTEL, events, "M") == expected


def test_no_trend_without_a_high_price() -> None:
    """Example 5.2: no price of the stream is above 2000."""
    assert computed(LONG_TREND, STOCKS, "M") == {}


def test_trend_needs_more_than_five_events() -> None:
    """Example 5.2 on a longer stream: only the trends with six prices between are left."""
    # Before the last trade the lows at 2 and 3 have six mid prices, those at 5, 8 and 9 fewer.
    events = [*STOCKS, *(trade("BUY", "AMZN", price) for price in (100, 1950, 2000, 2010))]
    middle = [4, 6, 7, 10, 11, 12]
    assert computed(LONG_TREND, events, "M") == {
        binding(events, l=[low], m=middle, h=[13]): [{"QNT": 6}] for low in (2, 3)
    }


def test_results_are_a_set() -> None:
    """Section 5, first design choice: what a projection makes equal is one match."""
    events: list[Event] = [{"type": type} for type in "ABBA"]
    text = "SELECT * FROM S WHERE (A AS X ; B+ ; A AS X) PROJECT [X]"
    assert recognize(text, events) == {complex_event(0, 3, {"X": [0, 3]})}


def test_equal_computed_events_both_count() -> None:
    """Section 5, second design choice: two sums of 8 add up to 16."""
    # The printed stream names the attribute a, the query reads value: one name serves here.
    rows = [("B", None), ("A", 3), ("A", 5), ("B", None), ("A", 2), ("A", 4), ("A", 2)]
    events = [{"type": type, "value": value} for type, value in rows]
    text = """
        SELECT * FROM S
        WHERE ((B : A:+) AGGREGATE X[a = sum(A.value)]):+ AGGREGATE Y[b = sum(X.a)]
    """
    (whole,) = [m for m in ensue.run(text, events) if (m.start, m.end) == (0, 6)]
    assert whole.computed("X") == [{"a": 8}, {"a": 8}]
    assert whole.computed("Y") == [{"b": 16}]


@pytest.mark.parametrize(("value", "matches"), [(7, 1), (8, 0)])
def test_aggregates_can_compare_events(value: int, matches: int) -> None:
    """Section 5, expressive power: one filter on two sums correlates two events."""
    events = [{"type": "R", "a": 7}, {"type": "T", "a": value}]
    text = """
        SELECT * FROM S
        WHERE (R AS X ; T AS Y) AGGREGATE Z[b1 = sum(X.a), b2 = sum(Y.a)]
        FILTER Z[b1 = b2] PROJECT [X, Y]
    """
    expected = [complex_event(0, 1, {"X": [0], "Y": [1]})] * matches
    assert recognize(text, events) == set(expected)
