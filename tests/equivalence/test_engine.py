"""The fast path against the meaning by definition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.errors import CeqlError
from ensue.language import tree
from ensue.language.printer import format_query
from ensue.options import ReadOptions
from ensue.results.matches import Matches
from tests.effort import broad
from tests.pairs import Pair, pairs
from tests.strategies import Language, queries, streams


def found(matches: Matches) -> Counter[tuple[Any, ...]]:
    """Return the matches, however they are ordered; a match that comes twice counts twice."""
    return Counter(
        (m.start, m.end, tuple(m.positions), tuple((k, tuple(v)) for k, v in m.bindings.items()))
        for m in matches
    )


def compiled(query: tree.Query) -> ensue.Query | None:
    try:
        return ensue.compile(format_query(query))
    except CeqlError:
        return None


def run(query: ensue.Query, rows: list[dict[str, Any]], **how: Any) -> Matches:
    how.setdefault("positions_only", False)
    return find_matches(query, rows, ReadOptions(), **how)


def note(matches: Matches) -> None:
    """Say how much a pair of query and stream shows."""
    longest = max((len(m.positions) for m in matches), default=0)
    event(f"longest match: {'three or more' if longest > 2 else longest}")


@broad
@given(pairs(), st.booleans())
def test_engine_eq_reference(pair: Pair, positions_only: bool) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    fast = run(ready, rows, positions_only=positions_only)
    note(expected)
    assert found(fast) == found(expected)
    assert fast.count == expected.count
    assert fast.to_arrow().num_rows == expected.count


@given(
    st.one_of(pairs(Language(windows=True)), pairs(Language(windows=True, conditions=True))),
    st.booleans(),
    st.booleans(),
)
def test_engine_eq_reference_with_windows_inside(
    pair: Pair, positions_only: bool, compact_always: bool
) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    event(f"matches: {expected.count > 0}, operator: {ready.plan.operator}")
    fast = run(ready, rows, positions_only=positions_only, compact_always=compact_always)
    assert found(fast) == found(expected)


@given(queries(Language()), streams(7), st.booleans())
def test_engine_eq_reference_on_streams_that_know_nothing_of_the_query(
    query: tree.Query, rows: list[dict[str, Any]], positions_only: bool
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    assert found(run(ready, rows, positions_only=positions_only)) == found(expected)


@given(pairs())
def test_compacted_at_every_event_eq_not_compacted(pair: Pair) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    assert found(run(ready, rows, compact_always=True)) == found(run(ready, rows))


@given(pairs(), st.integers(1, 3))
def test_limited_is_the_latest_and_some_of_the_rest(pair: Pair, limit: int) -> None:
    whole, rows = compiled(pair.query), pair.rows
    if whole is None or not rows:
        return
    limited = ensue.compile(f"{whole}\nLIMIT {limit}")
    every = run(whole, rows, by_definition=True)
    kept = run(limited, rows)
    assert found(kept) <= found(every)
    ends = Counter(m.end for m in every)
    assert Counter(m.end for m in kept) == {end: min(n, limit) for end, n in ends.items()}
    for end in ends:
        latest = max(m.start for m in every if m.end == end)
        assert next(m.start for m in kept if m.end == end) == latest
    assert kept.count == len(list(kept))


@given(pairs(longest=9), st.data())
def test_chunked_eq_whole(pair: Pair, data: st.DataObject) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    table = pa.Table.from_pylist(rows, SCHEMA)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = [
        table.slice(start, end - start)
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]
    batches = [batch for piece in pieces for batch in piece.to_batches()]
    whole = ready.run(table)
    chunked = ready.run(pa.RecordBatchReader.from_batches(SCHEMA, batches))
    assert described(chunked) == described(whole)


SCHEMA = pa.schema(
    {"type": pa.string(), "v": pa.int64(), "w": pa.float64(), "k": pa.string(), "ts": pa.int64()}
)


def described(matches: Matches) -> list[tuple[Any, ...]]:
    """Return all there is to say about matches, events and ids included."""
    return sorted((m.id, m.start, m.end, str(m.bindings), str(m.events())) for m in matches)
