"""Sessions on several streams, in whatever form the events come: as a run on the whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.results.matches import Matches
from tests.effort import costly

TEXTS = (
    "SELECT * FROM S, R WHERE S>A ; R>B",
    "SELECT * FROM S, R WHERE (S>A OR R>A)+ ; B WITHIN 3 [t]",
    "SELECT * FROM S, R WHERE (S>A AS x ; R>B AS y) FILTER x.k = y.k PARTITION BY [p] WITHIN 5 [t]",
    "SELECT * FROM S, R WHERE (S>A AS x ; B AS y) FILTER x.n.m <= y.n.m",
    "SELECT x, y, max(x.v) AS top FROM S, R WHERE A AS x ; R>B AS y PARTITION BY [p]",
    "SELECT * FROM S, R WHERE (A AS x ; B AS y) UNLESS (R>A AS a ; S>B AS b FILTER a.k = b.k)",
    "SELECT count(*) AS n, sum(x.v) AS v FROM S, R WHERE S>A AS x ; R>B AS y WITHIN 4 [t]",
)
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def told(found: list[Matches]) -> list[tuple[Any, ...]]:
    """Say all there is to say about matches; equal instants are equal in any zone."""
    every = [match for matches in found for match in matches]
    listed = [(m.id, m.start, m.end, m.bindings, m.events()) for m in every]
    return sorted(listed, key=lambda each: (each[0], str(each[3])))


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events of one stream with many ties in time."""
    time, found = 0, []
    for _ in range(draw(st.integers(0, 5))):
        time += draw(st.sampled_from((0, 0, 1, 2)))
        found.append(
            {
                "type": draw(st.sampled_from("AB")),
                "t": time,
                "v": draw(st.sampled_from((None, 1, 2))),
                "k": draw(st.sampled_from((None, "x", "y"))),
                "p": draw(st.sampled_from(("p", "q"))),
                "n": {"m": draw(st.sampled_from((None, 1, 2)))},
                "at": DAY + timedelta(seconds=time),
            }
        )
    return found


FORMS = ("dicts", "table", "coded", "other units")
_SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "t": pa.int64(),
        "v": pa.int64(),
        "k": pa.string(),
        "p": pa.string(),
        "n": pa.struct({"m": pa.int64()}),
        "at": pa.timestamp("us", "UTC"),
    }
)
_OTHER = {
    "v": pa.int32(),
    "k": pa.large_string(),
    "at": pa.timestamp("ms", "+02:00"),
    "t": pa.int16(),
    "n": pa.struct({"m": pa.int8()}),
}


def formed(events: list[dict[str, Any]], form: str) -> Any:
    """Hand the same events over in another form."""
    if form == "dicts":
        return events
    table = pa.Table.from_pylist(events, _SCHEMA)
    if form == "coded":
        for number, name in enumerate(table.column_names):
            if name in ("type", "k", "p"):
                table = table.set_column(number, name, table.column(name).dictionary_encode())
    if form == "other units":
        table = table.cast(pa.schema([(f.name, _OTHER.get(f.name, f.type)) for f in _SCHEMA]))
    return table


def pieces(
    data: st.DataObject, streams: dict[str, list[dict[str, Any]]]
) -> list[dict[str, list[dict[str, Any]]]]:
    """Cut streams into pushes, some without one of them, some with nothing of it."""
    left = {name: list(events) for name, events in streams.items()}
    pushes = []
    for _ in range(data.draw(st.integers(0, 3))):
        push = {}
        for name in data.draw(st.sampled_from((("S", "R"), ("S", "R"), ("S",), ("R",)))):
            count = data.draw(st.integers(0, len(left[name])))
            push[name], left[name] = left[name][:count], left[name][count:]
        pushes.append(push)
    return [*pushes, left]


@costly
@given(st.sampled_from(TEXTS), rows(), rows(), st.data())
def test_streams_bit_by_bit_and_resumed_eq_whole(
    text: str, s: list[dict[str, Any]], r: list[dict[str, Any]], data: st.DataObject
) -> None:
    query, streams = ensue.compile(text), {"S": s, "R": r}
    whole = query.run({name: formed(each, "table") for name, each in streams.items()}, time="t")
    session, found = query.open(time="t"), []
    for push in pieces(data, streams):
        form = data.draw(st.sampled_from(FORMS))
        found.append(session.push({name: formed(each, form) for name, each in push.items()}))
        if data.draw(st.booleans()):
            session = query.resume(session.snapshot())
    found.append(session.finish())
    if "count(*)" in text:
        listed = [row for each in found for row in each.to_arrow().to_pylist()]
        assert listed == whole.to_arrow().to_pylist()
        return
    assert told(found) == told([whole])
    for each in found:
        assert each.to_arrow(events=True).num_rows == each.count
