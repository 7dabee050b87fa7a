"""The columns of rows that several queries give together."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ensue.errors import EventError

QUERY = "query"
"""The column that tells the query of a row."""


def joined(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the columns of rows of several queries: all that any of them has."""
    fields: dict[str, pa.DataType] = {QUERY: pa.string()}
    for each in (column for schema in schemas for column in schema):
        known = fields.get(each.name)
        fields[each.name] = each.type if known is None else _both(each.name, known, each.type)
    spelt: dict[str, str] = {}
    for name in fields:
        other = spelt.setdefault(name.lower(), name)
        if other != name:
            raise EventError(
                f"the queries give the columns '{other}' and '{name}', which are one to Spark; "
                "spell them alike, or recognize the queries one by one"
            )
    return pa.schema(list(fields.items()))


def _both(name: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right:
        return left
    if pa.types.is_list(left) and pa.types.is_list(right):
        members = {each.name: each.type for each in left.value_type}
        for each in right.value_type:
            if members.setdefault(each.name, each.type) != each.type:
                break
        else:
            return pa.list_(pa.struct(list(members.items())))
    raise EventError(
        f"the queries give the column '{name}' different types, {left} and {right}; recognize "
        "them one by one"
    )


def with_late(schema: pa.Schema, name: str, events: pa.Schema) -> pa.Schema:
    """Add a column for events that come too late."""
    if name in schema.names:
        raise ValueError(f"rows have a column '{name}' already; choose another name for late=")
    return schema.append(pa.field(name, pa.struct(list(events))))


def widened(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Give lists of records the attributes that other queries ask for; they are NULL here."""
    if column.type == kind:
        return column
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = pa.concat_arrays(lists.chunks)
    records = lists.values
    have = {each.name for each in records.type}
    fields = list(kind.value_type)
    arrays = [
        records.field(each.name) if each.name in have else pa.nulls(len(records), each.type)
        for each in fields
    ]
    records = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.chunked_array([pa.ListArray.from_arrays(lists.offsets, records).cast(kind)])
