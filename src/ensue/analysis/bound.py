"""The bound query: the result of the analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ensue.analysis.conditions import Condition
from ensue.analysis.context import Clock
from ensue.analysis.schema import Schema
from ensue.analysis.types import Type
from ensue.errors import Diagnostic, Source, Span
from ensue.language import tree


@dataclass(frozen=True, slots=True)
class Column:
    """A computed column: name = function(variable.path); path None counts events."""

    name: str
    function: str
    variable: str
    path: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Totals:
    """SELECT count(*), sum(x.a) AS s, …: one row for each completing event or interval."""

    count: str
    columns: tuple[Column, ...]
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
class BoundQuery:
    """A query with all names resolved and all types checked."""

    source: Source
    tree: tree.Query
    schema: Schema
    clock: Clock
    conditions: Mapping[Span, Condition]
    """By the span of the condition of a FILTER, or of the keys of an inner PARTITION BY."""
    aggregates: Mapping[Span, tuple[Column, ...]]
    """By the span of the variable after AGGREGATE."""
    column_types: Mapping[Span, Mapping[str, Type]]
    """The types of those columns, by the same span."""
    shown: Mapping[str, tuple[tuple[str, ...], ...] | None] | None
    """Selected variables and their attributes of interest (None: all); None: all variables."""
    columns: tuple[Column, ...]
    totals: Totals | None
    selected_types: Mapping[str, Type]
    """The types of the computed columns of SELECT."""
    strategy: str | None
    partition: tuple[tuple[str, ...], ...]
    window: Window | None
    consume: Literal["ANY", "PARTITION", "NONE"]
    limit: int | None
    every: Interval | None
    warnings: tuple[Diagnostic, ...]
