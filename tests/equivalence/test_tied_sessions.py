"""Sessions on streams with many ties: rows are dropped between events of one time.

The store drops rows in lots; here every lot is one row, so that short streams meet it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.session import Session
from ensue.options import ReadOptions
from ensue.plan.mode import ExecutionMode
from tests import seams
from tests.effort import costly
from tests.equivalence.test_engine import compiled, described
from tests.equivalence.test_sessions import EVERYTHING, everything, table
from tests.pairs import Pair, pairs
from tests.strategies import Language


def tied(data: st.DataObject, rows: list[dict[str, Any]], coarse: int) -> list[dict[str, Any]]:
    """Give events a coarser time, all of them one in the end, and let others come before them."""
    before = (
        data.draw(st.lists(st.sampled_from(rows), max_size=4), label="events before")
        if rows
        else []
    )
    before = [{**row, "type": "C", "ts": rows[0]["ts"]} for row in before]
    return [{**row, "ts": row["ts"] // coarse} for row in (*before, *rows)]


def dropping_at_once(patch: pytest.MonkeyPatch) -> None:
    """Let stores drop, count and thin out whatever they may."""
    seams.MANY_TIED.put(patch, 1)
    seams.MANY_ROWS.put(patch, 0)
    seams.MERGED_AT_ONCE.put(patch, 2)


def cut_small(data: st.DataObject, rows: list[Any]) -> list[list[Any]]:
    """Cut rows into many pieces."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows)), min_size=len(rows) // 2)))
    return [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def tied_pairs(language: Language) -> st.SearchStrategy[Pair]:
    return pairs(language, longest=12)


COARSE = st.sampled_from((2, 4, 100))


@costly
@given(tied_pairs(EVERYTHING), COARSE, st.sampled_from((None, "v", "w")), st.booleans(), st.data())
def test_tied_events_bit_by_bit_and_resumed_eq_whole(
    pair: Pair, coarse: int, tiebreak: str | None, by_definition: bool, data: st.DataObject
) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    rows = tied(data, pair.rows, coarse)
    options: dict[str, Any] = {"time": "ts", "tiebreak": tiebreak}
    expected = described(ready.run(table(rows), **options))
    event(f"matches: {bool(expected)}")
    mode = ExecutionMode(by_definition=by_definition)
    session, found = Session(ready, ReadOptions(**options), mode), []
    with pytest.MonkeyPatch.context() as patch:
        dropping_at_once(patch)
        for piece in cut_small(data, rows):
            found.append(session.push(table(piece)))
            if data.draw(st.integers(0, 2)) == 0:
                session = ready.resume(session.snapshot())
        found.append(session.finish())
    assert everything(found) == expected


@costly
@given(tied_pairs(Language()), tied_pairs(Language()), COARSE, st.data())
def test_tied_events_of_many_queries_eq_each_alone(
    one: Pair, other: Pair, coarse: int, data: st.DataObject
) -> None:
    queries = {"one": compiled(one.query), "other": compiled(other.query)}
    ready = {name: each for name, each in queries.items() if each is not None}
    rows = tied(data, one.rows or other.rows, coarse)
    if not ready or not rows:
        return
    pieces = cut_small(data, rows)
    at = data.draw(st.integers(0, len(pieces) - 1), label="pushes before a query is added")
    session = ensue.open(ready, time="ts")
    found: dict[str, list[Any]] = {"later": [], **{name: [] for name in ready}}
    later = data.draw(st.sampled_from(sorted(ready)))
    with pytest.MonkeyPatch.context() as patch:
        dropping_at_once(patch)
        for number, piece in enumerate(pieces):
            if number == at:
                session.add("later", ready[later])
            for name, matches in session.push(table(piece)).items():
                found[name].append(matches)
            if data.draw(st.integers(0, 2)) == 0:
                session = ensue.resume(session.queries, session.snapshot())
        for name, matches in session.finish().items():
            found[name].append(matches)
    for name, each in ready.items():
        assert everything(found[name]) == described(each.run(table(rows), time="ts"))
    seen = [row for piece in pieces[at:] for row in piece]
    alone = ready[later].run(table(seen), time="ts")
    assert sorted(m.id for each in found["later"] for m in each) == sorted(m.id for m in alone)


TOTALS = (
    "SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE A AS x ; B AS y FILTER x.k = y.k "
    "WITHIN 2 [ts]",
    "SELECT count(*) AS n, max(x.v) AS s FROM S WHERE A AS x ; B AS y FILTER x.v <= y.v "
    "PARTITION BY [k] WITHIN 3 EVENTS",
    "SELECT count(*) AS n, min(y.v) AS s FROM S WHERE (A AS x ; B AS y) UNLESS "
    "(A AS u ; C AS w FILTER u.v = w.v) WITHIN 3 [ts] EVERY 2 SECONDS",
    "SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE A AS x ; B AS y AGGREGATE "
    "Y[m = max(x.v)] FILTER Y[m > 0] WITHIN 4 EVENTS",
)


@costly
@given(pairs(longest=12), st.sampled_from(TOTALS), COARSE, st.data())
def test_tied_totals_bit_by_bit_and_resumed_eq_whole(
    pair: Pair, text: str, coarse: int, data: st.DataObject
) -> None:
    query, rows = ensue.compile(text), tied(data, pair.rows, coarse)
    if not rows:
        return
    options: dict[str, Any] = {"time": "ts", "time_unit": "s"}
    expected = query.run(table(rows), **options).to_arrow().to_pylist()
    session, found = query.open(**options), []
    with pytest.MonkeyPatch.context() as patch:
        dropping_at_once(patch)
        for piece in cut_small(data, rows):
            found.append(session.push(table(piece)))
            if data.draw(st.booleans()):
                session = query.resume(session.snapshot())
        found.append(session.finish())
    assert [row for each in found for row in each.to_arrow().to_pylist()] == expected
