"""Values that registers hold: whole numbers in the order of what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.automata.registers import Column
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import Lists, Numbers, Strings, UnsupportedError

NULL = -(2**63) + 1
"""What stands for NULL; the least number is an empty register."""

_EXACT = 2**53


@dataclass(slots=True)
class Encoder:
    """Turns columns of values into whole numbers; equal strings get equal ones for good."""

    columns: tuple[Column, ...]
    wanted: frozenset[int]
    """The numbers of those that somebody looks at."""
    _strings: dict[str | None, int] = field(default_factory=lambda: {None: NULL})
    _next: int = 1

    def encode(self, batch: Batch) -> np.ndarray:
        """Return one row an event, one number for each column: 0 where nobody looks at it."""
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
        """How many strings have a number."""
        return len(self._strings)

    def keep(self, numbers: np.ndarray) -> None:
        """Forget all strings but those with these numbers: no register holds the others."""
        kept = set(numbers.tolist()) | {NULL}
        self._strings = {text: n for text, n in self._strings.items() if n in kept}

    def save(self) -> dict[str, Any]:
        """Write down the strings that have a number."""
        texts = [text for text in self._strings if text is not None]
        numbers = [self._strings[text] for text in texts]
        return {"strings": texts, "numbers": np.array(numbers, np.int64), "next": self._next}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on with strings that were saved."""
        texts = zip(saved["strings"], saved["numbers"].tolist(), strict=True)
        self._strings, self._next = {None: NULL, **dict(texts)}, saved["next"]


def _whole(vector: Numbers) -> np.ndarray:
    if vector.values.dtype == np.float64:
        if vector.valid is not None and not vector.valid.any():
            return np.zeros(len(vector.values), np.int64)
        raise UnsupportedError("doubles among whole numbers")
    numbers = vector.values.astype(np.int64)
    if len(numbers) and numbers.min() <= NULL:
        raise UnsupportedError("numbers at the very end of 64 bits")
    return numbers


def as_doubles(held: np.ndarray) -> np.ndarray:
    """Write integers that registers hold as doubles are written; NULL and nothing stay as such."""
    values = held > NULL
    doubles: np.ndarray = np.where(
        values, _sortable(Numbers(np.where(values, held, 0), None)), held
    )
    return doubles


def _sortable(vector: Numbers) -> np.ndarray:
    """Write doubles as whole numbers of the same order; -0.0 is 0.0."""
    values = vector.values
    whole = values.dtype == np.int64
    if whole and max(int(values.max(initial=0)), -int(values.min(initial=0))) > _EXACT:
        raise UnsupportedError("integers beyond 2^53 beside doubles")
    bits = (values.astype(np.float64) + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
