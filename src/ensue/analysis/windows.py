"""WITHIN as a clause and inside patterns, and EVERY: lengths on the time column of the query.

A query has one time column. An attribute after a WITHIN names it, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ensue.analysis import values
from ensue.analysis.bound import Interval, Window
from ensue.analysis.column_paths import attribute_path
from ensue.analysis.context import Clock, Context
from ensue.analysis.types import Type
from ensue.errors import Span
from ensue.language import tree
from ensue.messages import Message, Option

_TIMES = (Type.INT, Type.TIMESTAMP, Type.DATE, Type.UNKNOWN)


def bind_windows(
    query: tree.Query, context: Context
) -> tuple[Window | None, Mapping[Span, Window], Window | None]:
    """Bind every WITHIN: return the window of the query, those of parts, and the deadline.

    A window around the whole pattern is one of the query, which is cheaper than one of a part: so
    it tightens the clause, or stands for it. The time column of the context becomes the query's.
    """
    _choose_clock(query, context)
    inner = {
        node.window.span: _window(node.window, context)
        for node in _patterns(query)
        if isinstance(node, tree.Within)
    }
    parts = {span: window for span, window in inner.items() if window is not None}
    whole = None if query.window is None else _window(query.window, context)
    for node in around_all(query.pattern):
        window = parts.get(node.window.span)
        if window is None:
            continue
        if whole is None:
            whole = window
        if window.kind == whole.kind:
            whole = replace(whole, size=min(whole.size, window.size))
            del parts[node.window.span]
    absence = query.not_followed
    return whole, parts, None if absence is None else _window(absence.window, context)


def around_all(pattern: tree.Pattern) -> Iterator[tree.Within]:
    """Yield the windows that a match of the pattern must fit as a whole, outermost first.

    The operators around them keep the intervals of complex events.
    """
    match pattern:
        case tree.Within(pattern=inner):
            yield pattern
            yield from around_all(inner)
        case (
            tree.Filtered(pattern=inner)
            | tree.Aggregated(pattern=inner)
            | tree.Projected(pattern=inner)
            | tree.Partitioned(pattern=inner)
            | tree.Named(pattern=inner)
            | tree.Unless(pattern=inner)
            | tree.Applied(pattern=inner)
        ):
            yield from around_all(inner)


def window_of(query: tree.Query) -> tree.Window | None:
    """Return the clause WITHIN, or else a window around the whole pattern."""
    if query.window is not None:
        return query.window
    return next((each.window for each in around_all(query.pattern)), None)


def all_windows(query: tree.Query) -> list[tree.Window]:
    """Return all windows of a query, in the order of the text."""
    windows = [node.window for node in _patterns(query) if isinstance(node, tree.Within)]
    if query.not_followed is not None:
        windows.append(query.not_followed.window)
    return windows if query.window is None else [*windows, query.window]


def _patterns(query: tree.Query) -> Iterator[tree.Node]:
    """Yield all parts of the pattern, and of what must not follow it."""
    yield from _below(query.pattern)
    if query.not_followed is not None:
        yield from _below(query.not_followed.pattern)


def _below(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for child in tree.children(node):
        yield from _below(child)


def _choose_clock(query: tree.Query, context: Context) -> None:
    """Let the attribute that windows name be the time column; one query has but one."""
    first: tree.Path | None = None
    for window in all_windows(query):
        path = window.attribute
        if path is None:
            continue
        if first is None:
            first = path
            column = attribute_path(path, context)
            context.clock = Clock(column, context.clock.unit, context.clock.known)
        elif path.names != first.names:
            context.report(
                "E440",
                path.span,
                f"the time of this query is '{'.'.join(first.names)}' already",
                "a query has one time column: name the same one after every WITHIN",
            )


def _window(window: tree.Window, context: Context) -> Window | None:
    if window.attribute is not None:
        _check_kind(window, window.attribute, context)
    if window.duration is not None:
        return _length(window.duration, context)
    assert window.amount is not None
    return Window("events" if window.attribute is None else "units", window.amount)


def _check_kind(window: tree.Window, attribute: tree.Path, context: Context) -> None:
    """Check that the time column holds what the window counts."""
    assert context.clock.column is not None
    kind = context.schema.type_of(context.clock.column, None)
    if window.amount is not None and kind not in (Type.INT, Type.UNKNOWN, None):
        context.report(
            "E319",
            attribute.span,
            f"WITHIN n [attr] counts in units of an integer column, but this is {kind.article}",
            "write a duration: WITHIN 10 SECONDS [attr]"
            if kind in _TIMES
            else "times are timestamps, dates or integers: convert the column, or name another",
        )
    if window.duration is not None and kind is not None and kind not in _TIMES:
        context.report(
            "E322",
            attribute.span,
            f"a time column holds timestamps, dates or integers, but this is {kind.article}",
            "convert the column, or name the one with the events' times",
        )


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


def bind_interval(duration: tree.Duration, context: Context) -> Interval | None:
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
