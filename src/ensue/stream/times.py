"""Times that a user names, in the units of the time column."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa

from ensue.analysis.types import TIME_UNITS
from ensue.errors import EventError
from ensue.messages import Message, Option

Time = int | datetime | date
"""A time: in the units of an integer time column, or an instant."""


def time_in_units(time: Time, kind: pa.DataType, time_unit: str | None) -> int:
    """Return a time as the time column counts it: in its own unit, or in nanoseconds.

    >>> time_in_units(datetime(1970, 1, 1, 0, 0, 2), pa.int64(), "ms")
    2000
    """
    if isinstance(time, int) and not isinstance(time, bool):
        if pa.types.is_integer(kind):
            return time
        raise EventError(f"the time column holds {kind}; pass a datetime, not {time!r}")
    if not isinstance(time, date):
        raise EventError(f"a time is a whole number or a datetime, not {time!r}")
    moment = pa.scalar(time)
    zone = moment.type.tz if pa.types.is_timestamp(moment.type) else None
    nanoseconds: int = moment.cast(pa.timestamp("ns", zone)).value
    if not pa.types.is_integer(kind):
        return nanoseconds
    if time_unit is None:
        raise EventError(
            Message("a datetime on an integer time column needs ", Option("time_unit"))
        )
    return nanoseconds // TIME_UNITS[time_unit]
