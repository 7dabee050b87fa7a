"""Values of events as numbers, for aggregates: ranks stand for what is no number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensue.analysis.expressions import Expression, Value
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import Lists, Numbers, Strings, Vector

_ALL = np.zeros(0, bool)


@dataclass(frozen=True, slots=True)
class AttributeColumn:
    """The values of an expression by row, as numbers, and how to get back from numbers."""

    values: np.ndarray
    known: np.ndarray
    """Where there is one; empty: everywhere."""
    distinct: list[Any] | None = None
    """What numbers stand for, where they are ranks."""


def value_column(batch: Batch, expression: Expression) -> AttributeColumn:
    """Return the values of an expression; of what is no number, ranks in the order of values."""
    found = batch.values(expression)
    if isinstance(found, list):
        return _ranked(found)
    return _numbered(found)


def _numbered(vector: Vector) -> AttributeColumn:
    assert not isinstance(vector, Lists), "lists are not aggregated"
    if isinstance(vector, Numbers):
        values = vector.values
        if values.dtype == np.bool_:
            return AttributeColumn(values.astype(np.int64), _known(vector.valid), [False, True])
        return AttributeColumn(np.ascontiguousarray(values), _known(vector.valid))
    return _strings(vector)


def _strings(strings: Strings) -> AttributeColumn:
    """Rank strings; one that several codes stand for has one rank."""
    texts: list[Any] = strings.distinct.to_pylist()[:-1]
    distinct = sorted({text for text in texts if text is not None})
    place = {text: rank for rank, text in enumerate(distinct)}
    ranks = np.array([*(place.get(text, 0) for text in texts), 0], np.int64)
    return AttributeColumn(
        ranks[strings.codes], _known(strings.codes != len(texts)), distinct or [""]
    )


def _ranked(plain: list[Value]) -> AttributeColumn:
    distinct: list[Any] = sorted({value for value in plain if value is not None})
    place = {value: rank for rank, value in enumerate(distinct)}
    return AttributeColumn(
        np.array([0 if value is None else place[value] for value in plain], np.int64),
        _known(np.array([value is not None for value in plain], bool)),
        distinct or [0],
    )


def _known(valid: np.ndarray | None) -> np.ndarray:
    return _ALL if valid is None or valid.all() else valid
