"""`ensue why`: the funnel of a query on files of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import ensue

QUERY = "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b[v > $low] WITHIN 2 EVENTS"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text("type,v\nA,1\nB,2\nA,3\nA,1\nX,0\nX,0\nB,5\n")
    return path


def test_steps_and_what_stopped_are_shown(events: Path) -> None:
    outcome = ensue("why", QUERY, events, "--param", "low=3", "--near", 0)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines() == [
        "step       events  starts  runs",
        "1  A AS a       3       3     3",
        "      1 stopped by b[v > $low] (the closest: 2 is not > 3)",
        "      2 stopped by WITHIN 2 EVENTS",
        "2  B AS b  1 of 2       0     0",
        "",
        "0  matches of the pattern",
    ]


def test_events_come_from_standard_input(events: Path) -> None:
    outcome = ensue("why", QUERY, "-", "--param", "low=3", stdin=events.read_text())
    assert outcome.code == 0
    assert "stopped by WITHIN" in outcome.stdout
    assert ensue("why", "-", "-", stdin=QUERY).code == 2


def test_the_number_of_events_is_bounded(events: Path) -> None:
    outcome = ensue("why", QUERY, events, "--param", "low=3", "--most-events", 2)
    assert "counted on the first 2 events; there are more" in outcome.stdout


def test_streams_are_named(events: Path) -> None:
    query = "SELECT * FROM S, T WHERE S>A ; T>B WITHIN 9 [v]"
    events.write_text("type,v\nA,1\nB,2\n")
    outcome = ensue("why", query, f"S={events}", f"T={events}", "--near", 0)
    assert outcome.stdout.splitlines()[-1] == "1  matches of the pattern"


def test_what_is_wrong_is_said(events: Path) -> None:
    assert ensue("why", "SELECT * FROM S WHERE", events).code == 1
    assert ensue("why", "SELECT * FROM S WHERE A", "none.csv").code == 2
    assert ensue("why", "SELECT * FROM S WHERE A", events, "--time-unit", "week").code == 2


def test_near_misses_are_shown(events: Path) -> None:
    outcome = ensue("why", QUERY, events, "--param", "low=3", "--near", 2)
    assert outcome.stdout.split("near misses\n")[1].splitlines() == [
        "0..1  2 of 2 steps: a at 0, b at 1",
        "    needed b[v > $low], but 2 is not > 3",
        "3..6  2 of 2 steps: a at 3, b at 6",
        "    needed WITHIN 2 EVENTS, but it goes from 3 to 6",
    ]


def test_time_may_have_come_further(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("type,at\nORDER,1\nORDER,8\nPAID,9\n")
    query = "SELECT * FROM S WHERE ORDER NOT FOLLOWED BY PAID WITHIN 20 [at]"
    first = ("--most-events", 1)
    for more, matches in ((), 0), (first, 0), ((*first, "--until", 30), 1):
        shown = ensue("why", query, path, "--near", 0, *more).stdout
        assert f"{matches}  after NOT FOLLOWED BY PAID" in shown
