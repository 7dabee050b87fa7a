"""Read text as the declared timestamp, date or decimal, which JSON has no other way to say."""

from __future__ import annotations

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
