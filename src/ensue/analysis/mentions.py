"""Attributes that the text of a query mentions, before the schema of the events is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ensue.language import tree


def mentioned(query: tree.Query) -> frozenset[str]:
    """Return all names that a query mentions; the attributes that it uses are among them."""
    return frozenset(node.text for node in _below(query) if isinstance(node, tree.Word))


def compared_with_strings(query: tree.Query, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of paths that a query compares with strings, or matches with patterns."""
    found: set[str] = set()
    for node in _below(query):
        if isinstance(node, tree.Comparison):
            sides: list[tree.Node] = [node.left, node.right]
        elif isinstance(node, tree.Membership):
            choices = node.choices
            sides = [node.operand, *(choices if isinstance(choices, tuple) else (choices,))]
        elif isinstance(node, tree.Range):
            sides = [node.operand, node.low, node.high]
        elif isinstance(node, tree.Match):
            sides = [node.operand, node.pattern]
        else:
            continue
        if isinstance(node, tree.Match) or any(_is_string(each, params) for each in sides):
            for each in sides:
                if isinstance(each, tree.Path):
                    found.update(word.text for word in each.parts)
    return frozenset(found)


def _below(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for each in tree.children(node):
        yield from _below(each)


def _is_string(node: tree.Node, params: Mapping[str, Any]) -> bool:
    if isinstance(node, tree.Parameter):
        value = params.get(node.name)
        values = value if isinstance(value, list | tuple) else [value]
        return any(isinstance(each, str) for each in values)
    return isinstance(node, tree.Constant) and isinstance(node.value, str)
