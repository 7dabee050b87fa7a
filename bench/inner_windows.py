"""Windows around the part that begins a pattern: time per event must not follow them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.lab import Lab
from bench.measure import Case, row
from bench.queries import WINDOW
from bench.sequences import MILLION, SPEED
from bench.streams import BUSY, Source
from bench.tables import Column, Group, Row, Target, at_most

_FACTORS = (1, 4, 40)
_PLACES = {"first": "({part}) ; BUY AS T3"}


def _query(place: str, length: int) -> str:
    part = f"SELL AS T1 ; BUY AS T2 WITHIN {length} [stock_time]"
    return "\n".join(
        (
            "SELECT * FROM S",
            f"WHERE {_PLACES[place].format(part=part)}",
            "FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'NotExists']",
            f"WITHIN {_FACTORS[-1] * WINDOW} [stock_time]",
        )
    )


def _measure(lab: Lab) -> list[Row]:
    source = Source(MILLION if lab.quick else 4 * MILLION, BUSY)
    rows: list[Row] = []
    for place in _PLACES:
        cases = [Case(place, _query(place, factor * WINDOW // 10), source) for factor in _FACTORS]
        measured = lab.compare(cases)
        first = measured[0].total
        rows += [
            {
                **row(each, window=f"x{factor}"),
                "slower": each.total / first if first and not each.failed else None,
            }
            for factor, each in zip(_FACTORS, measured, strict=True)
        ]
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    longest = [each for each in rows if each["window"] == f"x{_FACTORS[-1]}"]
    return [
        at_most("a window 40 times as long, first", 1.5, each["slower"], "number", "times")
        for each in longest
        if each["query"] == "first"
    ]


GROUP = Group(
    "inner",
    "Windows of 1, 4 and 40 seconds around the first part of a pattern",
    (
        Column("query", "the part stands", "text"),
        Column("window", "window", "text"),
        Column("events", "events", "size"),
        Column("slower", "time to x1"),
        *SPEED,
    ),
    _measure,
    _targets,
)
