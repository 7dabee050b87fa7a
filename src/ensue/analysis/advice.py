"""Warnings: valid queries that probably do not do what was intended."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.patterns import not_one_event
from ensue.analysis.variables import Variables, always_bound, always_computed
from ensue.analysis.windows import all_windows, window_of
from ensue.errors import Diagnostic, Fix
from ensue.language import tree


def warnings(query: tree.Query, variables: Variables) -> list[Diagnostic]:
    """Return the warnings for a query that has no errors."""
    found = [each for node in _nodes(query.pattern) for each in _about(node, variables)]
    if window_of(query) is None:
        found += _about_repetitions(query.pattern)
    if query.not_followed is not None:
        absent = query.not_followed.pattern
        found += [each for node in _nodes(absent) for each in _about(node, variables)]
    if query.partition:
        found += _about_keys(query)
    return sorted(found, key=lambda each: each.span)


def _nodes(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for child in tree.children(node):
        yield from _nodes(child)


def _about_repetitions(node: tree.Node) -> Iterator[Diagnostic]:
    """Warn of repetitions that no window bounds."""
    if isinstance(node, tree.Within):
        return
    if isinstance(node, tree.Repeated) and node.high is None:
        yield Diagnostic(
            "W501",
            node.span,
            "a repetition without WITHIN looks back to the beginning of the stream",
            "add a window, such as WITHIN 10 MINUTES or WITHIN 1000 EVENTS",
        )
    for child in tree.children(node):
        yield from _about_repetitions(child)


def _about(node: tree.Node, variables: Variables) -> Iterator[Diagnostic]:
    match node:
        case tree.Sequence(items=items, contiguous=False):
            for item in items:
                if isinstance(item, tree.Absent):
                    yield Diagnostic(
                        "W502",
                        item.span,
                        "NOT beside ';' is satisfied by any other event in between",
                        "did you mean UNLESS?  A ; C UNLESS B: no B between",
                    )
        case tree.Combined(operator="AND", items=items):
            yield from _about_and(node, items, variables)
        case tree.Filtered(condition=condition):
            yield from _about_or(condition)


def _about_and(
    node: tree.Combined, items: tuple[tree.Pattern, ...], variables: Variables
) -> Iterator[Diagnostic]:
    if any(map(always_computed, items)):
        yield Diagnostic(
            "W520",
            node.span,
            "AND wants the same computed events on all sides, and each AGGREGATE makes its own: "
            "there is no match",
            "aggregate the whole, (… AND …) AGGREGATE Y[…], or drop the event: … PROJECT [x]",
        )
        return
    can = [{name for atom in variables.atoms(item) for name in atom.variables} for item in items]
    for item in items:
        if any(not always_bound(item) <= names for names in can):
            fix = (
                Fix(node.span.__class__(items[0].span.end, items[1].span.start), " ; ")
                if len(items) == 2
                else None
            )
            yield Diagnostic(
                "W503",
                node.span,
                "AND wants one group of events that is both, and these bind different variables: "
                "there is no match",
                "for one after the other write ';', for both in any order ALL",
                fix,
            )
            return


def _about_or(condition: tree.Expression) -> Iterator[Diagnostic]:
    if not isinstance(condition, tree.Logical):
        return
    for each in condition.operands:
        yield from _about_or(each)
    named = [_variables(each) for each in condition.operands]
    if condition.operator == "OR" and len(named[0]) == 1 and named.count(named[0]) == len(named):
        (name,) = named[0]
        yield Diagnostic(
            "W505",
            condition.span,
            f"one side must hold for all events of '{name}' together",
            f"to decide event by event write OR inside the brackets: {name}[… OR …]",
        )


def _variables(condition: tree.Expression) -> set[str]:
    """Return the variables that a condition outside brackets is about."""
    if isinstance(condition, tree.Restriction):
        return {condition.variable.text}
    return {each.names[0] for each in _nodes(condition) if isinstance(each, tree.Path)}


def _about_keys(query: tree.Query) -> Iterator[Diagnostic]:
    span = query.partition[0].span.to(query.partition[-1].span)
    absence, window = query.not_followed, window_of(query)
    if absence is not None and _counts_events(absence.window):
        reason = "with a deadline in EVENTS"
    elif absence is not None and not_one_event(query.pattern) is None:
        # Nothing is kept for a key after the deadline.
        return
    elif window is None:
        reason = "without WITHIN"
    elif any(map(_counts_events, all_windows(query))):
        reason = "with a window in EVENTS"
    elif any(
        isinstance(node, tree.Applied) and node.function.text.upper() == "START"
        for node in _nodes(query.pattern)
    ):
        reason = "with START"
    else:
        return
    yield Diagnostic(
        "W504",
        span,
        f"PARTITION BY {reason} keeps something for every key ever seen",
        "a window in time, such as WITHIN 10 MINUTES, lets keys be forgotten",
    )


def _counts_events(window: tree.Window) -> bool:
    return window.duration is None and window.attribute is None
