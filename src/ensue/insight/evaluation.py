"""Variants of a query, evaluated by the engine on the same events.

Events are read once and kept. A variant is printed and parsed again, so it is a query like any
other, with a text that can be shown. Its limits are tighter than those of the query itself: without
its window or a condition it may have very many partial matches. What goes beyond them is not known,
and is reported as such.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import process_time

import numpy as np
import pyarrow as pa

from ensue.analysis.windows import all_windows
from ensue.engine.pipeline import Pipeline
from ensue.engine.query import Query
from ensue.engine.run import find_matches
from ensue.engine.text_options import text_options
from ensue.errors import BudgetError, CeqlError, Source
from ensue.insight.obstacles import split_conditions
from ensue.io.events import EventSource, open_events
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.options import EventsLike, Limits, ReadOptions, with_settings
from ensue.plan.mode import ExecutionMode
from ensue.predicates.vectors import UnsupportedError
from ensue.results.matches import Matches
from ensue.stream.times import Time

MOST_EVENTS = 1_000_000
"""Of longer streams so many events are looked at, unless the caller asks for more."""

MOST_LISTED_EVENTS = 5_000
"""The same where only listing tells what is a match."""

VARIANT_LIMITS = Limits(bytes=1 << 30, configurations=200_000, matches=1_000)
"""What a variant of a query may take."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How many events were looked at, and whether there are more."""

    events: int
    more: bool
    """Whether there are events after these, which were not looked at."""

    def __str__(self) -> str:
        return f"the first {self.events:,} events" if self.more else f"{self.events:,} events"


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """Events that were read and can be read again."""

    source: EventSource | dict[str, EventSource]
    sample: Sample


def keep_events(
    query: Query, events: EventsLike, options: ReadOptions, most: int | None
) -> KeptEvents:
    """Read events as a query does, up to a number of them."""
    texts = text_options([query], options)

    def kept(given: object, stream: str | None) -> tuple[EventSource, int, bool]:
        source = open_events(given, stream=stream, options=texts)
        tables, rows, more = [source.schema.empty_table()], 0, False
        for batch in source.batches:
            tables.append(pa.Table.from_batches([batch]))
            rows += batch.num_rows
            if most is not None and rows > most:
                rows, more = most, True
                break
        table = pa.concat_tables(tables, promote_options="permissive")
        table = table.slice(0, rows).combine_chunks()
        held = EventSource(table.schema, tuple(table.to_batches()), source.closed, rows)
        return held, rows, more

    if isinstance(events, dict) and events and all(name in query.streams for name in events):
        each = {name: kept(given, name) for name, given in events.items()}
        total = sum(rows for _, rows, _ in each.values())
        cut = any(more for *_, more in each.values())
        return KeptEvents({name: found[0] for name, found in each.items()}, Sample(total, cut))
    source, rows, more = kept(events, None)
    return KeptEvents(source, Sample(rows, more))


def first_events(kept: KeptEvents, most: int) -> KeptEvents:
    """Return the first of some events, of each stream so many."""

    def first(source: EventSource) -> EventSource:
        table = pa.Table.from_batches(source.batches, source.schema).slice(0, most)
        return EventSource(table.schema, tuple(table.to_batches()), source.closed, table.num_rows)

    if kept.sample.events <= most:
        return kept
    if isinstance(kept.source, dict):
        each = {name: first(source) for name, source in kept.source.items()}
        return KeptEvents(each, Sample(sum(source.rows or 0 for source in each.values()), True))
    return KeptEvents(first(kept.source), Sample(most, True))


@dataclass(slots=True)
class Evaluator:
    """Evaluates variants of a query on events that were kept."""

    query: Query
    events: KeptEvents
    options: ReadOptions
    limits: Limits
    """Those of the query itself."""
    until: Time | None = None
    _starts: dict[str, np.ndarray | None] = field(default_factory=dict)
    _counts: dict[str, int | None] = field(default_factory=dict)

    def variant(self, changed: tree.Query) -> Query | None:
        """Return a changed query; None where the change leaves no query that means something."""
        text = format_query(changed)
        source = Source(text, self.query.source.name)
        settings = dict(self.query.settings)
        named = [each.attribute for each in all_windows(self.query.tree) if each.attribute]
        if self.options.time is None and named:
            # A window names the time column, also of variants without it.
            settings["time"] = ".".join(named[0].names)
        try:
            variant = replace(
                self.query,
                source=source,
                tree=parse_source(source),
                warnings=(),
                settings=settings,
            )
            variant.plan  # noqa: B018 -- binds it
        except CeqlError:
            return None
        return variant

    def matches(self, variant: Query, limits: Limits | None = None) -> Matches:
        """Find the matches of a variant."""
        return find_matches(
            variant,
            self.events.source,
            with_settings(self.options, variant.settings),
            positions_only=False,
            limits=limits or VARIANT_LIMITS,
            until=self.until,
            silent=True,
        )

    def starts(self, changed: tree.Query) -> np.ndarray | None:
        """Return the positions at which matches of a pattern start, in order; None: not known.

        FIRST without variables keeps one match for each start.
        """
        select = tree.Selection(tree.Word("FIRST"), False, (), ())
        changed = replace(plain(changed), select=select)
        text = format_query(changed)
        if text not in self._starts:
            self._starts[text] = self._positions(changed, "start")
        return self._starts[text]

    def _positions(self, changed: tree.Query, column: str) -> np.ndarray | None:
        variant = self.variant(changed)
        if variant is None:
            return None
        try:
            table = self.matches(variant).to_arrow(columns=[column], max_rows=None)
        except BudgetError:
            return None
        return np.unique(table.column(column).to_numpy())

    def ends(self, changed: tree.Query) -> int | None:
        """Return how many events complete a match of a pattern about single events."""
        select = tree.Selection(None, False, (), ())
        found = self._positions(replace(plain(changed), window=None, select=select), "end")
        return None if found is None else len(found)

    def runs(self, changed: tree.Query) -> int | None:
        """Return how many matches a pattern has, whatever the clauses of the query choose."""
        return self.count(replace(plain(changed), select=tree.Selection(None, True, (), ())))

    def count(self, changed: tree.Query, limits: Limits | None = None) -> int | None:
        """Return how many matches a query has; None: not known."""
        text = format_query(changed)
        if text not in self._counts:
            try:
                found = self._counted(changed, limits)
            except BudgetError:
                found = None
            self._counts[text] = found
        return self._counts[text]

    def _counted(self, changed: tree.Query, limits: Limits | None) -> int | None:
        variant = self.variant(changed)
        if variant is None:
            return None
        if changed.select.everything and changed.limit is None and lists(variant):
            # count(*) has a limit on what is listed for one event.
            star = tree.Column(_COUNT, tree.Call(tree.Word("count"), (tree.Star(),)))
            select = tree.Selection(changed.select.strategy, False, (), (star,))
            variant = self.variant(replace(changed, select=select))
            assert variant is not None
            counts: list[int] = [row[_COUNT.text] for row in self.matches(variant, limits)]
            return sum(counts)
        return self.matches(variant, limits).count


_COUNT = tree.Word("n")


def plain(query: tree.Query) -> tree.Query:
    """Return a query without the clauses that choose among matches."""
    return replace(query, consume=None, limit=None, every=None, not_followed=None)


def with_split_conditions(query: Query) -> Query:
    """Return a query in which each condition stands by itself, with the same matches."""
    source = Source(format_query(split_conditions(query.tree)), query.source.name)
    return replace(query, source=source, tree=parse_source(source))


def lists(query: Query) -> bool:
    """Return whether only listing tells what is a match of a query."""
    plan = query.plan
    return plan.operator in ("reference", "count by listing") or plan.residual is not None


def evaluator(
    query: Query,
    events: EventsLike | KeptEvents,
    options: ReadOptions,
    limits: Limits,
    until: Time | None,
    most_events: int | None,
    *,
    splits: bool = True,
) -> Evaluator:
    """Read the events, as many as are looked at, for variants of a query.

    Args:
        most_events: how many; None: as many as take a bounded time.
        splits: whether variants are those of a query in which each condition stands by itself.
    """
    if isinstance(events, KeptEvents):
        kept = events
        _check_types(query, kept, options, limits)
    else:
        kept = look_at(query, events, options, limits, until, most_events)
    query = with_split_conditions(query) if splits else query
    return Evaluator(query, kept, options, limits, until)


def _check_types(query: Query, events: KeptEvents, options: ReadOptions, limits: Limits) -> None:
    """Bind a query to the columns of the events, so that errors show it as it was written."""
    mode = ExecutionMode(False, limits, silent=True)
    pipeline = Pipeline({"": query}, with_settings(options, query.settings), mode)
    with suppress(UnsupportedError):  # decided on listing
        pipeline.prepare(first_events(events, 1).source)


def look_at(
    query: Query,
    events: EventsLike,
    options: ReadOptions,
    limits: Limits,
    until: Time | None,
    most_events: int | None,
    clock: Callable[[], float] = process_time,
) -> KeptEvents:
    """Read the events that are looked at.

    Args:
        most_events: how many; None: as many as take a bounded time, which is measured on the first.
        clock: tells how much time has been spent, in seconds.
    """
    read = with_settings(options, query.settings)
    most = most_events
    if most is None:
        most = MOST_LISTED_EVENTS if lists(query) else MOST_EVENTS
    kept = keep_events(query, events, read, most)
    _check_types(query, kept, options, limits)
    number = _FIRST_EVENTS
    if most_events is not None or kept.sample.events <= number:
        return kept
    counted = replace(query.tree, select=tree.Selection(None, True, (), ()), every=None)
    # Once for kernels to be compiled.
    Evaluator(query, first_events(kept, 1), options, limits, until).count(counted)
    while number < kept.sample.events:
        some = Evaluator(query, first_events(kept, number), options, limits, until)
        begin = clock()
        known = some.count(counted) is not None
        share = _MOST_SECONDS / max(clock() - begin, 1e-6)
        if not known or share <= _GROWTH:
            return first_events(kept, int(number * max(share, 1)) if known else number)
        number *= _GROWTH
    return kept


_FIRST_EVENTS, _GROWTH = 20_000, 4
_MOST_SECONDS = 3.0
"""How long the query itself may take on the events; its variants take a few times as long."""
