"""Automata as SVG: well formed, every state and edge once, columns from the start to the match."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.drawing.layered import lay_out
from tests.effort import costly
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair, pairs

SVG = "{http://www.w3.org/2000/svg}"


def elements(svg: str, kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter() if each.get("class") == kind]


@costly
@given(pairs())
def test_every_edge_and_state_is_drawn(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or ready.plan.compiled is None:
        return
    drawing = ready.automaton
    svg = str(drawing.to_svg())
    arrows = drawing.to_dot().count(" -> ")
    assert len(elements(svg, "tip")) == len(elements(svg, "edge")) == arrows
    states = {edge.target for edge in drawing.edges if edge.target > 0}
    assert len(elements(svg, "node")) == len(states) + 3  # the start, and two rings of the match


def test_alive_states_are_lit_up_and_text_is_escaped() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A AS a ; B FILTER a[k = '<b>&']")
    picture = query.automaton.to_svg(alive=[0, 1])
    assert len(elements(str(picture), "alive")) == 2
    assert "<b>" not in str(picture)
    assert query.automaton._repr_svg_() == str(query.automaton.to_svg())


nodes = st.integers(0, 11)


@given(st.lists(st.tuples(nodes, nodes), max_size=30))
def test_nodes_never_overlap_and_edges_end_at_them(edges: list[tuple[int, int]]) -> None:
    placed = lay_out(range(12), edges, {}, column=60, row=50)
    places = list(placed.nodes.values())
    for number, one in enumerate(places):
        for other in places[:number]:
            assert abs(one.x - other.x) > 59 or abs(one.y - other.y) > 49
    for (source, target), points in zip(edges, placed.edges, strict=True):
        assert points[0] == placed.nodes[source]
        assert points[-1] == placed.nodes[target]
        assert all(a.x != b.x for a, b in pairwise(points))
