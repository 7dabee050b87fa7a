"""Kinds of values: the CEQL types of Python's and Arrow's types.

A type that CEQL does not have is a kind of its own, by its name, and not among KNOWN_KINDS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Any

import pyarrow as pa

ARROW_TYPES: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us"),
    "timestamp with time zone": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
}
"""The Arrow types of kinds that have only one."""

KNOWN_KINDS = {*ARROW_TYPES, "decimal", "record", "list"}

_PYTHON_TYPES: dict[type, str] = {
    NoneType: "null",
    bool: "boolean",
    int: "int",
    float: "double",
    str: "string",
    datetime: "timestamp",
    date: "date",
    Decimal: "decimal",
    dict: "record",
    list: "list",
    tuple: "list",
}
_ARROW_TESTS: dict[str, Callable[[pa.DataType], bool]] = {
    "null": pa.types.is_null,
    "boolean": pa.types.is_boolean,
    "int": pa.types.is_integer,
    "double": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "string": lambda arrow: (
        pa.types.is_string(arrow)
        or pa.types.is_large_string(arrow)
        or pa.types.is_string_view(arrow)
    ),
    "date": pa.types.is_date,
    "record": pa.types.is_struct,
    "list": lambda arrow: (
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
    ),
}


@cache
def kind_of_class(python_type: type) -> str:
    """Return the kind of a Python type; the zone of a datetime depends on its value."""
    for each in python_type.__mro__:
        if each in _PYTHON_TYPES:
            return _PYTHON_TYPES[each]
    return "record" if issubclass(python_type, Mapping) else python_type.__name__


def kind_of_value(value: Any) -> str:
    """Return the kind of a Python value."""
    python_type: type = type(value)
    aware = isinstance(value, datetime) and value.tzinfo is not None
    return "timestamp with time zone" if aware else kind_of_class(python_type)


def kind_of_type(arrow: pa.DataType) -> str:
    """Return the kind of an Arrow type."""
    if isinstance(arrow, pa.DictionaryType):
        return kind_of_type(arrow.value_type)
    if isinstance(arrow, pa.TimestampType):
        return "timestamp with time zone" if arrow.tz else "timestamp"
    for kind, test in _ARROW_TESTS.items():
        if test(arrow):
            return kind
    return str(arrow)


def join(held: str, kinds: Iterable[str]) -> str | None:
    """Return the kind in which all kinds fit: the one held so far, or doubles after integers.

    >>> join("null", ["int", "double"]), join("int", ["int", "double"])
    ('double', 'double')
    >>> join("double", ["string"]) is None
    True
    """
    joined = held
    for kind in kinds:
        if _fits(kind, joined):
            continue
        if not _fits(joined, kind) or (held != "null" and (held, kind) != ("int", "double")):
            return None
        joined = kind
    return joined


def _fits(kind: str, wanted: str) -> bool:
    """Return whether values of a kind fit a column of another without loss."""
    return kind in (wanted, "null") or (kind == "int" and wanted in ("double", "decimal"))


def advice(kinds: Iterable[str]) -> str:
    """Return advice for a column with values of these kinds.

    >>> advice(("int", "string"))
    'give it one type, or declare one that holds both'
    """
    if set(kinds) == {"timestamp", "timestamp with time zone"}:
        return "give all times a zone, or none of them"
    if set(kinds) == {"timestamp", "int"}:
        return "give all times one form; where some have fractions, declare them as double"
    return "give it one type, or declare one that holds both"


def first_difference(schemas: Sequence[pa.Schema]) -> str:
    """Describe the first column whose types are incompatible."""
    known: dict[str, pa.Schema] = {}
    for schema in schemas:
        for each in schema:
            own = pa.schema([each])
            before = known.setdefault(each.name, own)
            try:
                known[each.name] = pa.unify_schemas([before, own], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                kinds = kind_of_type(before.field(0).type), kind_of_type(each.type)
                return f"the column {each.name!r} is {kinds[0]} and {kinds[1]}; {advice(kinds)}"
    raise AssertionError("called on schemas that go together")
