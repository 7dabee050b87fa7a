"""Funnels, near misses and stepping on queries with any clauses and operators together."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import event, given

import ensue
from ensue.insight.stepping import step_levels
from ensue.options import Limits, ReadOptions
from tests.effort import costly
from tests.equivalence.test_features import events
from tests.wide import PARAMETERS, Case, wide_cases

READ: dict[str, Any] = {"time": "ts", "time_unit": "s"}


def bound(match: Any) -> tuple[Any, ...]:
    return match.start, match.end, tuple((k, tuple(v)) for k, v in match.bindings.items())


def ready(case: Case) -> tuple[ensue.Query, Any]:
    """Compile the query of a case, and return it with its events."""
    params = {name: value for name, value in PARAMETERS.items() if f"${name}" in case.text}
    return ensue.compile(case.text, params=params), events(case, case.rows, every_stream=True)


@costly
@given(wide_cases())
def test_the_funnel_ends_with_matches_count_and_explains_all_that_stopped(case: Case) -> None:
    if not case.legal or not case.rows:
        return
    query, stream = ready(case)
    found, matches = query.funnel(stream, **READ), query.run(stream, **READ)
    event(f"matches: {matches.count > 0}")
    for before, step in pairwise(found.steps):
        if before.starts is not None and step.starts is not None:
            event(f"stopped: {[each.kind for each in step.endings]}")
            assert before.starts - step.starts == sum(each.starts for each in step.endings)
    if matches.schema.totals is None:
        assert found.matches == matches.count
        return
    counts = [each.name.text for each in case.whole.select.columns if each.counts_matches]
    if counts and case.whole.every is None:
        assert found.matches == sum(row[counts[0]] for row in matches)


@costly
@given(wide_cases())
def test_a_near_miss_is_a_match_without_its_obstacle(case: Case) -> None:
    if not case.legal or not case.rows:
        return
    query, stream = ready(case)
    select = case.whole.select
    matches = set()
    if select.everything and not any(each.counts_matches for each in select.columns):
        matches = {bound(match) for match in query.run(stream, **READ)}
    for miss in query.near_misses(stream, n=3, **READ):
        event(f"kind: {miss.kind}")
        assert bound(miss.match) in {bound(match) for match in miss.relaxed.run(stream, **READ)}
        assert bound(miss.match) not in matches


@costly
@given(wide_cases() | wide_cases(frozenset({"CREATE STREAM AS"})))
def test_what_events_complete_event_by_event_eq_the_matches(case: Case) -> None:
    if not case.legal or not case.rows or case.whole.select.columns:
        return
    query, stream = ready(case)
    levels = step_levels(query, stream, ReadOptions(**READ), Limits())
    assert [each.stream for each in levels] == [each.name.text for each in case.whole.derived] + [
        ""
    ]
    last = levels[-1]
    event(f"levels: {len(levels)}, automaton: {last.automaton is not None}")
    if last.automaton is None:
        return
    ends = Counter(match.end for match in query.run(stream, **READ))
    assert {each.position: each.matches for each in last.moments if each.matches} == ends
    rows = [each.row for each in last.moments]
    assert rows == sorted(rows)
    assert all(0 <= row < len(case.rows) for row in rows)
