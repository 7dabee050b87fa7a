"""From syntax tree to bound query: runs the passes of the analysis in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from ensue.analysis.advice import warnings
from ensue.analysis.binding import Binder, report_list
from ensue.analysis.bound import BoundQuery, Column, Computation, NotFollowed, Totals
from ensue.analysis.column_paths import column_path
from ensue.analysis.columns import AggregateTerms
from ensue.analysis.context import Clock, Context, listing, nearest
from ensue.analysis.derived import (
    END_TIME,
    Level,
    attributes_of,
    check_deadlines,
    check_names,
    levels_of,
    reads_of,
    schema_for,
    time_of_input,
)
from ensue.analysis.functions import TOTALS
from ensue.analysis.patterns import PatternBinder
from ensue.analysis.schema import OPEN, AttributePath, Schema
from ensue.analysis.types import TYPE_NAMES, Type, joined
from ensue.analysis.user_functions import UserAggregate, UserFunction
from ensue.analysis.variables import Variable
from ensue.analysis.windows import bind_interval, bind_windows
from ensue.errors import Fix, Source, Span, ceql_error
from ensue.language import tree


def bind(
    query: tree.Query,
    source: Source,
    schema: Schema = OPEN,
    parameters: Mapping[str, object] | None = None,
    clock: Clock | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
) -> BoundQuery:
    """Resolve the names of a query, check its types, and return the bound query.

    Raises an error that lists all problems.
    """
    return bind_levels(query, source, schema, parameters, clock, functions, aggregates)[-1].bound


def bind_levels(
    query: tree.Query,
    source: Source,
    schema: Schema = OPEN,
    parameters: Mapping[str, object] | None = None,
    clock: Clock | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
) -> tuple[Level, ...]:
    """Bind a query and its derived streams, those first, each to what it reads."""
    context = Context(
        source,
        schema,
        parameters,
        clock or Clock(),
        functions=functions or {},
        aggregates=aggregates or {},
    )
    if query.streams and schema.events is None:
        context.schema = Schema(schema.common, _declared(query, context), closed=True)
    if not query.derived:
        names = tuple(word.text for word in query.sources)
        return (Level("", _bind_select(query, context, query.streams), names, (), query),)
    check_names(query, context)
    given = time_of_input(query, context.clock, context)
    _raise_problems(context)
    made: dict[str, dict[AttributePath, Type]] = {}
    levels: list[Level] = []
    counted: set[str] = set()
    for number, (name, each) in enumerate(levels_of(query)):
        reads = reads_of(each, made)
        own = replace(context, clock=given, problems=[])
        own.schema = schema_for(each, reads, context.schema, given, made, own)
        if len(each.sources) > 1:
            check_deadlines(each, counted, own)
        if not reads.given:
            own.clock = Clock((END_TIME,), given.unit, given.known)
        bound = _bind_select(each, own, (*query.streams, *query.derived[:number]))
        if name:
            made[name] = attributes_of(bound, query.derived[number].name, own)
            absence = bound.not_followed
            if counted & {*reads.derived} or (absence and absence.window.kind == "events"):
                counted.add(name)
            _raise_problems(own)
        whole = replace(each, streams=query.streams, derived=query.derived[:number])
        levels.append(Level(name, bound, *reads, whole))
    return tuple(levels)


def _raise_problems(context: Context) -> None:
    if context.problems:
        raise ceql_error(context.problems, context.source)


Streams = tuple[tree.StreamDeclaration | tree.DerivedStream, ...]


def _bind_select(query: tree.Query, context: Context, streams: Streams) -> BoundQuery:
    """Bind one SELECT; `streams` are those that were created before it."""
    _check_sources(query, context, streams)
    window, inner_windows, deadline = bind_windows(query, context)
    binder = PatternBinder(context, frozenset(word.text for word in query.sources))
    absence = query.not_followed
    binder.following = None if absence is None else absence.pattern
    binder.bind(query.pattern)
    if absence is not None:
        binder.bind_following(query.pattern, absence.pattern)
    known = binder.variables.of(query.pattern)
    shown = _shown(query.select, binder, known)
    computed, totals, selected_types = _columns(query, binder)
    partition = tuple(_partition_path(word, context) for word in query.partition)
    every = None if query.every is None else bind_interval(query.every, context)
    if query.every is not None and totals is None:
        context.report(
            "E421",
            query.every.span,
            "EVERY is about counting: it needs SELECT count(*)",
            "write SELECT count(*) …, or leave EVERY out",
        )
    _raise_problems(context)
    strategy = query.select.strategy
    consume: Literal["ANY", "PARTITION", "NONE"] = query.consume or "NONE"
    return BoundQuery(
        context.source,
        query,
        context.schema,
        context.clock,
        binder.conditions,
        binder.aggregates,
        binder.variables.columns,
        shown,
        computed,
        totals,
        selected_types,
        None if strategy is None else strategy.text,
        partition,
        window,
        inner_windows,
        consume,
        query.limit,
        every,
        tuple(warnings(query, binder.variables)),
        None if absence is None or deadline is None else NotFollowed(absence.pattern, deadline),
    )


def _declared(query: tree.Query, context: Context) -> dict[str, dict[AttributePath, Type]]:
    """Return the events and attributes that CREATE STREAM declares."""
    events: dict[str, dict[AttributePath, Type]] = {}
    everywhere: dict[AttributePath, Type] = {}
    for stream in query.streams:
        for event in stream.events:
            if event.name.text in events and len(query.streams) == 1:
                context.report("E422", event.name.span, f"'{event.name.text}' is declared twice")
            attributes = events.setdefault(event.name.text, {})
            own: set[AttributePath] = set()
            for each in event.fields:
                kind = TYPE_NAMES.get(each.type.text.lower())
                if kind is None:
                    context.report_name(
                        "E214",
                        each.type.span,
                        f"unknown type '{each.type.text}'",
                        each.type.text,
                        TYPE_NAMES,
                        "the types are boolean, int, double, decimal, string, timestamp, date, and "
                        "lists in backquotes, such as `list<string>`",
                    )
                    continue
                path = each.path.names
                if path in own:
                    name = ".".join(path)
                    context.report("E422", each.span, f"the attribute '{name}' is declared twice")
                before = everywhere.setdefault(path, kind)
                if joined(before, kind) is None:
                    context.report(
                        "E318",
                        each.span,
                        f"'{'.'.join(path)}' is {kind.article} here and {before.article} in "
                        "another event",
                        "one attribute is one column: give the two different names",
                    )
                own.add(path)
                # Another stream may declare the same event with integers.
                attributes[path] = joined(attributes.get(path, kind), kind) or kind
    return events


def _check_sources(query: tree.Query, context: Context, streams: Streams) -> None:
    declared = [stream.name.text for stream in streams]
    if not any(isinstance(each, tree.StreamDeclaration) for each in streams):
        return
    for word in query.sources:
        if word.text not in declared:
            context.report_name(
                "E215",
                word.span,
                f"the stream '{word.text}' is not declared",
                word.text,
                declared,
                f"declared are {listing(declared)}",
            )


def _partition_path(word: tree.Word, context: Context) -> AttributePath:
    path = column_path(word.text, word.span, context)
    report_list(context.schema.type_of(path, None), word.span, context)
    return path


def _shown(
    select: tree.Selection, binder: PatternBinder, known: dict[str, Variable]
) -> dict[str, tuple[AttributePath, ...] | None] | None:
    if select.everything:
        return None
    binder.check_variables([each.variable for each in select.shown], known)
    found: dict[str, tuple[AttributePath, ...] | None] = {}
    for each in select.shown:
        variable = known.get(each.variable.text)
        if each.variable.text in found:
            binder.context.report(
                "E424",
                each.variable.span,
                f"'{each.variable.text}' is selected twice",
            )
        found[each.variable.text] = None
        if each.attributes is not None and variable is not None:
            scope = Binder(binder.context, known)
            for path in each.attributes:
                scope.attribute(path.names, variable, path.span, inside=True)
            found[each.variable.text] = tuple(path.names for path in each.attributes)
    return found


def _columns(
    query: tree.Query, binder: PatternBinder
) -> tuple[Computation, Totals | None, dict[str, Type]]:
    """Bind the computed columns of SELECT, per match or, with count(*), over all matches."""
    select, context = query.select, binder.context
    names = [column.name.text for column in select.columns]
    for column in select.columns:
        if names.count(column.name.text) > 1:
            context.report(
                "E419", column.name.span, f"the column '{column.name.text}' is computed twice"
            )
            break
    stars = [column for column in select.columns if column.counts_matches]
    for column in stars:
        assert isinstance(column.expression, tree.Call)
        function = column.expression.function
        if function.text.lower() != "count":
            near = nearest(function.text, ["count"])
            context.report(
                "E425",
                column.span,
                f"'{function.text}(*)': only count takes *",
                "write count(*)",
                Fix(function.span, "count") if near else None,
            )
    terms = AggregateTerms(binder.binder(query.pattern), binder.repeats(query.pattern))
    types = {
        column.name.text: Type.INT if column.counts_matches else terms.column(column)
        for column in select.columns
    }
    if not stars:
        return terms.computation, None, types
    _check_totals(query, stars, terms.columns, context)
    totals = Totals(stars[0].name.text, tuple(terms.columns), tuple(terms.derived), tuple(names))
    return Computation(), totals, types


def _check_totals(
    query: tree.Query, stars: list[tree.Column], columns: list[Column], context: Context
) -> None:
    select = query.select
    if len(stars) > 1:
        context.report("E426", stars[1].span, "count(*) stands twice")
    if select.everything or select.shown:
        context.report(
            "E427",
            stars[0].span,
            "count(*) gives one row for all matches of an event, so no variables stand beside it",
            "select count(*) and aggregates such as sum(x.price) AS s, nothing else",
        )
    if query.limit is not None:
        context.report(
            "E428", stars[0].span, "count(*) counts all matches, LIMIT keeps a few: choose one"
        )
    for column in columns:
        if column.function not in TOTALS and column.user is None:
            context.report(
                "E429",
                select.span if column.hidden else _place(select, column.name),
                f"{column.function} cannot stand beside count(*)",
                f"over all matches there are {listing(TOTALS)}, and aggregates of your own",
            )


def _place(select: tree.Selection, name: str) -> Span:
    return next(each.span for each in select.columns if each.name.text == name)
