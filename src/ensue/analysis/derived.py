"""CREATE STREAM D AS SELECT …: which streams each query reads, and what derived events have.

A query with derived streams has levels: those streams in their order, and itself. A level reads
streams of the input, derived streams before it, or both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ensue.analysis.bound import BoundQuery
from ensue.analysis.column_paths import attribute_path
from ensue.analysis.context import Clock, Context, listing
from ensue.analysis.schema import AttributePath, Schema
from ensue.analysis.types import Type, joined
from ensue.analysis.windows import all_windows
from ensue.language import tree

START_TIME, END_TIME, MATCH_ID = "start_time", "end_time", "match_id"
"""What derived events have beside partition attributes and columns; rows of count(*) the end."""

DEADLINE = "deadline"
"""What it has too, where nothing must have followed the match."""


@dataclass(frozen=True, slots=True)
class Level:
    """A query bound to the streams that it reads."""

    name: str
    """The stream that its matches are events of; of the query itself, nothing."""
    bound: BoundQuery
    given: tuple[str, ...]
    """The streams of the input that it reads."""
    derived: tuple[str, ...]
    """The derived streams that it reads."""
    tree: tree.Query
    """The level with all that it stands on, as a query of its own."""


class Reads(NamedTuple):
    """The streams that a level reads."""

    given: tuple[str, ...]
    derived: tuple[str, ...]


def levels_of(query: tree.Query) -> list[tuple[str, tree.Query]]:
    """Return the queries of all levels by the names of their streams, the query itself last."""
    own = replace(query, derived=())
    return [*((each.name.text, each.query) for each in query.derived), ("", own)]


def reads_of(query: tree.Query, known: Mapping[str, object]) -> Reads:
    """Tell the streams of the input that a query reads from the derived ones."""
    names = tuple(dict.fromkeys(word.text for word in query.sources))
    return Reads(
        tuple(name for name in names if name not in known),
        tuple(name for name in names if name in known),
    )


def given_streams(query: tree.Query) -> list[str]:
    """Return the streams of the input that a query reads on any level."""
    made = {each.name.text: None for each in query.derived}
    every = [name for _, level in levels_of(query) for name in reads_of(level, made).given]
    return list(dict.fromkeys(every))


def check_names(query: tree.Query, context: Context) -> None:
    """Report streams with the same name, those that are read before they are made, and cycles."""
    declared = {each.name.text for each in query.streams}
    made = {each.name.text: each for each in query.derived}
    seen: set[str] = set()
    for each in query.derived:
        name = each.name.text
        if name in declared or name in seen:
            context.report(
                "E441",
                each.name.span,
                f"there is a stream '{name}' already",
                "give it another name",
            )
        for word in each.query.sources:
            if word.text == name or (word.text in made and word.text not in seen):
                cycle = _reaches(word.text, name, made)
                context.report(
                    "E442",
                    word.span,
                    f"'{name}' reads '{word.text}', which reads '{name}'"
                    if cycle and word.text != name
                    else f"'{name}' reads itself"
                    if cycle
                    else f"the stream '{word.text}' is made further down",
                    "a derived stream reads streams of the input and derived ones before it"
                    if cycle
                    else f"write CREATE STREAM {word.text} before it is read",
                )
        seen.add(name)


def _reaches(start: str, name: str, made: Mapping[str, tree.DerivedStream]) -> bool:
    """Tell whether a stream reads another one, or reads one that does."""
    waiting, known = [start], set[str]()
    while waiting:
        each = waiting.pop()
        if each == name:
            return True
        if each in made and each not in known:
            known.add(each)
            waiting += [word.text for word in made[each].query.sources]
    return False


def check_deadlines(query: tree.Query, counted: Collection[str], context: Context) -> None:
    """Report derived streams with deadlines in EVENTS that are read beside others.

    They have no place among these. Deadlines in time have: after all events that are not later.
    """
    for word in query.sources:
        if word.text in counted:
            context.report(
                "E447",
                word.span,
                f"NOT FOLLOWED BY … EVENTS decides on the events of '{word.text}', so they have no "
                "place among those of other streams",
                "give its deadline in time, or read the stream by itself",
            )


def time_of_input(query: tree.Query, clock: Clock, context: Context) -> Clock:
    """Return the time of the streams of the input, which windows of any level may name."""
    made = {each.name.text: None for each in query.derived}
    first: tree.Path | None = None
    for _, level in levels_of(query):
        given = reads_of(level, made).given
        for window in all_windows(level):
            path = window.attribute
            if path is None:
                continue
            if not given and path.names != (END_TIME,):
                context.report(
                    "E445",
                    path.span,
                    "the time of derived events is end_time",
                    "leave the attribute out, or write [end_time]",
                )
            elif given and first is None:
                first = path
            elif given and first is not None and path.names != first.names:
                context.report(
                    "E440",
                    path.span,
                    f"the time of this query is '{'.'.join(first.names)}' already",
                    "a query has one time column: name the same one after every WITHIN",
                )
    if first is None:
        return clock
    return Clock(attribute_path(first, context), clock.unit, clock.known)


def attributes_of(
    bound: BoundQuery, name: tree.Word, context: Context
) -> dict[AttributePath, Type]:
    """Return the attributes of the events that the matches of a query become.

    Rows of count(*) are events too: of all matches that one event completes, without the start and
    the id of any of them.
    """
    query = bound.tree
    if bound.every is not None and query.every is not None:
        context.report(
            "E443",
            query.every.span,
            "no event completes an interval of EVERY, so its rows have no place in a stream",
            f"leave it out, and '{name.text}' counts at every completing event, or write EVERY in "
            "the query that reads it",
        )
    kind = Type.INT
    if bound.clock.column is not None:
        kind = bound.schema.type_of(bound.clock.column, None) or Type.UNKNOWN
    elif not bound.clock.known:
        kind = Type.UNKNOWN
    found = {path: bound.schema.type_of(path, None) or Type.UNKNOWN for path in bound.partition}
    if bound.totals is None:
        found |= {(START_TIME,): kind, (MATCH_ID,): Type.STRING}
    found[END_TIME,] = kind
    if bound.not_followed is not None and bound.totals is None:
        found[DEADLINE,] = kind
    for column in query.select.columns:
        path = (column.name.text,)
        if path in found:
            context.report(
                "E444",
                column.name.span,
                f"every event of '{name.text}' has an attribute '{column.name.text}' already",
                "give the column another name",
            )
        found[path] = bound.selected_types.get(column.name.text, Type.UNKNOWN)
    return found


def schema_for(
    query: tree.Query,
    reads: Reads,
    schema: Schema,
    clock: Clock,
    made: Mapping[str, Mapping[AttributePath, Type]],
    context: Context,
) -> Schema:
    """Describe the events that a level reads; `clock` is that of the input."""
    if not reads.derived:
        return schema
    own = {name: dict(made[name]) for name in reads.derived}
    if not reads.given:
        return Schema({}, own, closed=True)
    for word in query.sources:
        for path, kind in own.get(word.text, {}).items():
            known = schema.type_of(path, None)
            if known is not None and joined(known, kind) is None:
                context.report(
                    "E446",
                    word.span,
                    f"'{'.'.join(path)}' is {kind.article} in '{word.text}' and {known.article} "
                    f"in {listing(reads.given)}",
                    "one attribute is one column: give the two different names",
                )
    if clock.column is not None:
        # Derived events have the time of the input's events too, so that one column orders both.
        for each in own.values():
            each[clock.column] = schema.type_of(clock.column, None) or Type.UNKNOWN
    if schema.events is not None:
        return Schema(schema.common, {**schema.events, **own}, closed=schema.closed)
    common = dict(schema.common)
    for each in own.values():
        for path, kind in each.items():
            common[path] = joined(common.get(path, kind), kind) or kind
    return Schema(common, None, closed=schema.closed)
