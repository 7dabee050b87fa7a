"""Longer windows: time per event must not follow the number of events in the window."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import LENGTHS, WINDOW, sequence
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_most

_FACTORS = (1, 2, 4, 40)


def _measure(lab: Lab) -> list[Row]:
    source = Source(MILLION if lab.quick else 10 * MILLION, BUSY)
    rows = []
    ends = (LENGTHS[0], LENGTHS[-1])
    never = [(length, True) for length in (ends if lab.quick else LENGTHS)]
    for length, primed in [*never, *((length, False) for length in ends)]:
        name = f"S{length}'" if primed else f"S{length}"
        cases = [
            Case(name, sequence(length, never=primed, window=factor * WINDOW), source)
            for factor in _FACTORS
        ]
        measured = lab.compare(cases)
        first = measured[0].total
        rows += [
            {
                **row(each, window=f"x{factor}"),
                "in_window": min(int(factor * WINDOW / 1000 * BUSY), source.events),
                "slower": each.total / first if first and not each.failed else None,
            }
            for factor, each in zip(_FACTORS, measured, strict=True)
        ]
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    longest = [each for each in rows if each["window"] == f"x{_FACTORS[-1]}"]
    return [
        at_most(
            f"{each['query']}, a window 40 times as long", 1.5, each["slower"], "number", "times"
        )
        for each in longest
    ]


GROUP = Group(
    "windows",
    "Windows of 10, 20, 40 and 400 seconds at 4,800 events a second",
    (
        Column("query", "query", "text"),
        Column("window", "window", "text"),
        Column("in_window", "in the window", "size"),
        Column("events", "events", "size"),
        Column("slower", "time to x1"),
        *SPEED,
    ),
    _measure,
    _targets,
)
