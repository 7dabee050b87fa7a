"""AGGREGATE and computed columns on the fast path, against the meaning by definition."""

from __future__ import annotations

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
from tests.effort import costly, drawn
from tests.equivalence.test_engine import SCHEMA, compiled
from tests.pairs import Pair, collected, pairs
from tests.strategies import Language

PLAIN = Language(contiguous=True, full=True)
NESTED = Language(aggregates=True)
NESTED_CONDITIONS = Language(aggregates=True, conditions=True)
FUNCTIONS = ("sum", "count", "min", "max", "avg", "range", "first", "last", "stddev")
FUNCTIONS += ("product", "median", "percentile", "list", "count distinct")
ON_STRINGS = ("count", "min", "max", "first", "list", "count distinct")


@st.composite
def aggregated(
    draw: st.DrawFn,
    language: Language = PLAIN,
    *,
    filtered: bool | None = None,
    strict: bool = False,
) -> Pair:
    """A random query with an AGGREGATE at the top, often filtered and projected.

    With `strict`, what it finds has no gap in its partition, and the partitions are interleaved.
    """
    pair = draw(pairs(language, partitioned=True) if strict else pairs(language))
    query = pair.query
    if strict:
        operator = draw(st.sampled_from(("STRICT", "STRICT", "NEXT", "LAST", "MAX")))
        query = replace(query, pattern=tree.Applied(word(operator), query.pattern))
        query = replace(query, select=replace(query.select, strategy=word("STRICT")))
    names = bound_names(query.pattern)
    columns = []
    for index in range(draw(st.integers(1, 3))):
        function = draw(st.sampled_from(FUNCTIONS))
        attributes = ("v", "w", "k") if function in ON_STRINGS else ("v", "w")
        path = (draw(st.sampled_from(names)), draw(st.sampled_from(attributes)))
        argument = tree.Path(tuple(map(word, path)))
        # Below there may be a Y whose b0 and b1 are numbers.
        letter = "t" if path[1] == "k" or function == "list" else "b"
        column = aggregate(word(f"{letter}{index}"), word(function), argument)
        columns.append(column if path[1] == "k" else draw(varied(column)))
    numbers = list(filter(_is_number, columns))
    pattern: tree.Pattern = tree.Aggregated(query.pattern, word("Y"), tuple(columns))
    if numbers and (draw(st.booleans()) if filtered is None else filtered):
        name = draw(st.sampled_from(numbers)).name
        sign = draw(st.sampled_from(("=", "=", "<", ">", ">=")))
        limit = draw(st.sampled_from((2, 1, 3)))
        condition = tree.Comparison(sign, tree.Path((name,)), tree.Constant(limit))
        pattern = tree.Filtered(pattern, tree.Restriction(word("Y"), condition))
    if filtered is None and draw(st.integers(0, 2)) == 0:
        kept = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        pattern = tree.Projected(pattern, tuple(map(word, ["Y", *kept])))
        everything = replace(EVERYTHING, strategy=query.select.strategy)
        return Pair(replace(query, pattern=pattern, select=everything), pair.rows)
    select = query.select
    if filtered is None and draw(st.booleans()):
        own = tuple(replace(each, name=word(f"s_{each.name.text}")) for each in columns)
        select = replace(select, columns=own)
    return Pair(replace(query, pattern=pattern, select=select), pair.rows)


EVERYTHING = tree.Selection(None, True, (), ())


def _is_number(column: tree.Column) -> bool:
    call = column.expression
    if not isinstance(call, tree.Call) or not isinstance(call.arguments[0], tree.Path):
        return True
    if call.function.text == "list":
        return False
    return call.function.text == "count" or call.arguments[0].names[-1] != "k"


def plain(value: Any) -> Any:
    """Write a value so that doubles agree to nine digits; the sum of no doubles is a 0."""
    if isinstance(value, float):
        short = float(f"{value:.9g}")
        return int(short) if short.is_integer() else short
    return value


def found(matches: Matches) -> Counter[str]:
    """Return the matches with what is computed, doubles to nine digits."""
    every = []
    for m in matches:
        computed = {
            name: sorted(
                str({column: plain(value) for column, value in each.items()})
                for each in m.computed(name or None)
            )
            for name in matches.schema.computed
        }
        made = sorted((name, y.place, y.end) for name, y in m._found.match.computed)
        every.append(str((m.start, m.end, m.bindings, sorted(computed.items()), made)))
    return Counter(every)


def run(query: ensue.Query, rows: list[dict[str, Any]], **how: Any) -> Matches:
    table = pa.Table.from_pylist(rows, SCHEMA)
    return find_matches(query, table, ReadOptions(), positions_only=False, **how)


def check(pair: Pair) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    expected = run(ready, pair.rows, by_definition=True)
    fast = run(ready, pair.rows)
    bound = ready.bind(from_arrow_schema(SCHEMA, closed=True), Clock(known=True))
    event(f"operator: {make_plan(bound).operator}")
    event(f"matches: {min(expected.count, 2)}")
    assert found(fast) == found(expected)
    assert fast.count == expected.count
    assert bool(fast) == bool(expected)
    ours, theirs = fast.to_arrow(), expected.to_arrow()
    assert ours.schema == theirs.schema or not theirs.num_rows
    assert ours.num_rows == theirs.num_rows
    starts: dict[int, int] = {}
    for m in fast:
        assert m.start <= starts.setdefault(m.end, m.start), "the first has the latest start"


@given(aggregated())
def test_aggregates_at_the_top_eq_reference(pair: Pair) -> None:
    check(pair)


@given(aggregated(Language(conditions=True)))
def test_aggregates_over_conditions_eq_reference(pair: Pair) -> None:
    check(pair)


@given(st.one_of(pairs(NESTED), pairs(NESTED), pairs(NESTED_CONDITIONS)))
def test_aggregates_anywhere_eq_reference(pair: Pair) -> None:
    check(pair)


@pytest.mark.adequacy
def test_few_aggregates_need_the_definition() -> None:
    """Only where values decide which runs compete: inside NEXT, LAST, MAX, UNLESS.

    Conditions right of UNLESS that name computed events of its left are some of these.
    """
    ways: Counter[bool] = Counter()
    for pair in collected(150, 11, drawn=pairs(NESTED)):
        ready = compiled(pair.query)
        if ready is not None:
            bound = ready.bind(from_arrow_schema(SCHEMA, closed=True), Clock(known=True))
            ways[make_plan(bound).operator == "match"] += 1
    assert ways[True] > 100
    assert ways[False] <= 0.06 * ways.total()


@costly
@given(st.one_of(aggregated(), pairs(NESTED)), st.integers(1, 3))
def test_limited_aggregates_are_some_of_all(pair: Pair, limit: int) -> None:
    whole = compiled(pair.query)
    if whole is None or not pair.rows:
        return
    limited = ensue.compile(f"{whole}\nLIMIT {limit}")
    every, kept = run(whole, pair.rows, by_definition=True), run(limited, pair.rows)
    assert found(kept) <= found(every)
    ends = Counter(m.end for m in every)
    assert Counter(m.end for m in kept) == {end: min(n, limit) for end, n in ends.items()}


@costly
@given(st.one_of(aggregated(), pairs(NESTED)), st.data())
def test_aggregates_in_pieces_eq_whole(pair: Pair, data: st.DataObject) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    table = pa.Table.from_pylist(pair.rows, SCHEMA)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(pair.rows)), max_size=4)))
    batches = [
        batch
        for start, end in zip([0, *cuts], [*cuts, len(pair.rows)], strict=True)
        for batch in table.slice(start, end - start).to_batches()
    ]
    chunked = ready.run(pa.RecordBatchReader.from_batches(SCHEMA, batches))
    assert found(chunked) == found(ready.run(table))


@pytest.mark.adequacy
def test_filters_on_aggregates_matter() -> None:
    """At least half of the random queries find something else without their filter."""
    seen: list[bool] = []
    for pair in drawn(aggregated(filtered=True), 120, 7):
        pattern = pair.query.pattern
        if not pair.rows or not isinstance(pattern, tree.Filtered):
            continue
        filtered = compiled(pair.query)
        bare = compiled(replace(pair.query, pattern=pattern.pattern))
        if filtered is not None and bare is not None and run(bare, pair.rows).count:
            seen.append(found(run(filtered, pair.rows)) != found(run(bare, pair.rows)))
    assert len(seen) > 30
    assert sum(seen) >= len(seen) / 2


@costly
@given(st.one_of(aggregated(), pairs(NESTED)), st.data())
def test_aggregates_resumed_eq_uninterrupted(pair: Pair, data: st.DataObject) -> None:
    ready = compiled(pair.query)
    if ready is None or not pair.rows:
        return
    table = pa.Table.from_pylist(pair.rows, SCHEMA)
    cut = data.draw(st.integers(0, len(pair.rows)))
    session = ready.open()
    before = found(session.push(table.slice(0, cut)))
    session = ready.resume(session.snapshot())
    after = found(session.push(table.slice(cut))) + found(session.finish())
    assert before + after == found(ready.run(table))
