"""Values as registers hold them: 64-bit integers in the order of the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.automata.registers import NULL, Column
from ensue.predicates.evaluate import Batch
from ensue.predicates.sortable import to_sortable
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError

_LARGEST_EXACT_INTEGER = 2**53


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

    def encode(self, batch: Batch) -> np.ndarray:
        """Return one row an event, one integer a column; columns that no step reads are 0."""
        values = np.zeros((batch.length, len(self.columns)), np.int64)
        for number, column in enumerate(self.columns):
            if number in self.wanted:
                values[:, number] = self._encoded(batch, column)
        return values

    def _encoded(self, batch: Batch, column: Column) -> np.ndarray:
        if column.domain == "truth":
            return batch.holds(column.expression).astype(np.int64)
        vector = batch.compute(column.expression)
        if isinstance(vector, Strings):
            if column.domain != "string":
                raise UnsupportedError("strings among numbers")
            return vector.take(self._numbered(vector))
        if isinstance(vector, Lists):
            raise UnsupportedError("lists among numbers")
        numbers = _sortable(vector) if column.domain == "double" else _whole(vector)
        if vector.valid is not None:
            numbers = np.where(vector.valid, numbers, NULL)
        return numbers

    def _numbered(self, strings: Strings) -> np.ndarray:
        return np.array([self._number(text) for text in strings.distinct.to_pylist()], np.int64)

    def _number(self, text: str | None) -> int:
        number = self._strings.get(text)
        if number is None:
            number = self._strings[text] = self._next
            self._next += 1
        return number

    @property
    def size(self) -> int:
        """The number of strings that have a code."""
        return len(self._strings)

    def keep(self, numbers: np.ndarray) -> None:
        """Drop all strings but those with these numbers: no register holds the others."""
        kept = set(numbers.tolist()) | {NULL}
        self._strings = {text: n for text, n in self._strings.items() if n in kept}

    def save(self) -> dict[str, Any]:
        """Return the state: the strings that have a number."""
        texts = [text for text in self._strings if text is not None]
        numbers = [self._strings[text] for text in texts]
        return {"strings": texts, "numbers": np.array(numbers, np.int64), "next": self._next}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state."""
        texts = zip(saved["strings"], saved["numbers"].tolist(), strict=True)
        self._strings, self._next = {None: NULL, **dict(texts)}, saved["next"]


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
