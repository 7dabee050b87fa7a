"""How late an event may come, in the units of its time column."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pyarrow as pa

from ensue.analysis.types import NANOSECONDS, TIME_UNITS
from ensue.errors import EventError

_LATENESS = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*")
_SHORT = {"h": "HOUR", "m": "MINUTE", "min": "MINUTE", "d": "DAY", "sec": "SECOND"}


def lateness_in_units(
    lateness: int | str | timedelta, kind: pa.DataType, time_unit: str | None
) -> int:
    """Return a lateness bound in the units that times are counted in.

    >>> lateness_in_units("10 seconds", pa.int64(), "ms"), lateness_in_units(5, pa.int64(), None)
    (10000, 5)
    """
    if isinstance(lateness, int):
        if pa.types.is_integer(kind):
            return lateness
        raise EventError(f"lateness={lateness} has no unit; write '{lateness} seconds'")
    length = nanoseconds(lateness)
    if not pa.types.is_integer(kind):
        return length
    if time_unit is None:
        raise EventError("a lateness in time on an integer column needs time_unit=")
    return length // TIME_UNITS[time_unit]


def nanoseconds(lateness: Any) -> int:
    """Return a duration in nanoseconds, such as '10 seconds', '500 ms' or a timedelta.

    >>> nanoseconds("1.5s"), nanoseconds(timedelta(microseconds=2))
    (1500000000, 2000)
    """
    if isinstance(lateness, timedelta):
        return lateness // timedelta(microseconds=1) * 1000
    found = _LATENESS.fullmatch(lateness)
    if found is not None:
        unit = found[2]
        if unit in TIME_UNITS:
            return int(float(found[1]) * TIME_UNITS[unit])
        singular = _SHORT.get(unit, unit.upper().removesuffix("S"))
        if singular in NANOSECONDS:
            return int(float(found[1]) * NANOSECONDS[singular])
    raise EventError(f"lateness={lateness!r} is not a duration; write '10 seconds' or '500 ms'")
