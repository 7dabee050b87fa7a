"""Attributes of events as numbers, for aggregates: ranks stand for what is no number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensue.predicates.evaluate import Batch
from ensue.predicates.values import python_values
from ensue.predicates.vectors import Numbers, Strings, UnsupportedError, column_at
from ensue.stream.batch import EventBatch

Path = tuple[str, ...]
_ALL = np.zeros(0, bool)


@dataclass(frozen=True, slots=True)
class AttributeColumn:
    """The values of an attribute by row, as numbers, and how to get back from numbers."""

    values: np.ndarray
    known: np.ndarray
    """Where there is one; empty: everywhere."""
    distinct: list[Any] | None = None
    """What numbers stand for, where they are ranks."""


def attribute_column(stream: EventBatch, path: Path) -> AttributeColumn:
    """Return the values of an attribute of events."""
    batch = Batch(stream.table, stream.types)
    try:
        vector = batch.vector(path)
    except UnsupportedError:
        vector = None
    if isinstance(vector, Numbers):
        values = vector.values
        if values.dtype == np.bool_:
            return AttributeColumn(values.astype(np.int64), _known(vector.valid), [False, True])
        return AttributeColumn(np.ascontiguousarray(values), _known(vector.valid))
    if isinstance(vector, Strings):
        texts = vector.distinct.to_pylist()[:-1]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        ranks = np.zeros(len(texts) + 1, np.int64)
        ranks[order] = np.arange(len(texts))
        return AttributeColumn(
            ranks[vector.codes],
            _known(vector.codes != len(texts)),
            [texts[number] for number in order] or [""],
        )
    plain = python_values(column_at(stream.table, path))
    distinct = sorted({value for value in plain if value is not None})
    place = {value: rank for rank, value in enumerate(distinct)}
    return AttributeColumn(
        np.array([place.get(value, 0) for value in plain], np.int64),
        _known(np.array([value is not None for value in plain], bool)),
        distinct or [0],
    )


def _known(valid: np.ndarray | None) -> np.ndarray:
    return _ALL if valid is None or valid.all() else valid
