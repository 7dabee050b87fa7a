"""From a query and events to matches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import OPEN
from ensue.analysis.types import Type
from ensue.analysis.variables import Variables
from ensue.automata.build import Compiled, NotUnaryError, compile_formula
from ensue.engine import fast
from ensue.engine.fast import Budgets, Fast
from ensue.engine.findings import Listed
from ensue.engine.match import Matches
from ensue.engine.piece import Piece, Shape
from ensue.engine.query import Query
from ensue.engine.refine import Refinement, peel
from ensue.engine.store import Store
from ensue.engine.stream import (
    Loaded,
    Options,
    batches_of,
    check_declared,
    load,
    order,
    time_path,
)
from ensue.engine.values import to_events
from ensue.errors import CeqlWarning, EventError
from ensue.logic.build import SELECTED, to_formula
from ensue.logic.evaluate import Tally
from ensue.logic.formula import Project, Select, is_unary
from ensue.logic.reference import Plan, answer
from ensue.predicates.vectors import UnsupportedError

USUAL = Budgets()

_MANY = 1_000
"""On so many events, an evaluation by definition deserves a warning."""


def find_matches(
    query: Query,
    events: object,
    options: Options,
    *,
    positions_only: bool,
    by_definition: bool = False,
    compact_always: bool = False,
    budgets: Budgets = USUAL,
) -> Matches:
    """Read events, bind the query to their columns, and evaluate it.

    Events that come bit by bit are evaluated bit by bit, as somebody asks for the matches.
    Queries with conditions between events, aggregation or count(*) are evaluated by definition,
    and so is everything when asked for.
    """
    sources = [word.text for word in query.tree.sources]
    live = None
    if not by_definition and options.lateness is None:
        live = batches_of(events, sources, options, query.schema)
    if live is None:
        stretches = iter([load(events, sources, options, query.schema)])
    else:
        stretches = live
    first = next(stretches)
    bound = _bound(query, first, options)
    tally = Tally()
    shape = _shape(bound, query.fingerprint, positions_only)
    ready = None if by_definition else _compiled(bound, positions_only)
    if ready is not None:
        compiled, refinement = ready
        engine = Fast(compiled, bound, budgets, tally, refinement, compact_always)
        pieces = _pieces(engine, shape, first, stretches, options)
        if live is not None:
            return Matches(shape, _refusing(pieces), tally, live=True)
        try:
            return Matches(shape, pieces, tally, live=False)
        except UnsupportedError:
            pass  # values that no register can hold: the definition can
    whole = _joined(first, stretches)
    stream = order(whole, bound.clock.column, options)
    if not by_definition and stream.table.num_rows > _MANY:
        warnings.warn(
            f"this query is evaluated by definition, which is slow on {stream.table.num_rows:,} "
            "events; explain() says why",
            CeqlWarning,
            stacklevel=3,
        )
    answered = answer(_plan(bound, positions_only), to_events(stream))
    piece = Piece(shape, stream, Listed(answered.matches), answered.rows)
    return Matches(shape, iter([piece]), answered.tally, live=False)


def _refusing(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Say what to do about values that only an evaluation of the whole can compare."""
    try:
        yield from pieces
    except UnsupportedError as error:
        raise EventError(
            f"a condition compares values that a stream cannot keep ({error}); pass the events as "
            "a table instead"
        ) from error


def _bound(query: Query, loaded: Loaded, options: Options) -> BoundQuery:
    declared = query.schema
    schema = loaded.schema() if declared is OPEN else check_declared(declared, loaded)
    column = None if options.time is None else time_path(options.time, loaded.table)
    return query.bind(schema, Clock(column, options.time_unit, known=True))


def _pieces(
    engine: Fast, shape: Shape, first: Loaded, more: Iterator[Loaded], options: Options
) -> Iterator[Piece]:
    """Push stretch after stretch; each piece has the events that its matches need."""
    store = Store(engine.bound.clock.column, options)
    store.add(first)
    yield Piece(shape, store.view(), engine.push(store.newest))
    for loaded in more:
        store.add(loaded)
        found = engine.push(store.newest)
        yield Piece(shape, store.view(), found)
        store.forget_before(engine.first_needed(store.next_position))


def _joined(first: Loaded, more: Iterator[Loaded]) -> Loaded:
    """Put all stretches together."""
    rest = list(more)
    if not rest:
        return first
    every = [first, *rest]
    return replace(
        first,
        table=pa.concat_tables([each.table for each in every], promote_options="permissive"),
        types=pa.chunked_array(
            [chunk.cast(pa.string()) for each in every for chunk in each.types.chunks]
        ),
    )


def _compiled(bound: BoundQuery, positions_only: bool) -> tuple[Compiled, Refinement | None] | None:
    """Return the machine of a query and what is left to do on enumeration; None: no machine.

    Over conditions between events, projections and strategies at the top are left for later.
    """
    if bound.totals is not None:
        return None
    formula = to_formula(bound)
    operators: tuple[Project | Select, ...] = ()
    if not is_unary(formula):
        formula, operators = peel(formula)

    def type_of(path: tuple[str, ...]) -> Type:
        if path == ("type",):
            return Type.UNKNOWN
        return bound.schema.type_of(path, None) or Type.UNKNOWN

    try:
        compiled = compile_formula(formula, type_of)
    except NotUnaryError:
        return None
    if operators or compiled.hides or (positions_only and compiled.plan.registers):
        return compiled, Refinement(operators, positions_only, bound.limit)
    return (fast.positions_only(compiled) if positions_only else compiled), None


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
    totals = None
    if bound.totals is not None:
        totals = {name: bound.selected_types[name] for name in bound.totals.order}
    return Shape(fingerprint, variables, computed, bound.partition, totals, positions_only)


def _of_interest(
    columns: Mapping[str, Type], paths: tuple[tuple[str, ...], ...] | None
) -> Mapping[str, Type]:
    if paths is None:
        return columns
    return {".".join(path): columns[".".join(path)] for path in paths}
