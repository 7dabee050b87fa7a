"""Conditions of FILTER: on one event, between events, or on the order of a variable's events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ensue.analysis.binding import Binder
from ensue.analysis.context import Context
from ensue.analysis.expressions import (
    Expression,
    Operation,
    subexpressions,
    variables_of,
    without_variables,
)
from ensue.analysis.functions import TRENDS
from ensue.analysis.variables import Variable
from ensue.errors import Fix
from ensue.language import tree
from ensue.language.printer import format_expression


@dataclass(frozen=True, slots=True)
class Each:
    """X[p]: every event bound to the variable satisfies the predicate."""

    variable: str
    predicate: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate on every choice of one event from each of two or more variables."""

    variables: tuple[str, ...]
    predicate: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Trend:
    """same, increasing, … : the variable's events in order, each with the next."""

    variable: str
    kind: str
    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SameKey:
    """PARTITION BY inside a pattern: all listed attributes have one and the same value."""

    keys: tuple[tuple[str, tuple[str, ...]], ...]
    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[Condition, ...]


Condition: TypeAlias = Each | Relation | Trend | SameKey | AllOf | AnyOf

_ALWAYS_TRUE = AllOf(())
"""Stands for a condition with an error, which was reported."""


def bind_condition(
    node: tree.Expression, binder: Binder, repeats: Callable[[str], bool]
) -> Condition:
    """Bind the condition of FILTER; `repeats`: a variable may have several events."""
    match node:
        case tree.Logical(operator=operator, operands=operands):
            parts = tuple(bind_condition(each, binder, repeats) for each in operands)
            return AllOf(parts) if operator == "AND" else AnyOf(parts)
        case tree.Not():
            _report_not(node, binder.context)
            return _ALWAYS_TRUE
        case tree.Restriction(variable=word, predicate=predicate):
            variable = binder.variables.get(word.text)
            if variable is None:
                binder.report_variable(word)
                return _ALWAYS_TRUE
            return _restriction(predicate, binder.within(variable), variable)
        case _:
            return _relation(node, binder, repeats)


def _restriction(node: tree.Expression, binder: Binder, variable: Variable) -> Condition:
    """Bind the condition inside X[…]; trends joined by AND are conditions of their own."""
    if (
        isinstance(node, tree.Logical)
        and node.operator == "AND"
        and any(map(_is_trend, node.operands))
    ):
        return AllOf(tuple(_restriction(each, binder, variable) for each in node.operands))
    text = f"{variable.name}[{format_expression(node)}]"
    if isinstance(node, tree.Path):
        binder.single_value(node.names, variable, node.span, inside=True)
        return Trend(variable.name, "same", node.names, text)
    if isinstance(node, tree.Call) and _is_trend(node):
        return _trend(node, binder, variable, text)
    return Each(variable.name, binder.predicate(node), text)


def _is_trend(node: tree.Expression) -> bool:
    return isinstance(node, tree.Call) and node.function.text.lower() in TRENDS


def _trend(node: tree.Call, binder: Binder, variable: Variable, text: str) -> Condition:
    kind = node.function.text.lower()
    if len(node.arguments) != 1 or not isinstance(node.arguments[0], tree.Path):
        binder.context.report(
            "E411", node.span, f"{kind} takes one attribute", f"write {kind}(price)"
        )
        return _ALWAYS_TRUE
    path = node.arguments[0]
    binder.single_value(path.names, variable, path.span, inside=True)
    return Trend(variable.name, kind, path.names, text)


def _relation(node: tree.Expression, binder: Binder, repeats: Callable[[str], bool]) -> Condition:
    before = len(binder.context.problems)
    predicate = binder.predicate(node)
    if len(binder.context.problems) > before:
        return _ALWAYS_TRUE
    text = format_expression(node)
    variables = tuple(sorted(variables_of(predicate)))
    if not variables:
        binder.context.report(
            "E412",
            node.span,
            "this condition is about no event",
            "name a variable: x.price > 10, or x[price > 10]",
        )
        return _ALWAYS_TRUE
    if len(variables) == 1:
        return Each(variables[0], without_variables(predicate), text)
    if any(map(_is_list, subexpressions(predicate))):
        binder.context.report(
            "E325",
            node.span,
            "lists cannot be looked into by a condition between events",
            "lists are for conditions on one event: x['a' IN tags]",
        )
        return _ALWAYS_TRUE
    iterated = [each for each in variables if repeats(each)]
    if len(iterated) > 1 and not _separates(predicate):
        binder.context.report(
            "E410",
            node.span,
            f"{' and '.join(iterated)} may each have several events, and this condition does not "
            "separate them",
            "write f(x) op g(y) or abs(f(x) - g(y)) op c, with one variable in f and one in g",
        )
    return Relation(variables, predicate, text)


def _is_list(part: Expression) -> bool:
    return part.type.is_list or (isinstance(part, Operation) and part.name == "has")


def _separates(predicate: Expression) -> bool:
    """Return whether a condition is f(x) op g(y) or |f(x) - g(y)| op c, up to moving terms."""
    if not isinstance(predicate, Operation) or predicate.name not in (
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
    ):
        return False
    if len(variables_of(predicate)) != 2:
        return False
    left, right = predicate.arguments
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Operation) and side.name == "abs" and not variables_of(other):
            return _terms_separate(side.arguments[0])
    return _terms_separate(left) and _terms_separate(right)


def _terms_separate(expression: Expression) -> bool:
    if len(variables_of(expression)) <= 1:
        return True
    if isinstance(expression, Operation) and expression.name in ("+", "-"):
        return all(_terms_separate(each) for each in expression.arguments)
    return False


def _report_not(node: tree.Not, context: Context) -> None:
    hint = "NOT stands inside brackets only: X[NOT p]"
    fix: Fix | None = None
    inner = node.operand
    if isinstance(inner, tree.Restriction):
        written = f"{inner.variable.text}[NOT ({format_expression(inner.predicate)})]"
        hint = f"NOT stands inside brackets only: {written}"
        fix = Fix(node.span, written)
    context.report("E413", node.span, "NOT cannot be put before a condition", hint, fix)
