"""Other operators: Q1 to Q7 of [CORE]'s Appendix G, and Kleene plus without any filter."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import OPERATORS, together, unfiltered
from bench.sequences import MILLION, SPEED, sizes
from bench.streams import BUSY, Source, real_path
from bench.tables import Column, Group, Row, Target, at_least

_ALL = "SELL;(BUY OR SELL)+;SELL"
_GENERATED, _REAL = "generated", "real day"


def _measure(lab: Lab) -> list[Row]:
    rows = []
    for events in sizes(lab):
        source = Source(events, BUSY)
        cases = [Case(name, query, source) for name, query in OPERATORS.items()]
        cases.append(Case(_ALL, unfiltered(), source))
        rows += [row(lab.measure(case), stream=_GENERATED) for case in cases]
    few = Source(MILLION // 20, BUSY)
    cases = [Case(f"ALL of {count}", together(count), few) for count in (5, 6, 7, 8, 9)]
    rows += [row(lab.measure(case), stream=_GENERATED) for case in cases]
    if real_path() is not None:
        day = Source(224_473, real=True)
        cases = [Case(name, query, day) for name, query in OPERATORS.items()]
        rows += [row(lab.measure(case), stream=_REAL) for case in cases]
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    reached = {
        each["query"]: each.get("rate")
        for each in rows
        if each["events"] == MILLION and each["stream"] == _GENERATED
    }
    return [
        at_least("Q7 on 1M events", 10e6, reached.get("Q7"), "rate", "events/s"),
        at_least(f"{_ALL} on 1M events", 2e6, reached.get(_ALL), "rate", "events/s"),
    ]


GROUP = Group(
    "operators",
    "Other operators; 'found' are the events that complete matches",
    (
        Column("query", "query", "text"),
        Column("stream", "stream", "text"),
        Column("events", "events", "size"),
        Column("found", "found", "count"),
        *SPEED,
    ),
    _measure,
    _targets,
)
