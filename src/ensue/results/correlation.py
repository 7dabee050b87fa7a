"""Conditions that relate matches of a ψ that must not happen to a match of φ, on columns.

ψ is evaluated alone, without the conditions that name variables of φ. Of each of its matches it is
kept what those conditions ask of it. The left side of an equality f(ψ) = g(φ) is kept as a code of
its value. Of any other condition the choices of events of ψ are kept, as rows of the attributes
that it reads: it has to hold for all of them.

A condition holds where nothing is bound to one of its variables, on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.conditions import Each, Relation, Trend
from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    OneOf,
    Operation,
    Value,
    subexpressions,
    variables_of,
)
from ensue.analysis.types import Type
from ensue.automata.registers import Deferred
from ensue.errors import EventError
from ensue.kernels.graph.segment import Listing
from ensue.logic.evaluate import Tally, evaluate
from ensue.predicates.evaluate import COMPARISONS, Batch
from ensue.predicates.values import python_values
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError
from ensue.stream.batch import EventBatch, column_at

ANY, NEVER, UNKNOWN = -1, -2, -3
"""Codes: nothing is bound, so that the equality holds; NULL, or two values at once, which nothing
is equal to; a value that ψ has nowhere."""

_EXACT = 2**53
"""Integers up to here are doubles without loss."""

Positions = Mapping[str, np.ndarray]
"""For each variable the positions of chosen events, row by row."""


class Read(NamedTuple):
    """An attribute of a variable's event that a condition reads; no path: the event's type."""

    variable: str
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The column that holds it."""
        return "\0".join((self.variable, *self.path))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on columns, one for each attribute that it reads."""

    deferred: Deferred
    predicate: Expression
    inner: tuple[Read, ...]
    outer: tuple[Read, ...]
    names: frozenset[str]
    """The variables of φ that it is about."""
    sides: tuple[Expression, str, Expression] | None
    """f(ψ), the sign, g(φ), where it is written so."""

    @property
    def is_equality(self) -> bool:
        return self.sides is not None and self.sides[1] == "="

    @classmethod
    def of(cls, deferred: Deferred, outer: frozenset[str]) -> Condition:
        """Write a condition on columns."""
        predicate = _predicate(deferred)
        reads = sorted(set(_reads(predicate)))
        return cls(
            deferred,
            _placed(predicate),
            tuple(each for each in reads if each.variable not in outer),
            tuple(each for each in reads if each.variable in outer),
            variables_of(predicate) & outer,
            _sides(predicate, outer),
        )


def is_equality(deferred: Deferred, outer: frozenset[str]) -> bool:
    """Tell whether a condition is written f(ψ) = g(φ)."""
    return Condition.of(deferred, outer).is_equality


def _predicate(deferred: Deferred) -> Expression:
    """Write a condition as a predicate on one event of each variable."""
    match deferred.condition:
        case Relation(predicate=predicate):
            return predicate
        case Each(variable=name, predicate=predicate):
            return _of_variable(predicate, name)
        case Trend(variable=name, path=path):
            # A variable of φ has one event, of which a trend asks that there is a value.
            null = Operation("is_null", (Attribute(path, Type.UNKNOWN, name),), Type.BOOLEAN)
            return Operation("not", (null,), Type.BOOLEAN)
        case other:
            raise AssertionError(f"right of UNLESS there is no {other}")


def _mapped(
    expression: Expression, change: Callable[[Attribute | EventType], Expression]
) -> Expression:
    """Put something else for what an expression reads of events."""
    match expression:
        case Attribute() | EventType():
            return change(expression)
        case Operation(arguments=arguments):
            changed = tuple(_mapped(each, change) for each in arguments)
            return replace(expression, arguments=changed)
        case OneOf(operand=operand):
            return replace(expression, operand=_mapped(operand, change))
        case _:
            return expression


def _of_variable(expression: Expression, name: str) -> Expression:
    return _mapped(expression, lambda each: replace(each, variable=name))


def _read(each: Attribute | EventType) -> Read:
    assert each.variable is not None
    return Read(each.variable, () if isinstance(each, EventType) else each.path)


def _reads(expression: Expression) -> Iterator[Read]:
    for each in subexpressions(expression):
        if isinstance(each, Attribute | EventType):
            yield _read(each)


def _placed(expression: Expression) -> Expression:
    """Let an expression read columns that are named by variable and attribute."""
    return _mapped(expression, lambda each: Attribute((_read(each).name,), each.type))


_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _sides(
    predicate: Expression, outer: frozenset[str]
) -> tuple[Expression, str, Expression] | None:
    """Write a condition as f(ψ) op g(φ), on columns; None: it is another."""
    match predicate:
        case Operation(name=sign, arguments=(left, right)) if sign in _MIRRORED:
            ways = ((left, sign, right), (right, _MIRRORED[sign], left))
        case _:
            return None
    for inner, way, other in ways:
        mine, theirs = variables_of(inner), variables_of(other)
        if mine and theirs and mine.isdisjoint(outer) and theirs <= outer:
            return _placed(inner), way, _placed(other)
    return None


def columns_of(stream: EventBatch, reads: Iterable[Read], positions: Positions) -> pa.Table:
    """Return what is read of chosen events."""
    found: dict[str, pa.ChunkedArray] = {}
    for each in reads:
        column = column_at(stream.table, each.path) if each.path else stream.types
        column = column.take(pa.array(stream.rows_at(positions[each.variable])))
        if pa.types.is_struct(column.type):
            column = pa.chunked_array([pa.nulls(len(column))])
        elif pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found[each.name] = column
    return pa.table(found)


def batch_of(table: pa.Table, tally: Tally) -> Batch:
    """Return rows of columns for predicates; the types of events are columns here too."""
    return Batch(table, pa.chunked_array([pa.nulls(table.num_rows, pa.string())]), tally)


@dataclass(slots=True)
class Codes:
    """Numbers for the values that ψ has."""

    numbers: dict[Value, int] = field(default_factory=dict)

    def of(self, table: pa.Table, expression: Expression, tally: Tally, *, new: bool) -> np.ndarray:
        """Return the codes of an expression's values; unless they are new ones, UNKNOWN."""
        try:
            vector = batch_of(table, tally).compute(expression)
        except UnsupportedError:
            plain = _one_by_one(table, expression, tally)
            places: dict[Any, int] = {}
            each = [places.setdefault(_hashable(value), len(places)) for value in plain]
            return self._numbered(list(places), new)[np.array(each, np.int64)]
        if isinstance(vector, Lists):
            raise EventError("a condition between events compares lists; name single values")
        if isinstance(vector, Strings):
            used, rows = np.unique(vector.codes, return_inverse=True)
            return self._numbered(vector.distinct.take(pa.array(used)).to_pylist(), new)[rows]
        used, rows = np.unique(vector.values, return_inverse=True)
        codes = self._numbered(used.tolist(), new)[rows]
        return codes if vector.valid is None else np.where(vector.valid, codes, NEVER)

    def _numbered(self, values: list[Value], new: bool) -> np.ndarray:
        numbers = self.numbers
        codes = np.empty(len(values), np.int64)
        for place, value in enumerate(values):
            if value is None:
                codes[place] = NEVER
            elif new:
                codes[place] = numbers.setdefault(value, len(numbers))
            else:
                codes[place] = numbers.get(value, UNKNOWN)
        return codes


def _one_by_one(table: pa.Table, expression: Expression, tally: Tally) -> list[Any]:
    columns = {name: python_values(table.column(name)) for name in table.column_names}

    def value(row: int) -> Value:
        def lookup(each: Attribute | EventType) -> Value:
            assert isinstance(each, Attribute)
            found: Value = columns[each.path[0]][row]
            return found

        return evaluate(expression, lookup, tally)

    return [value(row) for row in range(table.num_rows)]


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


class Choices(NamedTuple):
    """Events of ψ that a condition has to hold for."""

    owner: np.ndarray
    """The number of the match, which increases."""
    columns: pa.Table
    """What the condition reads of them, a row for each choice."""

    def taken(self, matches: np.ndarray, count: int) -> Choices:
        """Choose some matches of so many, in order."""
        number = np.full(count, -1, np.int64)
        number[matches] = np.arange(len(matches))
        rows = np.flatnonzero(number[self.owner] >= 0)
        return Choices(number[self.owner[rows]], _rows(self.columns, rows))


def _rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    return table.take(pa.array(rows)) if table.num_columns else table


@dataclass(frozen=True, slots=True)
class Correlation:
    """The conditions that relate matches of ψ to those of φ."""

    conditions: tuple[Deferred, ...]
    outer: frozenset[str]
    tally: Tally = field(default_factory=Tally)
    equalities: tuple[Condition, ...] = field(init=False)
    others: tuple[Condition, ...] = field(init=False)

    def __post_init__(self) -> None:
        every = [Condition.of(each, self.outer) for each in self.conditions]
        object.__setattr__(self, "equalities", tuple(c for c in every if c.is_equality))
        object.__setattr__(self, "others", tuple(c for c in every if not c.is_equality))

    def read(
        self, listing: Listing, labels: list[int], stream: EventBatch, codes: Codes
    ) -> tuple[list[np.ndarray], list[Choices]]:
        """Work out what the conditions ask of matches of ψ: codes of equalities, and choices."""
        count = len(listing.start)
        coded: list[np.ndarray] = []
        for each in self.equalities:
            owner, positions = _chosen(each.deferred, listing, labels)
            table = columns_of(stream, each.inner, positions)
            assert each.sides is not None
            found = codes.of(table, each.sides[0], self.tally, new=True)
            coded.append(_one_value(owner, found, count))
        chosen: list[Choices] = []
        for each in self.others:
            owner, positions = _chosen(each.deferred, listing, labels)
            chosen.append(Choices(owner, columns_of(stream, each.inner, positions)))
        return coded, chosen

    def holds(self, each: Condition, mine: pa.Table, theirs: pa.Table) -> np.ndarray:
        """Tell for which rows, of ψ and of φ, a condition holds."""
        every = dict(zip(mine.column_names, mine.columns, strict=True))
        every |= dict(zip(theirs.column_names, theirs.columns, strict=True))
        return batch_of(pa.table(every), self.tally).holds(each.predicate)


def compared(sign: str, left: Numbers, right: Numbers) -> Callable[..., np.ndarray] | None:
    """Return what compares rows of two vectors; None: not without loss."""
    for a, b in ((left.values, right.values), (right.values, left.values)):
        mixed = a.dtype == np.int64 and b.dtype == np.float64
        if mixed and max(int(a.max(initial=0)), -int(a.min(initial=0))) > _EXACT:
            return None

    def compare(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        truth: np.ndarray = COMPARISONS[sign](left.values[mine], right.values[theirs])
        if left.valid is not None:
            truth = truth & left.valid[mine]
        if right.valid is not None:
            truth = truth & right.valid[theirs]
        return truth

    return compare


def marked(labels: list[int], bit: int) -> np.ndarray:
    """Tell which labels have a bit."""
    return np.array([bool(label & bit) for label in labels], bool)


def _chosen(
    deferred: Deferred, listing: Listing, labels: list[int]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return all choices of events for the variables of ψ, and whose they are."""
    if len(deferred.bits) == 1:
        ((name, bit),) = deferred.bits
        places = np.flatnonzero(marked(labels, bit)[listing.label])
        owner = np.searchsorted(listing.offset, places, side="right") - 1
        return owner.astype(np.int64), {name: listing.position[places].astype(np.int64)}
    names = [name for name, _ in deferred.bits]
    owners: list[int] = []
    rows: list[tuple[int, ...]] = []
    offsets, positions = listing.offset.tolist(), listing.position.tolist()
    bits = [labels[number] for number in listing.label.tolist()]
    for match, (begin, end) in enumerate(pairwise(offsets)):
        word = list(zip(positions[begin:end], bits[begin:end], strict=True))
        for round_ in deferred.rounds(word):
            own = ([at for variable, at in round_.bound if variable == name] for name in names)
            choices = list(product(*own))
            owners += [match] * len(choices)
            rows += choices
    table = np.array(rows, np.int64).reshape(-1, len(names))
    chosen = {name: table[:, place] for place, name in enumerate(names)}
    return np.array(owners, np.int64), chosen


def _one_value(owner: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Return the one code of each match: ANY where it has none, NEVER where it has several."""
    least = np.full(count, np.iinfo(np.int64).max)
    most = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(least, owner, codes)
    np.maximum.at(most, owner, codes)
    return np.where(least > most, ANY, np.where(least < most, NEVER, least))
