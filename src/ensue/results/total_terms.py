"""What SELECT count(*), sum(x.a), … adds up over runs, and the columns made of it.

A column becomes a few terms of the weights of runs (see kernels/count/weights.py): a sum of whole
numbers one modulo 2^64, one as a double that tells which multiple of 2^64 is missing, and one of
absolute values that tells how far to trust it; min and max a number in the order of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.bound import Column, Derived, Totals
from ensue.analysis.columns import aggregate_type
from ensue.analysis.expressions import Attribute, Expression, stored_type, untyped
from ensue.analysis.types import Type
from ensue.kernels.count.driver import Terms
from ensue.kernels.count.weights import NO_VALUE, Values, Weights
from ensue.logic.aggregates import derived
from ensue.predicates.arrow_values import arrow_type, arrow_values, python_value
from ensue.predicates.evaluate import Batch
from ensue.predicates.sortable import from_sortable, to_sortable
from ensue.predicates.values import python_values
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError, column_at

Path = tuple[str, ...]

MOST_INT64 = 2**63 - 1
"""Where counts saturate."""

_TRUSTED = 1e26
"""Up to this size of its parts, a sum as a double is wrong by less than 2^63."""

Kind = Literal["ones", "value", "size", "min", "max"]


class Term(NamedTuple):
    """What an event bound to a variable adds: one, its value, the value's size, or a bound."""

    kind: Kind
    variable: str
    argument: Expression | None
    """Of which the value is, without types, which may get wider."""


@dataclass(slots=True)
class Adder:
    """The terms of a query's columns, the values of events for them, and the columns again."""

    totals: Totals
    types: dict[str, Type]
    """Of the columns, by name."""
    type_of: Callable[[Path], Type]
    exact: bool = False
    whole: list[Term] = field(default_factory=list)
    real: list[Term] = field(default_factory=list)
    least: list[Term] = field(default_factory=list)
    ranks: dict[int, list[Any]] = field(default_factory=dict)
    """Of least terms whose values are known by their rank: all values so far, in order."""
    arguments: dict[Expression, Expression] = field(default_factory=dict)
    """The arguments of terms with their types."""

    def __post_init__(self) -> None:
        for column in self.totals.columns:
            if column.user is not None:
                continue
            name, path = column.variable, self._key(column)
            if column.function in ("min", "max"):
                _add(self.least, Term("min" if column.function == "min" else "max", name, path))
                continue
            if column.function in ("count", "avg"):
                _add(self.whole, Term("ones", name, path))
                _add(self.real, Term("ones", name, path))
            if column.function in ("sum", "avg"):
                _add(self.real, Term("value", name, path))
                if self._is_whole(path):
                    _add(self.whole, Term("value", name, path))
                    _add(self.real, Term("size", name, path))
        for number, term in enumerate(self.least):
            if self.kind(term.argument) in (Type.STRING, Type.DECIMAL):
                self.ranks[number] = []

    def _key(self, column: Column) -> Expression | None:
        """Return the argument of a column as terms have it."""
        if column.argument is None:
            return None
        key = untyped(column.argument)
        self.arguments[key] = column.argument
        return key

    def kind(self, argument: Expression | None) -> Type:
        """Return the type of the values of a term."""
        assert argument is not None
        return stored_type(self.arguments[argument], self.type_of)

    def _is_whole(self, argument: Expression | None) -> bool:
        return self.kind(argument) not in (Type.DOUBLE, Type.DECIMAL)

    def bits(self, variables: Sequence[str]) -> Terms:
        """Return the bit of each term's variable."""
        whole, real, least = (
            [1 << variables.index(term.variable) for term in terms]
            for terms in (self.whole, self.real, self.least)
        )
        return Terms([0, *whole], [0, *real], least)

    # values

    def check(self, batch: Batch) -> None:
        """Raise UnsupportedError for values that cannot be added up; change nothing."""
        for term in (*self.whole, *self.real):
            self._addends(batch, term)
        for number, term in enumerate(self.least):
            if number not in self.ranks:
                self._codes(batch, term)

    def values(self, batch: Batch, remap: Callable[[int, np.ndarray], None]) -> Values:
        """Return what events add to the terms.

        Values known by their rank get new ranks when others come between them; `remap` gets
        the new rank of every old one.
        """
        length = batch.length
        whole = np.zeros((length, 1 + len(self.whole)), object if self.exact else np.int64)
        real = np.zeros((length, 1 + len(self.real)), np.float64)
        least = np.full((length, len(self.least)), NO_VALUE, np.int64)
        for number, term in enumerate(self.whole, 1):
            values, valid = self._addends(batch, term)
            whole[:, number] = np.where(valid, values, 0)
        for number, term in enumerate(self.real, 1):
            values, valid = self._addends(batch, term)
            real[:, number] = np.where(valid, values, 0)
        for number, term in enumerate(self.least):
            if number in self.ranks:
                codes, valid = self._ranked(number, batch, remap)
            else:
                codes, valid = self._codes(batch, term)
            if term.kind == "max":
                codes = ~codes
            least[:, number] = np.where(valid, codes, NO_VALUE)
        return Values(whole, real, least)

    def _ranked(
        self, number: int, batch: Batch, remap: Callable[[int, np.ndarray], None]
    ) -> tuple[np.ndarray, np.ndarray]:
        term = self.least[number]
        plain = self._plain(batch, term)
        old = self.ranks[number]
        new = sorted({*old, *(value for value in plain if value is not None)})
        place = {value: rank for rank, value in enumerate(new)}
        if len(new) > len(old):
            moved = np.array([place[value] for value in old], np.int64)
            remap(number, ~moved if term.kind == "max" else moved)
            self.ranks[number] = new
        codes = np.array([place.get(value, 0) for value in plain], np.int64)
        return codes, np.array([value is not None for value in plain], bool)

    def _vector(self, batch: Batch, term: Term) -> Numbers | Strings:
        """Return the values of a term's argument; decimals as doubles."""
        assert term.argument is not None
        found = batch.values(self.arguments[term.argument])
        if not isinstance(found, list):
            assert not isinstance(found, Lists), "lists are not added up"
            return found
        known = np.array([value is not None for value in found], bool)
        if any(isinstance(value, str) for value in found):
            return Strings(np.where(known, 0, 1), pa.array(["", None], pa.string()))
        plain: list[Any] = found
        return Numbers(np.array([0.0 if value is None else float(value) for value in plain]), known)

    def _plain(self, batch: Batch, term: Term) -> list[Any]:
        assert term.argument is not None
        argument = self.arguments[term.argument]
        if isinstance(argument, Attribute):
            return python_values(column_at(batch.table, argument.path))
        found = batch.values(argument)
        if isinstance(found, Strings):
            texts = found.distinct.to_pylist()
            return [texts[code] for code in found.codes.tolist()]
        if isinstance(found, Numbers):
            pairs = zip(found.values.tolist(), found.is_valid().tolist(), strict=True)
            return [value if known else None for value, known in pairs]
        assert isinstance(found, list)
        return found

    def _addends(self, batch: Batch, term: Term) -> tuple[np.ndarray, np.ndarray]:
        """Return what each event adds to a term, and where it adds something."""
        if term.argument is None:
            return np.ones(batch.length, np.int64), np.ones(batch.length, bool)
        vector = self._vector(batch, term)
        if isinstance(vector, Strings):
            if term.kind != "ones":
                raise UnsupportedError("strings among numbers")
            return np.ones(batch.length, np.int64), vector.codes != len(vector.distinct) - 1
        if term.kind == "ones":
            return np.ones(batch.length, np.int64), vector.is_valid()
        if term.kind == "size":
            return np.abs(vector.values.astype(np.float64)), vector.is_valid()
        return vector.values, vector.is_valid()

    def _codes(self, batch: Batch, term: Term) -> tuple[np.ndarray, np.ndarray]:
        """Return whole numbers in the order of the values."""
        vector = self._vector(batch, term)
        assert isinstance(vector, Numbers)
        if self.kind(term.argument) is Type.DOUBLE:
            return to_sortable(vector.values.astype(np.float64)), vector.is_valid()
        codes = vector.values.astype(np.int64)
        if len(codes) and (codes.max() == NO_VALUE or codes.min() == -NO_VALUE - 1):
            raise UnsupportedError("numbers at the very end of 64 bits")
        return codes, vector.is_valid()

    # columns

    def columns(self, weights: Weights, folded: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the columns of a query from the weights of its matches.

        `folded` has the columns of the user's aggregates.
        """
        found: dict[str, Any] = {
            self.totals.count: self._counts(weights.whole[:, 0], weights.real[:, 0])
        }
        for column in self.totals.columns:
            own = (folded or {}).get(column.name)
            found[column.name] = self._column(column, weights) if own is None else own
        if self.totals.derived:
            found |= derived_columns(self.totals.derived, found, self.types)
        return {name: found[name] for name in self.totals.order}

    def _counts(self, count: np.ndarray, size: np.ndarray) -> Any:
        if self.exact:
            return count.tolist()
        return pa.array(_saturated(count, size))

    def _column(self, column: Column, weights: Weights) -> Any:
        name, path = column.variable, self._key(column)

        def whole(what: Kind) -> np.ndarray:
            return weights.whole[:, 1 + self.whole.index(Term(what, name, path))]

        def real(what: Kind) -> np.ndarray:
            return weights.real[:, 1 + self.real.index(Term(what, name, path))]

        match column.function:
            case "count":
                return self._counts(whole("ones"), real("ones"))
            case "sum" if self._is_whole(path):
                sums, fits = self._sums(whole("value"), real("value"), real("size"))
                return pa.array(sums.astype(np.int64), mask=~fits)
            case "sum":
                sums = real("value")
                return pa.array(sums, mask=~np.isfinite(sums))
            case "avg":
                sums, ones = real("value"), real("ones")
                if self._is_whole(path):
                    exact, fits = self._sums(whole("value"), sums, real("size"))
                    sums = np.where(fits, exact, sums).astype(np.float64)
                with np.errstate(all="ignore"):
                    means = sums / ones
                return pa.array(means, mask=(ones == 0) | ~np.isfinite(means))
        number = self.least.index(Term("min" if column.function == "min" else "max", name, path))
        kind = aggregate_type(column.function, self.kind(path))
        return self._bounds(number, weights.least[:, number], kind)

    def _sums(
        self, whole: np.ndarray, real: np.ndarray, size: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of whole numbers, and where they fit into 64 bits."""
        if self.exact:
            fits = np.array([-MOST_INT64 - 1 <= each <= MOST_INT64 for each in whole], bool)
            return np.where(fits, whole, 0), fits
        with np.errstate(all="ignore"):
            turns = np.rint((real - whole.astype(np.float64)) / 2.0**64)
        return whole, (turns == 0) & (size < _TRUSTED)

    def _bounds(self, number: int, codes: np.ndarray, kind: Type) -> pa.Array:
        valid = codes != NO_VALUE
        term = self.least[number]
        if term.kind == "max":
            codes = ~codes
        codes = np.where(valid, codes, 0)
        if number in self.ranks:
            known = self.ranks[number]
            values = [known[code] if ok else None for code, ok in zip(codes, valid, strict=True)]
            return pa.array(values, arrow_type(kind))
        if self.kind(term.argument) is Type.DOUBLE:
            return pa.array(from_sortable(codes), mask=~valid)
        return arrow_values(codes, valid, kind)


def _add(terms: list[Term], term: Term) -> None:
    if term not in terms:
        terms.append(term)


def _saturated(count: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return counts kept modulo 2^64 as they are, or the largest number where they are larger."""
    small = size < 1.5e19
    known = np.where(small, np.ascontiguousarray(count).view(np.uint64), np.uint64(MOST_INT64))
    saturated: np.ndarray = np.minimum(known, np.uint64(MOST_INT64)).astype(np.int64)
    return saturated


def derived_columns(
    columns: Sequence[Derived], found: Mapping[str, Any], types: Mapping[str, Type]
) -> dict[str, Any]:
    """Compute columns from totals, row by row: totals are few, and may be of any size."""
    plain = {
        name: each if isinstance(each, list) else python_values(pa.chunked_array([each]))
        for name, each in found.items()
    }
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    return {
        each.name: pa.array(
            [python_value(derived(each, row), types[each.name]) for row in rows],
            arrow_type(types[each.name]),
        )
        for each in columns
    }
