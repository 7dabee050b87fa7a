"""Names of columns, as WITHIN and PARTITION BY write them, resolved against the schema."""

from __future__ import annotations

from ensue.analysis.context import Context, listing
from ensue.analysis.schema import AttributePath
from ensue.errors import Span
from ensue.language import tree


def attribute_path(path: tree.Path, context: Context) -> AttributePath:
    """Resolve a path, or a single name as `column_path` does."""
    names = path.names
    if len(names) == 1:
        return column_path(names[0], path.span, context)
    _check_path(names, path.span, context)
    return names


def column_path(name: str, span: Span, context: Context) -> AttributePath:
    """Resolve a name, in backquotes perhaps with dots, as a column or a nested attribute."""
    schema = context.schema
    if "." in name and (name,) not in schema.common:
        names = tuple(name.split("."))
        _check_path(names, span, context)
        return names
    _check_path((name,), span, context)
    return (name,)


def _check_path(path: AttributePath, span: Span, context: Context) -> None:
    if context.schema.type_of(path, None) is None:
        known = context.schema.names(None)
        name = ".".join(path)
        context.report_name(
            "E216", span, f"unknown attribute '{name}'", name, known, f"there are {listing(known)}"
        )
