"""Arrow columns as plain Python values: instants in nanoseconds, NaN as NULL."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.errors import EventError


def to_nanoseconds(column: pa.ChunkedArray) -> np.ndarray:
    """Return timestamps or dates, none of them NULL, as nanoseconds from the epoch."""
    try:
        nanoseconds: np.ndarray = column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise EventError(f"a time is out of range: {error}") from error
    return nanoseconds


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column; structs become dicts."""
    kind = column.type
    if pa.types.is_struct(kind):
        children = [
            python_values(pc.struct_field(column, index)) for index in range(kind.num_fields)
        ]
        names = [kind.field(index).name for index in range(kind.num_fields)]
        return [dict(zip(names, row, strict=True)) for row in zip(*children, strict=True)]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        nanoseconds = to_nanoseconds(column.drop_null())
        known = iter(nanoseconds.tolist())
        return [next(known) if valid else None for valid in column.is_valid().to_pylist()]
    if pa.types.is_duration(kind):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in values]
    return values
