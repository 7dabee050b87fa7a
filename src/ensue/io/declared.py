"""Strings parsed as timestamps, dates and decimals, for which JSON has no types."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ensue.io.places import Place, show


def as_declared(values: list[Any], wanted: pa.DataType, place: Place) -> list[Any]:
    """Parse the texts in a column of the wanted type; leave everything else as it is."""
    if isinstance(wanted, pa.TimestampType):
        parsed = _parsed(values, datetime.fromisoformat, "2026-01-31T09:30:00", place)
        return [_in_zone(value, wanted.tz is not None) for value in parsed]
    if pa.types.is_date(wanted):
        return _parsed(values, date.fromisoformat, "2026-01-31", place)
    if pa.types.is_decimal(wanted):
        # The shortest text of a double is what was written, up to 15 digits.
        texts = [repr(value) if isinstance(value, float) else value for value in values]
        return _parsed(texts, Decimal, "27.85", place)
    return values


def _in_zone(value: Any, aware: bool) -> Any:
    if not isinstance(value, datetime) or (value.tzinfo is not None) == aware:
        return value
    return value.replace(tzinfo=UTC) if aware else value.astimezone(UTC).replace(tzinfo=None)


def _parsed(
    values: list[Any], parse: Callable[[str], object], example: str, place: Place
) -> list[Any]:
    parsed = list(values)
    for index, value in enumerate(values):
        if isinstance(value, str):
            try:
                parsed[index] = parse(value)
            except (ValueError, ArithmeticError) as error:
                problem = f"{show(value)} is not written like {example}"
                raise place.error(index, problem) from error
    return parsed


_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?P<time>[T ]\d\d:\d\d(:\d\d(?P<fraction>\.\d{1,9})?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)


def times_in(values: list[Any], known: pa.DataType, place: Place) -> pa.Array[Any] | None:
    """Return ISO times or dates as such; None if the column has other values.

    The first text decides; once it is a time, all of the column are.
    """
    if pa.types.is_null(known):
        first = next((each for each in values if each is not None), None)
        found = _TIME.fullmatch(first) if isinstance(first, str) else None
        if found is None:
            return None
        unit: Any = "us" if found["fraction"] is None else "ns"
        known = pa.timestamp(unit, "UTC" if found["zone"] else None)
        if found["time"] is None:
            known = pa.date32()
    if not (pa.types.is_timestamp(known) or pa.types.is_date(known)):
        return None
    if not all(isinstance(each, str | None) for each in values):
        return None
    try:
        return pa.array(values, pa.string()).cast(known)
    except pa.ArrowInvalid as error:
        for index, value in enumerate(values):
            try:
                pa.scalar(value, pa.string()).cast(known)
            except pa.ArrowInvalid:
                problem = (
                    f"{show(value)} is not a {_name(known)}, as the column is since its first "
                    "value; write all values alike, or declare it as string"
                )
                raise place.error(index, problem) from error
        raise


def _name(known: pa.DataType) -> str:
    if isinstance(known, pa.TimestampType):
        return "time with a zone" if known.tz else "time without a zone"
    return "date"


def formatted_times(values: list[Any], format: str, place: Place) -> pa.Array[Any]:
    """Parse strings in a format of strptime as times."""
    aware = "%z" in format
    times: list[Any] = []
    for index, value in enumerate(values):
        try:
            found = None if value is None else datetime.strptime(str(value), format)
        except ValueError as error:
            problem = f"{show(value)} is not a time in the format {format}"
            raise place.error(index, problem) from error
        times.append(found)
    return pa.array(times, pa.timestamp("us", "UTC" if aware else None))
