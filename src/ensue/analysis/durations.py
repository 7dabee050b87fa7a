"""Lengths of time as users write them."""

from __future__ import annotations

import re
from datetime import timedelta

from ensue.analysis.types import NANOSECONDS, TIME_UNITS
from ensue.messages import Message, Option

_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*")
_SHORT = {"h": "HOUR", "m": "MINUTE", "min": "MINUTE", "d": "DAY", "sec": "SECOND"}


def duration(lateness: str | timedelta, name: str = "lateness") -> int:
    """Return a length of time, such as a lateness bound, in nanoseconds.

    >>> duration("1.5 s"), duration(timedelta(milliseconds=2))
    (1500000000, 2000000)
    """
    if isinstance(lateness, timedelta):
        return lateness // timedelta(microseconds=1) * 1000
    found = _DURATION.fullmatch(str(lateness))
    if found is not None:
        unit = found[2]
        if unit in TIME_UNITS:
            return int(float(found[1]) * TIME_UNITS[unit])
        singular = _SHORT.get(unit, unit.upper().removesuffix("S"))
        if singular in NANOSECONDS:
            return int(float(found[1]) * NANOSECONDS[singular])
    raise ValueError(
        Message(Option(name, lateness), " is not a duration; write '10 seconds' or '500 ms'")
    )
