"""Function calls bound: the number and the types of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensue.analysis.comparisons import bind_element
from ensue.analysis.context import listing
from ensue.analysis.expressions import UNKNOWN, Constant, Expression, Operation
from ensue.analysis.functions import (
    AGGREGATES,
    CHOICES,
    FUNCTIONS,
    KNOWN,
    STRING,
    TRENDS,
    Family,
)
from ensue.analysis.special_calls import SPECIAL, common_type
from ensue.analysis.types import LIST_HINT, Type
from ensue.analysis.user_functions import UserFunction
from ensue.analysis.values import computed_literal
from ensue.language import tree
from ensue.language.printer import format_expression

if TYPE_CHECKING:
    from ensue.analysis.binding import Binder


def bind_call(binder: Binder, node: tree.Call) -> Expression:
    """Bind a call of a function by its signature."""
    name = node.function.text.lower()
    if binder.aggregates is not None and binder.aggregates.knows(name):
        return binder.aggregates.call(node)
    if name in CHOICES:
        return _choice(binder, node, name)
    if name == "concat":
        return _concat(binder, node)
    user = binder.context.functions.get(name)
    if user is not None:
        return _user_call(binder, node, user)
    function = FUNCTIONS.get(name)
    if function is None:
        _report_function(binder, node, name)
        return UNKNOWN
    most = len(function.parameters)
    if not most - function.optional <= len(node.arguments) <= most:
        few = f"{most - function.optional} or " if function.optional else ""
        _report_count(binder, node, f"{few}{most} argument{'s' * (most != 1)}")
        return UNKNOWN
    arguments = tuple(binder.bind(each) for each in node.arguments)
    if name == "contains" and (
        arguments[0].type.is_list
        or (arguments[0].type is Type.UNKNOWN and arguments[1].type not in _TEXTS)
    ):
        return bind_element(binder, node.arguments[1], node.arguments[0], node.span)
    for at, (argument, family) in enumerate(zip(arguments, function.parameters, strict=False)):
        if not _takes(binder, name, family, argument, node.arguments[at]):
            return UNKNOWN
        if at in function.constants and not isinstance(argument, Constant):
            binder.context.report(
                "E326",
                node.arguments[at].span,
                f"argument {at + 1} of {name} must be a constant",
                "write it out, or give it as a parameter",
            )
            return UNKNOWN
    arguments = tuple(computed_literal(each) for each in arguments)
    if name in SPECIAL:
        return SPECIAL[name](binder, node, arguments)
    return Operation(name, arguments, function.result(tuple(each.type for each in arguments)))


def _takes(
    binder: Binder, name: str, family: Family, argument: Expression, place: tree.Expression
) -> bool:
    """Check the type of an argument."""
    words, types = family
    if argument.type in types or argument.type is Type.UNKNOWN:
        return True
    binder.context.report(
        "E315", place.span, f"{name} takes {words}, but this is {argument.type.article}"
    )
    return False


def _report_count(binder: Binder, node: tree.Call, takes: str) -> None:
    name = node.function.text.lower()
    binder.context.report("E314", node.span, f"{name} takes {takes}, not {len(node.arguments)}")


def _user_call(binder: Binder, node: tree.Call, user: UserFunction) -> Expression:
    """Bind a call of a function that the user gives; integers may stand for doubles."""
    if len(node.arguments) != len(user.args):
        count = len(user.args)
        _report_count(binder, node, f"{count} argument{'s' * (count != 1)}")
        return UNKNOWN
    arguments = tuple(computed_literal(binder.bind(each)) for each in node.arguments)
    for argument, kind, place in zip(arguments, user.args, node.arguments, strict=True):
        allowed = {kind} | ({Type.INT, Type.DECIMAL} if kind is Type.DOUBLE else set())
        if not _takes(binder, user.name, (kind.article, frozenset(allowed)), argument, place):
            return UNKNOWN
    return Operation("call", arguments, user.returns, user)


def _concat(binder: Binder, node: tree.Call) -> Expression:
    if not node.arguments:
        _report_count(binder, node, "at least one argument")
        return UNKNOWN
    arguments = tuple(binder.bind(each) for each in node.arguments)
    for argument, place in zip(arguments, node.arguments, strict=True):
        if not _takes(binder, "concat", STRING, argument, place):
            return UNKNOWN
    return Operation("concat", arguments, Type.STRING)


def _choice(binder: Binder, node: tree.Call, name: str) -> Expression:
    """Bind coalesce, greatest or least: values that have a common type."""
    if not node.arguments:
        _report_count(binder, node, "at least one argument")
        return UNKNOWN
    arguments = tuple(computed_literal(binder.bind(each)) for each in node.arguments)
    kind = common_type(binder, name, arguments, node.span)
    if kind is None:
        return UNKNOWN
    if name != "coalesce" and kind.is_list:
        binder.context.report("E324", node.span, f"{name} compares single values", LIST_HINT)
        return UNKNOWN
    return Operation(name, arguments, kind)


def _report_function(binder: Binder, node: tree.Call, name: str) -> None:
    if name in AGGREGATES or name in binder.context.aggregates:
        written = format_expression(node)
        binder.context.report(
            "E408",
            node.span,
            f"the aggregate {name} cannot stand in {binder.place}",
            f"compute it first: AGGREGATE Y[t = {written}], then "
            + ("FILTER Y[t …]" if binder.place == "a filter" else "use Y.t"),
        )
    elif name in TRENDS:
        binder.context.report(
            "E409",
            node.span,
            f"{name} is about all events of a variable and stands alone in its brackets",
            f"write x[{name}(attribute)]; join conditions by AND outside the brackets",
        )
    elif binder.aggregates is not None:
        binder.context.report_name(
            "E213",
            node.function.span,
            f"unknown aggregate '{node.function.text}'",
            name,
            [*AGGREGATES, *KNOWN],
            f"the aggregates are {listing(AGGREGATES, 20)}",
        )
    else:
        binder.context.report_name(
            "E209",
            node.function.span,
            f"unknown function '{node.function.text}'",
            name,
            [*KNOWN, *TRENDS, *binder.context.functions],
            f"the functions are {listing([*KNOWN, *binder.context.functions], 50)}",
        )


_TEXTS = (Type.STRING, Type.UNKNOWN)
