"""Queries: compiled once, run on any events."""

from __future__ import annotations

import hashlib
import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

from ensue.analysis.bind import bind
from ensue.analysis.bound import BoundQuery
from ensue.analysis.context import Clock
from ensue.analysis.schema import Schema, from_python
from ensue.errors import CeqlWarning, Diagnostic, Source, render
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic.build import to_formula

if TYPE_CHECKING:
    from ensue.automata.draw import Drawing
    from ensue.engine.many import Sessions
    from ensue.engine.match import Matches
    from ensue.engine.session import Session

Output = Literal["bindings", "positions"]


_SHOWN = 80
"""So many characters of a query's text its repr shows."""


@dataclass(frozen=True, repr=False)
class Query:
    """A compiled query."""

    source: Source
    tree: tree.Query
    schema: Schema
    params: Mapping[str, Any]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str:
        """The query as it was written."""
        return self.source.text

    @property
    def fingerprint(self) -> str:
        """A hash of what the query says, whatever its layout, and of its parameters."""
        told = [format_query(self.tree)]
        told += [f"{name}={_told(value)}" for name, value in sorted(self.params.items())]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def __str__(self) -> str:
        return format_query(self.tree)

    def __repr__(self) -> str:
        text = " ".join(self.text.split())
        return f"Query({text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'!r})"

    def run(
        self,
        events: object,
        type: str = "type",
        time: str | None = None,
        time_unit: str | None = None,
        tiebreak: str | None = None,
        lateness: int | str | timedelta | None = None,
        output: Output = "bindings",
        *,
        exact: bool = False,
        max_states: int | None = None,
        max_bytes: int | None = None,
        max_configurations: int | None = None,
        max_matches: int | None = None,
    ) -> Matches:
        """Find all matches in a finite stream of events.

        Args:
            events: a pyarrow Table, RecordBatch or reader, a pandas or polars frame, an iterable
                of dicts, a path to CSV, JSON lines or Parquet, or {stream: any of these}.
            type: the column with the events' types.
            time: the column with their times; WITHIN … [attr] names its own.
            time_unit: 's', 'ms', 'us' or 'ns', where that column holds integers.
            tiebreak: a column that orders events of one time.
            lateness: how late an event may come; earlier ones are put in order.
            output: 'positions' forgets which variable an event is bound to.
            exact: give the counts of SELECT count(*) in full, where they would else stop at
                2^63 - 1; slow.
            max_states: how many deterministic states the automaton may have (10,000).
            max_bytes: how much memory partial matches may take (4 GiB).
            max_configurations: how many different contents of registers there may be at once,
                where conditions relate events to each other (10,000,000).
            max_matches: how many matches of one event SELECT count(*) may list, where it cannot
                count without listing (1,000,000).
        """
        # Arrow is imported when the first events come, not by everyone who checks a query.
        from ensue.engine.evaluation import find_matches
        from ensue.engine.fast import Budgets
        from ensue.engine.stream import Options

        options = Options(type, time, time_unit, tiebreak, lateness)
        positions_only = _positions_only(output)
        budgets = Budgets.of(max_states, max_bytes, max_configurations, max_matches)
        return find_matches(
            self, events, options, positions_only=positions_only, budgets=budgets, exact=exact
        )

    def open(
        self,
        type: str = "type",
        time: str | None = None,
        time_unit: str | None = None,
        tiebreak: str | None = None,
        lateness: int | str | timedelta | None = None,
        output: Output = "bindings",
        *,
        on_error: Literal["raise", "aside"] = "raise",
        exact: bool = False,
        max_states: int | None = None,
        max_bytes: int | None = None,
        max_configurations: int | None = None,
        max_matches: int | None = None,
    ) -> Session:
        """Open a session: push events as they come, and get the matches that they complete.

        Args are those of `run`, and:
            on_error: 'aside' puts an event that cannot be read aside, with the reason, in
                `session.aside`; 'raise' stops with an EventError and leaves the session as it was.

        >>> session = compile("SELECT * FROM S WHERE A ; B").open()
        >>> session.push({"type": "A"}).count, session.push({"type": "B"}).count
        (0, 1)
        """
        from ensue.engine.fast import Budgets
        from ensue.engine.lane import Manner
        from ensue.engine.session import Session
        from ensue.engine.stream import Options

        options = Options(type, time, time_unit, tiebreak, lateness)
        budgets = Budgets.of(max_states, max_bytes, max_configurations, max_matches)
        manner = Manner(_positions_only(output), budgets, exact=exact)
        return Session(self, options, manner, on_error)

    def resume(
        self,
        snapshot: bytes,
        *,
        on_error: Literal["raise", "aside"] | None = None,
        max_states: int | None = None,
        max_bytes: int | None = None,
        max_configurations: int | None = None,
        max_matches: int | None = None,
    ) -> Session:
        """Go on from the snapshot of a session of this query, as if nothing had been between.

        The options are those that the session was opened with; `on_error` and the budgets may be
        given anew.
        """
        from ensue.engine.session import Session

        budgets = {
            "states": max_states,
            "bytes": max_bytes,
            "configurations": max_configurations,
            "matches": max_matches,
        }
        return Session.resume(self, snapshot, on_error, **budgets)

    def explain(self) -> str:
        """Tell what the query becomes and what that means for its cost."""
        from ensue.engine.explain import explain

        return explain(self.bind(self.schema, Clock()))

    @property
    def automaton(self) -> Drawing:
        """The query's automaton, to be drawn by to_dot() or to_mermaid()."""
        from ensue.engine.explain import automaton_of

        return automaton_of(self.bind(self.schema, Clock()))

    def bind(self, schema: Schema, clock: Clock) -> BoundQuery:
        """Bind the query to what is known of some events."""
        return bind(self.tree, self.source, schema, self.params, clock)


def _positions_only(output: Output) -> bool:
    if output not in ("bindings", "positions"):
        raise ValueError(f"output must be 'bindings' or 'positions', not {output!r}")
    return output == "positions"


def _told(value: Any) -> str:
    """Write a parameter so that it is the same in every process."""
    if isinstance(value, set | frozenset):
        return repr(sorted(map(repr, value)))
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def compile(
    text: str,
    schema: object = None,
    params: Mapping[str, Any] | None = None,
    *,
    name: str = "query",
) -> Query:
    """Compile a query; raise a CeqlError that shows what is wrong and where.

    Args:
        text: the query.
        schema: types of attributes, {attribute: type} or {event: {attribute: type}}, or a pyarrow
            schema; without one they come from CREATE STREAM or from the events.
        params: values for the parameters $name of the query.
        name: what to call the text in messages, such as a file's name.

    >>> compile("SELECT * FROM S WHERE A ; B").run([{"type": "A"}, {"type": "B"}])[0]
    Match(0..1, A=[0], B=[1])
    """
    source = Source(text, name)
    parsed = parse_source(source)
    known = from_python(schema)
    bound = bind(parsed, source, known, dict(params or {}))
    to_formula(bound)
    for warning in bound.warnings:
        python_warnings.warn(render(warning, source), CeqlWarning, stacklevel=2)
    return Query(source, parsed, bound.schema, dict(params or {}), bound.warnings)


@overload
def run(text: str, events: object, *args: Any, **options: Any) -> Matches: ...


@overload
def run(
    text: Mapping[str, str | Query], events: object, *args: Any, **options: Any
) -> dict[str, Matches]: ...


def run(
    text: str | Mapping[str, str | Query],
    events: object,
    type: str = "type",
    time: str | None = None,
    time_unit: str | None = None,
    tiebreak: str | None = None,
    lateness: int | str | timedelta | None = None,
    output: Output = "bindings",
    *,
    schema: object = None,
    params: Mapping[str, Any] | None = None,
    exact: bool = False,
    max_states: int | None = None,
    max_bytes: int | None = None,
    max_configurations: int | None = None,
    max_matches: int | None = None,
) -> Matches | dict[str, Matches]:
    """Compile a query and find all its matches in a finite stream of events.

    With {name: text} all the queries are compiled before the events are read, once for all, and
    share what they can: each distinct predicate is evaluated once.

    >>> run("SELECT * FROM S WHERE A ; B", [{"type": "A"}, {"type": "B"}]).count
    1
    """
    options = (type, time, time_unit, tiebreak, lateness, output)
    budgets: dict[str, Any] = {
        "exact": exact,
        "max_states": max_states,
        "max_bytes": max_bytes,
        "max_configurations": max_configurations,
        "max_matches": max_matches,
    }
    if isinstance(text, str):
        return compile(text, schema, params).run(events, *options, **budgets)
    from ensue.engine.evaluation import find_all
    from ensue.engine.fast import Budgets
    from ensue.engine.lane import Manner
    from ensue.engine.stream import Options

    queries = _compiled(text, schema, params)
    limits = Budgets.of(max_states, max_bytes, max_configurations, max_matches)
    manner = Manner(_positions_only(output), limits)
    return find_all(queries, events, Options(*options[:5]), manner)


def open(
    queries: Mapping[str, str | Query],
    type: str = "type",
    time: str | None = None,
    time_unit: str | None = None,
    tiebreak: str | None = None,
    lateness: int | str | timedelta | None = None,
    output: Output = "bindings",
    *,
    schema: object = None,
    params: Mapping[str, Any] | None = None,
    on_error: Literal["raise", "aside"] = "raise",
    max_states: int | None = None,
    max_bytes: int | None = None,
    max_configurations: int | None = None,
    max_matches: int | None = None,
) -> Sessions:
    """Open a session of many queries: every push is read once for all of them.

    >>> session = open({"pairs": "SELECT * FROM S WHERE A ; B", "ends": "SELECT * FROM S WHERE B"})
    >>> session.push([{"type": "A"}, {"type": "B"}])
    {'pairs': Matches(1), 'ends': Matches(1)}
    """
    from ensue.engine.fast import Budgets
    from ensue.engine.lane import Manner
    from ensue.engine.many import Sessions
    from ensue.engine.stream import Options

    options = Options(type, time, time_unit, tiebreak, lateness)
    limits = Budgets.of(max_states, max_bytes, max_configurations, max_matches)
    manner = Manner(_positions_only(output), limits)
    return Sessions(_compiled(queries, schema, params), options, manner, on_error)


def resume(
    queries: Mapping[str, str | Query],
    snapshot: bytes,
    *,
    schema: object = None,
    params: Mapping[str, Any] | None = None,
    on_error: Literal["raise", "aside"] | None = None,
    max_states: int | None = None,
    max_bytes: int | None = None,
    max_configurations: int | None = None,
    max_matches: int | None = None,
) -> Sessions:
    """Go on from the snapshot of a session of many queries, as if nothing had been between."""
    from ensue.engine.many import Sessions

    budgets = {
        "states": max_states,
        "bytes": max_bytes,
        "configurations": max_configurations,
        "matches": max_matches,
    }
    return Sessions.resume(_compiled(queries, schema, params), snapshot, on_error, **budgets)


def _compiled(
    queries: Mapping[str, str | Query], schema: object, params: Mapping[str, Any] | None
) -> dict[str, Query]:
    return {
        name: each if isinstance(each, Query) else compile(each, schema, params, name=name)
        for name, each in queries.items()
    }
