"""From a query and events to matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from ensue.engine.pipeline import ExecutionMode, Pipeline, PreparedPush
from ensue.engine.query import Query
from ensue.engine.sessions import Sessions
from ensue.engine.unseen import warn_of
from ensue.errors import EventError
from ensue.operators.reference import ReferenceOperator
from ensue.options import DEFAULT_LIMITS, Limits, ReadOptions, with_settings
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.results.matches import InputSummary, Matches
from ensue.stream.batch import read_once
from ensue.stream.conform import ConformedInput

_NAME = ""
"""What the one query of a lane is called."""


def find_matches(
    query: Query,
    events: object,
    options: ReadOptions,
    *,
    positions_only: bool,
    by_definition: bool = False,
    compact_always: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    exact: bool = False,
) -> Matches:
    """Read events, bind the query to their columns, and evaluate it.

    Events that come bit by bit are evaluated bit by bit, as somebody asks for the matches.
    What the kernels do not cover is evaluated by definition, and so is everything when asked for.
    """
    manner = ExecutionMode(
        positions_only,
        limits,
        by_definition=by_definition,
        compact_always=compact_always,
        warns=not by_definition,
        exact=exact,
    )
    lane = Pipeline({_NAME: query}, with_settings(options, query.settings), manner)
    reads = lane.intake.batches(events)
    if reads is None:
        return _of_whole(lane, _read_whole(lane, events))
    first = next(reads)
    prepared = lane.check(first)
    member = prepared.members[_NAME]
    if isinstance(member.recogniser, ReferenceOperator) and member.recogniser.plan.window is None:
        return _of_whole(lane, _joined(first, reads))
    account = InputSummary(member.tally)
    pieces = _pieces(lane, prepared, reads, account)
    return Matches(member.shape, _refusing(pieces), account, live=True)


def _of_whole(lane: Pipeline, read: ConformedInput) -> Matches:
    """Evaluate a query on events that are all there."""
    account = InputSummary()
    prepared = lane.check(read)
    try:
        pieces = list(_pieces(lane, prepared, iter(()), account))
    except UnsupportedError:  # values that no register can hold
        manner = replace(lane.manner, defers=True, by_definition=lane.manner.defers)
        return _of_whole(Pipeline(lane.queries, lane.options, manner), read)
    member = prepared.members[_NAME]
    account.tally = member.tally
    return Matches(member.shape, iter(pieces), account, live=False)


def _pieces(
    lane: Pipeline, prepared: PreparedPush, more: Iterator[ConformedInput], account: InputSummary
) -> Iterator[ResultChunk]:
    """Push stretch after stretch; each piece has the events that its matches need."""
    for found in _steps(lane, prepared, more, account):
        yield from found[_NAME]


def _steps(
    lane: Pipeline, prepared: PreparedPush, more: Iterator[ConformedInput], account: InputSummary
) -> Iterator[ResultChunks]:
    """Push stretch after stretch; give what each completes, by query."""
    rows = 0
    while True:
        rows += prepared.read.loaded.table.num_rows
        account.add(prepared.late, prepared.aside)
        yield _whole(lane, lane.apply(prepared))
        account.events = lane.released
        read = next(more, None)
        if read is None:
            break
        prepared = lane.check(read, rows)
    if lane.feed is not None:
        yield _whole(lane, lane.finish())
        account.events = lane.released
        warn_of(lane.silences())


def _whole(lane: Pipeline, found: ResultChunks) -> ResultChunks:
    """Raise what kept a query from reading everything."""
    if lane.stopped is not None:
        raise lane.stopped
    return found


def find_all(
    queries: Mapping[str, Query], events: object, options: ReadOptions, manner: ExecutionMode
) -> dict[str, Matches]:
    """Find the matches of many queries, each as if it were alone, in one pass over the events."""
    lanes = Sessions(queries, options, manner).lanes
    if len(lanes) > 1:
        events = read_once(events)
    found: dict[str, Matches] = {}
    for lane in lanes:
        found |= _find_in_lane(lane, events)
    return {name: found[name] for name in queries}


def _find_in_lane(lane: Pipeline, events: object) -> dict[str, Matches]:
    reads = lane.intake.batches(events)
    live = reads is not None
    if reads is None:
        reads = iter([_read_whole(lane, events)])
    account = InputSummary()
    pieces: ResultChunks = {name: [] for name in lane.queries}
    try:
        prepared = lane.check(next(reads))
        for step in _steps(lane, prepared, reads, account):
            for name, some in step.items():
                pieces[name] += some
    except UnsupportedError as error:
        if live:
            raise _cannot_keep(error) from error
        # Values that no register can hold: those queries that have them need to know before.
        manner = lane.manner
        return {
            name: find_matches(
                replace(query, source=replace(query.source, name=name)),
                events,
                lane.options,
                positions_only=manner.positions_only,
                limits=manner.limits,
            )
            for name, query in lane.queries.items()
        }
    return {
        name: Matches(
            member.shape, iter(pieces[name]), replace(account, tally=member.tally), live=False
        )
        for name, member in prepared.members.items()
    }


def _read_whole(lane: Pipeline, events: object) -> ConformedInput:
    """Read events that are all there; those of streams by their names."""
    if not isinstance(events, Mapping):
        return lane.intake.read(events)
    _check_streams(events, lane.intake.sources)
    return lane.intake.merge(events)


def _refusing(pieces: Iterator[ResultChunk]) -> Iterator[ResultChunk]:
    """Say what to do about values that only an evaluation of the whole can compare."""
    try:
        yield from pieces
    except UnsupportedError as error:
        raise _cannot_keep(error) from error


def _cannot_keep(error: UnsupportedError) -> EventError:
    return EventError(
        f"a condition compares values that a stream cannot keep ({error}); pass the events as a "
        "table instead"
    )


def _check_streams(events: Mapping[str, object], sources: Sequence[str]) -> None:
    """Check that every stream of FROM has events, and no other."""
    missing = [name for name in sources if name not in events]
    unknown = [name for name in events if name not in sources]
    if missing or unknown:
        name = (missing or unknown)[0]
        verb = "has no events" if missing else "is not among the streams of FROM"
        raise EventError(f"the stream '{name}' {verb}; FROM has {', '.join(sources)}")


def _joined(first: ConformedInput, more: Iterator[ConformedInput]) -> ConformedInput:
    """Put all stretches together."""
    every = [first.loaded, *(read.loaded for read in more)]
    if len(every) == 1:
        return first
    types = [chunk.cast(pa.string()) for each in every for chunk in each.types.chunks]
    tables = [each.table for each in every]
    loaded = replace(
        first.loaded,
        table=pa.concat_tables(tables, promote_options="permissive"),
        types=pa.chunked_array(types, pa.string()),
    )
    return replace(first, loaded=loaded)
