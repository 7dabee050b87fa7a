"""From syntax tree to bound query: runs the passes of the analysis in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ensue.analysis import values
from ensue.analysis.advice import warnings
from ensue.analysis.binding import Binder, report_list
from ensue.analysis.bound import BoundQuery, Column, Interval, Totals, Window
from ensue.analysis.context import Clock, Context, listing, nearest
from ensue.analysis.functions import TOTALS
from ensue.analysis.patterns import PatternBinder
from ensue.analysis.schema import OPEN, AttributePath, Schema
from ensue.analysis.types import TYPE_NAMES, Type, joined
from ensue.analysis.variables import Variable
from ensue.errors import Fix, Source, Span, ceql_error
from ensue.language import tree
from ensue.messages import Message, Option


def bind(
    query: tree.Query,
    source: Source,
    schema: Schema = OPEN,
    parameters: Mapping[str, object] | None = None,
    clock: Clock | None = None,
) -> BoundQuery:
    """Resolve the names of a query, check its types, and return the bound query.

    Raises an error that lists all problems.
    """
    context = Context(source, schema, parameters, clock or Clock())
    if query.streams and schema.events is None:
        context.schema = Schema(schema.common, _declared(query, context), closed=True)
    _check_sources(query, context)
    window, window_clock = _window(query, context)
    context.clock = window_clock
    binder = PatternBinder(context, frozenset(word.text for word in query.sources))
    binder.bind(query.pattern)
    known = binder.variables.of(query.pattern)
    shown = _shown(query.select, binder, known)
    columns, totals, selected_types = _columns(query, binder, known)
    partition = tuple(_partition_path(word, context) for word in query.partition)
    every = None if query.every is None else _interval(query.every, context)
    if query.every is not None and totals is None:
        context.report(
            "E421",
            query.every.span,
            "EVERY is about counting: it needs SELECT count(*)",
            "write SELECT count(*) …, or leave EVERY out",
        )
    if context.problems:
        raise ceql_error(context.problems, source)
    strategy = query.select.strategy
    consume: Literal["ANY", "PARTITION", "NONE"] = query.consume or "NONE"
    return BoundQuery(
        source,
        query,
        context.schema,
        context.clock,
        binder.conditions,
        binder.aggregates,
        binder.variables.columns,
        shown,
        columns,
        totals,
        selected_types,
        None if strategy is None else strategy.text,
        partition,
        window,
        consume,
        query.limit,
        every,
        tuple(warnings(query, binder.variables)),
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


def _check_sources(query: tree.Query, context: Context) -> None:
    declared = [stream.name.text for stream in query.streams]
    for word in query.sources:
        if declared and word.text not in declared:
            context.report_name(
                "E215",
                word.span,
                f"the stream '{word.text}' is not declared",
                word.text,
                declared,
                f"declared are {listing(declared)}",
            )


_TIMES = (Type.INT, Type.TIMESTAMP, Type.DATE, Type.UNKNOWN)


def _window(query: tree.Query, context: Context) -> tuple[Window | None, Clock]:
    """Bind WITHIN; an attribute after it becomes the query's time column."""
    window, clock = query.window, context.clock
    if window is None:
        return None, clock
    if window.attribute is not None:
        path = _attribute_path(window.attribute, context)
        clock = Clock(path, clock.unit, clock.known)
        kind = context.schema.type_of(path, None)
        if window.amount is not None and kind not in (Type.INT, Type.UNKNOWN, None):
            context.report(
                "E319",
                window.attribute.span,
                f"WITHIN n [attr] counts in units of an integer column, but this is {kind.article}",
                "write a duration: WITHIN 10 SECONDS [attr]"
                if kind in _TIMES
                else "times are timestamps, dates or integers: convert the column, or name another",
            )
        if window.duration is not None and kind is not None and kind not in _TIMES:
            context.report(
                "E322",
                window.attribute.span,
                f"a time column holds timestamps, dates or integers, but this is {kind.article}",
                "convert the column, or name the one with the events' times",
            )
        context = Context(
            context.source, context.schema, context.parameters, clock, context.problems
        )
    if window.duration is not None:
        return _length(window.duration, context), clock
    assert window.amount is not None
    return Window("events" if window.attribute is None else "units", window.amount), clock


def _length(duration: tree.Duration, context: Context) -> Window | None:
    """Bind a duration on the time column, in units of that column if it holds integers."""
    constant = values.bind_duration(duration, context)
    if not isinstance(constant.value, int):
        return None
    clock = context.clock
    if not clock.known:
        return Window("duration", constant.value)
    if clock.column is None:
        context.report(
            "E423",
            duration.span,
            "a duration needs a time column",
            Message("name it after the duration, WITHIN 10 MINUTES [ts], or pass ", Option("time")),
        )
        return None
    kind = context.schema.type_of(clock.column, None)
    if kind is not Type.INT:
        return Window("duration", constant.value)
    if clock.nanoseconds is None:
        context.report(
            "E320",
            duration.span,
            f"the time column '{'.'.join(clock.column)}' has integers of an unknown unit",
            Message(
                "set ",
                Option("time_unit"),
                " to 's', 'ms', 'us' or 'ns', or write WITHIN n [attr] in its own unit",
            ),
        )
        return None
    return Window("units", constant.value // clock.nanoseconds)


def _interval(duration: tree.Duration, context: Context) -> Interval | None:
    """Bind EVERY: a length in nanoseconds beside the unit of the time column."""
    if _length(duration, context) is None:
        return None
    length = values.bind_duration(duration, context).value
    assert isinstance(length, int)
    if length == 0:
        context.report("E430", duration.span, "an interval of no length", "write EVERY 1 MINUTE")
        return None
    clock = context.clock
    whole = clock.column is not None and context.schema.type_of(clock.column, None) is Type.INT
    return Interval(length, (clock.nanoseconds or 1) if whole else 1)


def _attribute_path(path: tree.Path, context: Context) -> AttributePath:
    names = path.names
    if len(names) == 1:
        return _column_path(names[0], path.span, context)
    _check_path(names, path.span, context)
    return names


def _partition_path(word: tree.Word, context: Context) -> AttributePath:
    path = _column_path(word.text, word.span, context)
    report_list(context.schema.type_of(path, None), word.span, context)
    return path


def _column_path(name: str, span: Span, context: Context) -> AttributePath:
    """Resolve a name, in backquotes perhaps with dots, as a column or a nested attribute."""
    schema = context.schema
    if "." in name and (name,) not in schema.common:
        names = tuple(name.split("."))
        _check_path(names, span, context)
        return names
    _check_path((name,), span, context)
    return (name,)


def _check_path(path: AttributePath, span: Span, context: Context) -> None:
    if context.schema.type_of(path, None) is None:
        known = context.schema.names(None)
        name = ".".join(path)
        context.report_name(
            "E216", span, f"unknown attribute '{name}'", name, known, f"there are {listing(known)}"
        )


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
    query: tree.Query, binder: PatternBinder, known: dict[str, Variable]
) -> tuple[tuple[Column, ...], Totals | None, dict[str, Type]]:
    """Bind the computed columns of SELECT, per match or, with count(*), over all matches."""
    select, context = query.select, binder.context
    names = [column.name.text for column in select.columns]
    for column in select.columns:
        if names.count(column.name.text) > 1:
            context.report(
                "E419", column.name.span, f"the column '{column.name.text}' is computed twice"
            )
            break
    stars = [column for column in select.columns if column.argument is None]
    for column in stars:
        if column.function.text.lower() != "count":
            near = nearest(column.function.text, ["count"])
            context.report(
                "E425",
                column.span,
                f"'{column.function.text}(*)': only count takes *",
                "write count(*)",
                Fix(column.function.span, "count") if near else None,
            )
    rest = [column for column in select.columns if column.argument is not None]
    columns: list[Column] = []
    types: dict[str, Type] = {column.name.text: Type.INT for column in stars}
    for column in rest:
        bound, kind = binder.column(column, known)
        types[column.name.text] = kind
        if bound is not None:
            columns.append(bound)
    if not stars:
        return tuple(columns), None, types
    _check_totals(query, stars, rest, context)
    return (), Totals(stars[0].name.text, tuple(columns), tuple(names)), types


def _check_totals(
    query: tree.Query,
    stars: list[tree.Aggregate],
    rest: list[tree.Aggregate],
    context: Context,
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
    for column in rest:
        if column.function.text.lower() not in TOTALS:
            context.report(
                "E429",
                column.span,
                f"{column.function.text.lower()} cannot stand beside count(*)",
                f"over all matches there are {listing(TOTALS)}",
            )
