"""Arrow columns as Python values: instants in nanoseconds, NaN as NULL."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.types import NANOSECONDS, TIME_UNITS
from ensue.errors import EventError

_DAY = NANOSECONDS["DAY"]


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
        unit = (
            _DAY
            if pa.types.is_date32(kind)
            else TIME_UNITS["ms" if pa.types.is_date64(kind) else kind.unit]
        )
        numbers = column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).to_pylist()
        return [None if number is None else number * unit for number in numbers]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _python_lists(column)
    if pa.types.is_duration(kind):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in values]
    return values


def _python_lists(column: pa.ChunkedArray) -> list[Any]:
    items = iter(python_values(flattened(column)))
    lengths = pc.list_value_length(column).to_pylist()
    return [None if length is None else list(islice(items, length)) for length in lengths]


def flattened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the elements of all lists that are not NULL."""
    items = pc.list_flatten(column)
    return items if isinstance(items, pa.ChunkedArray) else pa.chunked_array([items])
