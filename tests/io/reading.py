"""Read events, good or bad, in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from ensue.errors import EventError
from ensue.io.events import EventSource, open_events

ROWS = [
    {"type": "BUY", "price": 27.5, "volume": 100},
    {"type": "SELL", "price": None, "volume": 200},
    {"type": "BUY", "price": 28.0, "volume": 300},
]
TABLE = pa.Table.from_pylist(ROWS)


def rows_of(source: EventSource) -> list[dict[str, Any]]:
    return [row for batch in source.batches for row in batch.to_pylist()]


def read(events: object, **options: Any) -> list[dict[str, Any]]:
    return rows_of(open_events(events, **options))


def column_type(events: object, name: str, **options: Any) -> pa.DataType:
    return open_events(events, **options).schema.field(name).type


def complaint(events: object, **options: Any) -> str:
    """Return what is said about bad events, whether on opening or on reading them."""
    with pytest.raises(EventError) as caught:
        read(events, **options)
    return str(caught.value)


def generated(*parts: tuple[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (row for times, row in parts for _ in range(times))
