"""Derived streams: the engine against the meaning by definition, however the input is cut."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.query import Query
from ensue.errors import CeqlError
from ensue.language.printer import format_query
from tests.conditions import bound_names
from tests.equivalence.stages import by_stages, found_in
from tests.equivalence.test_engine import SCHEMA
from tests.equivalence.test_sessions import cut, everything, pushed
from tests.pairs import Row, rich_queries, streams_for
from tests.strategies import Language
from tests.wide import meaning_of

FIRST = Language(conditions=False, windows=True)
ABSENT = (
    "SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 2 [ts]",
    "SELECT * FROM S WHERE A+ NOT FOLLOWED BY C WITHIN 1 [ts] PARTITION BY [k] WITHIN 3 [ts]",
)
SECOND = (
    "SELECT * FROM D WHERE D AS x1 ; D AS x2 WITHIN 3 [end_time]",
    "SELECT * FROM D WHERE (D AS x1 ; D AS x2) FILTER x1.start_time = x2.start_time",
    "SELECT * FROM D WHERE D{1,2} AS x1 WITHIN 2 EVENTS",
    "SELECT LAST * FROM D WHERE D:{2} CONSUME BY ANY",
    "SELECT * FROM S, D WHERE A AS x1 : D AS x2",
    "SELECT * FROM S, D WHERE D AS x1 : ANY AS x2",
    "SELECT * FROM S, D WHERE (A OR D) AS x1 ; D AS x2 WITHIN 2 [ts]",
    "SELECT * FROM S, D WHERE (D AS x1 ; B) UNLESS C WITHIN 4 EVENTS",
    "SELECT * FROM S, D WHERE D AS x1 ; S>B",
    "SELECT * FROM D WHERE D AS x1 NOT FOLLOWED BY D WITHIN 1 [end_time]",
)
COUNTED = ("SELECT count(*) AS n FROM D WHERE D+ WITHIN 2 EVENTS",)
"""Of these, rows are events of the next level."""
THIRD = (
    "SELECT * FROM E WHERE E AS y1 ; E AS y2 WITHIN 4 [end_time]",
    "SELECT * FROM D, E WHERE D AS y1 : E AS y2",
    "SELECT * FROM D, E WHERE E AS y1 ; D AS y2 WITHIN 3 EVENTS",
    "SELECT * FROM S, D, E WHERE (A OR D OR E) AS y1 : (A OR D OR E) AS y2",
    "SELECT NEXT * FROM S, E WHERE E+ AS y1 WITHIN 3 EVENTS",
)


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, list[Row]]:
    """A query on one derived stream or two, and events for the first of them."""
    query = draw(rich_queries(FIRST, 2))
    first, formula = format_query(query), meaning_of(query)
    if formula is None:
        return "", []
    rows = draw(streams_for(formula, 6, [word.text for word in query.partition]))
    if draw(st.integers(0, 4)) == 0:
        first = draw(st.sampled_from(ABSENT))
    elif names := bound_names(query.pattern):
        column = f", last({draw(st.sampled_from(names))}.v) AS top\nFROM S"
        first = first.replace("\nFROM S", column, 1)
    text = f"CREATE STREAM D AS {first} ; {draw(st.sampled_from(SECOND))}"
    if draw(st.booleans()):
        second = draw(st.sampled_from(SECOND + COUNTED))
        third = draw(st.sampled_from(THIRD))
        text = f"CREATE STREAM D AS {first} ; CREATE STREAM E AS {second} ; {third}"
    return text, rows


def compiled(text: str) -> Query | None:
    try:
        return ensue.compile(text)
    except CeqlError:
        return None


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


@given(chains())
def test_derived_eq_reference(chain: tuple[str, list[Row]]) -> None:
    text, rows = chain
    query = compiled(text)
    if query is None or not rows:
        return
    expected = by_stages(query, rows, table(rows), SCHEMA)
    event(f"matches: {bool(expected)}")
    assert found_in(query.run(table(rows), time="ts")) == expected


@given(chains(), st.data())
def test_derived_bit_by_bit_and_resumed_eq_whole(
    chain: tuple[str, list[Row]], data: st.DataObject
) -> None:
    text, rows = chain
    query = compiled(text)
    if query is None or not rows:
        return
    whole = everything([query.run(table(rows), time="ts")])
    pieces = cut(data, rows)
    assert everything(pushed(query.open(time="ts"), pieces)) == whole
    session, found = query.open(time="ts"), []
    for piece in pieces:
        found.append(session.push(table(piece)))
        session = ensue.compile(text).resume(session.snapshot())
    found.append(session.finish())
    assert everything(found) == whole
