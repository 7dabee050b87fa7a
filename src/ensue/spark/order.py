"""The order of events on Spark: by time and tiebreak, and ties by what the workers see of them.

A DataFrame has no order of arrival. So events that agree in time and tiebreak are put in an order
of their own, the same in batch jobs, where Spark sorts, and in streams, where the workers do.
Whole structs are no keys: Spark and Arrow order NULLs inside them differently. Their fields are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ensue.analysis.schema import AttributePath
from ensue.predicates.symbols import GIVEN
from ensue.predicates.vectors import column_at
from ensue.spark.program import Program


class Key(NamedTuple):
    """What events are sorted by, ascending and NULL last: a value, or whether a struct is NULL."""

    path: AttributePath
    is_missing: bool = False


def order_of(program: Program, read: Collection[str], *, given: bool) -> tuple[Key, ...]:
    """Return the keys of the order, the time first.

    Args:
        program: any of those that see these events: they agree on time and tiebreak.
        read: the columns that some program reads.
        given: whether answers to predicates come with the events.
    """
    keys = [Key(program.time)]
    if program.tiebreak is not None:
        keys.append(Key(program.tiebreak))
    if given:
        keys.append(Key((GIVEN,)))
    for field in program.columns:
        if field.name in read:
            keys += _leaves((field.name,), field.type)
    return tuple(dict.fromkeys(keys))


def _leaves(path: AttributePath, kind: pa.DataType) -> Iterator[Key]:
    """Give the keys of a column: its fields where it is a struct; nothing orders maps."""
    if kinds.is_struct(kind):
        yield Key(path, is_missing=True)
        for field in kind:
            yield from _leaves((*path, field.name), field.type)
    elif _orderable(kind):
        yield Key(path)


def _orderable(kind: pa.DataType) -> bool:
    if kinds.is_map(kind) or kinds.is_null(kind):
        return False
    return all(_orderable(kind.field(at).type) for at in range(kind.num_fields))


def sorted_rows(table: pa.Table, order: Collection[Key]) -> np.ndarray:
    """Return the rows of events in the order in which Spark sorts them by the same keys."""
    columns = {}
    for number, key in enumerate(order):
        column = column_at(table, key.path)
        if key.is_missing:
            column = column.is_null()
        elif kinds.is_nested(column.type):
            column = _ranked(column)
        if not kinds.is_null(column.type):
            columns[str(number)] = column
    keys = [(name, "ascending") for name in columns]
    rows: np.ndarray = pc.sort_indices(pa.table(columns), keys).to_numpy()
    return rows


def _ranked(column: pa.ChunkedArray) -> pa.Array:
    """Number lists in the order that Spark gives them."""
    values = column.to_pylist()
    keys = [None if value is None else _comparable(value) for value in values]
    places = {key: place for place, key in enumerate(sorted({key for key in keys if key}))}
    return pa.array([None if key is None else places[key] for key in keys], pa.int64())


def _comparable(value: Any) -> tuple[Any, ...]:
    """Return what compares as a value inside a list does on Spark: NULL first, NaN last."""
    if value is None:
        return (0,)
    if isinstance(value, list):
        return (1, tuple(map(_comparable, value)))
    if isinstance(value, dict):
        return (1, tuple(map(_comparable, value.values())))
    return (2,) if isinstance(value, float) and np.isnan(value) else (1, value)
