"""Sessions on several streams: resumed, silent for a while, and mixed up."""

from __future__ import annotations

from typing import Any

import pytest

import ensue

QUERY = "SELECT * FROM S, R WHERE S>A ; R>B"


def events(*times: int, type: str) -> list[dict[str, Any]]:
    return [{"type": type, "t": time} for time in times]


def pair(time: int) -> dict[str, Any]:
    return {"S": events(time, type="A"), "R": events(time + 1, type="B")}


def test_streams_go_on_after_a_snapshot() -> None:
    query = ensue.compile(QUERY)
    session = query.open(time="t")
    for time in (1, 3):
        session.push(pair(time))
    session = query.resume(session.snapshot())
    found = session.push(pair(5))
    uncut = query.open(time="t")
    expected = [uncut.push(pair(time)) for time in (1, 3, 5)][-1]
    assert [(m.id, m.events()) for m in found] == [(m.id, m.events()) for m in expected]
    assert found.to_arrow(events=True).equals(expected.to_arrow(events=True))
    assert query.resume(session.snapshot()).finish().count == uncut.finish().count


@pytest.mark.parametrize("empty", [{"S": [], "R": []}, {"S": []}, {"R": []}])
def test_a_stream_may_bring_nothing(empty: dict[str, Any]) -> None:
    query = ensue.compile(QUERY)
    session, found = query.open(time="t"), []
    for push in (empty, pair(1), empty, {**pair(3), **empty}, empty):
        found.append(session.push(push))
        session = query.resume(session.snapshot())
    found.append(session.finish())
    brought = {"S": [1], "R": [2]}
    for name, time in (("S", 3), ("R", 4)):
        brought[name] += [] if name in empty else [time]
    whole = query.run(
        {
            "S": events(*brought["S"], type="A"),
            "R": events(*brought["R"], type="B"),
        },
        time="t",
    )
    assert sorted(m.id for each in found for m in each) == sorted(m.id for m in whole)


@pytest.mark.parametrize("options", [{"lateness": 2}, {}])
def test_streams_are_not_mixed_with_events_of_no_stream(options: dict[str, Any]) -> None:
    session = ensue.compile("SELECT * FROM S, R WHERE A ; B").open(time="t", **options)
    session.push(events(1, 2, type="A"))
    with pytest.raises(ensue.EventError, match="without their streams"):
        session.push(pair(3))
    assert session.push(events(3, 9, type="B")).count + session.finish().count == 4
    session = ensue.compile("SELECT * FROM S, R WHERE A ; B").open(time="t", **options)
    session.push(pair(1))
    with pytest.raises(ensue.EventError, match="came separately"):
        session.push(events(3, type="A"))


def test_a_session_of_streams_may_end_before_it_began() -> None:
    assert ensue.compile(QUERY).open(time="t").finish().count == 0
    totals = ensue.compile("SELECT count(*) AS n FROM S, R WHERE S>A ; R>B WITHIN 4 [t]").open()
    assert totals.finish().to_arrow().num_rows == 0
