"""The times of derived events: how late they are known, and which columns have times of the input.

The latter matters where integer times become timestamps. They are the start and the end of matches,
deadlines, and what SELECT computes from times alone, such as the latest of some. A difference of
times is another matter: a number so far, and a duration from then on. Events that have one cannot
be kept, and UnsupportedError says so.
"""

from __future__ import annotations

from dataclasses import replace

from ensue.analysis.derived import Level
from ensue.analysis.types import Type
from ensue.predicates.vectors import UnsupportedError
from ensue.stream.time_scale import TimeScale

_NUMBERS = {Type.INT, Type.DOUBLE, Type.DECIMAL}


def scale_of(old: Level, new: Level, scale: TimeScale) -> TimeScale:
    """Return how the times are counted anew of the events that a level reads."""
    times = set[str]()
    for stream in new.derived:
        for name in new.bound.schema.names({stream}):
            path = tuple(name.split("."))
            before = old.bound.schema.type_of(path, {stream})
            after = new.bound.schema.type_of(path, {stream})
            if before is Type.INT and after is Type.TIMESTAMP:
                times.add(name)
            elif before is Type.INT and after not in _NUMBERS:
                raise UnsupportedError(f"'{name}' of '{stream}' is a difference of times")
    return replace(scale, derived=frozenset(times))


def lag_behind(source: Level, lag: int | None) -> int | None:
    """Return how late, at most, the matches of a level are known, after their times.

    `lag` is how late its own events are; None: that is not known.
    """
    absence = source.bound.not_followed
    if absence is None or lag is None:
        return lag
    return None if absence.window.kind == "events" else lag + absence.window.size
