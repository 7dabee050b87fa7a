"""Windows inside a pattern that begin where every match does that has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from ensue.logic import formula as f

Clock = Literal["time", "events"]
"""What starts of runs are measured on."""


def first_windows(formula: f.Formula, clock: Clock) -> frozenset[int]:
    """Return the ids of the windows on a clock that begin with the match.

    One that stands in several places of the formula, as in a repetition, is none of them.
    """
    often = Counter(id(each) for each in f.subformulas(formula))
    return frozenset(
        id(each)
        for each in _first(formula)
        if often[id(each)] == 1 and (each.window.kind == "events") == (clock == "events")
    )


def _first(formula: f.Formula) -> Iterator[f.Within]:
    match formula:
        case f.Within(formula=inner):
            yield formula
            yield from _first(inner)
        case f.Sequence(items=items):
            yield from _first(items[0])
        case f.Or(items=items):
            for item in items:
                yield from _first(item)
        case f.Filter(formula=inner) | f.Named(formula=inner) | f.Project(formula=inner):
            yield from _first(inner)
        case f.Aggregate(formula=inner) | f.Unless(formula=inner):
            yield from _first(inner)
        case f.Select(formula=inner, strategy="START" | "STRICT"):
            yield from _first(inner)
