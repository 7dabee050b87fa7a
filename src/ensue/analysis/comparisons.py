"""Comparisons bound: =, <, BETWEEN, IN, LIKE and RLIKE, with the checks of their types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ensue.analysis import values
from ensue.analysis.arithmetic import in_clock_units
from ensue.analysis.expressions import (
    UNKNOWN,
    Attribute,
    Constant,
    Expression,
    OneOf,
    Operation,
    negated,
)
from ensue.analysis.regexes import regex_error
from ensue.analysis.types import LIST_HINT, Type, comparable
from ensue.analysis.values import computed_literal
from ensue.errors import Fix, Span
from ensue.language import tree
from ensue.language.printer import format_expression
from ensue.messages import Message, Option

if TYPE_CHECKING:
    from ensue.analysis.binding import Binder


def bind_comparison(binder: Binder, node: tree.Comparison) -> Expression:
    """Bind = != < <= > >=."""
    left, right = binder.bind(node.left), binder.bind(node.right)
    return _compared(binder, node.operator, left, right, node)


def _compared(
    binder: Binder, operator: str, left: Expression, right: Expression, node: tree.Expression
) -> Expression:
    left, right = in_clock_units(binder, left, right, node.span)
    left, right = _as_literals(left, right)
    if not comparable(left.type, right.type):
        _report_comparison(binder, left, right, node)
        return UNKNOWN
    return Operation(operator, (left, right), Type.BOOLEAN)


def _report_comparison(
    binder: Binder, left: Expression, right: Expression, node: tree.Expression
) -> None:
    message = f"{left.type.article} is compared with {right.type.article}"
    hint: str | None = None
    fix: Fix | None = None
    if left.type.is_list or right.type.is_list:
        hint = LIST_HINT
    elif isinstance(node, tree.Comparison):
        hint, fix = _quoting_hint(node.left, left, right) or (None, None)
        if hint is None:
            hint, fix = _quoting_hint(node.right, right, left) or (None, None)
    binder.context.report("E306", node.span, message, hint, fix)


def bind_range(binder: Binder, node: tree.Range) -> Expression:
    """Bind BETWEEN and IN RANGE as two comparisons."""
    operand, low, high = binder.bind(node.operand), binder.bind(node.low), binder.bind(node.high)
    bounds = (
        _compared(binder, ">=", operand, low, node),
        _compared(binder, "<=", operand, high, node),
    )
    return negated(Operation("and", bounds, Type.BOOLEAN), node.negated)


def bind_membership(binder: Binder, node: tree.Membership) -> Expression:
    """Bind IN: a set of constants, a choice of equalities, or an attribute that is a list."""
    if isinstance(node.choices, tree.Path):
        return negated(bind_element(binder, node.operand, node.choices, node.span), node.negated)
    operand = binder.bind(node.operand)
    if isinstance(node.choices, tree.Parameter):
        span = node.choices.span
        choices: list[Expression] = list(values.bind_list(node.choices, binder.context))
    else:
        span = node.span
        choices = [binder.bind(each) for each in node.choices]
    choices = [_as_literals(operand, each)[1] for each in choices]
    wrong = next((each for each in choices if not comparable(operand.type, each.type)), None)
    if wrong is not None:
        binder.context.report(
            "E307",
            span,
            f"{operand.type.article} is looked up in a list with {wrong.type.article}",
            LIST_HINT if operand.type.is_list else None,
        )
        return UNKNOWN
    constants = [each for each in choices if isinstance(each, Constant)]
    if len(constants) == len(choices):
        found = frozenset(each.value for each in constants if each.value is not None)
        with_null = any(each.value is None for each in constants)
        return negated(OneOf(operand, found, with_null), node.negated)
    equal = tuple(Operation("=", (operand, each), Type.BOOLEAN) for each in choices)
    return negated(Operation("or", equal, Type.BOOLEAN), node.negated)


def bind_element(
    binder: Binder, element: tree.Expression, given: tree.Expression, span: Span
) -> Expression:
    """Bind a membership test of an attribute that is a list."""
    found, wanted = binder.bind(given), binder.bind(element)
    if not (found.type.is_list or found.type is Type.UNKNOWN):
        binder.context.report(
            "E323",
            given.span,
            f"this is {found.type.article}, but IN needs a list",
            "for one value write =; values to choose from stand in parentheses: IN (x, y)",
        )
        return UNKNOWN
    wanted = computed_literal(wanted)
    if not comparable(found.type.element, wanted.type):
        binder.context.report(
            "E307", span, f"{wanted.type.article} is looked up in {found.type.article}"
        )
        return UNKNOWN
    return Operation("has", (found, wanted), Type.BOOLEAN)


def bind_match(binder: Binder, node: tree.Match) -> Expression:
    """Bind LIKE and RLIKE, whose patterns are constants."""
    operand, pattern = binder.bind(node.operand), binder.bind(node.pattern)
    if operand.type not in (Type.STRING, Type.UNKNOWN):
        binder.context.report(
            "E308",
            node.operand.span,
            f"{node.operator} is about strings, but this is {operand.type.article}",
        )
    if not isinstance(pattern, Constant) or pattern.type not in (Type.STRING, Type.UNKNOWN):
        binder.context.report(
            "E309",
            node.pattern.span,
            f"the pattern of {node.operator} must be a string",
            "write it in quotes, or give it as a parameter",
        )
        return UNKNOWN
    if node.operator == "RLIKE" and isinstance(pattern.value, str):
        wrong = regex_error(pattern.value)
        if wrong is not None:
            binder.context.report(
                "E310",
                node.pattern.span,
                f"this is not a regular expression: {wrong}",
                "the syntax is RE2's; lookaround and backreferences are not part of it",
            )
            return UNKNOWN
    return negated(Operation(node.operator.lower(), (operand, pattern), Type.BOOLEAN), node.negated)


def _as_literals(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Type a literal with a point as decimal if compared with a decimal, else as double."""
    if left.type is not Type.DECIMAL or isinstance(left, Constant):
        right = computed_literal(right)
    if right.type is not Type.DECIMAL or isinstance(right, Constant):
        left = computed_literal(left)
    return left, right


def _quoting_hint(
    node: tree.Expression, bound: Expression, other: Expression
) -> tuple[str, Fix | None] | None:
    """Suggest quotes around a number, or a number without its quotes."""
    if not isinstance(node, tree.Constant):
        return None
    if other.type is Type.STRING and bound.type.is_number:
        text = f"'{format_expression(node)}'"
        return f"did you mean the string {text}?", Fix(node.span, text)
    if other.type.is_number and isinstance(node.value, str):
        try:
            float(node.value)
        except ValueError:
            return None
        if re.match(r"0\d", node.value):
            name = f"'{'.'.join(other.path)}'" if isinstance(other, Attribute) else "the column"
            return (
                Message(
                    f"numbers have no leading zeros; where {name} holds codes such as "
                    f"'{node.value}', have it read as strings: declare it as string in ",
                    Option("schema"),
                ),
                None,
            )
        return f"did you mean the number {node.value}?", Fix(node.span, node.value.strip())
    if other.type.is_time and isinstance(node.value, str):
        text = f"{other.type.name} '{node.value}'"
        return f"did you mean {text}?", Fix(node.span, text)
    return None
