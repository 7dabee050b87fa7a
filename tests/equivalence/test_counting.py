"""Counting without listing: against the meaning by definition, and against listing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.schema import from_arrow_schema
from ensue.engine.run import find_matches
from ensue.language import tree
from ensue.options import ReadOptions
from ensue.plan.physical import make_plan
from ensue.results.matches import Matches
from tests.columns import aggregate, varied
from tests.conditions import bound_names, word
from tests.effort import broad
from tests.equivalence.test_engine import SCHEMA, compiled
from tests.pairs import Pair, pairs
from tests.strategies import Language

WITH_CONDITIONS = Language(conditions=True)
EVERY = tree.Duration(((4, word("SECONDS")),))


@st.composite
def counting(draw: st.DrawFn, language: Language | None = None, longest: int = 7) -> Pair:
    """A random query that counts, with a few columns beside, and a stream for it."""
    pair = draw(pairs(language, longest))
    query = pair.query
    names = bound_names(query.pattern)
    columns = [aggregate(word("n"), word("count"), None)]
    for index in range(draw(st.integers(0, 3))):
        function = draw(st.sampled_from(("sum", "avg", "min", "max", "count")))
        choices = ("v", "w") if function in ("sum", "avg") else ("v", "w", "k")
        path: tuple[str, ...] = (draw(st.sampled_from(names)), draw(st.sampled_from(choices)))
        if function == "count" and draw(st.booleans()):
            path = path[:1]
        argument = tree.Path(tuple(map(word, path)))
        column = aggregate(word(f"c{index}"), word(function), argument)
        columns.append(column if path[-1] == "k" else draw(varied(column)))
    select = tree.Selection(query.select.strategy, False, (), tuple(columns))
    every = draw(st.sampled_from((None, None, None, EVERY)))
    return Pair(replace(query, select=select, every=every), pair.rows)


ANY_COUNTING = st.one_of(counting(WITH_CONDITIONS), counting(Language(aggregates=True)))
"""Conditions between events, and filters on aggregates: counted on the graph, or listed."""

OPTIONS = ReadOptions(time="ts", time_unit="s")


def counted(query: ensue.Query, rows: object, **how: Any) -> list[dict[str, Any]]:
    how.setdefault("positions_only", False)
    return table_of(find_matches(query, rows, OPTIONS, **how))


def table_of(matches: Matches) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = matches.to_arrow().to_pylist()
    return rows


def close(a: Any, b: Any) -> bool:
    """Tell whether two totals agree: whole numbers exactly, doubles nearly."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    return len(found) == len(expected) and all(
        a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
        for a, b in zip(found, expected, strict=True)
    )


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


@broad
@given(counting())
def test_counted_eq_reference(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    expected = counted(ready, table(pair.rows), by_definition=True)
    most = max((row["n"] for row in expected), default=0)
    event(f"matches of an event: {'three or more' if most > 2 else most}")
    assert same(counted(ready, table(pair.rows)), expected)


@given(st.one_of(counting(longest=9), ANY_COUNTING))
def test_exact_eq_reference(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    expected = counted(ready, table(pair.rows), by_definition=True)
    assert same(counted(ready, table(pair.rows), exact=True), expected)


@given(ANY_COUNTING)
def test_counted_eq_reference_with_conditions(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    expected = counted(ready, table(pair.rows), by_definition=True)
    assert same(counted(ready, table(pair.rows)), expected)


@given(pairs(longest=9))
def test_counted_eq_listed(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows or pair.query.select.shown:
        return
    listed = Counter(m.end for m in ready.run(table(pair.rows)))
    select = tree.Selection(
        pair.query.select.strategy,
        False,
        (),
        (aggregate(word("n"), word("count"), None),),
    )
    count = compiled(replace(pair.query, select=select))
    assert count is not None
    found = table_of(count.run(table(pair.rows)))
    assert [row["n"] for row in found] == [listed[end] for end in sorted(listed)]


@given(st.one_of(counting(longest=9), ANY_COUNTING), st.data())
def test_counted_in_pieces_eq_whole(pair: Pair, data: st.DataObject) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, len(pair.rows)), max_size=4)))
    whole = table(pair.rows)
    batches = [
        batch
        for start, end in zip([0, *cuts], [*cuts, len(pair.rows)], strict=True)
        for batch in whole.slice(start, end - start).to_batches()
    ]
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches)
    assert same(counted(ready, reader), counted(ready, whole))


@given(st.one_of(counting(longest=9), ANY_COUNTING), st.booleans(), st.data())
def test_resumed_eq_uninterrupted(pair: Pair, exact: bool, data: st.DataObject) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    cut = data.draw(st.integers(0, len(pair.rows)))
    whole = table(pair.rows)
    session = ready.open(time="ts", time_unit="s", exact=exact)
    found = table_of(session.push(whole.slice(0, cut)))
    session = ready.resume(session.snapshot())
    found += table_of(session.push(whole.slice(cut))) + table_of(session.finish())
    assert same(found, counted(ready, whole, exact=exact))


# --- longer streams --------------------------------------------------------------------------


def slow_counts(types: str, window: int) -> dict[int, int]:
    """Count the matches of A ; (A OR B)+ ; A by their ends, one start after another."""
    found: dict[int, int] = {}
    for start, kind in enumerate(types):
        if kind != "A":
            continue
        waiting, inside = 1, 0
        for end in range(start + 1, min(start + window + 1, len(types))):
            if types[end] == "A" and inside:
                found[end] = found.get(end, 0) + inside
            inside += waiting + inside
    return found


@pytest.mark.parametrize("window", [3, 17, 60])
@pytest.mark.parametrize("exact", [False, True])
def test_windows_slide_over_long_streams(window: int, exact: bool) -> None:
    types = "ABAABBBAXABAAAB" * 20
    query = ensue.compile(
        f"SELECT count(*) AS n FROM S WHERE A ; (A OR B OR X)+ ; A WITHIN {window} EVENTS"
    )
    found = query.run([{"type": kind} for kind in types], exact=exact)
    most = 10**30 if exact else 2**63 - 1
    expected = {end: min(n, most) for end, n in sorted(slow_counts(types, window).items())}
    assert {row.time: row["n"] for row in found} == expected


def test_counts_saturate_unless_they_are_exact() -> None:
    events = [{"type": "A", "v": 1} for _ in range(70)]
    query = ensue.compile("SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE A+ AS x WITHIN 1 HOUR")
    options: dict[str, Any] = {"time": "t", "time_unit": "s"}
    rows = [{**each, "t": t} for t, each in enumerate(events)]
    assert [row["n"] for row in query.run(rows, **options)] == [
        min(2**i, 2**63 - 1) for i in range(70)
    ]
    exact = list(query.run(rows, **options, exact=True))
    assert [row["n"] for row in exact] == [2**i for i in range(70)]
    # The i + 1 events are each bound by half of the matches, the last one by all.
    sums = [2**i + i * 2**i // 2 for i in range(70)]
    assert [row["s"] for row in exact] == [each if each < 2**63 else None for each in sums]
    assert [row["s"] for row in query.run(rows, **options)] == [row["s"] for row in exact]


def test_sums_that_cancel_are_exact() -> None:
    rows = [{"type": "A", "v": v} for v in [2**62, -(2**62)] * 6 + [7]]
    query = ensue.compile("SELECT count(*) AS n, sum(x.v) AS s FROM S WHERE A{13} AS x")
    assert [row["s"] for row in query.run(rows)] == [7]


def test_large_exact_counts_in_a_table() -> None:
    query = ensue.compile("SELECT count(*) AS n FROM S WHERE A+ WITHIN 300 EVENTS")
    found = query.run([{"type": "A"}] * 200, exact=True).to_arrow()
    assert found.column("n").to_pylist()[-1] == 2**199


def test_down_trends_are_counted_on_the_match_graph() -> None:
    query = ensue.compile(
        "SELECT count(*) AS n FROM S WHERE (A+ AS x) "
        "FILTER x[same(k)] AND x[decreasing(v)] WITHIN 6 EVENTS"
    )
    values = [5, 3, 4, 2, 6, 1, 3, 0, 2, 5, 1, 4]
    rows = [
        {"type": "A", "v": v, "w": 0.5, "k": "pq"[i % 2], "ts": i} for i, v in enumerate(values)
    ]
    bound = query.bind(from_arrow_schema(SCHEMA, closed=True), Clock(known=True))
    assert make_plan(bound).operator == "count on the graph"
    assert counted(query, table(rows)) == counted(query, table(rows), by_definition=True)


def test_strategies_and_unless_are_counted_by_the_automaton() -> None:
    query = ensue.compile("SELECT count(*), sum(x.v) FROM S WHERE MAX((A AS x)+ ; B UNLESS C)")
    assert make_plan(query.bind(query.schema, Clock())).operator == "count"


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("pqrs")), max_size=30), st.data())
def test_strings_keep_their_order_as_more_of_them_come(
    events: list[tuple[str, str]], data: st.DataObject
) -> None:
    rows = [{"type": kind, "v": 0, "w": 0.5, "k": k, "ts": t} for t, (kind, k) in enumerate(events)]
    query = ensue.compile(
        "SELECT count(*) AS n, min(x.k) AS low, max(x.k) AS high "
        "FROM S WHERE (A AS x)+ ; B WITHIN 5 EVENTS"
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = [
        batch
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
        for batch in table(rows).slice(start, end - start).to_batches()
    ]
    found = query.run(pa.RecordBatchReader.from_batches(SCHEMA, pieces))
    expected = counted(query, table(rows), by_definition=True) if len(rows) < 14 else None
    whole = table_of(query.run(table(rows)))
    assert table_of(found) == whole
    assert expected is None or whole == expected
