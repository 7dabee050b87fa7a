"""LIMIT bounds the work: listing stops as soon as it has enough matches of an event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.kernels.graph.segment import NO_BUDGET, Segment
from tests.equivalence.test_aggregates import aggregated, run
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair
from tests.strategies import Language


@pytest.fixture
def few_at_once() -> Iterator[None]:
    """List three matches at a time, so that listings stop in the middle of an event's."""
    before = Segment.listings.__defaults__
    Segment.listings.__defaults__ = (3, None, None, NO_BUDGET)
    yield
    Segment.listings.__defaults__ = before


def by_end(matches: ensue.Matches) -> dict[int, dict[str, int]]:
    """Give the starts of the matches of each completing event."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for m in matches:
        text = str((m.start, m.bindings, sorted(map(str, m._found.match.computed))))
        found[m.end][text] = m.start
    return found


@pytest.mark.usefixtures("few_at_once")
@given(
    st.one_of(
        aggregated(filtered=True),
        aggregated(Language(conditions=True), filtered=True),
        aggregated(Language(aggregates=True), filtered=True),
    ),
    st.integers(1, 3),
)
def test_a_limited_listing_has_enough_matches_and_one_of_the_latest_start(
    pair: Pair, limit: int
) -> None:
    every = compiled(replace(pair.query, limit=None, consume=None))
    some = compiled(replace(pair.query, limit=limit, consume=None))
    if every is None or some is None or not pair.rows:
        return
    whole, part = by_end(run(every, pair.rows)), by_end(run(some, pair.rows))
    assert part.keys() == whole.keys()
    for end, found in part.items():
        assert len(found) == min(limit, len(whole[end]))
        assert found.items() <= whole[end].items()
        assert max(found.values()) == max(whole[end].values())


@pytest.mark.parametrize("condition", ["Y[s > 3]", "Y[m > 1]", "Y[s / 2 > m]", "Y[s != 7]"])
@pytest.mark.parametrize("between", [40, 60])
def test_a_limit_on_filtered_aggregates_does_not_list_all_matches(
    condition: str, between: int
) -> None:
    session = ensue.compile(
        "SELECT * FROM S WHERE (O ; (A AS x)+ ; B) AGGREGATE Y[s = sum(x.v), m = avg(x.v)] "
        f"FILTER {condition} WITHIN 100 EVENTS LIMIT 1"
    ).open()
    session.push([{"type": "O", "v": None}])
    session.push([{"type": "A", "v": at % 5} for at in range(between)])
    assert len(list(session.push([{"type": "B", "v": None}]))) == 1


def test_a_limit_on_conditions_that_are_decided_on_listing_does_not_list_all_matches() -> None:
    session = ensue.compile(
        "SELECT * FROM S WHERE (O AS o ; (A AS x)+ ; B AS b) FILTER x.v != b.v "
        "WITHIN 100 EVENTS LIMIT 1"
    ).open()
    session.push([{"type": "O", "v": 0}, *({"type": "A", "v": 3} for _ in range(60))])
    assert len(list(session.push([{"type": "B", "v": 4}]))) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "((A AS x ; A AS y) AGGREGATE Y[s = sum(x.v)]) ; A ; B",
        "(A AS x ; A AS y ; A ; B) AGGREGATE Y[m = avg(x.v)] FILTER Y[m > 1]",
        "(A AS x ; A AS y ; A ; B AS b) FILTER x.v + y.v * b.v > 1",
    ],
)
def test_a_limited_listing_lists_not_many_more(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = 0
    listings = Segment.listings

    def counted(self: Segment, *rest: Any, **options: Any) -> Iterator[Any]:
        nonlocal listed
        for each in listings(self, *rest, **options):
            listed += len(each.start)
            yield each

    monkeypatch.setattr(Segment, "listings", counted)
    rows = [{"type": "A", "v": at % 5} for at in range(30)] + [{"type": "B", "v": 1}] * 50
    query = ensue.compile(f"SELECT * FROM S WHERE {pattern} WITHIN 100 EVENTS LIMIT 2")
    matches = list(query.run(rows))
    assert len(matches) == 100
    # Each B completes 4,060 matches.
    assert listed < 50 * 200
