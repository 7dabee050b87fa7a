"""Conditions that relate matches of a ψ that must not happen to a match of φ, on columns.

ψ is evaluated alone, without the conditions that name variables of φ. Of each of its matches it is
kept what those conditions ask of it. The left side of an equality f(ψ) = g(φ) is kept as a code of
its value. Of any other condition the choices of events of ψ are kept, as rows of the attributes
that it reads: it has to hold for all of them.

A condition holds where nothing is bound to one of its variables, on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.expressions import (
    Attribute,
    EventType,
    Expression,
    Value,
)
from ensue.automata.deferred import Deferred
from ensue.errors import EventError
from ensue.kernels.graph.segment import Listing
from ensue.logic.evaluate import Tally, evaluate
from ensue.plan.correlated import CorrelatedCondition, Read
from ensue.predicates.evaluate import Batch
from ensue.predicates.three_valued import COMPARISONS
from ensue.predicates.values import python_values
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError, column_at
from ensue.stream.batch import EventBatch

ANY, NEVER, UNKNOWN = -1, -2, -3
"""Codes: nothing is bound, so that the equality holds; NULL, or two values at once, which nothing
is equal to; a value that ψ has nowhere."""

_EXACT = 2**53
"""Integers up to here are doubles without loss."""

Positions = Mapping[str, np.ndarray]
"""For each variable the positions of chosen events, row by row."""


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
    equalities: tuple[CorrelatedCondition, ...] = field(init=False)
    others: tuple[CorrelatedCondition, ...] = field(init=False)

    def __post_init__(self) -> None:
        every = [CorrelatedCondition.of(each, self.outer) for each in self.conditions]
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

    def holds(self, each: CorrelatedCondition, mine: pa.Table, theirs: pa.Table) -> np.ndarray:
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
