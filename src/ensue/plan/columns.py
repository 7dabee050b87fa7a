"""Which columns of the events a plan reads, so that the others need not be."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.conditions import Each, Relation, SameKey, Trend
from ensue.analysis.expressions import EventType, Expression, paths_of, subexpressions
from ensue.automata.compiled import AtStart, Predicate, TypeTest
from ensue.logic import formula as f
from ensue.options import ReadOptions
from ensue.plan.physical import PhysicalPlan
from ensue.plan.result_schema import ResultSchema

Path = tuple[str, ...]


def columns_read(
    plan: PhysicalPlan,
    options: ReadOptions,
    schema: ResultSchema | None = None,
    answered: frozenset[Predicate] = frozenset(),
) -> frozenset[str] | None:
    """Name the columns that a plan reads; None: all of them.

    Args:
        plan: the plan.
        options: which columns are the type, the time and the tiebreak.
        schema: the rows that matches become, where they show events.
        answered: predicates that are evaluated elsewhere, whose answers come with the events.
    """
    bound = plan.bound
    paths = set(bound.partition)
    if bound.clock.column is not None:
        paths.add(bound.clock.column)
    if plan.compiled is not None:
        # Machines of their own, such as that of an UNLESS, evaluate all of their predicates.
        beside = (*plan.compiled.absent, *(() if plan.following is None else (plan.following,)))
        answered -= {each for absent in beside for each in absent.all_predicates()}
    asks_type = False
    for predicate in predicates(plan):
        if predicate in answered or isinstance(predicate, AtStart):
            continue
        if isinstance(predicate, TypeTest):
            asks_type = True
        else:
            paths |= paths_of(predicate)
            asks_type = asks_type or _asks_type(predicate)
    for expression in _compared(plan):
        paths |= paths_of(expression)
        asks_type = asks_type or _asks_type(expression)
    for argument in _aggregated(plan):
        paths |= paths_of(argument)
        asks_type = asks_type or _asks_type(argument)
    paths.update(_keys(plan))
    names = {path[0] for path in paths}
    chosen = [options.time, options.tiebreak, options.type if asks_type else None]
    for name in chosen:
        if name is not None:
            names.update((name, name.partition(".")[0]))
    if schema is None or schema.totals is not None:
        return frozenset(names)
    for shown in schema.variables.values():
        if shown is None:
            return None
        names.update(path[0] for path in shown)
    return frozenset(names)


def predicates(plan: PhysicalPlan) -> Iterator[Predicate]:
    """Give all predicates on single events that a plan evaluates."""
    if plan.compiled is not None:
        yield from plan.compiled.all_predicates()
        if plan.following is not None:
            yield from plan.following.all_predicates()
        return
    for each in _subformulas(plan):
        if isinstance(each, f.Atom):
            yield TypeTest(each.type, each.stream)
        elif isinstance(each, f.Filter):
            for condition in each.conditions:
                if isinstance(condition, Each):
                    yield condition.predicate


def _subformulas(plan: PhysicalPlan) -> Iterator[f.Formula]:
    """Give all parts of the formula, and of what must not follow it."""
    yield from f.subformulas(plan.formula)
    if plan.absence is not None:
        yield from f.subformulas(plan.absence.absent)


def _compared(plan: PhysicalPlan) -> Iterator[Expression]:
    """Give what is compared between events."""
    if plan.compiled is not None:
        yield from plan.compiled.all_expressions()
    if plan.following is not None:
        yield from plan.following.all_expressions()
    for each in _subformulas(plan):
        if isinstance(each, f.Filter):
            for condition in each.conditions:
                if isinstance(condition, Relation):
                    yield condition.predicate


def _aggregated(plan: PhysicalPlan) -> Iterator[Expression]:
    """Give what is aggregated."""
    totals = plan.bound.totals
    columns = [] if totals is None else list(totals.columns)
    for each in _subformulas(plan):
        if isinstance(each, f.Aggregate):
            columns += each.columns
    yield from (column.argument for column in columns if column.argument is not None)


def _keys(plan: PhysicalPlan) -> Iterator[Path]:
    """Give the attributes that are compared with those of other events."""
    for each in _subformulas(plan):
        if isinstance(each, f.Filter):
            for condition in each.conditions:
                if isinstance(condition, Trend):
                    yield condition.path
                elif isinstance(condition, SameKey):
                    yield from (path for _, path in condition.keys)


def _asks_type(expression: Expression) -> bool:
    return any(isinstance(each, EventType) for each in subexpressions(expression))
