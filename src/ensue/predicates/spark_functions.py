"""Arithmetic and functions as Spark SQL text with the results of predicates/functions.py.

Overflow, division by zero and results that are not finite numbers become NULL. Functions for which
Spark SQL has no equal raise UnsupportedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ensue.analysis.special_calls import DATE_UNITS
from ensue.analysis.types import Type
from ensue.predicates.spark_literals import LEAST_INTEGER, Kind, Sql
from ensue.predicates.vectors import UnsupportedError

_LONGEST_REPEATED_TEXT = 400
"""An operand that is written twice must not be longer: nested, it would grow exponentially."""


MICROSECONDS_PER_DAY = "86400000000L"


def choice(name: str, operands: list[Sql], kind: Type) -> Sql:
    """Write coalesce, greatest or least of operands that all have one kind, or are numbers."""
    known = [each for each in _of_one_kind(operands, kind) if each.kind != "null"]
    if not known:
        return Sql("NULL", "null")
    if len(known) == 1:
        return known[0]
    return Sql(f"{name}({', '.join(each.text for each in known)})", known[0].kind)


def case(tests: list[str], operands: list[Sql], kind: Type) -> Sql:
    """Write CASE; the last operand is that of ELSE."""
    values = _of_one_kind(operands, kind)
    kinds: list[Kind] = [each.kind for each in values if each.kind != "null"]
    if not kinds:
        return Sql("NULL", "null")
    branches = [
        f"WHEN {test} THEN {each.text}" for test, each in zip(tests, values[:-1], strict=True)
    ]
    return Sql(f"(CASE {' '.join(branches)} ELSE {values[-1].text} END)", kinds[0])


def _of_one_kind(operands: list[Sql], kind: Type) -> list[Sql]:
    """Return operands of one kind: integers beside doubles as doubles."""
    kinds = {each.kind for each in operands} - {"null"}
    if kind is Type.DOUBLE and kinds <= {"int", "double"}:
        return [each if each.kind == "null" else _as_double(each) for each in operands]
    if len(kinds) > 1:
        raise UnsupportedError("values of several kinds")
    return operands


def _as_double(operand: Sql) -> Sql:
    if operand.kind == "int":
        return Sql(f"CAST({operand.text} AS DOUBLE)", "double")
    if operand.kind != "double":
        raise UnsupportedError(f"arithmetic with {operand.kind}")
    return operand


def _finite(text: str) -> Sql:
    """Turn NaN and infinities into NULL."""
    for odd in ("NaN", "Infinity", "-Infinity"):
        text = f"nullif({text}, double('{odd}'))"
    return Sql(text, "double")


def _arithmetic(checked: str, sign: str) -> Callable[[Sql, Sql], Sql]:
    def write(left: Sql, right: Sql) -> Sql:
        if left.kind == right.kind == "int":
            return Sql(f"{checked}({left.text}, {right.text})", "int")
        a, b = _as_double(left), _as_double(right)
        if sign == "%":
            return _finite(f"try_mod({a.text}, {b.text})")
        return _finite(f"({a.text} {sign} {b.text})")

    return write


def _divide(left: Sql, right: Sql) -> Sql:
    return _finite(f"try_divide({_as_double(left).text}, {_as_double(right).text})")


def _signed(integer: str, double: str) -> Callable[[Sql], Sql]:
    def write(operand: Sql) -> Sql:
        if operand.kind == "int":
            return Sql(integer.format(f"nullif({operand.text}, {LEAST_INTEGER})"), "int")
        return _finite(double.format(_as_double(operand).text))

    return write


def _to_integral(function: str) -> Callable[[Sql], Sql]:
    def write(operand: Sql) -> Sql:
        if operand.kind == "int":
            return operand
        text = _as_double(operand).text
        if function == "round":
            return _finite(f"round({text})")
        # Beyond 2^52 every double is whole, and Spark's result would not fit its type.
        _refuse_long(text)
        whole = f"CAST({function}({text}) AS DOUBLE)"
        return _finite(f"if(abs({text}) < 4503599627370496D, {whole}, {text})")

    return write


def _refuse_long(text: str) -> None:
    if len(text) > _LONGEST_REPEATED_TEXT:
        raise UnsupportedError("text that grows when it is written twice")


def _root(operand: Sql) -> Sql:
    return _finite(f"sqrt({_as_double(operand).text})")


def _on_strings(text: str, kind: Kind) -> Callable[..., Sql]:
    def write(*operands: Sql) -> Sql:
        if any(each.kind != "string" for each in operands):
            raise UnsupportedError("a string function of something else")
        return Sql(text.format(*(each.text for each in operands)), kind)

    return write


def _concat(*operands: Sql) -> Sql:
    return _on_strings(f"concat({', '.join(['{}'] * len(operands))})", "string")(*operands)


def _sign(operand: Sql) -> Sql:
    if operand.kind == "int":
        return Sql(f"CAST(sign(CAST({operand.text} AS DOUBLE)) AS BIGINT)", "int")
    return Sql(f"sign({_as_double(operand).text})", "double")


def _cut(name: str, count: int) -> Callable[..., Sql]:
    """Write substring or split_part, whose last `count` arguments are 32-bit integers in Spark."""

    def write(*operands: Sql) -> Sql:
        texts, numbers = operands[:count], operands[count:]
        if any(each.kind != "string" for each in texts):
            raise UnsupportedError("a string function of something else")
        if not all(_SMALL.fullmatch(each.text) for each in numbers):
            raise UnsupportedError("a position that is no small constant")
        listed = ", ".join(each.text.replace("L", "") for each in operands[count:])
        return Sql(f"{name}({', '.join(each.text for each in texts)}, {listed})", "string")

    return write


_SMALL = re.compile(r"\(-[1-9][0-9]{0,8}L\)|[1-9][0-9]{0,8}L")
"""A constant other than 0 of nine digits at most."""


def _difference(unit: int) -> Callable[[Sql, Sql], Sql]:
    def write(start: Sql, end: Sql) -> Sql:
        if {start.kind, end.kind} != {"instant"} or unit % 1000:
            raise UnsupportedError("a difference of something that is no instant")
        return Sql(f"(({end.text} - {start.text}) DIV {unit // 1000}L)", "int")

    return write


def _unsupported(name: str) -> Callable[..., Sql]:
    def write(*_: Sql) -> Sql:
        raise UnsupportedError(name)

    return write


def _on_instants(text: str) -> Callable[[Sql], Sql]:
    def write(operand: Sql) -> Sql:
        if operand.kind != "instant":
            raise UnsupportedError("a part of something that is no instant")
        _refuse_long(operand.text)
        since_midnight = f"pmod({operand.text}, {MICROSECONDS_PER_DAY})"
        day = f"(({operand.text} - {since_midnight}) DIV {MICROSECONDS_PER_DAY})"
        return Sql(text.format(operand.text, day=day), "int")

    return write


def _on_days(part: str) -> Callable[[Sql], Sql]:
    return _on_instants(f"CAST({part}(date_from_unix_date(CAST({{day}} AS INT))) AS BIGINT)")


FUNCTIONS: Mapping[str, Callable[..., Sql]] = {
    "+": _arithmetic("try_add", "+"),
    "-": _arithmetic("try_subtract", "-"),
    "*": _arithmetic("try_multiply", "*"),
    "/": _divide,
    "%": _arithmetic("try_mod", "%"),
    "negative": _signed("(-{})", "(-{})"),
    "abs": _signed("abs({})", "abs({})"),
    "round": _to_integral("round"),
    "floor": _to_integral("floor"),
    "ceil": _to_integral("ceil"),
    "sqrt": _root,
    "lower": _unsupported("lower"),
    "upper": _unsupported("upper"),
    "length": _on_strings("CAST(length({}) AS BIGINT)", "int"),
    "starts_with": _on_strings("startswith({}, {})", "boolean"),
    "ends_with": _on_strings("endswith({}, {})", "boolean"),
    "contains": _on_strings("contains({}, {})", "boolean"),
    "trim": _on_strings("trim({})", "string"),
    "replace": _on_strings("replace({}, {}, {})", "string"),
    "concat": _concat,
    "substring": _cut("substring", 1),
    "split_part": _cut("split_part", 2),
    "sign": _sign,
    **{
        name: _unsupported(name)
        for name in ("regexp_extract", "cidr_match", "power", "ln", "exp", "geo_distance")
    },
    **{
        f"date_diff {name}": _unsupported(name) if unit is None else _difference(unit)
        for name, unit in DATE_UNITS.items()
    },
    "hour": _on_instants("(pmod({0}, 86400000000L) DIV 3600000000L)"),
    "minute": _on_instants("(pmod({0}, 3600000000L) DIV 60000000L)"),
    "day": _on_days("day"),
    "month": _on_days("month"),
    "year": _on_days("year"),
    "day_of_week": _on_instants("(pmod({day} + 3L, 7L) + 1L)"),
}
