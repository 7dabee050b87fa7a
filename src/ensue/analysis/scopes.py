"""Scopes right of UNLESS and NOT FOLLOWED BY: conditions may name single events of the left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ensue.analysis.variables import Variable, Variables
from ensue.language import tree


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables left of an UNLESS that its right side may name."""

    visible: Mapping[str, Variable] = field(default_factory=dict)
    iterated: frozenset[str] = frozenset()
    """Those of them that may have several events: conditions cannot name these."""
    taken: frozenset[str] = frozenset()
    """Names of the left that the right binds too, where they mean its own events."""
    operator: str | None = None
    """The operator whose right side this is: UNLESS or NOT FOLLOWED BY."""

    def right_of(
        self, left: tree.Pattern, right: tree.Pattern, variables: Variables, operator: str
    ) -> Scope:
        """Return the scope of the right side of an operator that stands in this scope."""
        own = variables.of(left)
        known = {**self.visible, **own}
        taken = frozenset(bound_anywhere(right))
        repeated = frozenset(name for name in own if variables.may_repeat(left, name))
        return Scope(
            {name: each for name, each in known.items() if name not in taken},
            (self.iterated - own.keys()) | repeated,
            taken & known.keys(),
            operator,
        )


def bound_anywhere(node: tree.Node) -> Iterator[str]:
    """Yield the variables that any part of a pattern binds, visible outside or not."""
    match node:
        case tree.Event(type=word):
            yield "ANY" if word is None else word.text
        case tree.Named(variable=word) | tree.Aggregated(variable=word):
            yield word.text
    for child in tree.children(node):
        yield from bound_anywhere(child)


def named_in(condition: tree.Node) -> Iterator[tree.Word]:
    """Yield the words of a condition that name variables."""
    match condition:
        case tree.Restriction(variable=word):
            yield word
        case tree.Path(parts=parts):
            yield parts[0]
        case _:
            for child in tree.children(condition):
                yield from named_in(child)


def where_bound(
    name: str,
    pattern: tree.Pattern | None,
    scope: Scope,
    whole: tree.Pattern | None,
    following: tree.Pattern | None,
) -> str | None:
    """Return a hint for a variable that another part of the query binds."""
    operator = scope.operator
    if name in scope.visible:
        return (
            f"right of {operator} only conditions name variables of the left: FILTER … = {name}.…"
        )
    if name in scope.taken:
        return (
            f"'{name}' is bound on both sides of {operator}, so here it could only be that of the "
            "right: give one of them another name"
        )
    if pattern is not None and name in _right_of_unless(pattern):
        return (
            "what stands right of UNLESS binds nothing: put the condition there, "
            f"… UNLESS (… AS {name} FILTER …)"
        )
    if not operator and following is not None and name in bound_anywhere(following):
        return (
            "what stands right of NOT FOLLOWED BY binds nothing: put the condition there, "
            f"… NOT FOLLOWED BY (… AS {name} FILTER …) WITHIN …"
        )
    if operator and whole is not None and name in bound_anywhere(whole):
        return (
            f"right of {operator} a condition names variables of its own pattern and of the one "
            f"to the left: put what binds '{name}' there, (… AS {name} ; …) {operator} …"
        )
    return None


def _right_of_unless(node: tree.Node) -> frozenset[str]:
    """Return the variables bound right of any UNLESS in a pattern."""
    found = frozenset().union(*map(_right_of_unless, tree.children(node)))
    if isinstance(node, tree.Unless):
        found |= frozenset(bound_anywhere(node.absent))
    return found
