"""The attributes of events and variables, with their types as text."""

from __future__ import annotations

from collections.abc import Collection

from ensue.analysis.schema import Schema
from ensue.analysis.types import Type
from ensue.editor.document import Document, Variable


def attributes(schema: Schema, types: Collection[str] | None) -> dict[str, str]:
    """Return the attributes of events of these types (None: any), dotted where nested."""
    found: dict[str, str] = {}
    for name in schema.names(types):
        kind = schema.type_of(tuple(name.split(".")), types)
        found[name] = str(kind) if kind not in (None, Type.UNKNOWN) else ""
    return found


def attributes_at(document: Document, offset: int, variable: Variable | None) -> dict[str, str]:
    """Return the attributes of a variable, or of all events; those that are mentioned else."""
    if variable is not None and variable.computed is not None:
        return dict(variable.computed)
    schema = document.schema_at(offset)
    found = attributes(schema, None if variable is None else variable.types)
    if not found and not schema.closed:
        found = dict.fromkeys(document.mentioned(), "")
    return found


def event_types(schema: Schema) -> dict[str, str]:
    """Return the event types that are declared, with their attributes as text."""
    if schema.events is None:
        return {}
    return {name: described(attributes(schema, {name})) for name in schema.events}


def described(attributes: dict[str, str]) -> str:
    """Write attributes as CREATE STREAM does.

    >>> described({"price": "double", "name": ""})
    '{ price: double, name }'
    """
    parts = (f"{name}: {kind}" if kind else name for name, kind in attributes.items())
    return f"{{ {', '.join(parts)} }}" if attributes else "{ }"


def variable_text(name: str, variable: Variable) -> str:
    """Say what a variable is bound to."""
    if variable.computed is not None:
        columns = ", ".join(f"{each} = {text}" for each, text in variable.computed.items())
        return f"{name}: a computed event [{columns}]"
    if variable.types is None:
        return f"{name}: events of any type"
    return f"{name}: events of type {' or '.join(sorted(variable.types))}"
