"""Function calls bound: the number and the types of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensue.analysis.comparisons import bind_element
from ensue.analysis.context import listing
from ensue.analysis.expressions import UNKNOWN, Expression, Operation
from ensue.analysis.functions import AGGREGATES, FUNCTIONS, TRENDS
from ensue.analysis.types import Type, joined
from ensue.analysis.values import computed_literal
from ensue.language import tree
from ensue.language.printer import format_expression

if TYPE_CHECKING:
    from ensue.analysis.binding import Binder


def bind_call(binder: Binder, node: tree.Call) -> Expression:
    """Bind a call of a function by its signature."""
    name = node.function.text.lower()
    if name == "coalesce":
        return _coalesce(binder, node)
    function = FUNCTIONS.get(name)
    if function is None:
        _report_function(binder, node, name)
        return UNKNOWN
    if len(node.arguments) != len(function.parameters):
        count = len(function.parameters)
        binder.context.report(
            "E314",
            node.span,
            f"{name} takes {count} argument{'s' * (count != 1)}, not {len(node.arguments)}",
        )
        return UNKNOWN
    arguments = tuple(binder.bind(each) for each in node.arguments)
    if name == "contains" and (
        arguments[0].type.is_list
        or (arguments[0].type is Type.UNKNOWN and arguments[1].type not in _TEXTS)
    ):
        return bind_element(binder, node.arguments[1], node.arguments[0], node.span)
    for argument, (words, types), place in zip(
        arguments, function.parameters, node.arguments, strict=True
    ):
        if argument.type not in types and argument.type is not Type.UNKNOWN:
            binder.context.report(
                "E315", place.span, f"{name} takes {words}, but this is {argument.type.article}"
            )
            return UNKNOWN
    arguments = tuple(computed_literal(each) for each in arguments)
    return Operation(name, arguments, function.result(tuple(each.type for each in arguments)))


def _coalesce(binder: Binder, node: tree.Call) -> Expression:
    if not node.arguments:
        binder.context.report("E314", node.span, "coalesce takes at least one argument")
        return UNKNOWN
    arguments = tuple(computed_literal(binder.bind(each)) for each in node.arguments)
    kind = arguments[0].type
    for argument in arguments[1:]:
        both = joined(kind, argument.type)
        if both is None:
            binder.context.report(
                "E316", node.span, f"coalesce mixes {kind.article} and {argument.type.article}"
            )
            return UNKNOWN
        kind = both
    return Operation("coalesce", arguments, kind)


def _report_function(binder: Binder, node: tree.Call, name: str) -> None:
    if name in AGGREGATES:
        written = format_expression(node)
        binder.context.report(
            "E408",
            node.span,
            f"the aggregate {name} cannot stand in a filter",
            f"compute it first: AGGREGATE Y[t = {written}], then FILTER Y[t …]",
        )
    elif name in TRENDS:
        binder.context.report(
            "E409",
            node.span,
            f"{name} is about all events of a variable and stands alone in its brackets",
            f"write x[{name}(attribute)]; join conditions by AND outside the brackets",
        )
    else:
        known = [*FUNCTIONS, "coalesce"]
        binder.context.report_name(
            "E209",
            node.function.span,
            f"unknown function '{node.function.text}'",
            name,
            [*known, *TRENDS],
            f"the functions are {listing(known, 30)}",
        )


_TEXTS = (Type.STRING, Type.UNKNOWN)
