"""Strategies side by side are those of the query with each strategy of SELECT."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import ensue
from ensue.insight.strategies import STRATEGIES
from tests.equivalence.test_engine import found
from tests.insight.test_funnel import rows

WHERE = "FROM S WHERE A AS a ; (B AS b)+ WITHIN 4 EVENTS"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_is_what_select_finds(strategy: str) -> None:
    events = rows("A A B X B A B")
    side_by_side = ensue.compile(f"SELECT NEXT b {WHERE}").strategies(events)
    alone = ensue.compile(f"SELECT {strategy} * {WHERE}").run(events)
    assert found(side_by_side[strategy]) == found(alone)


def test_all_are_drawn_on_one_axis() -> None:
    compared = ensue.compile(f"SELECT * {WHERE}").strategies(rows("A A B X B A B"))
    svg = str(compared.timeline(2))
    ElementTree.fromstring(svg)
    assert all(f"SELECT {name}" in svg for name in STRATEGIES)
    assert "the first 2 matches of each" in svg
    assert compared._repr_svg_() == str(compared.timeline())
