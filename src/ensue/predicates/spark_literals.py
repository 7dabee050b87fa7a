"""Columns and constants as Spark SQL text, and comparisons with constants.

The text does not depend on the session's settings: strings that a parser setting could change are
written by their bytes, integers beside doubles are compared exactly.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

from ensue.analysis.expressions import Constant, Value
from ensue.analysis.schema import AttributePath
from ensue.analysis.types import Type
from ensue.predicates.vectors import UnsupportedError

Kind = Literal["boolean", "int", "double", "string", "instant", "null"]


LEAST_INTEGER = "CAST('-9223372036854775808' AS BIGINT)"


_LARGEST_EXACT_INTEGER = 2**53


class Sql(NamedTuple):
    """SQL text and the kind of its values; instants are integers in microseconds."""

    text: str
    kind: Kind


def column(path: AttributePath) -> str:
    """Write a column, or a field of a struct."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)


def string(text: str) -> str:
    """Write a string; one that a session setting could change is written by its bytes."""
    if re.fullmatch(r"[A-Za-z0-9_ .,:;=<>()%+*-]*", text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def constant_sql(constant: Constant) -> Sql:
    """Write a constant."""
    value = constant.value
    if value is None:
        return Sql("NULL", "null")
    if constant.type in (Type.TIMESTAMP, Type.DATE):
        assert isinstance(value, int)
        if value % 1000:
            raise UnsupportedError("nanoseconds")
        return Sql(_integer(value // 1000), "instant")
    match value:
        case bool():
            return Sql("TRUE" if value else "FALSE", "boolean")
        case int() if constant.type is Type.INT:
            return Sql(_integer(value), "int")
        case float() if math.isfinite(value):
            return Sql(_double(value), "double")
        case str():
            return Sql(string(value), "string")
        case _:
            raise UnsupportedError(f"a constant of type {constant.type}")


def _integer(value: int) -> str:
    if value == -(2**63):
        return LEAST_INTEGER
    return f"{value}L" if value >= 0 else f"(-{-value}L)"


def _double(value: float) -> str:
    return f"double('{value!r}')"


def never_true(operand: Sql) -> Sql:
    """Write a condition that is false, or NULL where the operand is NULL."""
    return Sql(f"if({operand.text} IS NULL, CAST(NULL AS BOOLEAN), FALSE)", "boolean")


def _always(operand: Sql) -> Sql:
    return Sql(f"if({operand.text} IS NULL, CAST(NULL AS BOOLEAN), TRUE)", "boolean")


def compared_with_constant(name: str, operand: Sql, value: Value) -> Sql:
    """Compare integers with a double, or doubles with an integer, exactly."""
    if operand.kind == "double" and isinstance(value, int) and abs(value) <= _LARGEST_EXACT_INTEGER:
        return Sql(f"({operand.text} {name} {_double(float(value))})", "boolean")
    if operand.kind != "int" or not isinstance(value, float):
        raise UnsupportedError("integers beside doubles")
    if value >= 2.0**63:
        return _always(operand) if name in ("<", "<=", "!=") else never_true(operand)
    if value < -(2.0**63):
        return _always(operand) if name in (">", ">=", "!=") else never_true(operand)
    low = math.floor(value)
    if low == value:
        return Sql(f"({operand.text} {name} {_integer(low)})", "boolean")
    if name in ("=", "!="):
        return never_true(operand) if name == "=" else _always(operand)
    # The value lies between two integers: less means at most the lower one, more means above it.
    sign = "<=" if name in ("<", "<=") else ">"
    return Sql(f"({operand.text} {sign} {_integer(low)})", "boolean")


def list_member(value: Value, kind: Kind) -> str | None:
    """Write a member of a list, or return None if no value of this kind equals it."""
    match value:
        case str():
            return string(value) if kind == "string" else None
        case bool():
            return ("TRUE" if value else "FALSE") if kind == "boolean" else None
        case int() if kind == "instant":
            return None if value % 1000 else _integer(value // 1000)
        case int() | float() if kind == "int":
            whole = math.isfinite(value) and int(value) == value and -(2**63) <= value < 2**63
            return _integer(int(value)) if whole else None
        case int() | float() if kind == "double":
            try:
                number = float(value)
            except OverflowError:
                return None
            return _double(number) if number == value and math.isfinite(number) else None
        case int() | float():
            return None
        case _:
            raise UnsupportedError("decimals")


def like_pattern(pattern: str) -> str:
    """Escape a LIKE pattern for Spark, where a backslash may only precede %, _ or itself."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            after = pattern[at + 1 : at + 2]
            if after and after in "%_\\":
                at += 1
                char = after
            parts.append("\\" + char)
        else:
            parts.append(char)
        at += 1
    return "".join(parts)
