"""The choice of SELECT among listed matches of one completing event.

The meaning is that of `logic/reference.choose`, found without comparing every two matches: NEXT
and LAST order supports totally, and for MAX a support is compared only with larger ones that share
its rarest event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from ensue.logic.complex_event import ComplexEvent, Positions
from ensue.logic.formula import Choice


def choose_listed(
    matches: Sequence[ComplexEvent], choice: Choice, completed: set[int]
) -> list[ComplexEvent]:
    """Keep what SELECT chooses of the matches of one completing event, in their order.

    Args:
        matches: all that end there, inside the window and not consumed.
        choice: the strategy.
        completed: for FIRST, the starts that have completed a match before; it is brought up to
            date.
    """
    if choice == "FIRST":
        first = [each for each in matches if each.start not in completed]
        completed.update(each.start for each in first)
        by_start: dict[int, list[ComplexEvent]] = defaultdict(list)
        for each in first:
            by_start[each.start].append(each)
        kept = {(start, _next(group)) for start, group in by_start.items()}
        return [each for each in first if (each.start, each.support) in kept]
    if not matches:
        return []
    best = set(_maximal(matches)) if choice == "MAX" else {_BEST[choice](matches)}
    return [each for each in matches if each.support in best]


def _next(matches: Iterable[ComplexEvent]) -> Positions:
    """Return the support that has the first event that another lacks."""
    return min((each.support for each in matches), key=lambda support: [*sorted(support), inf])


def _last(matches: Iterable[ComplexEvent]) -> Positions:
    """Return the support that has the last event that another lacks."""
    return max((each.support for each in matches), key=lambda each: sorted(each, reverse=True))


_BEST = {"NEXT": _next, "LAST": _last}


def _maximal(matches: Iterable[ComplexEvent]) -> Iterator[Positions]:
    """Give the supports that are part of no other."""
    kept: dict[int, list[Positions]] = defaultdict(list)
    supports = sorted({each.support for each in matches}, key=len, reverse=True)
    for number, support in enumerate(supports):
        rivals = min((kept[position] for position in support), key=len, default=supports[:number])
        if not any(support < other for other in rivals):
            yield support
            for position in support:
                kept[position].append(support)
