"""Calls whose arguments are more than values of a type: CASE, date_diff, cidr_match and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING

from ensue.analysis.context import listing, nearest
from ensue.analysis.expressions import UNKNOWN, Constant, Expression, Operation
from ensue.analysis.regexes import regex_error, with_named_groups
from ensue.analysis.types import NANOSECONDS, Type, joined
from ensue.analysis.values import computed_literal
from ensue.errors import Fix, Span
from ensue.language import tree

if TYPE_CHECKING:
    from ensue.analysis.binding import Binder

DATE_UNITS = {
    **{name.lower(): length for name, length in NANOSECONDS.items()},
    "week": 7 * NANOSECONDS["DAY"],
    "month": None,
    "year": None,
}
"""The units of date_diff in nanoseconds; months and years are not all equally long."""


def common_type(binder: Binder, name: str, values: Sequence[Expression], span: Span) -> Type | None:
    """Return the type that has all values, or report that there is none."""
    kind = values[0].type
    for value in values[1:]:
        both = joined(kind, value.type)
        if both is None:
            binder.context.report(
                "E316", span, f"{name} mixes {kind.article} and {value.type.article}"
            )
            return None
        kind = both
    return kind


def bind_case(binder: Binder, node: tree.Case) -> Expression:
    """Bind CASE as an operation on condition, value, condition, value, …, otherwise."""
    conditions = [binder.predicate(test) for test, _ in node.branches]
    results = [binder.bind(value) for _, value in node.branches]
    results.append(UNKNOWN if node.otherwise is None else binder.bind(node.otherwise))
    results = [computed_literal(each) for each in results]
    kind = common_type(binder, "CASE", results, node.span)
    if kind is None:
        return UNKNOWN
    pairs = zip(conditions, results[:-1], strict=True)
    return Operation("case", (*(each for pair in pairs for each in pair), results[-1]), kind)


def _date_diff(binder: Binder, node: tree.Call, arguments: tuple[Expression, ...]) -> Expression:
    """Bind date_diff: its unit becomes a part of the operation's name."""
    unit, start, end = arguments
    assert isinstance(unit, Constant)
    if not isinstance(unit.value, str):
        return UNKNOWN
    name = unit.value.lower().removesuffix("s")
    if name not in DATE_UNITS:
        near = nearest(name, DATE_UNITS)
        binder.context.report(
            "E202",
            node.arguments[0].span,
            f"unknown unit '{unit.value}'",
            f"did you mean '{near}'?" if near else f"the units are {listing(DATE_UNITS, 12)}",
            Fix(node.arguments[0].span, f"'{near}'") if near else None,
        )
        return UNKNOWN
    return Operation(f"date_diff {name}", (start, end), Type.INT)


def _cidr_match(binder: Binder, node: tree.Call, arguments: tuple[Expression, ...]) -> Expression:
    address, network = arguments
    assert isinstance(network, Constant)
    if not isinstance(network.value, str):
        return Constant(None, Type.UNKNOWN)
    try:
        ip_network(network.value, strict=False)
    except ValueError:
        binder.context.report(
            "E327",
            node.arguments[1].span,
            f"'{network.value}' is not a network",
            "write an address and the length of its prefix: '10.0.0.0/8' or 'fd00::/8'",
        )
        return UNKNOWN
    return Operation("cidr_match", (address, network), Type.BOOLEAN)


def _regexp_extract(
    binder: Binder, node: tree.Call, arguments: tuple[Expression, ...]
) -> Expression:
    """Bind regexp_extract: without a number it gives the first group, or all if there is none."""
    text, pattern, *rest = arguments
    assert isinstance(pattern, Constant)
    if not isinstance(pattern.value, str):
        return UNKNOWN
    place = node.arguments[1].span
    named, groups = with_named_groups(pattern.value)
    wrong = regex_error(pattern.value) or regex_error(named)
    if wrong is not None:
        binder.context.report(
            "E310",
            place,
            f"this is not a regular expression: {wrong}",
            "the syntax is RE2's; lookaround and backreferences are not part of it",
        )
        return UNKNOWN
    group: object = min(groups, 1)
    if rest:
        assert isinstance(rest[0], Constant)
        group = rest[0].value
    if group is None:
        return UNKNOWN
    if not isinstance(group, int) or not 0 <= group <= groups:
        binder.context.report(
            "E328",
            node.arguments[2].span,
            f"this regular expression has no group {group}",
            f"its groups are 0, the whole, to {groups}" if groups else "0 is the whole",
        )
        return UNKNOWN
    chosen = Constant(f"g{group}", Type.STRING)
    return Operation("regexp_extract", (text, Constant(named, Type.STRING), chosen), Type.STRING)


SPECIAL: dict[str, Callable[[Binder, tree.Call, tuple[Expression, ...]], Expression]] = {
    "date_diff": _date_diff,
    "cidr_match": _cidr_match,
    "regexp_extract": _regexp_extract,
}
"""Functions of which a constant argument says more than its type."""
