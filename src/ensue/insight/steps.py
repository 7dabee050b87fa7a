"""The steps of a pattern, and the pattern of some of its steps.

The steps are the items of its sequences, also of those below filters, names and windows. What is no
sequence (an iteration, an OR, an ALL) is one step. A pattern of the first k steps is a relaxation:
for each match of the whole pattern there is one of these steps with the same start. So conditions
on variables that are no longer bound are left out, and so are computed events, NEXT, LAST and MAX
around a part that is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast

from ensue.analysis.patterns import may_be_empty
from ensue.analysis.scopes import bound_anywhere, named_in
from ensue.analysis.variables import Variables
from ensue.language import tree
from ensue.language.printer import format_pattern

_KEEPS_INTERVAL = ("START", "STRICT")
"""These strategies hold for the first steps of what they hold for."""


def leaves(pattern: tree.Pattern) -> tuple[tree.Pattern, ...]:
    """Return the items of the sequences of a pattern, in order."""
    match pattern:
        case tree.Sequence(items=items):
            return tuple(leaf for item in items for leaf in leaves(item))
        case (
            tree.Named(pattern=inner)
            | tree.Filtered(pattern=inner)
            | tree.Aggregated(pattern=inner)
            | tree.Partitioned(pattern=inner)
            | tree.Applied(pattern=inner)
            | tree.Within(pattern=inner)
            | tree.Unless(pattern=inner)
        ):
            below = leaves(inner)
            return below if len(below) > 1 else (pattern,)
        case _:
            return (pattern,)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a pattern: one or more leaves, the last of which is never optional at first."""

    number: int
    """From 1."""
    text: str
    leaves: range


def steps_of(pattern: tree.Pattern) -> tuple[Step, ...]:
    """Return the steps of a pattern: leaves, where optional ones come with the first that is not.

    >>> from ensue.errors import Source
    >>> from ensue.language.parser import parse_source
    >>> query = parse_source(Source("SELECT * FROM S WHERE (A? ; B AS b ; C+) FILTER b[x > 1]"))
    >>> [step.text for step in steps_of(query.pattern)]
    ['A? ; B AS b', 'C+']
    """
    every = leaves(pattern)
    steps: list[Step] = []
    begin = 0
    for end in range(1, len(every) + 1):
        first = with_steps(pattern, range(end))
        if first is None or may_be_empty(first):
            continue
        text = " ; ".join(map(format_pattern, every[begin:end]))
        steps.append(Step(len(steps) + 1, text, range(begin, end)))
        begin = end
    return tuple(steps)


def with_steps(
    pattern: tree.Pattern, kept: range | frozenset[int], before: int = 0
) -> tree.Pattern | None:
    """Return the pattern of some of the leaves, by their numbers from 0; None where none is left.

    Args:
        pattern: the pattern, or a part of it.
        kept: the numbers of the leaves to keep.
        before: how many leaves of the whole come before this part.
    """
    size = len(leaves(pattern))
    numbers = [number in kept for number in range(before, before + size)]
    if all(numbers):
        return pattern
    if not any(numbers):
        return None
    match pattern:
        case tree.Sequence(items=items, contiguous=contiguous):
            return _sequence(items, contiguous, kept, before)
        case tree.Unless(pattern=inner, absent=absent):
            part = _part(inner, kept, before)
            return part if free_names(absent) - _names(part) else replace(pattern, pattern=part)
        case tree.Filtered(pattern=inner, condition=condition):
            part = _part(inner, kept, before)
            left = weakened(condition, _names(part))
            return part if left is None else replace(pattern, pattern=part, condition=left)
        case tree.Partitioned(pattern=inner, keys=keys):
            part = _part(inner, kept, before)
            known = tuple(key for key in keys if key.parts[0].text in _names(part))
            return replace(pattern, pattern=part, keys=known) if known else part
        case tree.Named(pattern=inner):
            part = _part(inner, kept, before)
            return replace(pattern, pattern=part) if Variables().atoms(part) else part
        case tree.Applied(function=word, pattern=inner):
            part = _part(inner, kept, before)
            keeps = word.text.upper() in _KEEPS_INTERVAL
            return replace(pattern, pattern=part) if keeps else part
        case tree.Within(pattern=inner):
            return replace(pattern, pattern=_part(inner, kept, before))
        case tree.Aggregated(pattern=inner):
            return _part(inner, kept, before)
    raise AssertionError(pattern)


def _part(pattern: tree.Pattern, kept: range | frozenset[int], before: int) -> tree.Pattern:
    return cast(tree.Pattern, with_steps(pattern, kept, before))


def _sequence(
    items: tuple[tree.Pattern, ...], contiguous: bool, kept: range | frozenset[int], before: int
) -> tree.Pattern | None:
    """Keep some items; those between which others were left out need not be contiguous."""
    groups: list[list[tree.Pattern]] = []
    for item in items:
        part = with_steps(item, kept, before)
        adjacent = before in kept and before - 1 in kept
        if part is not None and groups and (adjacent or not contiguous):
            groups[-1].append(part)
        elif part is not None:
            groups.append([part])
        before += len(leaves(item))
    joined = [
        group[0] if len(group) == 1 else tree.Sequence(tuple(group), contiguous) for group in groups
    ]
    return joined[0] if len(joined) == 1 else tree.Sequence(tuple(joined), False)


def _names(pattern: tree.Pattern) -> frozenset[str]:
    """Return the variables of stream events that a pattern binds."""
    return frozenset().union(*(atom.variables for atom in Variables().atoms(pattern)))


def free_names(absent: tree.Pattern) -> frozenset[str]:
    """Return the variables of the left side that conditions of an UNLESS name."""
    named = frozenset(
        word.text
        for node in _below(absent)
        if isinstance(node, tree.Filtered)
        for word in named_in(node.condition)
    )
    return named - frozenset(bound_anywhere(absent))


def _below(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for child in tree.children(node):
        yield from _below(child)


def weakened(condition: tree.Expression, names: frozenset[str]) -> tree.Expression | None:
    """Leave out what is about other variables; None where nothing is left."""
    if isinstance(condition, tree.Logical) and condition.operator == "AND":
        parts = [weakened(each, names) for each in condition.operands]
        return conjunction([each for each in parts if each is not None])
    return condition if {word.text for word in named_in(condition)} <= names else None


def conjunction(parts: list[tree.Expression]) -> tree.Expression | None:
    """Join conditions by AND."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return tree.Logical("AND", tuple(parts))


# Single events


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event of a pattern, with the conditions on it alone."""

    event: tree.Pattern
    names: frozenset[str]
    conditions: tuple[tree.Expression, ...] = ()

    def pattern(self, *, filtered: bool) -> tree.Pattern:
        """Return the pattern of such an event, with its conditions or without."""
        if not isinstance(self.event, tree.Event):
            return self.event
        own = "ANY" if self.event.type is None else self.event.type.text
        named = reduce(
            lambda inner, name: tree.Named(inner, tree.Word(name)),
            sorted(self.names - {own}),
            cast(tree.Pattern, self.event),
        )
        condition = conjunction(list(self.conditions)) if filtered else None
        return named if condition is None else tree.Filtered(named, condition)


def kinds_of(pattern: tree.Pattern) -> tuple[Kind, ...]:
    """Return the kinds of events that a pattern is made of, in order."""
    match pattern:
        case tree.Event(type=word):
            return (Kind(pattern, frozenset({"ANY" if word is None else word.text})),)
        case tree.Absent():
            return (Kind(pattern, frozenset()),)
        case tree.Sequence(items=items) | tree.Combined(items=items):
            return tuple(kind for item in items for kind in kinds_of(item))
        case tree.Named(pattern=inner, variable=word):
            return tuple(replace(kind, names=kind.names | {word.text}) for kind in kinds_of(inner))
        case tree.Projected(pattern=inner, variables=words):
            kept = {word.text for word in words}
            return tuple(replace(kind, names=kind.names & kept) for kind in kinds_of(inner))
        case tree.Filtered(pattern=inner, condition=condition):
            return tuple(_restricted(kind, condition) for kind in kinds_of(inner))
        case _:
            return kinds_of(pattern.pattern)


def _restricted(kind: Kind, condition: tree.Expression) -> Kind:
    for each in conjuncts(condition):
        named = {word.text for word in named_in(each)}
        if len(named) == 1 and named <= kind.names:
            kind = replace(kind, conditions=(*kind.conditions, each))
    return kind


def conjuncts(condition: tree.Expression) -> Iterator[tree.Expression]:
    """Yield the conditions that are joined by AND outside brackets."""
    if isinstance(condition, tree.Logical) and condition.operator == "AND":
        for each in condition.operands:
            yield from conjuncts(each)
    else:
        yield condition


def one_of(kinds: tuple[Kind, ...], *, filtered: bool) -> tree.Pattern:
    """Return the pattern of one event of some kinds."""
    patterns = [kind.pattern(filtered=filtered) for kind in kinds]
    return patterns[0] if len(patterns) == 1 else tree.Combined("OR", tuple(patterns))
