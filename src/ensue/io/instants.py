"""Timestamps as RFC 3339 text in their own time zone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def with_instants_as_text(table: pa.Table) -> pa.Table:
    """Replace timestamps by text, also those in lists and records; decode dictionaries."""
    columns = [as_text(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def as_text(values: Any) -> Any:
    """Return a column with its timestamps as text, exact to the nanosecond.

    >>> as_text(pa.array([0, 1_500], pa.timestamp("ms", "Europe/Berlin"))).to_pylist()
    ['1970-01-01T01:00:00+01:00', '1970-01-01T01:00:01.500+01:00']
    >>> as_text(pa.array([0], pa.timestamp("us", "UTC")))[0].as_py()
    '1970-01-01T00:00:00Z'
    """
    if isinstance(values, pa.ChunkedArray):
        kind = as_text(pa.array([], values.type)).type
        return pa.chunked_array([as_text(chunk) for chunk in values.chunks], kind)
    kind = values.type
    if pa.types.is_timestamp(kind):
        return _written(values)
    if pa.types.is_dictionary(kind):
        return as_text(values.dictionary_decode())
    if (pa.types.is_list(kind) or pa.types.is_struct(kind)) and _has_instants(kind):
        if values.offset:  # Arrow cannot mask an array with an offset
            values = values.take(pa.array(range(len(values)), pa.int64()))
        mask = values.is_null() if values.null_count else None
        if pa.types.is_list(kind):
            return pa.ListArray.from_arrays(values.offsets, as_text(values.values), mask=mask)
        fields = [as_text(values.field(index)) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, [each.name for each in kind], mask=mask)
    return values


def _has_instants(kind: Any) -> bool:
    if pa.types.is_list(kind) or pa.types.is_dictionary(kind):
        return pa.types.is_dictionary(kind) or _has_instants(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_instants(each.type) for each in kind)
    return bool(pa.types.is_timestamp(kind))


def _written(values: Any) -> Any:
    """Return timestamps as text; fractions have three, six or nine digits, or none."""
    zone = "" if values.type.tz is None else "%Ez"
    text = pc.strftime(values, format=f"%Y-%m-%dT%H:%M:%S{zone}")
    if zone:
        text = pc.replace_substring_regex(text, r"\+00:00$", "Z")
    end = r"(Z|[+-]\d\d:\d\d)?$"
    text = pc.replace_substring_regex(text, rf"\.0+{end}", r"\1")
    return pc.replace_substring_regex(text, rf"(\.(?:\d\d\d)*?)(?:000)+{end}", r"\1\2")
