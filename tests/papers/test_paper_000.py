"""[CEL] (CEL and its selection strategies): the sensors of Section 3, also in Section 7."""

from __future__ import annotations

import pytest

from tests.papers.paper_examples import (
    ComplexEvent,
    Event,
    binding,
    complex_event,
    recognize,
    sets,
    supports,
)


def temperature(id: int, tmp: int) -> Event:
    """Build an event of type T."""
    return {"type": "T", "id": id, "tmp": tmp}


def humidity(id: int, hum: int) -> Event:
    """Build an event of type H."""
    return {"type": "H", "id": id, "hum": hum}


# Figure 1; positions there are from 0, as ours.
SENSORS = [
    humidity(2, 25),
    temperature(0, 45),
    humidity(0, 20),
    humidity(1, 25),
    temperature(1, 40),
    temperature(0, 42),
    temperature(1, 25),
    humidity(1, 70),
    humidity(0, 18),
]

FIRE = "T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0"
PHI_1 = f"(T ; H) FILTER {FIRE}"

RISE = "H1.hum < 30 AND H2.hum > 60 AND H.id = 1 AND T.id = 1"
PHI_3 = f"(H AS H1 ; T+ ; H AS H2) FILTER {RISE}"


def where(pattern: str) -> str:
    """Wrap a pattern into the query that selects everything."""
    return f"SELECT * FROM Farm WHERE {pattern}"


def rising(*temperatures: int) -> ComplexEvent:
    """Build the complex event of the third formula with these temperatures between."""
    return binding(SENSORS, *temperatures, H1=[3], H2=[7])


def test_sequence_skips_events() -> None:
    """Section 3, first formula: a hot reading, then a dry one, with anything between."""
    expected = {binding(SENSORS, 1, 2), binding(SENSORS, 1, 8), binding(SENSORS, 5, 8)}
    assert recognize(where(PHI_1), SENSORS) == expected


def test_contiguous_sequence_skips_nothing() -> None:
    """Section 3, first formula with the contiguous operator."""
    assert recognize(where(f"(T : H) FILTER {FIRE}"), SENSORS) == {binding(SENSORS, 1, 2)}


@pytest.mark.parametrize("either_order", ["(T ; H) OR (H ; T)", "T ALL H"])
def test_either_order_adds_the_dry_reading_first(either_order: str) -> None:
    """Section 3, second formula, written with OR and with ALL."""
    found = recognize(where(f"({either_order}) FILTER {FIRE}"), SENSORS)
    assert found == recognize(where(PHI_1), SENSORS) | {binding(SENSORS, 2, 5)}


def test_iteration_gives_every_non_empty_subset() -> None:
    """Section 3, third formula: temperatures between two humidities of sensor 1."""
    assert recognize(where(PHI_3), SENSORS) == {rising(4, 6), rising(4), rising(6)}


def test_contiguous_iteration_needs_neighbours() -> None:
    """Section 3, third formula with the contiguous iteration."""
    pattern = f"(H AS H1 ; T:+ ; H AS H2) FILTER {RISE}"
    assert recognize(where(pattern), SENSORS) == {rising(4), rising(6)}


def test_projection_keeps_the_temperatures_and_the_interval() -> None:
    """Section 3, fourth formula: the paper's sets, inside the interval of the whole match."""
    found = recognize(where(f"{PHI_3} PROJECT [T]"), SENSORS)
    assert supports(found) == sets([4, 6], [4], [6])
    assert found == {complex_event(3, 7, {"T": bound}) for bound in ([4, 6], [4], [6])}


def test_correlation_needs_one_sensor() -> None:
    """Section 3, fifth formula; no answer is printed, but only sensor 1 reports over 60."""
    pattern = "(H AS H1 ; T+ ; H AS H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = T.id"
    assert recognize(where(pattern), SENSORS) == {rising(4, 6), rising(4), rising(6)}


def test_strict_keeps_the_match_without_gap() -> None:
    """Section 7.1, STRICT: the same answer as the contiguous sequence."""
    found = recognize(where(f"STRICT({PHI_1})"), SENSORS)
    assert found == {binding(SENSORS, 1, 2)}
    assert found == recognize(where(f"(T : H) FILTER {FIRE}"), SENSORS)


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX"])
def test_strategies_keep_the_largest_iteration(strategy: str) -> None:
    """Section 7.1, NEXT, LAST and MAX over the third formula."""
    assert recognize(where(f"{strategy}({PHI_3})"), SENSORS) == {rising(4, 6)}


# Section 7.1 compares all matches that end together. So do the strategies of SELECT.
PHI_1_CHOSEN = {
    "NEXT": {2: sets([1, 2]), 8: sets([1, 8])},
    "LAST": {2: sets([1, 2]), 8: sets([5, 8])},
    "MAX": {2: sets([1, 2]), 8: sets([1, 8], [5, 8])},
}
"""What each strategy leaves of the first formula, by the position where it ends."""

# Whatever the strategy, it leaves of T+ all temperatures so far.
ITERATION_CHOSEN = {1: sets([1]), 4: sets([1, 4]), 5: sets([1, 4, 5]), 6: sets([1, 4, 5, 6])}


def chosen(strategy: str, pattern: str) -> dict[int, set[frozenset[int]]]:
    """Return what a strategy of SELECT leaves, by the position where it ends."""
    found = recognize(f"SELECT {strategy} * FROM Farm WHERE {pattern}", SENSORS)
    ends = {match.end for match in found}
    return {end: supports({each for each in found if each.end == end}) for end in ends}


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX"])
def test_strategies_choose_at_every_position(strategy: str) -> None:
    """Section 7.1, NXT, LAST and MAX over the first formula, wherever it has an answer."""
    assert chosen(strategy, PHI_1) == PHI_1_CHOSEN[strategy]


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX"])
def test_strategies_choose_one_iteration_at_every_position(strategy: str) -> None:
    """Section 7.1, NXT, LAST and MAX over an iteration: all temperatures up to each position."""
    assert chosen(strategy, "T+") == ITERATION_CHOSEN


def test_strict_after_select_is_strict_inside() -> None:
    """Section 7.1, STRICT: it asks about one match at a time, wherever it stands."""
    assert chosen("STRICT", PHI_1) == {2: sets([1, 2])}


# As operators inside a pattern, strategies compare matches of one start and one end. An unbound
# first event gives them all the start 0, and with it the paper's answers.
@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX"])
def test_strategies_choose_among_matches_from_the_start(strategy: str) -> None:
    """Section 7.1, NEXT, LAST and MAX over the first formula, nested in a pattern."""
    from_start = f"(START(ANY) ; T ; H) FILTER {FIRE} PROJECT [T, H]"
    expected = set().union(*PHI_1_CHOSEN[strategy].values())
    assert supports(recognize(where(f"{strategy}({from_start})"), SENSORS)) == expected


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX"])
def test_inside_patterns_matches_with_different_starts_do_not_compete(strategy: str) -> None:
    """Section 7.1 as CEQL has it: the first formula has one match for each interval."""
    assert recognize(where(f"{strategy}({PHI_1})"), SENSORS) == recognize(where(PHI_1), SENSORS)
