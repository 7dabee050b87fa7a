"""The types of CEQL: which can be compared, which have a common type."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Type(Enum):
    """A type of values; UNKNOWN is that of NULL and of attributes not in the schema."""

    BOOLEAN = "boolean"
    INT = "int"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DURATION = "duration"
    BOOLEANS = "list<boolean>"
    INTS = "list<int>"
    DOUBLES = "list<double>"
    STRINGS = "list<string>"
    LIST = "list"
    """A list of other values, or of none so far."""
    UNKNOWN = "unknown"

    @property
    def is_number(self) -> bool:
        return self in _NUMBERS

    @property
    def is_time(self) -> bool:
        return self in (Type.TIMESTAMP, Type.DATE)

    @property
    def is_list(self) -> bool:
        return self in _ELEMENTS

    @property
    def element(self) -> Type:
        """The type of the elements of a list."""
        return _ELEMENTS.get(self, Type.UNKNOWN)

    def __str__(self) -> str:
        return self.value

    @property
    def article(self) -> str:
        """The type with its article, for sentences."""
        if self.is_list:
            return "a list" if self is Type.LIST else f"a list of {self.element}s"
        return f"an {self.value}" if self.value[0] in "aeiou" else f"a {self.value}"


_NUMBERS = frozenset({Type.INT, Type.DOUBLE, Type.DECIMAL})

_ELEMENTS = {
    Type.BOOLEANS: Type.BOOLEAN,
    Type.INTS: Type.INT,
    Type.DOUBLES: Type.DOUBLE,
    Type.STRINGS: Type.STRING,
    Type.LIST: Type.UNKNOWN,
}
_LISTS = {element: each for each, element in _ELEMENTS.items()}


def list_of(kind: Type) -> Type | None:
    """Return the type of lists of values of a type, or None if there is none."""
    return _LISTS.get(kind)


TYPE_NAMES = {
    "boolean": Type.BOOLEAN,
    "bool": Type.BOOLEAN,
    "int": Type.INT,
    "integer": Type.INT,
    "long": Type.INT,
    "bigint": Type.INT,
    "double": Type.DOUBLE,
    "float": Type.DOUBLE,
    "decimal": Type.DECIMAL,
    "string": Type.STRING,
    "timestamp": Type.TIMESTAMP,
    "date": Type.DATE,
    **{str(each): each for each in _ELEMENTS if each is not Type.LIST},
}
"""How a type is written in CREATE STREAM and in schema=; the first name of each is its own."""

NANOSECONDS = {
    "NANOSECOND": 1,
    "MICROSECOND": 1_000,
    "MILLISECOND": 1_000_000,
    "SECOND": 1_000_000_000,
    "MINUTE": 60_000_000_000,
    "HOUR": 3_600_000_000_000,
    "DAY": 86_400_000_000_000,
}
"""The units of durations, in the singular; CEQL has no longer ones."""

TIME_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""The values of time_unit= for integer time columns, in nanoseconds."""


def comparable(left: Type, right: Type) -> bool:
    """Return whether values of the two types can be compared.

    >>> comparable(Type.INT, Type.DECIMAL), comparable(Type.STRING, Type.INT)
    (True, False)
    """
    if left.is_list or right.is_list:
        return False
    if Type.UNKNOWN in (left, right) or left is right:
        return True
    return (left.is_number and right.is_number) or (left.is_time and right.is_time)


def joined(left: Type, right: Type) -> Type | None:
    """Return the type that has the values of both, or None.

    >>> joined(Type.INT, Type.DOUBLE)
    <Type.DOUBLE: 'double'>
    """
    if left is right or right is Type.UNKNOWN:
        return left
    if left is Type.UNKNOWN:
        return right
    if left.is_number and right.is_number:
        return Type.DOUBLE
    if left.is_list and right.is_list:
        both = joined(left.element, right.element)
        return None if both is None else _LISTS[both]
    return Type.TIMESTAMP if left.is_time and right.is_time else None


def from_arrow(kind: pa.DataType) -> Type | None:
    """Return the CEQL type of an Arrow column, or None if there is none (maps, structs, …)."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if types.is_boolean(kind):
        return Type.BOOLEAN
    if types.is_integer(kind):
        return Type.INT
    if types.is_floating(kind):
        return Type.DOUBLE
    if types.is_decimal(kind):
        return Type.DECIMAL
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Type.STRING
    if types.is_timestamp(kind):
        return Type.TIMESTAMP
    if types.is_date(kind):
        return Type.DATE
    if types.is_duration(kind):
        return Type.DURATION
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _LISTS.get(from_arrow(kind.value_type) or Type.UNKNOWN, Type.LIST)
    return Type.UNKNOWN if types.is_null(kind) else None


LIST_HINT = "ask what a list holds: 'x' IN tags, contains(tags, 'x'), length(tags)"
"""The hint of errors about lists where one value is needed."""
