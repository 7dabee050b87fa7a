"""Vectorised evaluation of expressions, with the values that logic/evaluate.py defines.

What has no vectorised form (comparisons of decimals, integers beyond 2^53 beside doubles, a few
functions of two columns) is evaluated event by event by logic/evaluate.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.expressions import (
    Attribute,
    Constant,
    EventType,
    Expression,
    OneOf,
    Operation,
    Value,
)
from ensue.analysis.types import NANOSECONDS, Type
from ensue.logic.evaluate import Tally, evaluate, like_regex
from ensue.logic.user_calls import arrow_type as user_type
from ensue.logic.user_calls import call_on_arrays, to_array
from ensue.predicates import string_functions
from ensue.predicates.decimals import ARITHMETIC, doubles_of
from ensue.predicates.functions import FUNCTIONS, extreme
from ensue.predicates.three_valued import (
    ARROW_NAMES,
    COMPARISONS,
    MIRRORED,
    both_valid,
    chosen_places,
    expand,
    found_among,
    logical,
    refuse_inexact,
)
from ensue.predicates.values import python_values
from ensue.predicates.vectors import (
    Lists,
    Numbers,
    Strings,
    UnsupportedError,
    Vector,
    nulls,
    path_column,
    plain_values,
    vector_of,
)


@dataclass(slots=True)
class Batch:
    """A table of events whose columns are converted to vectors on first use."""

    table: pa.Table
    given_types: Strings | pa.ChunkedArray
    tally: Tally = field(default_factory=Tally)
    length: int = field(init=False)
    known_texts: dict[tuple[str, ...] | None, list[str | None]] = field(default_factory=dict)
    """Columns (None: the types) of a few events that were read as Python strings."""
    _vectors: dict[tuple[str, ...], Vector] = field(default_factory=dict)
    _truths: dict[Expression, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.length = self.table.num_rows

    @property
    def types(self) -> Strings:
        """The types of the events."""
        if not isinstance(self.given_types, Strings):
            strings = vector_of(self.given_types)
            assert isinstance(strings, Strings)
            self.given_types = strings
        return self.given_types

    def type_names(self) -> list[str | None]:
        """Return the type of each event as Python strings: cheap for few events only."""
        given = self.given_types
        names = given.texts() if isinstance(given, Strings) else plain_values(given)
        self.known_texts[None] = names
        return names

    def texts(self, path: tuple[str, ...]) -> list[str | None]:
        """Return a column as Python strings: cheap for few events only."""
        known = self._vectors.get(path)
        if isinstance(known, Strings):
            texts = known.texts()
        else:
            column = path_column(self.table, path)
            texts = [None] * self.length if column is None else plain_values(column)
        self.known_texts[path] = texts
        return texts

    def known_strings(self, path: tuple[str, ...] | None) -> Strings | None:
        """Return a column (None: the types) as strings, where it was read as such."""
        known = self.given_types if path is None else self._vectors.get(path)
        return known if isinstance(known, Strings) else None

    def vector(self, path: tuple[str, ...]) -> Vector:
        """Return an attribute of all events; one that no event has is NULL."""
        known = self._vectors.get(path)
        if known is None:
            column = path_column(self.table, path)
            known = nulls(self.length) if column is None else vector_of(column)
            self._vectors[path] = known
        return known

    def replace_column(self, path: tuple[str, ...], vector: Vector) -> None:
        """Evaluate on a vector in place of a column, such as its distinct values."""
        self._vectors[path] = vector
        self._truths.clear()
        assert not isinstance(vector, Lists)
        self.length = len(vector.codes if isinstance(vector, Strings) else vector.values)

    def holds(self, predicate: Expression) -> np.ndarray:
        """Return a mask of the events that satisfy a predicate; each predicate is computed once."""
        if predicate not in self._truths:
            self._truths[predicate] = self._compute_truth(predicate)
        return self._truths[predicate]

    def _compute_truth(self, predicate: Expression) -> np.ndarray:
        try:
            found = self.compute(predicate)
        except UnsupportedError:
            found = self._event_by_event(predicate)
        assert isinstance(found, Numbers)
        values = found.values.astype(bool, copy=False)
        return values if found.valid is None else values & found.valid

    def values(self, expression: Expression) -> Vector | list[Value]:
        """Compute an expression of any type; what has no vectorised form as a list."""
        if isinstance(expression, Constant) and isinstance(expression.value, str):
            return self._strings(expression)
        try:
            return self.compute(expression)
        except UnsupportedError:
            return self._one_by_one(expression)

    def _event_by_event(self, predicate: Expression) -> Numbers:
        """Evaluate a predicate on each event on its own."""
        results = self._one_by_one(predicate)
        return Numbers(
            np.array([result is True for result in results], bool),
            np.array([result is not None for result in results], bool),
        )

    def _one_by_one(self, expression: Expression) -> list[Value]:
        """Evaluate each event on its own with logic/evaluate.py."""
        columns: dict[tuple[str, ...], list[Any]] = {}

        def lookup(row: int) -> Callable[[Attribute | EventType], Value]:
            def value(name: Attribute | EventType) -> Value:
                if isinstance(name, EventType):
                    kind: Value = self.types.distinct[int(self.types.codes[row])].as_py()
                    return kind
                if name.path not in columns:
                    columns[name.path] = self._plain(name.path)
                found: Value = columns[name.path][row]
                return found

            return value

        return [evaluate(expression, lookup(row), self.tally) for row in range(self.length)]

    def _plain(self, path: tuple[str, ...]) -> list[Any]:
        known = self._vectors.get(path)
        if isinstance(known, Strings):
            return known.texts()
        column = path_column(self.table, path)
        return [None] * self.length if column is None else python_values(column)

    # expressions

    def compute(self, expression: Expression) -> Vector:
        """Compute an expression for all events."""
        match expression:
            case Constant(value=value):
                return self._constant(value)
            case Attribute(path=path, type=kind):
                if kind is Type.DECIMAL:
                    raise UnsupportedError("decimals")
                return self.vector(path)
            case EventType():
                return self.types
            case OneOf():
                return self._one_of(expression)
            case Operation(name="and" | "or" as name, arguments=arguments):
                return logical(name, [self._numbers(each) for each in arguments])
            case Operation(name="not", arguments=(argument,)):
                operand = self._numbers(argument)
                return Numbers(~operand.values.astype(bool, copy=False), operand.valid)
            case Operation(function=function, arguments=arguments) if function is not None:
                columns = [
                    self._array(each, kind)
                    for each, kind in zip(arguments, function.args, strict=True)
                ]
                found = call_on_arrays(function, columns, self.length)
                return vector_of(pa.chunked_array([found]))
            case Operation(name="is_null", arguments=(argument,)):
                return self._is_null(self.compute(argument))
            case Operation(
                name="coalesce" | "greatest" | "least" | "case" as name,
                arguments=arguments,
                type=kind,
            ):
                return self._chosen(name, arguments, kind)
            case Operation(name="concat", arguments=arguments):
                return self._concat(arguments)
            case Operation(name=name, arguments=arguments) if name in COMPARISONS:
                return self._compared(name, *arguments)
            case Operation(name="like" | "rlike" as name, arguments=(operand, pattern)):
                return self._matched(name, operand, pattern)
            case Operation(name="has", arguments=(operand, element)):
                return self._has(self.compute(operand), element)
            case Operation(name=name, arguments=arguments, type=kind):
                return self._applied(name, arguments, kind)

    def _array(self, expression: Expression, kind: Type) -> pa.Array:
        """Return an expression as functions of the user get it."""
        if isinstance(expression, Constant):
            return to_array([expression.value] * self.length, kind)
        found = self.values(expression)
        if isinstance(found, list):
            return to_array(found, kind)
        if isinstance(found, Strings):
            return found.distinct.take(pa.array(found.codes))
        assert isinstance(found, Numbers)
        values = found.values // NANOSECONDS["DAY"] if kind is Type.DATE else found.values
        if kind is Type.DOUBLE:
            values = values.astype(np.float64)
        array = pa.array(values, mask=None if found.valid is None else ~found.valid)
        if kind is Type.DATE:
            array = array.cast(pa.int32())
        return array.cast(user_type(kind))

    def _numbers(self, expression: Expression) -> Numbers:
        found = self.compute(expression)
        if not isinstance(found, Numbers):
            raise UnsupportedError("a string or a list among numbers")
        return found

    def _constant(self, value: Value) -> Numbers:
        if value is None:
            return nulls(self.length)
        if not isinstance(value, bool | int | float):
            raise UnsupportedError("a constant that is no number")
        return Numbers(np.broadcast_to(np.asarray(value), self.length))

    def _one_of(self, expression: OneOf) -> Numbers:
        values, valid = found_among(self.compute(expression.operand), expression.values)
        if expression.with_null:
            valid = valid & values
        return Numbers(values, valid)

    def _has(self, lists: Vector, element: Expression) -> Numbers:
        """Test which lists have an element; NULL if only a NULL might be it."""
        if not isinstance(lists, Lists):
            return nulls(self.length)
        if not isinstance(element, Constant):
            raise UnsupportedError("a list membership test whose element is no constant")
        if element.value is None:
            return nulls(self.length)
        equal, known = found_among(lists.items, frozenset({element.value}))
        found, unknown = np.zeros(self.length, bool), np.zeros(self.length, bool)
        found[lists.rows[equal & known]] = True
        unknown[lists.rows[~known]] = True
        return Numbers(found, lists.valid & (found | ~unknown))

    def _is_null(self, operand: Vector) -> Numbers:
        if isinstance(operand, Strings):
            return Numbers(operand.codes == len(operand.distinct) - 1)
        return Numbers(~(operand.valid if isinstance(operand, Lists) else operand.is_valid()))

    def _chosen(self, name: str, arguments: tuple[Expression, ...], kind: Type) -> Vector:
        """Compute coalesce, greatest, least or CASE, which choose one of several values."""
        tests: list[Numbers] = []
        if name == "case":
            tests = [self._numbers(each) for each in arguments[:-1:2]]
            arguments = (*arguments[1::2], arguments[-1])
        if kind is Type.STRING:
            columns = [self._strings(each) for each in arguments]
            if name in ("greatest", "least"):
                return string_functions.extreme(name, columns)
            known = [each.codes != len(each.distinct) - 1 for each in columns]
            return string_functions.chosen(chosen_places(tests, known), columns)
        operands = [self._numbers(each) for each in arguments]
        if kind is Type.DOUBLE:
            operands = [Numbers(each.values.astype(np.float64), each.valid) for each in operands]
        if name in ("greatest", "least"):
            return extreme(name, operands)
        choices = chosen_places(tests, [each.is_valid() for each in operands])
        values = np.select(choices, [each.values for each in operands], operands[0].values)
        valid = np.select(choices, [each.is_valid() for each in operands], False)
        return Numbers(values, valid)

    def _strings(self, expression: Expression) -> Strings:
        if isinstance(expression, Constant) and isinstance(expression.value, str):
            return string_functions.repeated(expression.value, self.length)
        found = self.compute(expression)
        if isinstance(found, Numbers) and not found.is_valid().any():
            return string_functions.repeated(None, self.length)
        if not isinstance(found, Strings):
            raise UnsupportedError("something else among strings")
        return found

    def _concat(self, arguments: tuple[Expression, ...]) -> Vector:
        given = [
            each.value
            if isinstance(each, Constant) and isinstance(each.value, str)
            else self._strings(each)
            for each in arguments
        ]
        if all(isinstance(each, str) for each in given):
            given[0] = string_functions.repeated(str(given[0]), self.length)
        return string_functions.concatenated(given)

    # comparisons

    def _compared(self, name: str, left: Expression, right: Expression) -> Numbers:
        if Type.STRING in (left.type, right.type):
            return self._compared_strings(name, left, right)
        a, b = self._numbers(left), self._numbers(right)
        refuse_inexact(a.values, b.values)
        return Numbers(COMPARISONS[name](a.values, b.values), both_valid(a.valid, b.valid))

    def _compared_strings(self, name: str, left: Expression, right: Expression) -> Numbers:
        if isinstance(left, Constant):
            name = MIRRORED.get(name, name)
            left, right = right, left
        operand = self.compute(left)
        if not isinstance(right, Constant):
            return self._compared_columns(name, operand, self.compute(right))
        if not isinstance(operand, Strings) or right.value is None:
            return nulls(self.length)
        answers = pc.call_function(ARROW_NAMES[name], [operand.distinct, pa.scalar(right.value)])
        return expand(operand, answers)

    def _compared_columns(self, name: str, left: Vector, right: Vector) -> Numbers:
        if not isinstance(left, Strings) or not isinstance(right, Strings):
            return nulls(self.length)
        a, b = left.distinct.take(pa.array(left.codes)), right.distinct.take(pa.array(right.codes))
        answers = pc.call_function(ARROW_NAMES[name], [a, b])
        filled = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
        return Numbers(filled, answers.is_valid().to_numpy(zero_copy_only=False))

    def _matched(self, name: str, left: Expression, pattern: Expression) -> Numbers:
        operand = self.compute(left)
        assert isinstance(pattern, Constant)
        if not isinstance(operand, Strings) or not isinstance(pattern.value, str):
            return nulls(self.length)
        if name == "rlike":
            return expand(operand, pc.match_substring_regex(operand.distinct, pattern.value))
        regex = like_regex(pattern.value)
        texts = operand.distinct.to_pylist()
        answers = [None if text is None else regex.fullmatch(text) is not None for text in texts]
        return expand(operand, pa.array(answers, pa.bool_()))

    # arithmetic and functions

    def _applied(self, name: str, arguments: tuple[Expression, ...], kind: Type) -> Vector:
        if name in string_functions.STRING_FUNCTIONS:
            return self._string_function(name, arguments, kind)
        operands = [self._operand(name, each) for each in arguments]
        valid = reduce(both_valid, (each.valid for each in operands))
        with np.errstate(all="ignore"):
            values, has_value = FUNCTIONS[name](*(each.values for each in operands))
        if kind is Type.DOUBLE and values.dtype != np.float64:
            values = values.astype(np.float64)
        if values.dtype == np.float64:
            has_value = both_valid(has_value, np.isfinite(values))
        if has_value is None or has_value.all():
            return Numbers(values, valid)
        lost = ~has_value if valid is None else ~has_value & valid
        self.tally.nulls += int(np.count_nonzero(lost))
        return Numbers(values, both_valid(valid, has_value))

    def _operand(self, name: str, each: Expression) -> Numbers:
        if isinstance(each, Attribute) and each.type is Type.DECIMAL and name in ARITHMETIC:
            return doubles_of(path_column(self.table, each.path), self.length)
        return self._numbers(each)

    def _string_function(self, name: str, arguments: tuple[Expression, ...], kind: Type) -> Vector:
        first, *rest = arguments
        operand = self._strings(first) if isinstance(first, Constant) else self.compute(first)
        if isinstance(operand, Lists):
            return Numbers(np.bincount(operand.rows, minlength=self.length), operand.valid)
        others = [each.value if isinstance(each, Constant) else self.compute(each) for each in rest]
        if not isinstance(operand, Strings) or None in others:
            return nulls(self.length)
        values, lost = string_functions.applied(name, [operand, *others], kind)
        self.tally.nulls += lost
        return values
