"""Obstacles: what a query asks for beyond events of the right types, and the query without it.

An obstacle is a node of the syntax tree. `without` removes some of them and returns a query that
every match of the query satisfies too, as long as there is no strategy and no CONSUME.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ensue.insight.steps import conjunction
from ensue.language import tree
from ensue.language.printer import format_expression, format_pattern, format_window

ObstacleKind = Literal[
    "condition",
    "contiguity",
    "UNLESS",
    "window",
    "strategy",
    "NOT FOLLOWED BY",
    "CONSUME",
    "LIMIT",
    "step",
]

CLAUSES: tuple[ObstacleKind, ...] = ("NOT FOLLOWED BY", "CONSUME", "LIMIT")
"""Kinds that are clauses of the query, not of its pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class Obstacle:
    """Something that a match has to satisfy."""

    kind: ObstacleKind
    text: str
    """As a user would write it."""
    node: tree.Node | None = None
    """Where it stands; None: it is a clause of the query."""
    join: int = 0
    """Of contiguity: which item of the sequence has to come right after the one before."""


def obstacles_of(query: tree.Query) -> tuple[Obstacle, ...]:
    """Return the obstacles of a query, those of its pattern first."""
    found = list(_in_pattern(query.pattern))
    if query.window is not None:
        found.append(Obstacle("window", format_window(query.window)))
    absence = query.not_followed
    if absence is not None:
        text = f"NOT FOLLOWED BY {format_pattern(absence.pattern)} {format_window(absence.window)}"
        found.append(Obstacle("NOT FOLLOWED BY", text))
    if query.select.strategy is not None and query.select.strategy.text != "ALL":
        found.append(Obstacle("strategy", f"SELECT {query.select.strategy.text}"))
    if query.consume not in (None, "NONE"):
        found.append(Obstacle("CONSUME", f"CONSUME BY {query.consume}"))
    if query.limit is not None:
        found.append(Obstacle("LIMIT", f"LIMIT {query.limit}"))
    return tuple(found)


def _in_pattern(pattern: tree.Pattern) -> Iterator[Obstacle]:
    match pattern:
        case tree.Event() | tree.Absent():
            return
        case tree.Sequence(items=items, contiguous=contiguous):
            for number, item in enumerate(items):
                yield from _in_pattern(item)
                if contiguous and number:
                    text = f"{format_pattern(items[number - 1])} : {format_pattern(item)}"
                    yield Obstacle("contiguity", text, pattern, number)
            return
        case tree.Combined(items=items):
            for item in items:
                yield from _in_pattern(item)
            return
    yield from _in_pattern(pattern.pattern)
    match pattern:
        case tree.Filtered(condition=condition):
            for text, node in _conditions(condition):
                yield Obstacle("condition", text, node)
        case tree.Partitioned(keys=keys):
            text = ", ".join(".".join(key.names) for key in keys)
            yield Obstacle("condition", f"PARTITION BY [{text}]", pattern)
        case tree.Unless(absent=absent):
            yield Obstacle("UNLESS", f"UNLESS {format_pattern(absent)}", pattern)
        case tree.Repeated(contiguous=True):
            yield Obstacle("contiguity", format_pattern(pattern), pattern)
        case tree.Applied(function=word):
            yield Obstacle("strategy", word.text.upper(), pattern)
        case tree.Within(window=window):
            yield Obstacle("window", format_window(window), pattern)


def _conditions(condition: tree.Expression) -> Iterator[tuple[str, tree.Node]]:
    """Yield the conditions that are joined by AND, inside the brackets of X[…] too."""
    match condition:
        case tree.Logical(operator="AND", operands=operands):
            for each in operands:
                yield from _conditions(each)
        case tree.Restriction(variable=word, predicate=tree.Logical() as inside) if _splits(inside):
            for each in inside.operands:
                yield format_expression(tree.Restriction(word, each)), each
        case _:
            yield format_expression(condition), condition


def _splits(inside: tree.Logical) -> bool:
    """Return whether the parts mean in brackets of their own what they mean here."""
    lone = any(isinstance(each, tree.Path) for each in inside.operands)
    return inside.operator == "AND" and not lone


def split_conditions(query: tree.Query) -> tree.Query:
    """Write X[p AND q] as X[p] AND X[q], so that each condition stands by itself."""
    return replace(query, pattern=_split(query.pattern))


def _split(pattern: tree.Pattern) -> tree.Pattern:
    match pattern:
        case tree.Event() | tree.Absent():
            return pattern
        case tree.Sequence(items=items) | tree.Combined(items=items):
            return replace(pattern, items=tuple(map(_split, items)))
        case tree.Filtered(pattern=inner, condition=condition):
            parts = _restrictions(condition)
            whole = conjunction(parts)
            assert whole is not None
            return replace(pattern, pattern=_split(inner), condition=whole)
        case _:
            return replace(pattern, pattern=_split(pattern.pattern))


def _restrictions(condition: tree.Expression) -> list[tree.Expression]:
    match condition:
        case tree.Logical(operator="AND", operands=operands):
            return [part for each in operands for part in _restrictions(each)]
        case tree.Restriction(variable=word, predicate=tree.Logical() as inside) if _splits(inside):
            return [tree.Restriction(word, each) for each in inside.operands]
        case _:
            return [condition]


def without(query: tree.Query, obstacles: Collection[Obstacle]) -> tree.Query:
    """Return a query that some obstacles were removed from."""
    nodes = {(id(each.node), each.join) for each in obstacles if each.node is not None}
    query = replace(query, pattern=_remove(query.pattern, nodes))
    for each in obstacles:
        if each.node is not None:
            continue
        match each.kind:
            case "window":
                query = replace(query, window=None)
            case "NOT FOLLOWED BY":
                query = replace(query, not_followed=None)
            case "strategy":
                query = replace(query, select=replace(query.select, strategy=None))
            case "CONSUME":
                query = replace(query, consume=None)
            case "LIMIT":
                query = replace(query, limit=None)
    return query


_Nodes = set[tuple[int, int]]
"""Identities of nodes to remove, each with the number of a join, or 0."""


def _remove(pattern: tree.Pattern, nodes: _Nodes) -> tree.Pattern:
    match pattern:
        case tree.Event() | tree.Absent():
            return pattern
        case tree.Sequence(items=items):
            return _joined(pattern, tuple(_remove(item, nodes) for item in items), nodes)
        case tree.Combined(items=items):
            return replace(pattern, items=tuple(_remove(item, nodes) for item in items))
    inner = _remove(pattern.pattern, nodes)
    if isinstance(pattern, tree.Filtered):
        condition = _kept(pattern.condition, nodes)
        if condition is None:
            return inner
        return replace(pattern, pattern=inner, condition=condition)
    removed = (id(pattern), 0) in nodes
    if removed and isinstance(pattern, tree.Repeated):
        return replace(pattern, pattern=inner, contiguous=False)
    return inner if removed else replace(pattern, pattern=inner)


def _joined(
    sequence: tree.Sequence, items: tuple[tree.Pattern, ...], nodes: _Nodes
) -> tree.Pattern:
    """Cut a contiguous sequence where anything may come between."""
    cuts = [at for at in range(1, len(items)) if (id(sequence), at) in nodes]
    if not cuts:
        return replace(sequence, items=items)
    bounds = [0, *cuts, len(items)]
    parts = [items[a:b] for a, b in pairwise(bounds)]
    return tree.Sequence(
        tuple(part[0] if len(part) == 1 else tree.Sequence(part, True) for part in parts), False
    )


def _kept(condition: tree.Expression, nodes: _Nodes) -> tree.Expression | None:
    """Leave out conditions; None where none is left."""
    if (id(condition), 0) in nodes:
        return None
    match condition:
        case tree.Logical(operator="AND", operands=operands):
            parts = [_kept(each, nodes) for each in operands]
            return conjunction([each for each in parts if each is not None])
        case tree.Restriction(predicate=tree.Logical(operator="AND") as inside):
            left = _kept(inside, nodes)
            return None if left is None else replace(condition, predicate=left)
        case _:
            return condition
