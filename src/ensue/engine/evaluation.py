"""From a query and events to matches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import OPEN
from ensue.analysis.types import Type
from ensue.analysis.variables import Variables
from ensue.automata.build import Compiled, NotUnaryError, compile_formula
from ensue.engine import fast
from ensue.engine.fast import find_fast
from ensue.engine.findings import Listed
from ensue.engine.match import Matches, Shape
from ensue.engine.query import Query
from ensue.engine.stream import Options, check_declared, load, order, time_path
from ensue.engine.values import to_events
from ensue.logic.build import SELECTED, to_formula
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Plan, answer


def find_matches(
    query: Query,
    events: object,
    options: Options,
    *,
    positions_only: bool,
    by_definition: bool = False,
    compact_always: bool = False,
) -> Matches:
    """Read events, bind the query to their columns, and evaluate it.

    Queries with conditions between events, aggregation or count(*) are evaluated by definition,
    and so is everything when asked for.
    """
    declared = query.schema
    loaded = load(events, [word.text for word in query.tree.sources], options, declared)
    schema = loaded.schema() if declared is OPEN else check_declared(declared, loaded)
    column = None if options.time is None else time_path(options.time, loaded.table)
    bound = query.bind(schema, Clock(column, options.time_unit, known=True))
    stream = order(loaded, bound.clock.column, options)
    shape = _shape(bound, query.fingerprint, positions_only)
    tally = Tally()
    compiled = None if by_definition else _compiled(bound, positions_only)
    if compiled is not None:
        return Matches(
            shape,
            stream,
            find_fast(compiled, bound, stream, tally, compact_always=compact_always),
            [],
            tally,
        )
    answered = answer(_plan(bound, positions_only), to_events(stream))
    return Matches(shape, stream, Listed(answered.matches), answered.rows, answered.tally)


def _compiled(bound: BoundQuery, positions_only: bool) -> Compiled | None:
    """Return the machine of a query, or None where there is none."""
    if bound.totals is not None:
        return None
    try:
        compiled = compile_formula(to_formula(bound))
    except NotUnaryError:
        return None
    return fast.positions_only(compiled) if positions_only else compiled


def _plan(bound: BoundQuery, positions_only: bool) -> Plan:
    return Plan(
        to_formula(bound),
        bound.partition,
        bound.window,
        bound.consume,
        bound.limit,
        bound.totals,
        bound.every,
        positions_only,
    )


def _shape(bound: BoundQuery, fingerprint: str, positions_only: bool) -> Shape:
    """Work out which variables and columns the matches of a query have."""
    known = Variables(dict(bound.column_types))
    pattern = bound.tree.pattern
    computed: dict[str, Any] = known.computed(pattern)
    names = [name for atom in known.atoms(pattern) for name in sorted(atom.variables)]
    variables: dict[str, Any] = dict.fromkeys(names)
    if bound.shown is not None:
        variables = {name: paths for name, paths in bound.shown.items() if name not in computed}
        computed = {
            name: _of_interest(each, bound.shown[name])
            for name, each in computed.items()
            if name in bound.shown
        }
    if bound.columns:
        computed[SELECTED] = {each.name: bound.selected_types[each.name] for each in bound.columns}
    if positions_only:
        variables, computed = {}, {}
    totals = (
        None
        if bound.totals is None
        else {name: bound.selected_types[name] for name in bound.totals.order}
    )
    return Shape(fingerprint, variables, computed, bound.partition, totals, positions_only)


def _of_interest(
    columns: Mapping[str, Type], paths: tuple[tuple[str, ...], ...] | None
) -> Mapping[str, Type]:
    if paths is None:
        return columns
    return {".".join(path): columns[".".join(path)] for path in paths}
