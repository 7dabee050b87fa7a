"""Queries: compiled once, run on any events."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Unpack, overload

from ensue.analysis.bind import bind
from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import Schema, from_python
from ensue.errors import CeqlWarning, Diagnostic, Source, render, warn
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic.build import to_formula
from ensue.options import (
    ErrorOptions,
    EventsLike,
    LimitArguments,
    Limits,
    OnError,
    OpenArguments,
    ReadOptions,
    ResultOptions,
    ResumeArguments,
    RunArguments,
    SchemaLike,
    argument_name,
    chosen,
    takes,
)

if TYPE_CHECKING:
    from ensue.automata.draw import Drawing
    from ensue.engine.session import Session
    from ensue.engine.sessions import Sessions
    from ensue.plan.mode import ExecutionMode
    from ensue.plan.physical import PhysicalPlan
    from ensue.results.matches import Matches


_UNNAMED = "query"
"""What messages call a query without a name."""

_REPR_CHARACTERS = 80
"""So many characters of a query's text its repr shows."""


@dataclass(frozen=True, repr=False)
class Query:
    """A compiled query."""

    source: Source
    tree: tree.Query
    schema: Schema
    params: Mapping[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Read options of its own, for where none are given."""

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
    def fingerprint(self) -> str:
        """A hash of what the query says, whatever its layout, and of its parameters."""
        parts = [format_query(self.tree)]
        parts += [f"{name}={_stable_text(value)}" for name, value in sorted(self.params.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def __str__(self) -> str:
        return format_query(self.tree)

    def __repr__(self) -> str:
        text = " ".join(self.text.split())
        shown = text if len(text) <= _REPR_CHARACTERS else text[: _REPR_CHARACTERS - 1] + "…"
        return f"Query({shown!r})"

    @takes(ReadOptions, ResultOptions, Limits)
    def run(self, events: EventsLike, **options: Unpack[RunArguments]) -> Matches:
        """Find all matches in a finite stream of events.

        Args:
            events: a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an iterable
                of dicts, a path to CSV, JSON lines or Parquet, or {stream: any of these}.
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
        )

    @takes(ReadOptions, ResultOptions, Limits, ErrorOptions)
    def open(self, **options: Unpack[OpenArguments]) -> Session:
        """Open a session: push events as they come, and get the matches that they complete.

        >>> session = compile("SELECT * FROM S WHERE A ; B").open()
        >>> session.push({"type": "A"}).count, session.push({"type": "B"}).count
        (0, 1)
        """
        from ensue.engine.session import Session

        read = chosen(ReadOptions, options)
        return Session(self, read, _mode(options), chosen(ErrorOptions, options).on_error)

    @takes(ErrorOptions, Limits)
    def resume(self, snapshot: bytes, **options: Unpack[ResumeArguments]) -> Session:
        """Go on from the snapshot of a session of this query, as if nothing had been between.

        The options are those that the session was opened with; `on_error` and the limits may be
        given anew.
        """
        from ensue.engine.session import Session

        return Session.resume(self, snapshot, _on_error_given(options), _limits_given(options))

    def explain(self) -> str:
        """Describe what the query becomes and what that means for its cost."""
        from ensue.plan.explain import explain

        return explain(self.plan)

    @property
    def plan(self) -> PhysicalPlan:
        """The physical plan, as far as it is known before there are events; print() shows it."""
        from ensue.plan.physical import make_plan

        return make_plan(self.bind(self.schema, Clock()), assume_numbers=True)

    @property
    def automaton(self) -> Drawing:
        """The query's automaton, to be drawn by to_dot() or to_mermaid()."""
        from ensue.plan.explain import automaton_of

        return automaton_of(self.plan)

    def bind(self, schema: Schema, clock: Clock) -> BoundQuery:
        """Bind the query to what is known of some events."""
        return bind(self.tree, self.source, schema, self.params, clock)


def _mode(options: RunArguments) -> ExecutionMode:
    """Decide how queries are evaluated from what was asked for."""
    from ensue.plan.mode import ExecutionMode

    result = chosen(ResultOptions, options)
    return ExecutionMode(result.positions_only, chosen(Limits, options), exact=result.exact)


def _on_error_given(options: ResumeArguments) -> OnError | None:
    """Return what happens to bad events from here on; None where the snapshot says it."""
    given = options.get("on_error") is not None
    return chosen(ErrorOptions, options).on_error if given else None


def _limits_given(options: LimitArguments) -> dict[str, int]:
    """Check the limits that were asked for, and return those alone."""
    limits = chosen(Limits, options)
    return {
        each.name: getattr(limits, each.name)
        for each in fields(Limits)
        if options.get(argument_name(Limits, each)) is not None
    }


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
) -> Query:
    """Compile a query; raise a CeqlError that shows what is wrong and where.

    Args:
        text: the query.
        schema: types of attributes, {attribute: type} or {event: {attribute: type}}, or a pyarrow
            schema; without one they come from CREATE STREAM or from the events.
        params: values for the parameters $name of the query.
        name: what to call the query in messages and in results, such as a file's name.

    >>> compile("SELECT * FROM S WHERE A ; B").run([{"type": "A"}, {"type": "B"}])[0]
    Match(0..1, A=[0], B=[1])
    """
    if not isinstance(text, str):
        read = "; read the file first: path.read_text()" if isinstance(text, PurePath) else ""
        raise TypeError(f"a query is a string, not a {type(text).__name__}{read}")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be {{name: value}}, not a {type(params).__name__}")
    source = Source(text, name)
    parsed = parse_source(source)
    known = from_python(schema)
    bound = bind(parsed, source, known, dict(params or {}))
    to_formula(bound)
    for warning in bound.warnings:
        warn(render(warning, source), CeqlWarning)
    return Query(source, parsed, bound.schema, dict(params or {}), bound.warnings)


@overload
def run(
    text: str,
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[RunArguments],
) -> Matches: ...


@overload
def run(
    text: Mapping[str, str | Query],
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[RunArguments],
) -> dict[str, Matches]: ...


@takes(ReadOptions, ResultOptions, Limits)
def run(
    text: str | Mapping[str, str | Query],
    events: EventsLike,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
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

    >>> run("SELECT * FROM S WHERE A ; B", [{"type": "A"}, {"type": "B"}]).count
    1
    """
    if not isinstance(text, str | Mapping):
        raise TypeError(f"a query is a string, or {{name: query}}, not a {type(text).__name__}")
    if isinstance(text, str):
        return compile(text, schema, params).run(events, **options)
    from ensue.engine.run import find_all

    queries = _compiled(text, schema, params)
    return find_all(queries, events, chosen(ReadOptions, options), _mode(options))


@takes(ReadOptions, ResultOptions, Limits, ErrorOptions)
def open(
    queries: Mapping[str, str | Query],
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[OpenArguments],
) -> Sessions:
    """Open a session of many queries: every push is read once for all of them.

    Args:
        queries: {name: query}.
        schema: types of attributes, as for `compile`.
        params: values for the parameters $name.

    >>> session = open({"pairs": "SELECT * FROM S WHERE A ; B", "ends": "SELECT * FROM S WHERE B"})
    >>> session.push([{"type": "A"}, {"type": "B"}])
    {'pairs': Matches(1), 'ends': Matches(1)}
    """
    from ensue.engine.sessions import Sessions

    ready, read = _compiled(queries, schema, params), chosen(ReadOptions, options)
    return Sessions(ready, read, _mode(options), chosen(ErrorOptions, options).on_error)


@takes(ErrorOptions, Limits)
def resume(
    queries: Mapping[str, str | Query],
    snapshot: bytes,
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[ResumeArguments],
) -> Sessions:
    """Go on from the snapshot of a session of many queries, as if nothing had been between.

    The options are those that the session was opened with; `on_error` and the limits may be
    given anew.
    """
    from ensue.engine.sessions import Sessions

    ready = _compiled(queries, schema, params)
    return Sessions.resume(ready, snapshot, _on_error_given(options), _limits_given(options))


def _compiled(
    queries: Mapping[str, str | Query], schema: SchemaLike, params: Mapping[str, object] | None
) -> dict[str, Query]:
    return {
        name: each if isinstance(each, Query) else compile(each, schema, params, name=name)
        for name, each in queries.items()
    }
