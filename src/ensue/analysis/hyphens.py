"""`x.tweet-id` without backquotes: parsed as a difference, probably meant as a name."""

from __future__ import annotations

from collections.abc import Collection

from ensue.analysis.context import Context
from ensue.analysis.types import Type
from ensue.analysis.variables import Variable
from ensue.errors import Fix
from ensue.language import tree
from ensue.language.tokens import quoted


def report_hyphen(
    node: tree.Arithmetic, context: Context, variables: Collection[str], event: Variable | None
) -> bool:
    """Report a difference that is a name with hyphens in it; return whether it is one.

    Outside brackets, `x.tweet-id` cannot be a difference: `id` has no variable. Inside, it is
    one unless the schema has the whole as an attribute, and not all of the parts.
    """
    name = _hyphenated(node, variables)
    if name is None:
        return False
    if event is None:
        if name[0] not in variables or len(name) == 1:
            return False
    elif not _is_attribute(name, node, context, event):
        return False
    written = ".".join(map(quoted, name))
    whole = next(part for part in name if "-" in part)
    context.report(
        "E217",
        node.span,
        f"a name with '-' in it stands in backquotes: {quoted(whole)}",
        f"write {written}",
        Fix(node.span, written),
    )
    return True


def _hyphenated(node: tree.Expression, variables: Collection[str] = ()) -> tuple[str, ...] | None:
    """Return the path that a difference without blanks would be if `-` belonged to names."""
    if isinstance(node, tree.Path):
        return node.names
    if not isinstance(node, tree.Arithmetic) or node.operator != "-":
        return None
    left, right = _hyphenated(node.left, variables), node.right
    if left is None or not isinstance(right, tree.Path):
        return None
    if node.left.span.end + 1 != right.span.start:
        return None
    if len(right.names) > 1 and right.names[0] in variables:
        return None
    return (*left[:-1], f"{left[-1]}-{right.names[0]}", *right.names[1:])


def _is_attribute(
    name: tuple[str, ...], node: tree.Arithmetic, context: Context, event: Variable
) -> bool:
    """Return whether the schema has a name, and not all the parts of a difference."""
    schema, types = context.schema, event.types
    if schema.type_of(name, types) in (None, Type.UNKNOWN):
        return False
    parts = [each.names for each in tree.children(node) if isinstance(each, tree.Path)]
    return any(schema.type_of(part, types) in (None, Type.UNKNOWN) for part in parts)
