"""Columns converted to the types that they have had so far, where nothing is lost."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ensue.errors import EventError
from ensue.io.kinds import advice, kind_of_type
from ensue.io.places import show


def widens(held: pa.DataType, found: pa.DataType) -> bool:
    """Tell whether integers, in lists and records too, have become doubles."""
    if pa.types.is_list(held) and pa.types.is_list(found):
        return widens(held.value_type, found.value_type)
    if pa.types.is_struct(held) and pa.types.is_struct(found):
        known = {field.name: field.type for field in held}
        return any(each.name in known and widens(known[each.name], each.type) for each in found)
    return (kind_of_type(held), kind_of_type(found)) == ("int", "double")


def wider_type(held: pa.DataType | None, found: pa.DataType) -> pa.DataType:
    """Return the type of a column from now on.

    Structs may get new fields, lists their items, and integers become doubles.
    """
    if held is None or pa.types.is_null(held):
        return found
    if (kind_of_type(held), kind_of_type(found)) == ("int", "double"):
        return pa.float64()
    if pa.types.is_list(held) and pa.types.is_list(found):
        return pa.list_(wider_type(held.value_type, found.value_type))
    if not pa.types.is_struct(held) or not pa.types.is_struct(found):
        return held
    fields = {field.name: field.type for field in held}
    for each in found:
        fields[each.name] = wider_type(fields.get(each.name), each.type)
    return pa.struct(list(fields.items()))


def converted(
    column: pa.ChunkedArray,
    held: pa.DataType,
    name: str,
    bad: dict[int, str],
    *,
    stop: bool,
    hint: str = "",
) -> pa.ChunkedArray:
    """Convert a column to the type it has had, where nothing is lost; `hint` says what to do."""
    if pa.types.is_struct(held) and pa.types.is_struct(column.type):
        return _converted_struct(column, held, name, bad, stop=stop, hint=hint)
    if pa.types.is_list(held) and pa.types.is_null(held.value_type):
        return column if pa.types.is_list(column.type) else column.cast(held)
    kinds = kind_of_type(column.type), kind_of_type(held)
    if kinds[0] == kinds[1] or kinds[0] == "null" or kinds in _LOSSLESS:
        try:
            return as_held(column, held)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    return _converted_rows(column, held, name, kinds, bad, stop=stop, hint=hint)


_LOSSLESS = {("int", "double"), ("int", "decimal"), ("double", "int"), ("decimal", "double")}
"""Kinds whose values may fit, value by value."""


def as_held(column: pa.ChunkedArray, held: pa.DataType) -> pa.ChunkedArray:
    """Convert a column to a type that its values fit into; ArrowInvalid where one does not."""
    if pa.types.is_dictionary(held) and not pa.types.is_dictionary(column.type):
        return column.cast(held.value_type).dictionary_encode().cast(held)
    cast = column.cast(held)
    if pa.types.is_integer(column.type) and pa.types.is_floating(held):
        changed = pc.any(pc.not_equal(cast.cast(column.type, safe=False), column))
        if changed.as_py():
            raise pa.ArrowInvalid("integers that are no doubles")
    return cast


def _converted_rows(
    column: pa.ChunkedArray,
    held: pa.DataType,
    name: str,
    kinds: tuple[str, str],
    bad: dict[int, str],
    *,
    stop: bool,
    hint: str,
) -> pa.ChunkedArray:
    """Convert value by value, and say which ones do not fit."""
    values: list[Any] = []
    for row, value in enumerate(column.to_pylist()):
        converted = None
        if value is not None and value == value:
            try:
                if kinds[0] != kinds[1] and kinds not in _LOSSLESS:
                    raise pa.ArrowInvalid("another kind")
                converted = as_held(pa.chunked_array([pa.array([value], column.type)]), held)[0]
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                types = _described(column.type), _described(held)
                reason = (
                    f"row {row}, column {show(name)}: {show(value)} is of type {types[0]}, but "
                    f"the column is of type {types[1]} since the first events; "
                    f"{hint or advice(kinds)}"
                )
                if stop:
                    raise EventError(reason) from None
                bad.setdefault(row, reason)
        values.append(None if converted is None else converted.as_py())
    return pa.chunked_array([pa.array(values, held)], held)


def _described(arrow: pa.DataType) -> str:
    kind = kind_of_type(arrow)
    return f"list<{kind_of_type(arrow.value_type)}>" if kind == "list" else kind


def _converted_struct(
    column: pa.ChunkedArray,
    held: pa.DataType,
    name: str,
    bad: dict[int, str],
    *,
    stop: bool,
    hint: str,
) -> pa.ChunkedArray:
    fields = {field.name: field.type for field in held}
    arrays: dict[str, pa.Array] = {}
    for each in column.type:
        inner = pc.struct_field(column, each.name)
        known = fields.get(each.name)
        if known is not None and known != each.type and not pa.types.is_null(known):
            inner = converted(inner, known, f"{name}.{each.name}", bad, stop=stop, hint=hint)
        arrays[each.name] = inner.combine_chunks()
    mask = column.is_null().combine_chunks()
    return pa.chunked_array(
        [pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=mask)]
    )
