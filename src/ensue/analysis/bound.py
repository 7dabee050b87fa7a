"""The bound query: the result of the analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ensue.analysis.conditions import Condition
from ensue.analysis.context import Clock
from ensue.analysis.expressions import Attribute, Expression, paths_of
from ensue.analysis.schema import Schema
from ensue.analysis.types import Type
from ensue.analysis.user_functions import UserAggregate
from ensue.errors import Diagnostic, Source, Span
from ensue.language import tree


@dataclass(frozen=True, slots=True)
class Column:
    """An aggregate: name = function(argument) over the events of a variable."""

    name: str
    function: str
    variable: str
    argument: Expression | None
    """An expression on one event; None counts events."""
    parameter: float | None = None
    """Of percentile: which one, from 0 to 1."""
    user: UserAggregate | None = None
    """The function, where the user gave it."""

    @property
    def hidden(self) -> bool:
        """Whether only derived columns read it."""
        return self.name.startswith(HIDDEN)

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """The attributes that it reads."""
        return frozenset() if self.argument is None else paths_of(self.argument)

    @property
    def text(self) -> str:
        """How messages write it."""
        name, _, distinct = self.function.partition(" ")
        if self.argument is None:
            return f"{name}({self.variable})"
        attribute = isinstance(self.argument, Attribute)
        rest = self.argument.path if attribute else ("…",)  # type: ignore[union-attr]
        return f"{name}({'DISTINCT ' * bool(distinct)}{'.'.join((self.variable, *rest))})"


HIDDEN = "\0"
"""How the names of aggregates begin that are no columns themselves."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A column that is computed from aggregates: an expression over their names."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Computation:
    """What an AGGREGATE, or the SELECT of a query, computes for a match."""

    columns: tuple[Column, ...] = ()
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """SELECT count(*), sum(x.a) AS s, …: one row for each completing event or interval."""

    count: str
    columns: tuple[Column, ...]
    derived: tuple[Derived, ...]
    order: tuple[str, ...]
    """The names of all columns as the query lists them."""


@dataclass(frozen=True, slots=True)
class Window:
    """WITHIN: a number of events, or a length on the time column.

    `size` counts events, units of an integer time column, or nanoseconds.
    """

    kind: Literal["events", "units", "duration"]
    size: int


@dataclass(frozen=True, slots=True)
class Interval:
    """EVERY: its length, and the unit of the time column, both in nanoseconds."""

    length: int
    unit: int


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """NOT FOLLOWED BY ψ WITHIN w: what must not follow a match, and until when."""

    pattern: tree.Pattern
    window: Window


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query with all names resolved and all types checked."""

    source: Source
    tree: tree.Query
    schema: Schema
    clock: Clock
    conditions: Mapping[Span, Condition]
    """By the span of the condition of a FILTER, or of the keys of an inner PARTITION BY."""
    aggregates: Mapping[Span, Computation]
    """By the span of the variable after AGGREGATE."""
    column_types: Mapping[Span, Mapping[str, Type]]
    """The types of those columns, by the same span."""
    shown: Mapping[str, tuple[tuple[str, ...], ...] | None] | None
    """Selected variables and their attributes of interest (None: all); None: all variables."""
    computed: Computation
    """The computed columns of SELECT, for each match."""
    totals: Totals | None
    selected_types: Mapping[str, Type]
    """The types of the computed columns of SELECT."""
    strategy: str | None
    partition: tuple[tuple[str, ...], ...]
    window: Window | None
    inner_windows: Mapping[Span, Window]
    """The windows of parts of the pattern, by the span of their WITHIN."""
    consume: Literal["ANY", "PARTITION", "NONE"]
    limit: int | None
    every: Interval | None
    warnings: tuple[Diagnostic, ...]
    not_followed: NotFollowed | None = None

    @property
    def counts_events(self) -> bool:
        """Whether some window counts events, so that every event matters."""
        deadline = None if self.not_followed is None else self.not_followed.window
        windows = (self.window, *self.inner_windows.values(), deadline)
        return any(each is not None and each.kind == "events" for each in windows)
