"""Calls of the user's functions on incoming rows, before anything has changed.

A function that fails on a row fails here, where the push can still be refused as a whole, or the
row be rejected. Calls on what is computed later, or on several events, are made on listing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import AllOf, AnyOf, Condition, Each, Relation
from ensue.analysis.expressions import (
    Expression,
    Operation,
    calls_of,
    variables_of,
    without_variables,
)
from ensue.errors import FunctionError
from ensue.language import tree
from ensue.predicates.evaluate import Batch
from ensue.stream.batch import InputBatch


def calls_on_events(bound: BoundQuery) -> tuple[Operation, ...]:
    """Return the calls of the user's functions on single events of the stream."""
    computed = frozenset(_computed(bound.tree))
    found: dict[Operation, None] = {}
    for variable, expression in _expressions(bound):
        for call in calls_of(expression):
            about = {variable} if variable is not None else variables_of(call)
            if len(about) == 1 and not about & computed:
                each = without_variables(call)
                assert isinstance(each, Operation)
                found[each] = None
    return tuple(found)


def _computed(node: tree.Node) -> Iterator[str]:
    """Give the names of computed events."""
    if isinstance(node, tree.Aggregated):
        yield node.variable.text
    for child in tree.children(node):
        yield from _computed(child)


def _expressions(bound: BoundQuery) -> Iterator[tuple[str | None, Expression]]:
    """Give what is evaluated, with its variable where there is only one."""
    for condition in bound.conditions.values():
        yield from _in_condition(condition)
    columns = [*bound.computed.columns, *(bound.totals.columns if bound.totals else ())]
    for each in bound.aggregates.values():
        columns += each.columns
    for column in columns:
        if column.argument is not None:
            yield column.variable, column.argument


def _in_condition(condition: Condition) -> Iterator[tuple[str | None, Expression]]:
    match condition:
        case Each(variable=name, predicate=predicate):
            yield name, predicate
        case Relation(predicate=predicate):
            yield None, predicate
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            for part in parts:
                yield from _in_condition(part)


def check_calls(calls: Iterable[Operation], batch: InputBatch) -> None:
    """Call functions on all rows; a FunctionError names the row that one fails on."""
    columns = Batch(batch.table, batch.types)
    for call in calls:
        columns.values(call)


def failing_rows(calls: Iterable[Operation], batch: InputBatch) -> dict[int, str]:
    """Return the rows on which a function fails, and why."""
    every, found = tuple(calls), dict[int, str]()
    rest = np.arange(batch.table.num_rows)
    while len(rest):
        try:
            check_calls(every, batch.take(rest))
        except FunctionError as error:
            if error.row is None:
                raise
            found[int(rest[error.row])] = str(error)
            rest = np.delete(rest, error.row)
        else:
            break
    return found
