"""Many queries in one pass: each finds what it finds alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from tests import seams
from tests.effort import costly
from tests.equivalence.test_engine import compiled, described
from tests.equivalence.test_sessions import EVERYTHING, cut, everything, table
from tests.pairs import Pair, pairs
from tests.strategies import queries, streams


def ready(drawn: list[Any]) -> dict[str, ensue.Query]:
    """Compile those queries that can be."""
    every = {f"q{number}": compiled(query) for number, query in enumerate(drawn)}
    return {name: query for name, query in every.items() if query is not None}


@contextmanager
def leaving_out(*, always: bool) -> Iterator[None]:
    """Leave out events that concern no query from short stretches too."""
    with pytest.MonkeyPatch.context() as patch:
        if always:
            seams.LONG_BATCH.put(patch, 0)
            seams.MOSTLY_SHARED.put(patch, 1.0)
        yield


several = st.lists(queries(EVERYTHING), min_size=1, max_size=4)


@costly
@given(pairs(EVERYTHING, longest=9), several, st.sampled_from((None, 0, 2)), st.data())
def test_many_eq_alone(
    pair: Pair, others: list[Any], lateness: int | None, data: st.DataObject
) -> None:
    asked, rows = ready([pair.query, *others]), pair.rows
    if not asked or not rows:
        return
    options: dict[str, Any] = {} if lateness is None else {"time": "ts", "lateness": lateness}
    alone = {name: described(query.run(table(rows), **options)) for name, query in asked.items()}
    event(f"queries with matches: {sum(map(bool, alone.values()))}")
    with leaving_out(always=data.draw(st.booleans())):
        whole = ensue.run(asked, table(rows), **options)
        assert {name: described(matches) for name, matches in whole.items()} == alone
        in_pieces(asked, cut(data, rows), data, options, alone)


def in_pieces(
    asked: dict[str, ensue.Query],
    pieces: Any,
    data: st.DataObject,
    options: dict[str, Any],
    alone: dict[str, Any],
) -> None:
    session = ensue.open(asked, **options)
    found: dict[str, list[Any]] = {name: [] for name in asked}
    for piece in pieces:
        for name, matches in session.push(table(piece)).items():
            found[name].append(matches)
        if data.draw(st.booleans()):
            session = ensue.resume(asked, session.snapshot())
    for name, matches in session.finish().items():
        found[name].append(matches)
    assert {name: everything(some) for name, some in found.items()} == alone


@costly
@given(several, several, streams(6), streams(6))
def test_a_query_that_comes_later_sees_what_comes_later(
    early: list[Any], late: list[Any], before: list[Any], after: list[Any]
) -> None:
    first, second = ready(early), {f"late {k}": q for k, q in ready(late).items()}
    if not first or not second or not before or not after:
        return
    start = before[-1]["ts"] + 1
    after = [{**row, "ts": row["ts"] + start} for row in after]
    session = ensue.open(first, time="ts")
    found = {name: [matches] for name, matches in session.push(table(before)).items()}
    for name, query in second.items():
        session.add(name, query)
        found[name] = []
    gone = next(iter(first))
    session.remove(gone)
    for step in (session.push(table(after)), session.finish()):
        for name, matches in step.items():
            found[name].append(matches)
    # Positions go on, whoever looks; ids and events are those of the events themselves.
    for name, query in {**first, **second}.items():
        seen = after if name in second else before if name == gone else before + after
        expected = sorted(each[0] for each in described(query.run(table(seen), time="ts")))
        assert sorted(each[0] for each in everything(found[name])) == expected
