"""Several threads find what one finds, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.slicing import Slice, cut
from ensue.language import tree
from tests.conditions import word
from tests.effort import costly
from tests.equivalence.test_engine import SCHEMA, compiled
from tests.equivalence.test_sessions import cut as cut_rows
from tests.pairs import Pair, pairs
from tests.seams import SLICE_GAIN, SLICE_ROWS
from tests.strategies import Language

Row = dict[str, Any]
LANGUAGE = Language(conditions=True, aggregates=True, windows=True)


@pytest.fixture(autouse=True, scope="module")
def _small_slices() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        SLICE_ROWS.put(patch, 2)
        SLICE_GAIN.put(patch, 0)
        yield


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def in_order(matches: ensue.Matches) -> list[tuple[Any, ...]]:
    return [(m.id, m.start, m.end, str(m.bindings), str(m.events())) for m in matches]


def repeated(rows: list[Row], times: int, gap: int) -> list[Row]:
    """Return a stream that goes on with the same events some time later, again and again."""
    if not rows:
        return rows
    first, last = rows[0]["ts"], rows[-1]["ts"]
    return [
        {**row, "ts": row["ts"] + number * (last - first + gap)}
        for number in range(times)
        for row in rows
    ]


@st.composite
def sliceable(draw: st.DrawFn) -> Pair:
    """A query with a window in time, mostly one of those that are read in slices."""
    pair = draw(pairs(LANGUAGE, longest=6))
    plain = draw(st.sampled_from((True, True, True, False)))
    window = tree.Window(draw(st.integers(1, 5)), None, tree.Path((word("ts"),)))
    query = replace(pair.query, window=window)
    if plain:
        query = replace(query, consume=None, select=tree.Selection(None, True, (), ()))
    rows = repeated(pair.rows, draw(st.integers(2, 4)), draw(st.integers(0, 3)))
    return replace(pair, query=query, rows=rows)


@costly
@given(sliceable(), st.integers(2, 5), st.data())
def test_threads_eq_one_thread(pair: Pair, threads: int, data: st.DataObject) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    event(f"sliced: {len(cut(table(rows)['ts'].to_numpy(), window_of(pair), threads)) > 1}")
    one, many = (ready.run(table(rows), threads=each) for each in (1, threads))
    if one.count > 500:
        return
    assert many.stats["nulls"] == one.stats["nulls"]
    expected = in_order(one)
    event(f"matches: {bool(expected)}")
    assert in_order(many) == expected
    assert many.to_arrow().equals(one.to_arrow())
    session = ready.open(threads=threads)
    found = [session.push(table(piece)) for piece in cut_rows(data, rows)]
    found.append(session.finish())
    assert [each for matches in found for each in in_order(matches)] == expected


def window_of(pair: Pair) -> int:
    assert pair.query.window is not None
    return pair.query.window.amount or 0


PAIRS = "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b[v / w > 0] WITHIN 3 [ts]"


def stream(count: int) -> list[Row]:
    return [
        {"type": "AB"[number % 2], "v": number % 5, "w": float(number % 3), "k": "p", "ts": number}
        for number in range(count)
    ]


def test_a_stream_is_read_in_slices_and_nulls_are_counted_once() -> None:
    rows = stream(60)
    assert len(cut(np.arange(60), 3, 4)) == 4
    query = ensue.compile(PAIRS)
    one, many = query.run(table(rows), threads=1), query.run(table(rows), threads=4)
    assert in_order(many) == in_order(one)
    assert many.stats["nulls"] == one.stats["nulls"] > 0


def test_slices_overlap_by_the_window_and_no_more() -> None:
    times = np.arange(100) // 2
    slices = cut(times, 5, 3)
    assert [each.begin for each in slices[1:]] == [each.end for each in slices[:-1]]
    for before, begin, _ in slices[1:]:
        assert times[before] == times[begin] - 5
        assert times[before - 1] < times[begin] - 5


def test_a_window_longer_than_the_batch_is_not_sliced() -> None:
    assert cut(np.arange(100), 100, 4) == [Slice(0, 0, 100)]


@costly
@given(st.integers(1, 8), st.integers(2, 4))
def test_a_budget_stops_at_some_event_and_a_larger_one_goes_on(most: int, threads: int) -> None:
    text = "SELECT * FROM S WHERE (A AS a ; B AS b) FILTER a.v = b.v WITHIN 9 [ts]"
    query, rows = ensue.compile(text), stream(80)
    expected = in_order(query.run(table(rows), threads=1))
    session = query.open(threads=threads, max_configurations=most)
    found: list[tuple[Any, ...]] = []
    try:
        found += in_order(session.push(table(rows)))
    except ensue.BudgetError as error:
        event("stopped")
        found += in_order(error.matches)
        session = query.resume(session.snapshot(), max_configurations=1000)
        found += in_order(session.push(table([])))
    assert found == expected
