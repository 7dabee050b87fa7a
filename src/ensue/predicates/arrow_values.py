"""Conversion of CEQL values to Python objects and to Arrow columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.expressions import Value
from ensue.analysis.types import NANOSECONDS, Type

_DAY = NANOSECONDS["DAY"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def python_value(value: Value, kind: Type) -> Any:
    """Return a computed value as a Python object: instants are datetimes in UTC, without a zone.

    >>> python_value(86_400_000_000_000, Type.DATE)
    datetime.date(1970, 1, 2)
    """
    if isinstance(value, tuple):
        return list(value)
    if value is None or not (kind.is_time or kind is Type.DURATION):
        return value
    assert isinstance(value, int | float)
    length = timedelta(microseconds=value / 1000)
    if kind is Type.DURATION:
        return length
    moment = (_EPOCH + length).replace(tzinfo=None)
    return moment.date() if kind is Type.DATE else moment


_ARROW = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.DECIMAL: pa.decimal128(38, 18),
    Type.STRING: pa.string(),
    Type.TIMESTAMP: pa.timestamp("us"),
    Type.DATE: pa.date32(),
    Type.DURATION: pa.duration("us"),
    Type.BOOLEANS: pa.list_(pa.bool_()),
    Type.INTS: pa.list_(pa.int64()),
    Type.DOUBLES: pa.list_(pa.float64()),
    Type.STRINGS: pa.list_(pa.string()),
}


def arrow_type(kind: Type) -> pa.DataType | None:
    """Return the type of a computed column, or None to let Arrow infer it."""
    return _ARROW.get(kind)


def arrow_values(values: np.ndarray, valid: np.ndarray | None, kind: Type) -> pa.Array:
    """Return computed values as a column of their type; instants are given in nanoseconds.

    >>> arrow_values(np.array([1500, 0]), np.array([True, False]), Type.DURATION).to_pylist()
    [datetime.timedelta(microseconds=2), None]
    """
    mask = None if valid is None or valid.all() else ~valid
    if kind in (Type.TIMESTAMP, Type.DURATION):
        values = np.rint(values / 1000).astype(np.int64)
    elif kind is Type.DATE:
        return pa.array(values // _DAY, pa.int32(), mask=mask).cast(pa.date32())
    elif kind is Type.BOOLEAN:
        values = values.astype(bool)
    elif kind is Type.DOUBLE:
        values = values.astype(np.float64, copy=False)
    elif kind is Type.UNKNOWN and valid is not None and not valid.any():
        return pa.nulls(len(values))
    found = pa.array(values, mask=mask)
    return found.cast(_ARROW[kind]) if kind in (Type.TIMESTAMP, Type.DURATION) else found
