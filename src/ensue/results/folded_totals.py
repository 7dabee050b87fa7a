"""Aggregates of the user over all matches of a completing event, folded on the match graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.bound import Column
from ensue.kernels.compile.user_code import compiled_by_numba
from ensue.kernels.graph.path_folds import Monoid, element_type, fold, lift_all, runs_compiled
from ensue.kernels.graph.segment import Segment
from ensue.logic.user_calls import combined, lifted, lowered
from ensue.predicates.arrow_values import arrow_type, python_value
from ensue.predicates.evaluate import Batch
from ensue.stream.attributes import value_column
from ensue.stream.batch import EventBatch


class Elements(NamedTuple):
    """The elements of some events, and which of them have one."""

    known: np.ndarray
    lifted: np.ndarray


def elements_of(column: Column, stream: EventBatch) -> Elements:
    """Lift the values of events; FunctionError where a value cannot be."""
    user, count = column.user, len(stream.times)
    assert user is not None
    if column.argument is None:
        raise AssertionError("an aggregate of the user has an argument")
    source = value_column(Batch(stream.table, stream.types), column.argument)
    known = source.known if len(source.known) else np.ones(count, bool)
    rows = np.flatnonzero(known)
    elements = np.zeros(count, element_type(user))
    if runs_compiled(user, source.distinct):
        elements[rows] = combined(user, lift_all, user.lift, source.values[rows], elements.dtype)
        return Elements(known, elements)
    values: list[Any] = source.values[rows].tolist()
    if source.distinct is not None:
        values = [source.distinct[rank] for rank in values]
    made = lifted(user, values, column.argument.type)
    for row, each in zip(rows.tolist(), made, strict=True):
        elements[row] = each
    return Elements(known, elements)


def folded_totals(
    columns: Sequence[Column],
    segments: Sequence[Segment],
    variables: Sequence[str],
    labels: Sequence[int],
    events: EventBatch,
) -> dict[str, Any]:
    """Return the columns of aggregates of the user, a row for each completing event.

    `segments` have all nodes that their hits need, and no others.
    """
    every = [each.graph.position[each.graph.label > 0] for each in segments]
    positions = np.unique(np.concatenate(every))
    bound = events.take(events.rows_at(positions))
    found: dict[str, Any] = {}
    for column in columns:
        user = column.user
        assert user is not None
        bit = 1 << variables.index(column.variable)
        binds = np.array([bool(bits & bit) for bits in labels], bool)
        known, elements = elements_of(column, bound)
        combine = compiled_by_numba(user.combine) if user.compiled else user.combine
        monoid = Monoid(user.zero, combine, user.compiled)
        totals: list[Any] = []
        ended = -1
        for each in segments:
            rows = np.zeros(len(each.graph.label), np.int64)
            outputs = each.graph.label > 0
            rows[outputs] = np.searchsorted(positions, each.graph.position[outputs])
            given = monoid, each.graph, each.hits, binds, rows, known, elements
            some: list[Any] = combined(user, fold, *given).tolist()
            if totals and len(some) and each.hits.end[0] == ended:
                some[0] = combined(user, user.combine, totals.pop(), some[0])
            totals += some
            ended = int(each.hits.end[-1]) if len(each.hits.end) else ended
        kind = user.returns
        plain = [python_value(lowered(user, each), kind) for each in totals]
        found[column.name] = pa.array(plain, arrow_type(kind))
    return found
