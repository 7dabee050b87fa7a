"""Predicates as Spark SQL text with the semantics of CEQL.

NULL, NaN, division by zero, overflow, time zones and line ends are handled explicitly; the text
does not depend on the session's settings. What Spark SQL would compute differently raises
UnsupportedError and is evaluated in Python: decimals, durations, columns of integers compared with
columns of doubles, lower and upper (Java has other special cases), powers and logarithms (Java
rounds them in another way), regular expressions that RE2 and Java read differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from ensue.analysis.expressions import Attribute, Constant, EventType, Expression, OneOf, Operation
from ensue.analysis.functions import CHOICES
from ensue.analysis.schema import AttributePath
from ensue.analysis.types import Type
from ensue.automata.compiled import AtStart, Predicate, TypeTest
from ensue.predicates.regex import to_java
from ensue.predicates.spark_functions import FUNCTIONS, MICROSECONDS_PER_DAY, case, choice
from ensue.predicates.spark_literals import (
    Kind,
    Sql,
    column,
    compared_with_constant,
    constant_sql,
    like_pattern,
    list_member,
    never_true,
    string,
)
from ensue.predicates.vectors import UnsupportedError

_LONGEST_LIST = 500
"""Longer IN lists are evaluated in Python: as text they would slow down the planner."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes predicates on the events of a table as SQL."""

    type_at: Callable[[AttributePath], pa.DataType | None]
    """Returns the type of a column, None if there is no such column."""
    event_type: str
    """SQL for the type of an event."""

    def holds(self, predicate: Predicate) -> str:
        """Return text that is true for exactly the events that satisfy a predicate."""
        if isinstance(predicate, AtStart):
            raise UnsupportedError("START, which depends on the order of events")
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
                return constant_sql(expression)
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
            case Operation(name="case", arguments=arguments, type=kind):
                tests = [self._boolean(each) for each in arguments[:-1:2]]
                values = [self.write(each) for each in (*arguments[1::2], arguments[-1])]
                return case(tests, values, kind)
            case Operation(name=name, arguments=arguments, type=kind) if name in CHOICES:
                return choice(name, [self.write(each) for each in arguments], kind)
            case Operation(function=function) if function is not None:
                raise UnsupportedError("a function of the user")
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
                found = FUNCTIONS[name](*operands)
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
            return Sql(f"(CAST(unix_date({name}) AS BIGINT) * {MICROSECONDS_PER_DAY})", "instant")
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
                return compared_with_constant(_MIRRORED.get(name, name), b, left.value)
            if isinstance(right, Constant):
                return compared_with_constant(name, a, right.value)
            raise UnsupportedError("integers beside doubles")
        return Sql(f"({a.text} {name} {b.text})", "boolean")

    def _one_of(self, expression: OneOf) -> Sql:
        operand = self.write(expression.operand)
        if operand.kind == "null":
            return Sql("CAST(NULL AS BOOLEAN)", "boolean")
        if len(expression.values) > _LONGEST_LIST:
            raise UnsupportedError("a long list")
        texts = [list_member(value, operand.kind) for value in expression.values]
        members = sorted(text for text in texts if text is not None)
        if expression.with_null:
            members.append("NULL")
        if not members:
            return never_true(operand)
        return Sql(f"({operand.text} IN ({', '.join(members)}))", "boolean")

    def _is_list(self, path: AttributePath) -> bool:
        return isinstance(self.type_at(path), pa.ListType)

    def _has(self, lists: Expression, element: Expression) -> Sql:
        """Test membership in a list of strings, integers or booleans.

        NULLs in the list have the effect that they have in Spark.
        """
        kind = self.type_at(lists.path) if isinstance(lists, Attribute) else None
        if not isinstance(lists, Attribute) or not isinstance(kind, pa.ListType):
            raise UnsupportedError("a list that is no column")
        wanted = constant_sql(element) if isinstance(element, Constant) else None
        held = _ELEMENT_KINDS.get(kind.value_type)
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
        return Sql(f"({operand.text} LIKE {string(like_pattern(pattern.value))})", "boolean")


_ELEMENT_KINDS: Mapping[pa.DataType, Kind] = {
    pa.string(): "string",
    pa.int64(): "int",
    pa.bool_(): "boolean",
}


_SIGNS = frozenset({"=", "!=", "<", "<=", ">", ">="})


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
