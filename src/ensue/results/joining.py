"""Tables of several queries put together: all columns that any of them has."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ensue.errors import EventError


def joined_fields(schemas: Iterable[pa.Schema], advice: str) -> dict[str, pa.DataType]:
    """Return the columns of rows of several queries; the advice is for types that do not agree."""
    fields: dict[str, pa.DataType] = {}
    for each in (column for schema in schemas for column in schema):
        known = fields.get(each.name)
        kind = each.type if known is None else _both(known, each.type)
        if kind is None:
            raise EventError(
                f"the queries give the column '{each.name}' different types, {known} and "
                f"{each.type}; {advice}"
            )
        fields[each.name] = kind
    return fields


def _both(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_list(left) and pa.types.is_list(right):
        kinds = left.value_type, right.value_type
        if all(map(pa.types.is_struct, kinds)):
            members = {each.name: each.type for each in kinds[0]}
            for each in kinds[1]:
                if members.setdefault(each.name, each.type) != each.type:
                    return None
            return pa.list_(pa.struct(list(members.items())))
    return None


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give a table the columns of a schema; those that it does not have are NULL."""
    known = set(table.column_names)
    columns = [
        widened(table.column(each.name), each.type)
        if each.name in known
        else pa.nulls(table.num_rows, each.type)
        for each in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def widened(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Give lists of records the attributes that other queries ask for; they are NULL here."""
    if column.type == kind:
        return column
    if not pa.types.is_list(column.type):
        return column.cast(kind)
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
