"""A stream event by event: which states are alive, which partial matches, what each event did.

The runs are followed one event at a time (automata/trace.py), on symbols and values that are those
of the match operator. Which events complete a match is asked of the engine, since some conditions
are decided on listing only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.determine import Determined
from ensue.automata.draw import Drawing, draw
from ensue.automata.trace import Consumption, Observed, Tracer, TraceStep, TraceWindow
from ensue.engine.derived import DerivedOperator
from ensue.engine.pipeline import Pipeline, PreparedPush
from ensue.engine.query import Query
from ensue.errors import Source
from ensue.insight.evaluation import Evaluator, KeptEvents, evaluator, first_events
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.operators.match import MatchOperator
from ensue.options import EventsLike, Limits, ReadOptions, with_settings
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import consumption
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import UnsupportedError
from ensue.results.explanation import own_names
from ensue.stream.batch import EventBatch
from ensue.stream.keys import read_keys, read_ordinals, read_streams
from ensue.stream.times import Time

MOST_EVENTS = 2_000
"""So many events are stepped through, from the first on."""

_MOST_LISTED = 100_000
"""Of more matches, those that the first events complete are counted."""

_MOST_PARTIAL = 12
"""So many partial matches are shown after each event, those with the most events first."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Partial matches that go on in the same way, and the events of one of them."""

    start: int
    """The position where they begin."""
    state: int
    runs: int
    """How many there are."""
    bindings: dict[str, list[int]]
    """By variable, the positions of the events of one of them."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An event, what it did, and what is alive after it."""

    position: int
    row: int
    """The position of the event of the input that brought it: of its own, but on derived streams
    that of the event that completed it."""
    event: dict[str, Any]
    started: bool
    bound: dict[str, int]
    """By variable, in how many runs the event was bound to it."""
    completed: int
    """How many runs of the automaton it completed."""
    matches: int
    """How many matches it completed, with all that is decided after the automaton."""
    expired: int
    """How many runs ended because the window is over."""
    stopped: int
    """How many because no step of the automaton takes the event."""
    refused: int
    """How many because a condition between events does not hold."""
    consumed: int
    """How many were forgotten by CONSUME BY."""
    states: tuple[int, ...]
    runs: int
    """How many partial matches are alive."""
    partial: tuple[Partial, ...]


@dataclass(frozen=True, slots=True)
class Stepping:
    """A stream event by event."""

    automaton: Drawing | None
    """None: the query is not evaluated by one automaton, and `why` says so."""
    why: str
    moments: tuple[Moment, ...]
    more: bool
    """Whether there are events after these."""
    late: tuple[str, ...]
    """What is decided when matches are listed, and not by the automaton."""
    stream: str = ""
    """The derived stream whose query this is; of the query itself, nothing."""


def step_levels(
    query: Query,
    events: EventsLike | KeptEvents,
    options: ReadOptions,
    limits: Limits,
    until: Time | None = None,
    most_events: int = MOST_EVENTS,
) -> tuple[Stepping, ...]:
    """Follow the queries of all derived streams through the events that they read, then the query.

    Without derived streams this is the query alone.
    """
    if not isinstance(events, KeptEvents):
        events = evaluator(query, events, options, limits, until, most_events, splits=False).events
    found = []
    for name, level in _levels(query):
        own = events
        if isinstance(events.source, dict):
            read = {name: each for name, each in events.source.items() if name in level.streams}
            own = KeptEvents(read, events.sample)
        stepping = step_through(level, own, options, limits, until, most_events)
        found.append(replace(stepping, stream=name))
    return tuple(found)


def _levels(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield each derived stream with its query, on the streams before it; then the query."""
    for number, made in enumerate(query.tree.derived):
        before = query.tree.derived[:number]
        level = replace(made.query, streams=query.tree.streams, derived=before)
        source = Source(format_query(level), query.source.name)
        yield (
            made.name.text,
            replace(query, source=source, tree=parse_source(source), warnings=()),
        )
    yield "", query


def step_through(
    query: Query,
    events: EventsLike | KeptEvents,
    options: ReadOptions,
    limits: Limits,
    until: Time | None = None,
    most_events: int = MOST_EVENTS,
) -> Stepping:
    """Follow a query through the first events of a stream."""
    if isinstance(events, KeptEvents):
        events = first_events(events, most_events)
    engine = evaluator(query, events, options, limits, until, most_events, splits=False)
    select = tree.Selection(query.tree.select.strategy, True, (), ())
    variant = engine.variant(replace(query.tree, select=select, every=None))
    assert variant is not None
    counts = any(each.counts_matches for each in query.tree.select.columns)
    read = with_settings(options, variant.settings)
    operator, batches, brought = _opened(variant, engine, read, limits)
    if operator is None or not batches:
        why = _EMPTY if operator else "the query is evaluated by definition, without an automaton"
        return Stepping(None, why, (), engine.events.sample.more, ())
    ends = _ends(engine, variant if counts else query, limits)
    consume = cast(Consumption, consumption(operator.bound))
    determined = Determined(operator.compiled, limits.states)
    drawing = draw(operator.compiled, determined=determined)
    tracer = Tracer(determined, _window(operator), consume)
    waits = operator.pending is not None
    observed = [each for batch in batches for each in _observed(operator, batch)]
    completes = frozenset() if waits else frozenset(ends)
    rows = [row for batch in batches for row in batch.table.to_pylist()]
    types = [kind for batch in batches for kind in batch.types.to_pylist()]
    names = _Names(operator.compiled, types)
    moments = tuple(
        _moment(number, row, event, step, ends[number], names)
        for number, (row, event, step) in enumerate(
            zip(brought, rows, tracer.steps(observed, completes), strict=False)
        )
    )
    more = engine.events.sample.more or len(moments) < len(observed)
    late = () if operator.residual is None else operator.residual.unbounded
    return Stepping(drawing, "", moments, more, (*late, *(("NOT FOLLOWED BY",) if waits else ())))


_EMPTY = "there are no events"


def _opened(
    query: Query, engine: Evaluator, options: ReadOptions, limits: Limits
) -> tuple[MatchOperator | None, list[EventBatch], list[int]]:
    """Bind a query to the events; return its operator, and the events that it reads in order.

    The last list has for each of them the position of the event of the input that brought it.
    """
    for defers in (False, True):
        mode = ExecutionMode(False, limits, silent=True, defers=defers)
        pipeline = Pipeline({"": query}, options, mode)
        source = engine.events.source
        if isinstance(source, dict):
            read = pipeline.conformer.merge(source)
        else:
            read = pipeline.conformer.read(source)
        prepared = pipeline.check(read)
        operator = prepared.instances[""].operator
        try:
            if isinstance(operator, DerivedOperator):
                batches, brought = _read_by_last(pipeline, prepared, operator, engine.until)
                operator = operator.open_levels()[-1].operator
            else:
                batches = _in_order(prepared)
                brought = list(range(sum(len(each.times) for each in batches)))
            if not isinstance(operator, MatchOperator):
                return None, [], []
            for batch in batches:
                operator.check(batch)
        except UnsupportedError:
            continue
        return operator, batches, brought
    return None, [], []


def _in_order(prepared: PreparedPush) -> list[EventBatch]:
    reorder, checked = prepared.reorder, prepared.checked
    if prepared.waits:
        batches = [reorder.add(checked), reorder.finish()]
    else:
        batches = [reorder.next_batch(checked)]
    return [each for each in batches if len(each.times)]


def _read_by_last(
    pipeline: Pipeline, prepared: PreparedPush, operator: DerivedOperator, until: Time | None
) -> tuple[list[EventBatch], list[int]]:
    """Run a query on derived streams; return what its last level reads, and what brought it."""
    batches: list[EventBatch] = []
    brought: list[int] = []

    def watch(name: str, batch: EventBatch, rows: np.ndarray) -> None:
        if not name and len(rows):
            batches.append(batch)
            # What the end of the input decides is brought by its last event.
            brought.extend(np.where(rows < 0, pipeline.released - 1, rows).tolist())

    operator.watch = watch
    pipeline.apply(prepared)
    if pipeline.stopped is None:
        pipeline.finish(until)
    if pipeline.stopped is not None:
        raise pipeline.stopped
    return batches, brought


def _ends(engine: Evaluator, query: Query, limits: Limits) -> Counter[int]:
    """Return how many matches each event completes."""
    found = engine.matches(query, limits).head(_MOST_LISTED)
    return Counter(found.to_arrow(columns=["end"]).column("end").to_pylist())


def _window(operator: MatchOperator) -> TraceWindow | None:
    window = operator.bound.window
    if window is None:
        return None
    return TraceWindow(window.size, operator.keys is not None and window.kind == "events")


def _observed(operator: MatchOperator, stream: EventBatch) -> Iterator[Observed]:
    """Read a batch as the match operator does."""
    batch = Batch(stream.table, stream.types)
    values = operator.encoder.encode(batch)
    asks = any(isinstance(each, AtStart) for each in operator.compiled.predicates)
    keys, opens = read_keys(operator.keys, stream, openings=asks)
    symbols = operator.alphabet.read(batch, read_streams(stream), opens)
    clocks = np.ascontiguousarray(stream.times)
    numbers = None
    if operator.bound.counts_events:
        numbers, _ = read_ordinals(operator.keys, stream, keys)
    operator.encoder.fill_clocks(values, clocks, numbers)
    window = operator.bound.window
    if window is not None and window.kind == "events":
        assert numbers is not None
        clocks = numbers
    for row in range(len(clocks)):
        yield Observed(
            operator.alphabet.bits[symbols[row]],
            int(keys[row]) if operator.keys is not None else 0,
            int(clocks[row]),
            tuple(map(int, values[row])),
        )


@dataclass(frozen=True, slots=True)
class _Names:
    """The variables of labels; one that is named like the event's type only where it is alone."""

    compiled: Compiled
    types: list[str | None]

    def of(self, position: int, label: int) -> tuple[str, ...]:
        variables = self.compiled.variables
        bound = [name for bit, name in enumerate(variables) if label >> bit & 1]
        return own_names(sorted(bound), self.types[position])

    def bindings(self, word: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, label in word:
            for name in self.of(position, label):
                found.setdefault(name, []).append(position)
        return found


def _moment(
    position: int,
    row: int,
    event: dict[str, Any],
    step: TraceStep,
    matches: int,
    names: _Names,
) -> Moment:
    bound: Counter[str] = Counter()
    for label, runs in step.bound.items():
        for name in names.of(position, label):
            bound[name] += runs
    alive = sorted(step.alive.items(), key=lambda each: (-len(each[1].word), -each[0].start))
    return Moment(
        position,
        row,
        event,
        step.started,
        dict(sorted(bound.items())),
        step.completed,
        matches,
        step.expired,
        step.stopped,
        step.refused,
        step.consumed,
        tuple(sorted(step.states)),
        sum(shared.runs for shared in step.alive.values()),
        tuple(
            Partial(each.start, each.state, shared.runs, names.bindings(shared.word))
            for each, shared in alive[:_MOST_PARTIAL]
        ),
    )
