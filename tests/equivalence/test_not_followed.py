"""NOT FOLLOWED BY on random queries and streams, against the meaning by definition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.engine.session import Session
from ensue.language import tree
from ensue.logic.clauses import answer
from ensue.operators.reference import ReferenceOperator
from ensue.options import Limits, ReadOptions
from ensue.plan.mode import ExecutionMode
from tests.columns import aggregate
from tests.conditions import bound_names, correlated, word
from tests.effort import broad
from tests.equivalence.test_engine import SCHEMA, compiled
from tests.equivalence.test_sessions import cut, table
from tests.pairs import WINDOWS
from tests.strategies import Language, patterns, streams

Row = dict[str, Any]

DEADLINES = (
    tree.Window(1, None, None),
    tree.Window(3, None, None),
    tree.Window(0, None, tree.Path((word("ts"),))),
    tree.Window(2, None, tree.Path((word("ts"),))),
    tree.Window(5, None, tree.Path((word("ts"),))),
)


PLAIN = Language(full=False)


@st.composite
def absences(draw: st.DrawFn, language: Language = PLAIN) -> tree.Query:
    """A small pattern that must not be followed by another, with every clause around it."""
    pattern = draw(patterns(language, 2))
    absent = draw(patterns(PLAIN, 1))
    if draw(st.integers(0, 2)) == 0:
        related = draw(correlated(pattern))
        assert isinstance(related, tree.Unless)
        pattern, absent = related.pattern, related.absent
    names = bound_names(pattern)
    strategies = (None, None, None, None, None, "NEXT", "LAST", "MAX", "STRICT", "FIRST")
    strategy = draw(st.sampled_from(strategies))
    shown, columns = (), ()
    everything = not names or draw(st.integers(0, 2)) > 0
    if not everything:
        shown = (tree.Shown(word(draw(st.sampled_from(names)))),)
    if names and draw(st.integers(0, 3)) == 0:
        path = tree.Path((word(draw(st.sampled_from(names))), word("v")))
        total = aggregate(word("s"), word(draw(st.sampled_from(("sum", "max")))), path)
        columns = (total,)
        if draw(st.booleans()):
            everything, shown = False, ()
            columns = (aggregate(word("n"), word("count"), None), total)
    counts = bool(columns) and columns[0].counts_matches
    return tree.Query(
        (),
        tree.Selection(None if strategy is None else word(strategy), everything, shown, columns),
        (word("S"),),
        pattern,
        draw(st.sampled_from(((), (word("k"),)))),
        draw(st.sampled_from(WINDOWS)),
        draw(st.sampled_from((None, None, None, "ANY", "PARTITION"))),
        None if counts else draw(st.sampled_from((None, None, None, 1))),
        None,
        tree.NotFollowed(absent, draw(st.sampled_from(DEADLINES))),
    )


def told(matches: ensue.Matches) -> list[tuple[Any, ...]]:
    """Say what was found, in the order in which it came."""
    if matches.schema.totals is not None:
        return [(row.time, *row.partition.items(), *row.values.items()) for row in matches]
    return [
        (m.deadline, m.end, m.start, m.id, repr(m.bindings), repr(m.partition)) for m in matches
    ]


def by_definition(query: ensue.Query, rows: list[Row], **how: Any) -> ensue.Matches:
    return find_matches(
        query, rows, ReadOptions(time="ts"), positions_only=False, by_definition=True, **how
    )


def same(query: tree.Query, got: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    """Compare what was found; LIMIT may keep other matches of an event."""
    if query.limit is not None:
        got, wanted = [each[:2] for each in got], [each[:2] for each in wanted]
    assert Counter(got) == Counter(wanted)
    if any(each.counts_matches for each in query.select.columns):
        return
    order = [each[:2] for each in got]
    assert order == [each[:2] for each in wanted], "they come in the order of their deadlines"


def later(data: st.DataObject, rows: list[Row]) -> int | None:
    """Choose how far time comes after the last event."""
    late = data.draw(st.sampled_from((None, 0, 1, 3, 9)))
    return None if late is None else rows[-1]["ts"] + late


@broad
@given(absences(), streams(9), st.data())
def test_engine_eq_reference_with_not_followed_by(
    query: tree.Query, rows: list[Row], data: st.DataObject
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    until = later(data, rows)
    wanted = told(by_definition(ready, rows, until=until))
    same(query, told(ready.run(rows, time="ts", until=until)), wanted)
    fast = find_matches(
        ready, rows, ReadOptions(time="ts"), positions_only=False, compact_always=True, until=until
    )
    same(query, told(fast), wanted)
    assert fast.count == len(wanted)


@given(absences(), streams(9), st.data(), st.booleans())
def test_pieces_snapshots_and_advances_eq_whole_with_not_followed_by(
    query: tree.Query, rows: list[Row], data: st.DataObject, by_kernels: bool
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    mode = ExecutionMode(limits=Limits(), by_definition=not by_kernels)
    session = Session(ready, ReadOptions(time="ts"), mode)
    got: list[tuple[Any, ...]] = []
    seen = 0
    for piece in cut(data, rows):
        got += told(session.push(table(piece)))
        seen += len(piece)
        if data.draw(st.booleans()):
            session = ready.resume(session.snapshot())
        if seen and seen < len(rows) and data.draw(st.booleans()):
            between = rows[seen - 1]["ts"], rows[seen]["ts"]
            got += told(session.advance(data.draw(st.integers(*between))))
    until = later(data, rows)
    got += told(session.finish(at=until))
    same(query, got, told(by_definition(ready, rows, until=until)))


@given(absences(), streams(9), st.data())
def test_batches_by_definition_eq_the_reference_on_the_whole_stream(
    query: tree.Query, rows: list[Row], data: st.DataObject
) -> None:
    ready = compiled(query)
    if ready is None or not rows:
        return
    mode = ExecutionMode(limits=Limits(), by_definition=True)
    session = Session(ready, ReadOptions(time="ts"), mode)
    found = [match for piece in cut(data, rows) for match in session.push(table(piece))]
    (instance,) = session.pipelines[0].instances.values()
    assert isinstance(instance.operator, ReferenceOperator)
    events = to_events(session, rows)
    whole = answer(instance.operator.plan, events)
    if whole.rows or instance.operator.plan.totals is not None:
        assert [row.values for row in found] == [dict(row.totals) for row in whole.rows]
    else:
        assert [m._found.match for m in found] == [each.match for each in whole.matches]


def to_events(session: Session, rows: list[Row]) -> Any:
    """Return all events as the reference reads them."""
    from ensue.stream.reference_events import to_events as read

    pipeline = session.pipelines[0]
    prepared = session.pipelines[0].conformer.read(table(rows))
    assert pipeline.reorder is not None
    batch = pipeline.reorder._batch(
        prepared.batch, table(rows).column("ts").to_numpy().astype("int64")
    )
    return read(batch)


@given(st.lists(absences(), min_size=2, max_size=3), streams(9), st.data())
def test_many_eq_each_alone_with_not_followed_by(
    queries: list[tree.Query], rows: list[Row], data: st.DataObject
) -> None:
    ready = {str(n): each for n, query in enumerate(queries) if (each := compiled(query))}
    if not ready or not rows:
        return
    until = later(data, rows)
    every = ensue.run(dict(ready), rows, time="ts", until=until)
    for name, query in ready.items():
        alone = query.run(rows, time="ts", until=until)
        assert len(told(every[name])) == len(told(alone))
        assert every[name].count == alone.count


@pytest.mark.parametrize("way", ["run", "session"])
def test_there_are_no_matches_of_no_events(way: str) -> None:
    query = ensue.compile("SELECT * FROM S WHERE A NOT FOLLOWED BY B WITHIN 3 [ts]")
    empty = SCHEMA.empty_table()
    matches = query.run(empty) if way == "run" else query.open().push(empty)
    assert matches.count == 0
    assert "deadline" in matches.to_arrow().column_names
