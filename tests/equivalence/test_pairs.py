"""How much the random pairs show: an equivalence of empty results is worth nothing."""

from __future__ import annotations

import pytest

import ensue
from ensue.engine.run import find_matches
from ensue.options import ReadOptions
from tests.pairs import Pair, collected


def longest_match(pair: Pair) -> int:
    """Return how many events the longest match binds."""
    matches = find_matches(
        ensue.compile(pair.text), pair.rows, ReadOptions(), positions_only=False, by_definition=True
    )
    return max((len(match.positions) for match in matches), default=0)


@pytest.mark.adequacy
@pytest.mark.parametrize("number", [1, 2])
def test_half_of_the_pairs_have_a_match_of_three_or_more_events(number: int) -> None:
    drawn = collected(120, number)
    assert len(drawn) > 70, "most pairs are drawn twice"
    long = sum(longest_match(pair) > 2 for pair in drawn)
    assert long >= len(drawn) / 2, f"{long} of {len(drawn)}"
