"""Distinct projections and largest supports, found on the match graph, against the definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.errors import BudgetError, CeqlError
from ensue.kernels.graph.distinct import Thinning
from ensue.kernels.graph.segment import Segment
from tests import seams
from tests.effort import broad
from tests.equivalence.test_choice import CONSUMPTIONS, PATTERNS, WINDOWS, plain_streams
from tests.equivalence.test_engine import found, run

CONDITIONS = (
    *(each for each in PATTERNS if "FILTER" in each),
    "(A+ AS x ; C AS z) FILTER z.v > x.v",
    "(A+ AS x ; B+ AS y ; C AS z) FILTER z.v >= x.v AND y.v <= z.v",
    "((A AS x ; B? AS y) OR (B AS x ; A AS y)) ; C FILTER C.v = x.v",
    "((A AS x OR A AS y)+ ; B) FILTER B.v >= x.v",
    "(A ALL B+ ALL C) FILTER A.v = C.v",
)


@st.composite
def thinned_queries(draw: st.DrawFn) -> str:
    """A query that shows part of matches over a condition, or the largest of them."""
    shown = draw(st.sampled_from(("*", "B", "C", "NONE", "A, C", "z")))
    return " ".join(
        (
            "SELECT",
            draw(st.sampled_from(("", "MAX"))),
            shown,
            "FROM S WHERE",
            draw(st.sampled_from(CONDITIONS)),
            draw(st.sampled_from(("", "PARTITION BY [k]"))),
            draw(st.sampled_from(WINDOWS)),
            draw(st.sampled_from(CONSUMPTIONS)),
        )
    )


@broad
@given(thinned_queries(), plain_streams(), st.booleans(), st.booleans())
def test_thinned_graph_eq_reference(
    text: str, rows: list[dict[str, Any]], positions_only: bool, compact_always: bool
) -> None:
    try:
        query = ensue.compile(text)
    except CeqlError:  # it shows a variable that the pattern does not bind
        return
    expected = run(query, rows, positions_only=positions_only, by_definition=True)
    with pytest.MonkeyPatch.context() as patch:
        seams.FEW_PATHS.put(patch, -1)
        fast = run(query, rows, positions_only=positions_only, compact_always=compact_always)
        assert found(fast) == found(expected)
        assert fast.count == expected.count
    event(f"matches: {min(len(found(expected)), 5)}")


ALTERNATING = [{"type": "AC"[number % 2], "x": float(number * 7 % 31)} for number in range(120)]


def ask(select: str) -> ensue.Query:
    text = f"SELECT {select} FROM S WHERE (A+ AS a ; C AS c) FILTER c.x > a.x WITHIN 60 EVENTS"
    return ensue.compile(text, schema={"x": "double"})


def largest(end: int) -> list[int]:
    """Return all of the events that a match which ends at some C can have."""
    before = range(max(end - 60, 0), end)
    smaller = (ALTERNATING[at]["x"] < ALTERNATING[end]["x"] for at in before)
    kinds = (ALTERNATING[at]["type"] == "A" for at in before)
    return [at for at, *fits in zip(before, smaller, kinds, strict=True) if all(fits)]


@pytest.mark.parametrize("select", ["c", "NONE"])
def test_projections_of_exponentially_many_matches_are_found(select: str) -> None:
    expected = [(at, end) for end in range(1, 120, 2) for at in largest(end)]
    matches = ask(select).run(ALTERNATING)
    assert sorted((match.start, match.end) for match in matches) == sorted(expected)


@pytest.mark.filterwarnings("ignore:.*W521")
def test_largest_of_exponentially_many_matches_are_found() -> None:
    matches = ask("MAX *").run(ALTERNATING[:70])
    expected = [[*largest(end), end] for end in range(1, 70, 2) if largest(end)]
    assert [sorted(match.positions) for match in matches] == expected


@pytest.mark.filterwarnings("ignore:.*W521")
def test_where_sets_are_too_many_the_budget_of_listings_holds() -> None:
    with pytest.MonkeyPatch.context() as patch:
        seams.THINNING_STEPS.put(patch, 10)
        with pytest.raises(BudgetError, match="max_matches"):
            list(ask("c").run(ALTERNATING, max_matches=1000))


def test_few_paths_are_listed_as_they_are() -> None:
    segments: list[tuple[Segment, Segment]] = []
    with pytest.MonkeyPatch.context() as patch:
        thinned = Thinning.thinned

        def noted(self: Thinning, segment: Segment) -> Segment:
            segments.append((segment, thinned(self, segment)))
            return segments[-1][1]

        patch.setattr(Thinning, "thinned", noted)
        assert ask("c").run(ALTERNATING[:9]).count
    assert segments
    assert all(before is after for before, after in segments)
