"""Values as registers hold them: 64-bit integers in the order of the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.expressions import Attribute, Expression
from ensue.automata.condition_forms import terms_of
from ensue.automata.registers import NULL
from ensue.automata.relations import Column, EventClock
from ensue.automata.thresholds import Threshold
from ensue.predicates.decimals import scaled
from ensue.predicates.evaluate import Batch
from ensue.predicates.sortable import to_sortable
from ensue.predicates.thresholds import LARGEST_TRIED, check_tried, thresholds
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError, path_column

_LARGEST_EXACT_INTEGER = 2**53
_LARGEST_SUM = 2**62
"""Of one side of a comparison; those of both sides together do not overflow."""

_UNUSED_STRINGS = 1 << 16
"""So many strings may be kept without need before those in registers are looked for."""


@dataclass(slots=True)
class Encoder:
    """Encodes columns of values as integers.

    A string keeps its number as long as a register holds it.
    """

    columns: tuple[Column, ...]
    wanted: frozenset[int]
    """The numbers of the columns that a step reads."""
    _strings: dict[str | None, int] = field(default_factory=lambda: {None: NULL})
    _next: int = 1
    _scale: int | None = None
    """How many digits of decimals are fractions: as many as the first events have."""
    _kept: int = 0
    """How many strings were left when the others were dropped."""

    def encode(self, batch: Batch) -> np.ndarray:
        """Return one row an event, one integer a column; columns that no step reads are 0.

        Those of clocks are left to `fill_clocks`, since numbers of events are counted once.
        """
        values = np.zeros((batch.length, len(self.columns)), np.int64)
        for number, column in enumerate(self.columns):
            if number in self.wanted and not isinstance(column.expression, EventClock):
                values[:, number] = self._encoded(batch, column, column.expression)
        return values

    def fill_clocks(
        self, values: np.ndarray, times: np.ndarray, numbers: np.ndarray | None
    ) -> None:
        """Write the columns of clocks: the times of events, and their numbers if counted."""
        for at, column in enumerate(self.columns):
            if at in self.wanted and isinstance(column.expression, EventClock):
                clock = times if column.expression.kind == "time" else numbers
                assert clock is not None
                values[:, at] = clock - column.expression.less

    def _encoded(
        self, batch: Batch, column: Column, expression: Expression | Threshold
    ) -> np.ndarray:
        if isinstance(expression, Threshold):
            return thresholds(batch, expression)
        if column.domain == "truth":
            return batch.holds(expression).astype(np.int64)
        if column.domain == "decimal":
            assert isinstance(expression, Attribute)
            return self._decimals(batch, expression)
        if column.domain == "sum":
            _check_sum(batch, expression)
        vector = batch.compute(expression)
        if isinstance(vector, Strings):
            if column.domain != "string":
                raise UnsupportedError("strings among numbers")
            return vector.take(self._numbered(vector))
        if isinstance(vector, Lists):
            raise UnsupportedError("lists among numbers")
        doubles = column.domain in ("double", "tried double")
        numbers = _sortable(vector) if doubles else _whole(vector)
        if vector.valid is not None:
            numbers = np.where(vector.valid, numbers, NULL)
        if column.domain in LARGEST_TRIED:
            check_tried(numbers, column.domain)
        return numbers

    def _decimals(self, batch: Batch, attribute: Attribute) -> np.ndarray:
        """Return decimals as whole numbers of their smallest unit, the same in all columns."""
        column = path_column(batch.table, attribute.path)
        if column is None or pa.types.is_null(column.type):
            return np.full(batch.length, NULL, np.int64)
        if self._scale is None:
            self._scale = max(
                (
                    kind.scale
                    for each in self.columns
                    if each.domain == "decimal" and isinstance(each.expression, Attribute)
                    for kind in (_type_of(batch, each.expression),)
                    if pa.types.is_decimal(kind)
                ),
                default=0,
            )
        return scaled(column, self._scale)

    def _numbered(self, strings: Strings) -> np.ndarray:
        return np.array([self._number(text) for text in strings.distinct.to_pylist()], np.int64)

    def _number(self, text: str | None) -> int:
        number = self._strings.get(text)
        if number is None:
            number = self._strings[text] = self._next
            self._next += 1
        return number

    @property
    def wants_thinning(self) -> bool:
        """Whether it is time to tell which strings registers hold."""
        return len(self._strings) > 2 * self._kept + _UNUSED_STRINGS

    def keep(self, numbers: np.ndarray) -> None:
        """Drop all strings but those with these numbers: no register holds the others."""
        kept = set(numbers.tolist()) | {NULL}
        self._strings = {text: n for text, n in self._strings.items() if n in kept}
        self._kept = len(self._strings)

    def save(self) -> dict[str, Any]:
        """Return the state: the strings that have a number."""
        texts = [text for text in self._strings if text is not None]
        numbers = [self._strings[text] for text in texts]
        return {
            "strings": texts,
            "numbers": np.array(numbers, np.int64),
            "next": self._next,
            "scale": self._scale,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state."""
        texts = zip(saved["strings"], saved["numbers"].tolist(), strict=True)
        self._strings, self._next = {None: NULL, **dict(texts)}, saved["next"]
        self._scale = saved.get("scale")


def _type_of(batch: Batch, attribute: Attribute) -> pa.DataType:
    column = path_column(batch.table, attribute.path)
    return pa.null() if column is None else column.type


def _check_sum(batch: Batch, total: Expression) -> None:
    """Make sure that no sum of these terms, in whatever order, comes near the largest integer."""
    most = 0
    for term in terms_of(total):
        vector = batch.compute(term)
        if isinstance(vector, Numbers) and vector.values.dtype == np.int64:
            known = vector.values if vector.valid is None else vector.values[vector.valid]
            most += max(int(known.max(initial=0)), -int(known.min(initial=0)))
    if most > _LARGEST_SUM:
        raise UnsupportedError("sums of integers that may overflow")


def _whole(vector: Numbers) -> np.ndarray:
    if vector.values.dtype == np.float64:
        if vector.valid is not None and not vector.valid.any():
            return np.zeros(len(vector.values), np.int64)
        raise UnsupportedError("doubles among whole numbers")
    numbers = vector.values.astype(np.int64)
    if len(numbers) and numbers.min() <= NULL:
        raise UnsupportedError("the two smallest 64-bit integers, which stand for EMPTY and NULL")
    return numbers


def as_doubles(held: np.ndarray) -> np.ndarray:
    """Re-encode integers held by registers as doubles; EMPTY and NULL are unchanged."""
    values = held > NULL
    doubles: np.ndarray = np.where(
        values, _sortable(Numbers(np.where(values, held, 0), None)), held
    )
    return doubles


def _sortable(vector: Numbers) -> np.ndarray:
    """Encode numbers as sortable doubles; -0.0 equals 0.0."""
    values = vector.values
    whole = values.dtype == np.int64
    if (
        whole
        and max(int(values.max(initial=0)), -int(values.min(initial=0))) > _LARGEST_EXACT_INTEGER
    ):
        raise UnsupportedError("integers beyond 2^53 beside doubles")
    return to_sortable(values.astype(np.float64) + 0.0)
