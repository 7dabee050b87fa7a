"""Queries with derived streams by definition: each level on the whole of what it reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa

import ensue
from ensue.analysis.context import Clock
from ensue.analysis.schema import OPEN, from_arrow_schema
from ensue.language.printer import format_query
from ensue.logic.clauses import Found
from ensue.logic.complex_event import ComplexEvent
from ensue.logic.derived import Stage, answer_stages
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from tests.equivalence.test_aggregates import plain
from tests.formulas import events_of
from tests.pairs import Row

Key = tuple[int, int, str]


def described(match: ComplexEvent) -> Key:
    """Write a match; doubles to nine digits."""
    computed = (
        (name, each.place, each.end, [(column, plain(value)) for column, value in each.columns])
        for name, each in match.computed
    )
    return match.start, match.end, f"{sorted(match.bindings)} {sorted(map(str, computed))}"


def found_in(matches: ensue.Matches) -> Counter[Key]:
    """Return what the engine found, in the words of the definition."""
    return Counter(described(match._found.match) for match in matches)


def by_stages(query: ensue.Query, rows: list[Row], events: Any, schema: pa.Schema) -> Counter[Key]:
    """Evaluate all levels on whole streams; ids are those that each level has by itself.

    `events` are the rows as the engine reads them.
    """
    ids: dict[tuple[str, Key], str] = {}
    stages = []
    known = from_arrow_schema(schema) if query.schema is OPEN else query.schema
    for level in query.levels(known, Clock(("ts",), "s", known=True)):
        clauses = make_plan(level.bound, ExecutionMode(by_definition=True)).clauses
        stages.append(Stage(level.name, clauses, frozenset(level.given), level.derived))
        if level.name and level.bound.totals is None:
            tree = replace(level.tree, streams=query.tree.streams)
            text = format_query(tree)
            params = {name: value for name, value in query.params.items() if f"${name}" in text}
            alone = ensue.compile(text, params=params)
            own = events
            if isinstance(events, dict):
                own = {name: events[name] for name in alone.streams}
            matches = alone.run(own, time="ts", time_unit="s")
            ids |= {(level.name, described(match._found.match)): match.id for match in matches}

    def identify(name: str, found: Found) -> str:
        return ids[name, described(found.match)] if name else ""

    stream = [
        replace(each, stream=row.get("stream"))
        for each, row in zip(events_of(rows), rows, strict=True)
    ]
    return Counter(
        described(each.match) for each in answer_stages(stages, stream, identify).matches
    )
