"""A rule of many is not evaluated on a batch that it ignores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ensue
from ensue.kernels.match.driver import MatchDriver

RULES = {
    "ab": "SELECT * FROM S WHERE A ; B",
    "cd": "SELECT * FROM S WHERE C ; D",
}


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """List how many events the kernels were given, push by push."""
    given: list[int] = []
    push = MatchDriver.push

    def noted(driver: MatchDriver, symbols: Any, *more: Any) -> Iterator[Any]:
        given.append(len(symbols))
        return push(driver, symbols, *more)

    monkeypatch.setattr(MatchDriver, "push", noted)
    return given


def events(types: str) -> list[dict[str, str]]:
    return [{"type": each} for each in types]


def test_a_rule_whose_first_step_nothing_satisfies_is_skipped(evaluated: list[int]) -> None:
    session = ensue.open(RULES)
    session.push(events("ABAB"))
    evaluated.clear()
    session.push(events("ABAB"))
    assert len(evaluated) == 1
    found = session.push(events("CABD"))
    assert {name: matches.count for name, matches in found.items()} == {"ab": 5, "cd": 1}
    assert len(evaluated) == 3


def test_time_goes_on_for_a_rule_that_is_skipped() -> None:
    rules = {name: f"{text} WITHIN 3 [t]" for name, text in RULES.items()}
    session = ensue.open(rules, time="t")
    session.push([{"type": "A", "t": 0}, {"type": "C", "t": 0}])
    session.push([{"type": "X", "t": 9}])
    found = session.push([{"type": "B", "t": 9}, {"type": "D", "t": 9}])
    assert [matches.count for matches in found.values()] == [0, 0]
    assert session.stats["queries"]["cd"] == 0
