"""Which columns of the events a query reads, so that the others need not be."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import AllOf, AnyOf, Condition, Each, Relation, SameKey, Trend
from ensue.analysis.expressions import paths_of
from ensue.options import ReadOptions
from ensue.plan.result_schema import ResultSchema

Path = tuple[str, ...]


def columns_read(
    bound: BoundQuery, options: ReadOptions, shape: ResultSchema | None = None
) -> frozenset[str] | None:
    """Name the columns that a query reads; None: all of them.

    With a shape, also those that the events of its matches show.
    """
    names = {options.type, options.type.partition(".")[0]}
    for path in _paths(bound):
        names.add(path[0])
    for name in (options.time, options.tiebreak):
        if name is not None:
            names.update((name, name.partition(".")[0]))
    if shape is None or shape.totals is not None:
        return frozenset(names)
    for paths in shape.variables.values():
        if paths is None:
            return None
        names.update(path[0] for path in paths)
    return frozenset(names)


def columns_kept(bound: BoundQuery, options: ReadOptions) -> frozenset[str]:
    """Name the columns whose values are kept by their type: in registers, totals and the order."""
    names = {path[0] for path in _kept_paths(bound)}
    names |= {each.partition(".")[0] for each in (options.time, options.tiebreak) if each}
    return frozenset(names)


def _kept_paths(bound: BoundQuery) -> Iterator[Path]:
    if bound.clock.column is not None:
        yield bound.clock.column
    for condition in bound.conditions.values():
        yield from _between_events(condition)
    if bound.totals is not None:
        for column in bound.totals.columns:
            if column.path is not None:
                yield column.path


def _paths(bound: BoundQuery) -> Iterator[Path]:
    yield from bound.partition
    if bound.clock.column is not None:
        yield bound.clock.column
    for condition in bound.conditions.values():
        yield from _of_condition(condition)
    columns = [each for listed in bound.aggregates.values() for each in listed]
    columns += bound.columns
    if bound.totals is not None:
        columns += bound.totals.columns
    for column in columns:
        if column.path is not None:
            yield column.path


def _between_events(condition: Condition) -> Iterator[Path]:
    """Return the paths that conditions between events compare."""
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.conditions:
            yield from _between_events(part)
    elif not isinstance(condition, Each):
        yield from _of_condition(condition)


def _of_condition(condition: Condition) -> Iterator[Path]:
    match condition:
        case Each(predicate=predicate) | Relation(predicate=predicate):
            yield from paths_of(predicate)
        case Trend(path=path):
            yield path
        case SameKey(keys=keys):
            for _, path in keys:
                yield path
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            for part in parts:
                yield from _of_condition(part)
