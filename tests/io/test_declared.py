"""Dicts that are read by declared types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ensue.io.events import open_events
from tests.io.reading import complaint, generated, read, rows_of


def test_declared_types_hold_from_the_first_chunk_on() -> None:
    events = generated((4096, {"a": 1}), (1, {"a": 2.5}))
    source = open_events(events, types={"a": pa.float64(), "absent": pa.string()})
    assert source.schema == pa.schema([("a", pa.float64())])
    assert rows_of(source)[-1] == {"a": 2.5}


def test_text_is_read_as_the_declared_time_or_decimal() -> None:
    types = {"t": pa.timestamp("us"), "d": pa.date32(), "p": pa.decimal128(20, 2)}
    events = [
        {"t": "2026-01-31T09:30:00.5", "d": "2026-01-31", "p": "27.85"},
        {"t": "2026-01-31T09:30:00+02:00", "d": date(2026, 2, 1), "p": 27.85},
        {"t": datetime(2026, 1, 31, tzinfo=UTC), "d": None, "p": 27},
    ]
    assert read(events, types=types) == [
        {
            "t": datetime(2026, 1, 31, 9, 30, 0, 500000),
            "d": date(2026, 1, 31),
            "p": Decimal("27.85"),
        },
        {"t": datetime(2026, 1, 31, 7, 30), "d": date(2026, 2, 1), "p": Decimal("27.85")},
        {"t": datetime(2026, 1, 31), "d": None, "p": Decimal(27)},
    ]
    (row,) = read([{"t": "2026-01-31"}], types={"t": pa.timestamp("us", "UTC")})
    assert row == {"t": datetime(2026, 1, 31, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("arrow", "value", "part"),
    [
        (pa.timestamp("us"), "soon", "'soon' is not written like 2026-01-31T09:30:00"),
        (pa.date32(), "31.1.2026", "'31.1.2026' is not written like 2026-01-31"),
        (pa.decimal128(20, 2), "much", "'much' is not written like 27.85"),
        (pa.decimal128(20, 2), 1.005, "does not fit into the type decimal"),
        (pa.int64(), "7", "'7' is of type string, but the column is of type int"),
        (pa.int8(), 1000, "1000 does not fit into the type int (int8)"),
        (pa.float64(), "7", "but the column is of type double"),
        (pa.string(), 7, "but the column is of type string"),
    ],
)
def test_values_that_do_not_fit_the_declared_type_are_named(
    arrow: pa.DataType, value: object, part: str
) -> None:
    said = complaint([{"a": value}], types={"a": arrow})
    assert said.startswith("row 0, column 'a': ")
    assert part in said
