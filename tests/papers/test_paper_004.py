"""[SRT] (conditions between events): the stock ticks of its Table 1."""

from __future__ import annotations

import pytest

import ensue
from tests.papers.paper_examples import Event, binding, recognize


def tick(type: str, id: int, price: int, volume: int) -> Event:
    """Build one event, of type B (buy) or S (sell)."""
    return {"type": type, "id": id, "price": price, "volume": volume}


# Table 1; the paper counts positions from 1, so its sets are one higher than ours.
TICKS = [
    tick("B", 1, 22, 300),
    tick("B", 1, 24, 225),
    tick("B", 2, 32, 1210),
    tick("S", 1, 70, 760),
    tick("S", 1, 68, 2000),
    tick("B", 2, 33, 95),
]

# The expression reads a string from its first event to its last. Here the stream may go on
# after a match, START keeps the matches from the first event, and ; skips what is not marked.
SAME_COMPANY = "(B AS x ; S AS y) FILTER x.id = y.id"
ANYWHERE = f"SELECT * FROM Ticks WHERE {SAME_COMPANY}"
FROM_FIRST = f"SELECT * FROM Ticks WHERE START({SAME_COMPANY})"


def test_condition_joins_a_buy_and_a_sell() -> None:
    """Examples 3.5 and 3.7: both sells of company 1 match the first buy."""
    first = {binding(TICKS, x=[0], y=[3]), binding(TICKS, x=[0], y=[4])}
    assert recognize(FROM_FIRST, TICKS) == first
    # Without START the second buy of company 1 begins matches too, that of company 2 none.
    second = {binding(TICKS, x=[1], y=[3]), binding(TICKS, x=[1], y=[4])}
    assert recognize(ANYWHERE, TICKS) == first | second


def test_first_buy_is_what_a_match_remembers() -> None:
    """Example 3.5: the register holds the whole first event, which the match binds to x."""
    matches = list(ensue.run(FROM_FIRST, TICKS))
    assert len(matches) == 2
    for match in matches:
        (stored,) = match.events("x")
        assert {name: stored[name] for name in ("id", "price", "volume")} == {
            "id": 1,
            "price": 22,
            "volume": 300,
        }


@pytest.mark.parametrize(
    ("length", "sell"), [(1, None), (2, None), (3, None), (4, 3), (5, 4), (6, None)]
)
def test_prefix_is_accepted_when_a_match_ends_it(length: int, sell: int | None) -> None:
    """Definition 3.6 and Example 3.7: the prefixes of length 4 and 5 are in the language."""
    found = recognize(FROM_FIRST, TICKS[:length])
    accepted = {match for match in found if match.end == length - 1}
    assert accepted == (set() if sell is None else {binding(TICKS, x=[0], y=[sell])})
