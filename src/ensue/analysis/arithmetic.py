"""Arithmetic bound: the types of results, and durations in the unit of the time column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ensue.analysis.expressions import UNKNOWN, Constant, Expression, Operation, paths_of
from ensue.analysis.hyphens import report_hyphen
from ensue.analysis.types import LIST_HINT, Type
from ensue.analysis.values import computed_literal
from ensue.errors import Span
from ensue.language import tree
from ensue.messages import Message, Option

if TYPE_CHECKING:
    from ensue.analysis.binding import Binder


def bind_negative(binder: Binder, node: tree.Negative) -> Expression:
    """Bind -x; the least integer is written as a negative literal."""
    if isinstance(node.operand, tree.Constant) and node.operand.value == 2**63:
        return Constant(-(2**63), Type.INT)
    operand = binder.bind(node.operand)
    if isinstance(operand, Constant) and operand.type.is_number:
        number: Any = operand.value
        if number != -(2**63):
            return Constant(-number, operand.type)
    if operand.type in (Type.INT, Type.DURATION, Type.UNKNOWN):
        return Operation("negative", (operand,), operand.type)
    if not operand.type.is_number:
        binder.context.report("E311", node.span, f"{operand.type.article} has no negative")
        return UNKNOWN
    return Operation("negative", (operand,), Type.DOUBLE)


def bind_arithmetic(binder: Binder, node: tree.Arithmetic) -> Expression:
    """Bind + - * / %."""
    if report_hyphen(node, binder.context, binder.variables, binder.event):
        return UNKNOWN
    left, right = binder.bind(node.left), binder.bind(node.right)
    if node.operator in "+-":
        left, right = in_clock_units(binder, left, right, node.span)
    kind = _result(node.operator, left.type, right.type)
    if kind is None:
        binder.context.report(
            "E312",
            node.span,
            f"'{node.operator}' does not go with {left.type.article} and {right.type.article}",
            _arithmetic_hint(left.type, right.type),
        )
        return UNKNOWN
    return Operation(node.operator, (computed_literal(left), computed_literal(right)), kind)


def in_clock_units(
    binder: Binder, left: Expression, right: Expression, span: Span
) -> tuple[Expression, Expression]:
    """Convert a duration that meets the integer time column to the unit of that column."""
    if left.type is Type.DURATION and right.type.is_number:
        return _in_units(binder, left, right, span), right
    if right.type is Type.DURATION and left.type.is_number:
        return left, _in_units(binder, right, left, span)
    return left, right


def _in_units(binder: Binder, duration: Expression, number: Expression, span: Span) -> Expression:
    clock = binder.context.clock
    if not clock.known:
        return replace(UNKNOWN)
    unit = clock.nanoseconds
    paths = paths_of(number)
    if unit is None or paths != {clock.column} or not isinstance(duration, Constant):
        column = ".".join(clock.column) if clock.column else None
        hint = (
            Message(f"'{column}' is the time column: say its unit with ", Option("time_unit"))
            if paths == {clock.column}
            else "a duration goes with timestamps and with the time column"
        )
        binder.context.report("E313", span, "a duration beside a plain number", hint)
        return UNKNOWN
    assert isinstance(duration.value, int)
    whole, rest = divmod(duration.value, unit)
    if rest:
        return Constant(duration.value / unit, Type.DOUBLE)
    return Constant(whole, Type.INT)


def _result(operator: str, left: Type, right: Type) -> Type | None:
    """Return the type of left operator right, or None if the operator is not defined for them."""
    if Type.UNKNOWN in (left, right):
        other = right if left is Type.UNKNOWN else left
        wrong = other in (Type.STRING, Type.BOOLEAN) or other.is_list
        return None if wrong else Type.UNKNOWN
    if left.is_number and right.is_number:
        whole = left is Type.INT and right is Type.INT and operator != "/"
        return Type.INT if whole else Type.DOUBLE
    return _TIMES.get((operator, _family(left), _family(right)))


def _family(kind: Type) -> str:
    return "number" if kind.is_number else "time" if kind.is_time else kind.value


_TIMES = {
    ("+", "time", "duration"): Type.TIMESTAMP,
    ("+", "duration", "time"): Type.TIMESTAMP,
    ("-", "time", "duration"): Type.TIMESTAMP,
    ("-", "time", "time"): Type.DURATION,
    ("+", "duration", "duration"): Type.DURATION,
    ("-", "duration", "duration"): Type.DURATION,
    ("*", "duration", "number"): Type.DURATION,
    ("*", "number", "duration"): Type.DURATION,
    ("/", "duration", "number"): Type.DURATION,
    ("/", "duration", "duration"): Type.DOUBLE,
}


def _arithmetic_hint(left: Type, right: Type) -> str | None:
    if left.is_list or right.is_list:
        return LIST_HINT
    if Type.STRING in (left, right):
        return "strings are compared, not computed with"
    if {_family(left), _family(right)} == {"time", "number"}:
        return "add a duration, such as 5 MINUTES"
    return None
