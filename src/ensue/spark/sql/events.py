"""Events on their way from Spark SQL to Arrow, row by row.

Spark hands rows to a polymorphic table function as Python values. What Python cannot hold exactly,
instants (it would have them in the local time of the worker), travels as whole microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from ensue.predicates.spark_literals import column, string
from ensue.predicates.symbols import GIVEN
from ensue.predicates.vectors import path_column
from ensue.spark.batch import SharedScan
from ensue.spark.program import arrow_type_at
from ensue.spark.pushdown import Pushed

_Convert = Callable[[Any], Any]


def columns_sent(each: SharedScan, push: Pushed) -> pa.Schema:
    """Return the columns of events that workers need, and of answers that come with them."""
    columns = each.programs[0].columns
    read = {name for program in each.programs for name in push.columns_read(program)}
    sent = [field for field in columns if field.name in read]
    return pa.schema([*sent, pa.field(GIVEN, pa.int64())] if push.texts else sent)


def event_text(each: SharedScan, push: Pushed, sent: pa.Schema) -> str:
    """Write an event as one struct in SQL; NULL where it cannot matter."""
    values = [
        push.packed() if field.name == GIVEN else portable(column((field.name,)), field.type)
        for field in sent
    ]
    fields = ", ".join(
        f"{string(field.name)}, {value}" for field, value in zip(sent, values, strict=True)
    )
    event = f"named_struct({fields})"
    wanted = _wanted(each, push)
    if not wanted:
        return event
    # An event without a time is an error, whether or not it matters.
    return f"if({column(each.distribution.time)} IS NULL OR ({wanted}), {event}, NULL)"


def _wanted(each: SharedScan, push: Pushed) -> str:
    """Write which events may matter: those that Spark keeps, with a key."""
    columns = each.programs[0].columns
    conditions = [] if push.keep is None else [f"({push.keep})"]
    for path in each.distribution.keys:
        if path_column(columns.empty_table(), path) is None:
            conditions.append("FALSE")
            continue
        conditions.append(f"{column(path)} IS NOT NULL")
        if kinds.is_floating(arrow_type_at(columns, path)):
            conditions.append(f"NOT isnan({column(path)})")
    return " AND ".join(conditions)


def portable(text: str, kind: pa.DataType, depth: int = 0) -> str:
    """Write a value so that its instants are whole microseconds.

    >>> portable("a", pa.list_(pa.timestamp("us", "UTC")))
    'transform(a, v0 -> unix_micros(v0))'
    """
    if not _has_instants(kind):
        return text
    if kinds.is_timestamp(kind):
        return f"unix_micros({text})"
    name, inner = f"v{depth}", depth + 1
    if kinds.is_struct(kind):
        fields = ", ".join(
            f"{string(each.name)}, {portable(f'{text}.{column((each.name,))}', each.type, depth)}"
            for each in kind
        )
        return f"if({text} IS NULL, NULL, named_struct({fields}))"
    if kinds.is_map(kind):
        keys = portable(f"map_keys({text})", pa.list_(kind.key_type), depth)
        items = portable(f"map_values({text})", pa.list_(kind.item_type), depth)
        return f"map_from_arrays({keys}, {items})"
    return f"transform({text}, {name} -> {portable(name, kind.value_type, inner)})"


def _has_instants(kind: pa.DataType) -> bool:
    if kinds.is_timestamp(kind):
        return kind.tz is not None
    return any(_has_instants(kind.field(at).type) for at in range(kind.num_fields))


def table_of(rows: Sequence[tuple[Any, ...]], columns: pa.Schema) -> pa.Table:
    """Make a table of rows of Python values, at least one."""
    arrays = []
    for values, field in zip(zip(*rows, strict=True), columns, strict=True):
        convert = _converter(field.type)
        plain = values if convert is None else [convert(value) for value in values]
        arrays.append(pa.array(plain, field.type))
    return pa.Table.from_arrays(arrays, schema=columns)


def _converter(kind: pa.DataType) -> _Convert | None:
    """Return what makes Spark's Python values of a type those that Arrow takes; None: nothing."""
    if kinds.is_struct(kind):
        names = [each.name for each in kind]
        inner = [_converter(each.type) or _same for each in kind]
        return _unless_null(
            lambda row: {
                name: convert(value) for name, convert, value in zip(names, inner, row, strict=True)
            }
        )
    if kinds.is_map(kind):
        key, item = _converter(kind.key_type) or _same, _converter(kind.item_type) or _same
        return _unless_null(lambda found: [(key(k), item(v)) for k, v in found.items()])
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        convert = _converter(kind.value_type)
        if convert is not None:
            return _unless_null(lambda values: [convert(value) for value in values])
    return None


def _same(value: Any) -> Any:
    return value


def _unless_null(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)
