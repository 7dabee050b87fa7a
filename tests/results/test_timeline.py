"""Timelines are well-formed SVG with all events of the matches, whatever values they have."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

import ensue
from tests.effort import costly
from tests.equivalence.test_engine import compiled
from tests.pairs import Pair, pairs
from tests.strategies import Language

HOSTILE = "</text></svg><script>alert('x')</script>&\x00\"'"
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    tags = {each.tag for each in root.iter()}
    assert tags <= {
        SVG + name
        for name in ("svg", "style", "rect", "line", "circle", "text", "title", "polyline", "path")
    }
    return root


def circles(svg: str) -> int:
    return sum(each.tag == f"{SVG}circle" for each in drawn(svg).iter())


def events(count: int) -> list[dict[str, Any]]:
    start = datetime(2026, 1, 1, 9, 30)
    return [
        {"type": "AB"[at % 2], "k": HOSTILE, "at": start + timedelta(seconds=at)}
        for at in range(count)
    ]


@costly
@given(pairs(Language(conditions=True, windows=True)))
def test_every_bound_event_is_drawn(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    matches = ready.run(pair.rows)
    if matches.schema.totals is not None:
        return
    drawn(str(matches.timeline(3)))
    for match in matches.head(2):
        assert circles(str(match.timeline())) >= len(match.positions)


@pytest.mark.parametrize("clause", ["", "WITHIN 3 SECONDS", "WITHIN 3 EVENTS", "PARTITION BY [k]"])
def test_hostile_values_are_text(clause: str) -> None:
    query = ensue.compile(f"SELECT * FROM S WHERE A AS `<a&b>` ; B AS b {clause}")
    matches = query.run(events(6), time="at")
    for svg in (str(matches.timeline()), str(matches[0].timeline())):
        drawn(svg)
        assert "<script>" not in svg
        assert "&lt;a&amp;b&gt;" in svg


def test_events_between_are_those_of_the_partition() -> None:
    rows = [{"type": kind, "k": key} for kind, key in ("Ap", "Cp", "Cq", "Cp", "Bp")]
    query = ensue.compile("SELECT * FROM S WHERE A ; B PARTITION BY [k]")
    svg = drawn(str(query.run(rows)[0].timeline()))
    assert sum(each.get("class") == "grey" for each in svg.iter()) == 2


def test_no_more_matches_are_drawn_than_asked_for(tmp_path: Path) -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    picture = query.run(events(10)).timeline(2)
    assert "the first 2 matches" in str(picture)
    picture.save(tmp_path / "two.svg")
    assert (tmp_path / "two.svg").read_text().strip() == str(picture) == picture._repr_svg_()
    assert "no matches" in str(query.run(events(1)).timeline())


def test_rows_of_counts_cannot_be_drawn() -> None:
    with pytest.raises(TypeError, match="no events to draw"):
        ensue.run("SELECT count(*) FROM S WHERE A", events(2)).timeline()


def test_matches_of_a_session_are_drawn() -> None:
    session = ensue.compile("SELECT * FROM S WHERE A ; B WITHIN 3 EVENTS").open()
    session.push(events(1))
    (match,) = session.push(events(2)[1:])
    assert circles(str(match.timeline())) == 2
