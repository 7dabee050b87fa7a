"""[CORE] (CORE): the queries of Figure 1 and the stream of Figure 3."""

from __future__ import annotations

import pytest

from tests.papers.paper_examples import ComplexEvent, Event, binding, complex_event, recognize


def trade(type: str, name: str, price: int, volume: int, ts: int) -> Event:
    """Build one event of the stock stream, ts in seconds."""
    return {"type": type, "name": name, "price": price, "volume": volume, "ts": ts}


# Examples 1 to 3 say which events of Figure 3 the runs mark: sales of Microsoft at 0 and 1, of
# Intel at 2 and 5, of Amazon at 4 and 6. Names and prices follow the same stream in [ACEL];
# volumes and times, which the paper leaves open, are ours.
STOCK = [
    trade("SELL", "MSFT", 101, 100, 0),
    trade("SELL", "MSFT", 102, 100, 60),
    trade("SELL", "INTC", 80, 50, 70),
    trade("BUY", "INTC", 80, 50, 90),
    trade("SELL", "AMZN", 1900, 10, 100),
    trade("SELL", "INTC", 81, 50, 131),
    trade("SELL", "AMZN", 1920, 20, 140),
]

Q1 = """
    SELECT * FROM Stock
    WHERE SELL as msft; SELL as intel; SELL as amzn
    FILTER msft[name="MSFT"] AND msft[price > 100]
        AND intel[name="INTC"]
        AND amzn[name="AMZN"] AND amzn[price < 2000]
"""

Q2 = """
    SELECT b FROM Stock
    WHERE (BUY or SELL) as s; (BUY or SELL) as b
    PARTITION BY [name], [volume]
    WITHIN 1 minute
"""

TREND = """
    WHERE (BUY OR SELL) as low; (BUY OR SELL)+ as mid; (BUY OR SELL) as high
    FILTER low[price < 100] AND mid[price >= 100]
        AND mid[price <= 2000] AND high[price > 2000]
    PARTITION BY [name]
"""

# The paper gives no stream for its third query: two stocks rise here, and one gets there.
RISING = [
    trade("BUY", "AMZN", 95, 10, 0),
    trade("SELL", "AMZN", 150, 10, 10),
    trade("BUY", "INTC", 90, 10, 20),
    trade("BUY", "AMZN", 1800, 10, 30),
    trade("SELL", "INTC", 120, 10, 40),
    trade("SELL", "AMZN", 2100, 10, 50),
]


def sale(msft: int, intel: int, amzn: int) -> ComplexEvent:
    """Build the match of the first query on these three sales."""
    return binding(STOCK, msft=[msft], intel=[intel], amzn=[amzn])


AT_4 = {sale(0, 2, 4), sale(1, 2, 4)}
AT_6 = {sale(0, 2, 6), sale(0, 5, 6), sale(1, 2, 6), sale(1, 5, 6)}


def test_runs_of_the_automaton() -> None:
    """Figure 3 and Examples 1 to 3: two matches end at 4 and four at 6, and no others."""
    found = recognize(Q1, STOCK)
    assert found == AT_4 | AT_6
    # The paper writes a complex event as its interval and its marked positions.
    printed = {(match.start, match.end, match.support) for match in found}
    assert (0, 4, frozenset({0, 2, 4})) in printed
    assert (0, 6, frozenset({0, 2, 6})) in printed


@pytest.mark.parametrize(("window", "earliest_start"), [(6, 0), (5, 1)])
def test_window_bounds_the_interval(window: int, earliest_start: int) -> None:
    """Example 3 enumerates within 6 positions; one less cuts what spans from 0 to 6."""
    found = recognize(f"{Q1} WITHIN {window} EVENTS", STOCK)
    assert found == AT_4 | {match for match in AT_6 if match.start >= earliest_start}


def test_pairs_of_one_stock_and_volume() -> None:
    """Figure 1, second query: equal names and volumes, at most a minute apart, b only."""
    # 0 and 1 are exactly a minute apart, 2 and 5 a second more, 4 and 6 differ in volume.
    expected = {complex_event(s, b, {"b": [b]}) for s, b in [(0, 1), (2, 3), (3, 5)]}
    assert recognize(Q2, STOCK, time="ts", time_unit="s") == expected


def test_max_binds_the_whole_middle_of_a_trend() -> None:
    """Figure 1, third query (its misplaced bracket mended): the maximal sequence only."""
    found = recognize(f"SELECT MAX * FROM Stock {TREND}", RISING)
    assert found == {binding(RISING, low=[0], mid=[1, 3], high=[5])}


def test_without_max_the_middle_has_all_subsets() -> None:
    """Figure 1, third query without its strategy: every part of the sequence comes too."""
    found = recognize(f"SELECT * FROM Stock {TREND}", RISING)
    middles = ([1], [3], [1, 3])
    assert found == {binding(RISING, low=[0], mid=mid, high=[5]) for mid in middles}
