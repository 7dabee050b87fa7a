"""The schema of events: event types, and the types of their attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ensue.analysis.types import TYPE_NAMES, Type, from_arrow, joined

if TYPE_CHECKING:
    import pyarrow as pa

AttributePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """Attributes of all events, or event by event.

    Attributes that every event may have are under `common`; when `events` is not None it lists
    all event types there are. In a schema that is not `closed`, there may be other attributes.
    """

    common: Mapping[AttributePath, Type] = field(default_factory=dict)
    events: Mapping[str, Mapping[AttributePath, Type]] | None = None
    closed: bool = False

    def type_of(self, path: AttributePath, types: Collection[str] | None) -> Type | None:
        """Return the type of an attribute of events of these types (None: any); None if unknown.

        In a schema that is not closed, other attributes have type UNKNOWN.
        """
        found: Type | None = self.common.get(path)
        for each in self._attributes(types):
            other = each.get(path)
            if other is not None:
                found = other if found is None else joined(found, other) or Type.UNKNOWN
        if found is None and not self.closed:
            return Type.UNKNOWN
        return found

    def names(self, types: Collection[str] | None) -> list[str]:
        """List the attributes of events of these types, dotted where nested."""
        paths = dict.fromkeys(self.common)
        for each in self._attributes(types):
            paths.update(dict.fromkeys(each))
        return [".".join(path) for path in paths]

    def has_prefix(self, path: AttributePath) -> bool:
        """Return whether a path is a struct that holds attributes."""
        every = [self.common, *self._attributes(None)]
        return any(
            len(other) > len(path) and other[: len(path)] == path
            for each in every
            for other in each
        )

    def _attributes(self, types: Collection[str] | None) -> Iterable[Mapping[AttributePath, Type]]:
        if self.events is None:
            return ()
        if types is None:
            return self.events.values()
        return [self.events[each] for each in types if each in self.events]


OPEN = Schema()
"""The schema of events about which nothing is known."""


def from_python(schema: object, *, partial: bool = False) -> Schema:
    """Read the argument `schema=`: {attribute: type}, {event: {attribute: type}}, or Arrow's.

    With `partial`, there may be attributes that it does not name.

    >>> from_python({"SELL": {"price": "double"}}).type_of(("price",), {"SELL"})
    <Type.DOUBLE: 'double'>
    """
    if schema is None:
        return OPEN
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        if schema and all(isinstance(value, Mapping) for value in schema.values()):
            events = {str(name): _attributes_of(value) for name, value in schema.items()}
            return Schema({}, events, closed=not partial)
        return Schema(_attributes_of(schema), closed=not partial)
    if type(schema).__module__.startswith("pyarrow"):
        return from_arrow_schema(_as_arrow(schema))
    raise TypeError(
        "schema must be {attribute: type}, {event: {attribute: type}} or a pyarrow schema, "
        f"not {type(schema).__name__}"
    )


def from_arrow_schema(schema: pa.Schema, *, closed: bool = True) -> Schema:
    """Describe the columns of a table; structs become dotted attributes."""
    common: dict[AttributePath, Type] = {}
    for column in schema:
        _add_arrow((column.name,), column.type, common)
    return Schema(common, closed=closed)


def _as_arrow(schema: Any) -> pa.Schema:
    import pyarrow as pa

    if isinstance(schema, pa.Schema):
        return schema
    raise TypeError(f"schema must be a pyarrow.Schema, not a {type(schema).__name__}")


def _add_arrow(path: AttributePath, kind: pa.DataType, found: dict[AttributePath, Type]) -> None:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            child = kind.field(index)
            _add_arrow((*path, child.name), child.type, found)
        return
    known = from_arrow(kind)
    if known is not None:
        found[path] = known


def _attributes_of(given: Mapping[Any, Any]) -> dict[AttributePath, Type]:
    found: dict[AttributePath, Type] = {}
    for name, kind in given.items():
        path = tuple(str(name).split("."))
        if isinstance(kind, Type):
            found[path] = kind
        elif isinstance(kind, str):
            if kind.lower() not in TYPE_NAMES:
                raise TypeError(
                    f"unknown type '{kind}' of attribute '{name}' in schema; the types are "
                    "boolean, int, double, decimal, string, timestamp, date, and lists such as "
                    "list<string>"
                )
            found[path] = TYPE_NAMES[kind.lower()]
        elif isinstance(kind, type) and kind in _PYTHON_TYPES:
            found[path] = _PYTHON_TYPES[kind]
        elif type(kind).__module__.startswith("pyarrow"):
            _add_arrow(path, kind, found)
        else:
            raise TypeError(
                f"the type of attribute '{name}' in schema must be a name, not {kind!r}"
            )
    return found


_PYTHON_TYPES: dict[type, Type] = {
    bool: Type.BOOLEAN,
    int: Type.INT,
    float: Type.DOUBLE,
    str: Type.STRING,
}
