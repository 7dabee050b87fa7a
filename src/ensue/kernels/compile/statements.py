"""Statements of Numba's intermediate code: which variables they read and assign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numba.core.ir

ir: Any = numba.core.ir

Blocks = dict[int, Any]
"""The blocks of a function by their labels; the least one is where it begins."""


def is_expression(value: Any, operation: str) -> bool:
    """Tell whether a value is such an expression."""
    return isinstance(value, ir.Expr) and value.op == operation


def is_number(value: Any) -> bool:
    """Tell whether a value is a constant whole number."""
    return isinstance(value, ir.Const | ir.Global) and isinstance(value.value, int)


def assignments(blocks: Blocks) -> dict[str, list[Any]]:
    """Return what is assigned to every variable."""
    found: dict[str, list[Any]] = {}
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                found.setdefault(statement.target.name, []).append(statement.value)
    return found


def uses(blocks: Blocks) -> Counter[str]:
    """Return in how many statements each variable is read."""
    found: Counter[str] = Counter()
    for block in blocks.values():
        for statement in block.body:
            found.update(reads(statement))
    return found


def reads(statement: Any) -> set[str]:
    """Return the variables that a statement reads."""
    found: set[str] = set()
    if isinstance(statement, ir.Assign):
        value = statement.value
        if isinstance(value, ir.Var):
            found.add(value.name)
        elif isinstance(value, ir.Expr):
            _add_names(value._kws.values(), found)
    else:
        _add_names(vars(statement).values(), found)
    return found


def _add_names(parts: Iterable[Any], found: set[str]) -> None:
    """Add the variables among the parts of a statement."""
    for part in parts:
        if isinstance(part, ir.Var):
            found.add(part.name)
        elif isinstance(part, list | tuple):
            _add_names(part, found)


def rename_all(blocks: Blocks, instead: dict[str, Any]) -> None:
    """Let all statements read other variables."""
    for block in blocks.values():
        for statement in block.body:
            rename(statement, instead)


def rename(statement: Any, instead: dict[str, Any]) -> None:
    """Let a statement read other variables."""

    def renamed(variable: Any) -> Any:
        while variable.name in instead:
            variable = instead[variable.name]
        return variable

    if isinstance(statement, ir.Assign):
        if isinstance(statement.value, ir.Var):
            statement.value = renamed(statement.value)
        elif isinstance(statement.value, ir.Expr):
            parts = statement.value._kws
            for name, part in parts.items():
                parts[name] = in_parts(part, renamed)
    elif isinstance(statement, ir.SetItem):
        statement.target = renamed(statement.target)
        statement.index = renamed(statement.index)
        statement.value = renamed(statement.value)
    elif isinstance(statement, ir.Branch):
        statement.cond = renamed(statement.cond)
    elif isinstance(statement, ir.Return):
        statement.value = renamed(statement.value)


def called(statement: Any, targets: dict[str, list[Any]]) -> Any:
    """Return the function that a statement calls, or None."""
    if not (isinstance(statement, ir.Assign) and is_expression(statement.value, "call")):
        return None
    found = targets.get(statement.value.func.name, ())
    if len(found) != 1 or not isinstance(found[0], ir.Global | ir.FreeVar):
        return None
    return found[0].value


def in_parts(part: Any, renamed: Callable[[Any], Any]) -> Any:
    """Return a part of an expression with other variables."""
    if isinstance(part, ir.Var):
        return renamed(part)
    if isinstance(part, list | tuple):
        return type(part)([in_parts(each, renamed) for each in part])
    return part
