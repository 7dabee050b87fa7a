"""How late an event may come, in the units of its time column."""

from __future__ import annotations

import pyarrow as pa

from ensue.analysis.durations import duration
from ensue.analysis.types import TIME_UNITS
from ensue.errors import EventError
from ensue.messages import Message, Option
from ensue.options import Lateness


def lateness_in_units(lateness: Lateness, kind: pa.DataType, time_unit: str | None) -> int:
    """Return a lateness bound in the units that times are counted in.

    >>> lateness_in_units("10 seconds", pa.int64(), "ms"), lateness_in_units(5, pa.int64(), None)
    (10000, 5)
    """
    if isinstance(lateness, int):
        if pa.types.is_integer(kind):
            return lateness
        raise EventError(
            Message(
                Option("lateness", lateness),
                " has no unit; write ",
                Option("lateness", f"{lateness} seconds"),
            )
        )
    nanoseconds = duration(lateness)
    if not pa.types.is_integer(kind):
        return nanoseconds
    if time_unit is None:
        raise EventError(
            Message("a lateness in time on an integer column needs ", Option("time_unit"))
        )
    return nanoseconds // TIME_UNITS[time_unit]
