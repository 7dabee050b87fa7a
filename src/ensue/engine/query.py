"""Queries: compiled once, run on any events."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Unpack, overload

from ensue.analysis.bind import bind_levels
from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.derived import Level, given_streams
from ensue.analysis.mentions import mentioned
from ensue.analysis.schema import Schema, from_python
from ensue.analysis.user_functions import UserAggregate, UserFunction, named
from ensue.engine.arguments import limits_given, mode_of, on_error_given
from ensue.engine.plan_cache import PlanCache
from ensue.engine.query_views import QueryViews
from ensue.errors import CeqlWarning, Diagnostic, Source, render, warn
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.language.tree import Query as ParsedQuery
from ensue.logic.build import to_absence, to_formula
from ensue.options import (
    ErrorOptions,
    EventsLike,
    Limits,
    OpenArguments,
    ReadOptions,
    ResultOptions,
    ResumeArguments,
    RunArguments,
    SchemaLike,
    ThreadOptions,
    chosen,
    takes,
)

if TYPE_CHECKING:
    from ensue.automata.draw import Drawing
    from ensue.engine.session import Session
    from ensue.engine.sessions import Sessions
    from ensue.plan.physical import PhysicalPlan
    from ensue.results.matches import Matches


_UNNAMED = "query"
"""What messages call a query without a name."""

_REPR_CHARACTERS = 80
"""So many characters of a query's text its repr shows."""


@dataclass(frozen=True, repr=False)
class Query(QueryViews):
    """A compiled query."""

    source: Source
    tree: tree.Query
    schema: Schema
    params: Mapping[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Read options of its own, for where none are given."""
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    """Those of the user, by their names in lower case."""
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)
    """Likewise."""
    plans: PlanCache = field(default_factory=PlanCache, init=False, compare=False)
    """What was worked out when it was run before."""

    @property
    def text(self) -> str:
        """The query as it was written."""
        return self.source.text

    @property
    def name(self) -> str | None:
        """The name that `compile` was given; of a file, its name without folders and .ceql."""
        name = self.source.name
        if name in (_UNNAMED, "<stdin>"):
            return None
        return PurePath(name).stem if name.endswith(".ceql") else name

    @property
    def streams(self) -> list[str]:
        """The streams of the input that it reads, itself or for a derived stream."""
        return given_streams(self.tree)

    @property
    def fingerprint(self) -> str:
        """A hash of what the query says, whatever its layout, of its parameters and functions."""
        return self.fingerprint_of(self.tree)

    def fingerprint_of(self, level: ParsedQuery) -> str:
        """Return the same of one of its derived streams, with all that it stands on."""
        parts = [format_query(level)]
        parts += [f"{name}({version})" for name, version in sorted(self.versions.items())]
        parts += [f"{name}={_stable_text(value)}" for name, value in sorted(self.params.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the user's functions and aggregates that the query calls, by name."""
        called = {word.lower() for word in mentioned(self.tree)}
        versions = {name: each.version for name, each in self.functions.items()}
        versions |= {name: each.version for name, each in self.aggregates.items()}
        return {name: version for name, version in versions.items() if name in called}

    def __str__(self) -> str:
        return format_query(self.tree)

    def __repr__(self) -> str:
        text = " ".join(self.text.split())
        shown = text if len(text) <= _REPR_CHARACTERS else text[: _REPR_CHARACTERS - 1] + "…"
        return f"Query({shown!r})"

    @takes(ReadOptions, ResultOptions, Limits, ThreadOptions)
    def run(
        self,
        events: EventsLike,
        *,
        until: int | datetime | date | None = None,
        **options: Unpack[RunArguments],
    ) -> Matches:
        """Find all matches in a finite stream of events.

        Args:
            events: a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an iterable
                of dicts, a path to CSV, JSON lines or Parquet, or {stream: any of these}.
            until: the time that has come after the last event, which may decide what NOT FOLLOWED
                BY waits for.
        """
        # Arrow is imported when the first events come, not by everyone who checks a query.
        from ensue.engine.run import find_matches

        result = chosen(ResultOptions, options)
        return find_matches(
            self,
            events,
            chosen(ReadOptions, options),
            positions_only=result.positions_only,
            limits=chosen(Limits, options),
            exact=result.exact,
            until=until,
            threads=chosen(ThreadOptions, options).number,
        )

    @takes(ReadOptions, ResultOptions, Limits, ThreadOptions, ErrorOptions)
    def open(self, **options: Unpack[OpenArguments]) -> Session:
        """Open a session: push events as they come, and get the matches that they complete.

        >>> session = compile("SELECT * FROM S WHERE A ; B").open()
        >>> session.push({"type": "A"}).count, session.push({"type": "B"}).count
        (0, 1)
        """
        from ensue.engine.session import Session

        read = chosen(ReadOptions, options)
        return Session(self, read, mode_of(options), chosen(ErrorOptions, options).on_error)

    @takes(ErrorOptions, Limits)
    def resume(self, snapshot: bytes, **options: Unpack[ResumeArguments]) -> Session:
        """Go on from the snapshot of a session of this query, as if nothing had been between.

        The options are those that the session was opened with; `on_error` and the limits may be
        given anew.
        """
        from ensue.engine.session import Session

        return Session.resume(self, snapshot, on_error_given(options), limits_given(options))

    def explain(self) -> str:
        """Describe what the query becomes and what that means for its cost."""
        from ensue.plan.explain import explain, explain_levels
        from ensue.plan.physical import make_plan

        levels = self.levels(self.schema, Clock())
        plans = [make_plan(level.bound, assume_numbers=True) for level in levels]
        return explain(plans[0]) if len(plans) == 1 else explain_levels(levels, plans)

    @property
    def plan(self) -> PhysicalPlan:
        """The physical plan, as far as it is known before there are events; print() shows it."""
        from ensue.plan.physical import make_plan

        return make_plan(self.bind(self.schema, Clock()), assume_numbers=True)

    @property
    def automaton(self) -> Drawing:
        """The query's automaton, to be drawn by to_svg(), to_dot() or to_mermaid()."""
        from ensue.plan.explain import automaton_of

        return automaton_of(self.plan)

    def bind(self, schema: Schema, clock: Clock) -> BoundQuery:
        """Bind the query to what is known of some events."""
        return self.levels(schema, clock)[-1].bound

    def levels(self, schema: Schema, clock: Clock) -> tuple[Level, ...]:
        """Bind the query and its derived streams, those first, to what is known of some events."""
        return bind_levels(
            self.tree, self.source, schema, self.params, clock, self.functions, self.aggregates
        )


def _stable_text(value: Any) -> str:
    """Write a parameter so that it is the same in every process."""
    if isinstance(value, set | frozenset):
        return repr(sorted(map(repr, value)))
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def compile(
    text: str,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    *,
    name: str = _UNNAMED,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
) -> Query:
    """Compile a query; raise a CeqlError that shows what is wrong and where.

    Args:
        text: the query.
        schema: types of attributes, {attribute: type} or {event: {attribute: type}}, or a pyarrow
            schema; without one they come from CREATE STREAM or from the events.
        params: values for the parameters $name of the query.
        name: what to call the query in messages and in results, such as a file's name.
        functions: {name: ensue.function(…)}, Python functions that the query may call.
        aggregates: {name: ensue.aggregate(…)}, likewise.

    >>> compile("SELECT * FROM S WHERE A ; B").run([{"type": "A"}, {"type": "B"}])[0]
    Match(0..1, A=[0], B=[1])
    """
    if not isinstance(text, str):
        read = "; read the file first: path.read_text()" if isinstance(text, PurePath) else ""
        raise TypeError(f"a query is a string, not a {type(text).__name__}{read}")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be {{name: value}}, not a {type(params).__name__}")
    from ensue.plan.listing_advice import all_warnings

    source = Source(text, name)
    parsed = parse_source(source)
    known = from_python(schema)
    label = "" if name == _UNNAMED else name
    called = named(functions, label, UserFunction)
    folds = named(aggregates, label, UserAggregate, called)
    given = dict(params or {})
    levels = bind_levels(parsed, source, known, given, functions=called, aggregates=folds)
    for level in levels:
        to_formula(level.bound)
        to_absence(level.bound)
    warnings = tuple(each for level in levels for each in all_warnings(level.bound))
    for warning in warnings:
        warn(render(warning, source), CeqlWarning)
    schema = levels[0].bound.schema
    return Query(source, parsed, schema, given, warnings, functions=called, aggregates=folds)


@overload
def run(
    text: str,
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    until: int | datetime | date | None = None,
    **options: Unpack[RunArguments],
) -> Matches: ...


@overload
def run(
    text: Mapping[str, str | Query],
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    until: int | datetime | date | None = None,
    **options: Unpack[RunArguments],
) -> dict[str, Matches]: ...


@takes(ReadOptions, ResultOptions, Limits, ThreadOptions)
def run(
    text: str | Mapping[str, str | Query],
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    until: int | datetime | date | None = None,
    **options: Unpack[RunArguments],
) -> Matches | dict[str, Matches]:
    """Compile a query and find all its matches in a finite stream of events.

    With {name: text} all the queries are compiled before the events are read, once for all, and
    share what they can: each distinct predicate is evaluated once.

    Args:
        text: the query, or {name: query} for many.
        events: what `Query.run` takes.
        schema: types of attributes, as for `compile`.
        params: values for the parameters $name.
        functions, aggregates: those of Python, as for `compile`.
        until: the time that has come after the last event, as for `Query.run`.

    >>> run("SELECT * FROM S WHERE A ; B", [{"type": "A"}, {"type": "B"}]).count
    1
    """
    if not isinstance(text, str | Mapping):
        raise TypeError(f"a query is a string, or {{name: query}}, not a {type(text).__name__}")
    if isinstance(text, str):
        query = compile(text, schema, params, functions=functions, aggregates=aggregates)
        return query.run(events, until=until, **options)
    from ensue.engine.run import find_all

    queries = _compiled(text, schema, params, functions, aggregates)
    return find_all(queries, events, chosen(ReadOptions, options), mode_of(options), until)


@takes(ReadOptions, ResultOptions, Limits, ThreadOptions, ErrorOptions)
def open(
    queries: Mapping[str, str | Query],
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    **options: Unpack[OpenArguments],
) -> Sessions:
    """Open a session of many queries: every push is read once for all of them.

    Args:
        queries: {name: query}.
        schema: types of attributes, as for `compile`.
        params: values for the parameters $name.
        functions, aggregates: those of Python, as for `compile`.

    >>> session = open({"pairs": "SELECT * FROM S WHERE A ; B", "ends": "SELECT * FROM S WHERE B"})
    >>> session.push([{"type": "A"}, {"type": "B"}])
    {'pairs': Matches(1), 'ends': Matches(1)}
    """
    from ensue.engine.sessions import Sessions

    ready, read = (
        _compiled(queries, schema, params, functions, aggregates),
        chosen(ReadOptions, options),
    )
    return Sessions(ready, read, mode_of(options), chosen(ErrorOptions, options).on_error)


@takes(ErrorOptions, Limits)
def resume(
    queries: Mapping[str, str | Query],
    snapshot: bytes,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    **options: Unpack[ResumeArguments],
) -> Sessions:
    """Go on from the snapshot of a session of many queries, as if nothing had been between.

    The options are those that the session was opened with; `on_error` and the limits may be
    given anew.
    """
    from ensue.engine.sessions import Sessions

    ready = _compiled(queries, schema, params, functions, aggregates)
    return Sessions.resume(ready, snapshot, on_error_given(options), limits_given(options))


def _compiled(
    queries: Mapping[str, str | Query],
    schema: SchemaLike,
    params: Mapping[str, object] | None,
    functions: Mapping[str, UserFunction] | None,
    aggregates: Mapping[str, UserAggregate] | None,
) -> dict[str, Query]:
    if isinstance(queries, str | Query):
        raise TypeError("many queries are {name: query}; one: ensue.compile(text).open()")
    return {
        name: each
        if isinstance(each, Query)
        else compile(each, schema, params, name=name, functions=functions, aggregates=aggregates)
        for name, each in queries.items()
    }
