"""From a query and events to matches."""

from __future__ import annotations

from typing import Any

from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import OPEN
from ensue.analysis.types import Type
from ensue.analysis.variables import Variables
from ensue.engine.match import Matches, Shape
from ensue.engine.query import Query
from ensue.engine.stream import Options, check_declared, load, order, time_path
from ensue.engine.values import to_events
from ensue.logic.build import SELECTED, to_formula
from ensue.logic.reference import Plan, answer


def find_matches(
    query: Query, events: object, options: Options, *, positions_only: bool
) -> Matches:
    """Read events, bind the query to their columns, and evaluate it by definition."""
    loaded = load(events, [word.text for word in query.tree.sources], options)
    declared = query.schema
    schema = loaded.schema() if declared is OPEN else check_declared(declared, loaded)
    column = None if options.time is None else time_path(options.time, loaded.table)
    bound = query.bind(schema, Clock(column, options.time_unit, known=True))
    stream = order(loaded, bound.clock.column, options)
    plan = _plan(bound, positions_only)
    shape = _shape(bound, query.fingerprint, positions_only)
    return Matches(shape, stream, answer(plan, to_events(stream)))


def _plan(bound: BoundQuery, positions_only: bool) -> Plan:
    return Plan(
        to_formula(bound),
        bound.partition,
        bound.window,
        bound.consume,
        bound.limit,
        bound.totals,
        None if bound.every is None else bound.every.size,
        positions_only,
    )


def _shape(bound: BoundQuery, fingerprint: str, positions_only: bool) -> Shape:
    """Work out which variables and columns the matches of a query have."""
    known = Variables()
    for place, columns in bound.aggregates.items():
        known.columns[place] = {column.name: Type.UNKNOWN for column in columns}
    atoms = known.atoms(bound.tree.pattern)
    computed = {
        name: tuple(columns) for name, columns in known.computed(bound.tree.pattern).items()
    }
    names = list(dict.fromkeys(name for atom in atoms for name in sorted(atom.variables)))
    if bound.shown is None:
        variables: dict[str, Any] = dict.fromkeys(names)
    else:
        variables = {name: paths for name, paths in bound.shown.items() if name not in computed}
        computed = {name: each for name, each in computed.items() if name in bound.shown}
    if bound.columns:
        computed[SELECTED] = tuple(column.name for column in bound.columns)
    if positions_only:
        variables, computed = {}, {}
    totals = None if bound.totals is None else bound.totals.order
    return Shape(fingerprint, variables, computed, bound.partition, totals, positions_only)
