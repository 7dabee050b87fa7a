"""Predicates as Spark SQL text that means what they mean here.

NULL, NaN, division by zero, overflow, time zones and line ends are spelt out; the text does not
depend on the session's settings. What cannot be made equal raises UnsupportedError, and is then
evaluated by Python: decimals, durations, integers beside doubles column by column, lower and upper
(Java knows other special cases), regular expressions beyond the common ground of RE2 and Java.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pyarrow as pa

from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    OneOf,
    Operation,
    Value,
)
from ensue.analysis.schema import AttributePath
from ensue.analysis.types import Type
from ensue.automata.build import AtStart, Predicate, TypeTest
from ensue.predicates.regex import to_java
from ensue.predicates.vectors import UnsupportedError

Kind = Literal["boolean", "int", "double", "string", "instant", "null"]

_LEAST = "CAST('-9223372036854775808' AS BIGINT)"
_EXACT = 2**53
_MOST_VALUES = 500
"""Longer lists are looked up by Python: as text they would slow down the planner."""

_LONGEST = 400
"""Text that has to be written twice must not be longer, lest it double again and again."""

_MICROSECONDS_A_DAY = "86400000000L"


class Sql(NamedTuple):
    """Text and the kind of its values; instants are counted in microseconds."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes predicates about the events of a table."""

    type_at: Callable[[AttributePath], pa.DataType | None]
    """Tells the type of a column; None: there is no such column."""
    event_type: str
    """The text for the type of an event."""

    def holds(self, predicate: Predicate) -> str:
        """Return text that is true for exactly the events that satisfy a predicate."""
        if isinstance(predicate, AtStart):
            raise UnsupportedError("the first event")
        if isinstance(predicate, TypeTest):
            if predicate.type is None:
                return "TRUE"
            return f"coalesce({self.event_type} = {string(predicate.type)}, FALSE)"
        return f"coalesce({self._boolean(predicate)}, FALSE)"

    def _boolean(self, expression: Expression) -> str:
        sql = self.write(expression)
        if sql.kind == "null":
            return "CAST(NULL AS BOOLEAN)"
        if sql.kind != "boolean":
            raise UnsupportedError(f"{sql.kind} as a truth value")
        return sql.text

    def write(self, expression: Expression) -> Sql:
        """Write an expression."""
        match expression:
            case Constant():
                return _constant(expression)
            case Attribute(path=path):
                return self._attribute(path)
            case EventType():
                return Sql(self.event_type, "string")
            case OneOf():
                return self._one_of(expression)
            case Operation(name="and" | "or" as name, arguments=arguments):
                joined = f" {name.upper()} ".join(map(self._boolean, arguments))
                return Sql(f"({joined})", "boolean")
            case Operation(name="not", arguments=(argument,)):
                return Sql(f"(NOT {self._boolean(argument)})", "boolean")
            case Operation(name="is_null", arguments=(argument,)):
                if isinstance(argument, Attribute) and self._is_list(argument.path):
                    return Sql(f"({column(argument.path)} IS NULL)", "boolean")
                return Sql(f"({self.write(argument).text} IS NULL)", "boolean")
            case Operation(name="coalesce", arguments=arguments, type=kind):
                return _coalesce([self.write(each) for each in arguments], kind)
            case Operation(name=name, arguments=(left, right)) if name in _SIGNS:
                return self._compared(name, left, right)
            case Operation(name="like" | "rlike" as name, arguments=(operand, pattern)):
                return self._matched(name, self.write(operand), pattern)
            case Operation(name="has", arguments=(lists, element)):
                return self._has(lists, element)
            case Operation(name="length", arguments=(Attribute(path=path),)) if self._is_list(path):
                return Sql(f"CAST(array_size({column(path)}) AS BIGINT)", "int")
            case Operation(name=name, arguments=arguments, type=kind):
                operands = [self.write(each) for each in arguments]
                if any(each.kind == "null" for each in operands):
                    return Sql("NULL", "null")
                found = _FUNCTIONS[name](*operands)
                if kind is Type.DOUBLE and found.kind == "int":
                    return Sql(f"CAST({found.text} AS DOUBLE)", "double")
                return found

    def _attribute(self, path: AttributePath) -> Sql:
        kind = self.type_at(path)
        name = column(path)
        types = pa.types
        if kind is None or types.is_null(kind):
            return Sql("NULL", "null")
        if types.is_boolean(kind):
            return Sql(name, "boolean")
        if types.is_integer(kind):
            return Sql(name if kind == pa.int64() else f"CAST({name} AS BIGINT)", "int")
        if types.is_floating(kind):
            return Sql(f"nullif(CAST({name} AS DOUBLE), double('NaN'))", "double")
        if types.is_string(kind):
            return Sql(name, "string")
        if types.is_date(kind):
            return Sql(f"(CAST(unix_date({name}) AS BIGINT) * {_MICROSECONDS_A_DAY})", "instant")
        if types.is_timestamp(kind) and kind.tz is not None:
            return Sql(f"unix_micros({name})", "instant")
        if types.is_timestamp(kind):
            zero = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
            return Sql(f"timestampdiff(MICROSECOND, {zero}, {name})", "instant")
        raise UnsupportedError(str(kind))

    def _compared(self, name: str, left: Expression, right: Expression) -> Sql:
        a, b = self.write(left), self.write(right)
        if "null" in (a.kind, b.kind):
            return Sql("CAST(NULL AS BOOLEAN)", "boolean")
        if a.kind != b.kind:
            if isinstance(left, Constant) and not isinstance(right, Constant):
                return _beside_constant(_MIRRORED.get(name, name), b, left.value)
            if isinstance(right, Constant):
                return _beside_constant(name, a, right.value)
            raise UnsupportedError("integers beside doubles")
        return Sql(f"({a.text} {name} {b.text})", "boolean")

    def _one_of(self, expression: OneOf) -> Sql:
        operand = self.write(expression.operand)
        if operand.kind == "null":
            return Sql("CAST(NULL AS BOOLEAN)", "boolean")
        if len(expression.values) > _MOST_VALUES:
            raise UnsupportedError("a long list")
        texts = [_member(value, operand.kind) for value in expression.values]
        members = sorted(text for text in texts if text is not None)
        if expression.with_null:
            members.append("NULL")
        if not members:
            return _never(operand)
        return Sql(f"({operand.text} IN ({', '.join(members)}))", "boolean")

    def _is_list(self, path: AttributePath) -> bool:
        return isinstance(self.type_at(path), pa.ListType)

    def _has(self, lists: Expression, element: Expression) -> Sql:
        """Look into a list of strings, integers or booleans; NULLs in it mean the same there."""
        kind = self.type_at(lists.path) if isinstance(lists, Attribute) else None
        if not isinstance(lists, Attribute) or not isinstance(kind, pa.ListType):
            raise UnsupportedError("a list that is no column")
        wanted = _constant(element) if isinstance(element, Constant) else None
        held = _ELEMENTS.get(kind.value_type)
        if wanted is None or held is None or wanted.kind != held:
            raise UnsupportedError("an element of another kind")
        return Sql(f"array_contains({column(lists.path)}, {wanted.text})", "boolean")

    def _matched(self, name: str, operand: Sql, pattern: Expression) -> Sql:
        if not isinstance(pattern, Constant):
            raise UnsupportedError("a pattern that is no constant")
        if operand.kind != "string" or not isinstance(pattern.value, str):
            return Sql("CAST(NULL AS BOOLEAN)", "boolean")
        if name == "rlike":
            return Sql(f"({operand.text} RLIKE {string(to_java(pattern.value))})", "boolean")
        return Sql(f"({operand.text} LIKE {string(_like(pattern.value))})", "boolean")


def column(path: AttributePath) -> str:
    """Write a column, or a field of a struct."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)


def string(text: str) -> str:
    """Write a string; what a setting of the session might read otherwise goes by its bytes."""
    if re.fullmatch(r"[A-Za-z0-9_ .,:;=<>()%+*-]*", text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _constant(constant: Constant) -> Sql:
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
        return _LEAST
    return f"{value}L" if value >= 0 else f"(-{-value}L)"


def _double(value: float) -> str:
    return f"double('{value!r}')"


def _never(operand: Sql) -> Sql:
    """Be false, or unknown where the operand is."""
    return Sql(f"if({operand.text} IS NULL, CAST(NULL AS BOOLEAN), FALSE)", "boolean")


def _always(operand: Sql) -> Sql:
    return Sql(f"if({operand.text} IS NULL, CAST(NULL AS BOOLEAN), TRUE)", "boolean")


def _beside_constant(name: str, operand: Sql, value: Value) -> Sql:
    """Compare integers with a double, or doubles with an integer, exactly."""
    if operand.kind == "double" and isinstance(value, int) and abs(value) <= _EXACT:
        return Sql(f"({operand.text} {name} {_double(float(value))})", "boolean")
    if operand.kind != "int" or not isinstance(value, float):
        raise UnsupportedError("integers beside doubles")
    if value >= 2.0**63:
        return _always(operand) if name in ("<", "<=", "!=") else _never(operand)
    if value < -(2.0**63):
        return _always(operand) if name in (">", ">=", "!=") else _never(operand)
    low = math.floor(value)
    if low == value:
        return Sql(f"({operand.text} {name} {_integer(low)})", "boolean")
    if name in ("=", "!="):
        return _never(operand) if name == "=" else _always(operand)
    # Between two integers, the one below decides: less means at most, more means more.
    sign = "<=" if name in ("<", "<=") else ">"
    return Sql(f"({operand.text} {sign} {_integer(low)})", "boolean")


def _member(value: Value, kind: Kind) -> str | None:
    """Write a member of a list; None: no value of this kind is equal to it."""
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


def _like(pattern: str) -> str:
    """Write a LIKE pattern in which a backslash takes whatever comes next literally."""
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


def _coalesce(operands: list[Sql], kind: Type) -> Sql:
    known = [each for each in operands if each.kind != "null"]
    if not known:
        return Sql("NULL", "null")
    if kind is Type.DOUBLE and {each.kind for each in known} <= {"int", "double"}:
        known = [_as_double(each) for each in known]
    if len({each.kind for each in known}) > 1:
        raise UnsupportedError("values of several kinds")
    return Sql(f"coalesce({', '.join(each.text for each in known)})", known[0].kind)


def _as_double(operand: Sql) -> Sql:
    if operand.kind == "int":
        return Sql(f"CAST({operand.text} AS DOUBLE)", "double")
    if operand.kind != "double":
        raise UnsupportedError(f"arithmetic with {operand.kind}")
    return operand


def _finite(text: str) -> Sql:
    """Turn what is no finite number into NULL."""
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
            return Sql(integer.format(f"nullif({operand.text}, {_LEAST})"), "int")
        return _finite(double.format(_as_double(operand).text))

    return write


def _whole(function: str) -> Callable[[Sql], Sql]:
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
    if len(text) > _LONGEST:
        raise UnsupportedError("text that grows when it is written twice")


def _root(operand: Sql) -> Sql:
    return _finite(f"sqrt({_as_double(operand).text})")


def _on_strings(text: str, kind: Kind) -> Callable[..., Sql]:
    def write(*operands: Sql) -> Sql:
        if any(each.kind != "string" for each in operands):
            raise UnsupportedError("a string function of something else")
        return Sql(text.format(*(each.text for each in operands)), kind)

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
        since_midnight = f"pmod({operand.text}, {_MICROSECONDS_A_DAY})"
        day = f"(({operand.text} - {since_midnight}) DIV {_MICROSECONDS_A_DAY})"
        return Sql(text.format(operand.text, day=day), "int")

    return write


def _on_days(part: str) -> Callable[[Sql], Sql]:
    return _on_instants(f"CAST({part}(date_from_unix_date(CAST({{day}} AS INT))) AS BIGINT)")


_ELEMENTS: Mapping[pa.DataType, Kind] = {
    pa.string(): "string",
    pa.int64(): "int",
    pa.bool_(): "boolean",
}

_SIGNS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

_FUNCTIONS: Mapping[str, Callable[..., Sql]] = {
    "+": _arithmetic("try_add", "+"),
    "-": _arithmetic("try_subtract", "-"),
    "*": _arithmetic("try_multiply", "*"),
    "/": _divide,
    "%": _arithmetic("try_mod", "%"),
    "negative": _signed("(-{})", "(-{})"),
    "abs": _signed("abs({})", "abs({})"),
    "round": _whole("round"),
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "sqrt": _root,
    "lower": _unsupported("lower"),
    "upper": _unsupported("upper"),
    "length": _on_strings("CAST(length({}) AS BIGINT)", "int"),
    "starts_with": _on_strings("startswith({}, {})", "boolean"),
    "ends_with": _on_strings("endswith({}, {})", "boolean"),
    "contains": _on_strings("contains({}, {})", "boolean"),
    "hour": _on_instants("(pmod({0}, 86400000000L) DIV 3600000000L)"),
    "minute": _on_instants("(pmod({0}, 3600000000L) DIV 60000000L)"),
    "day": _on_days("day"),
    "month": _on_days("month"),
    "year": _on_days("year"),
    "day_of_week": _on_instants("(pmod({day} + 3L, 7L) + 1L)"),
}
