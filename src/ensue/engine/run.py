"""From a query and events to matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from ensue.engine.pipeline import Pipeline, PreparedPush
from ensue.engine.query import Query
from ensue.engine.session import LiveStream
from ensue.engine.unseen import warn_of
from ensue.errors import EventError
from ensue.operators.reference import ReferenceOperator
from ensue.options import DEFAULT_LIMITS, Limits, ReadOptions, with_settings
from ensue.plan.mode import ExecutionMode
from ensue.predicates.vectors import UnsupportedError
from ensue.results.chunk import ResultChunk, ResultChunks
from ensue.results.input_summary import InputSummary
from ensue.results.matches import Matches
from ensue.stream.batch import read_once
from ensue.stream.conform import ConformedInput
from ensue.stream.times import Time

_NAME = ""
"""What the one query of a pipeline is called."""


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
    until: Time | None = None,
    silent: bool = False,
    threads: int = 1,
) -> Matches:
    """Read events, bind the query to their columns, and evaluate it.

    Events that come in batches are evaluated batch by batch, as matches are asked for.
    What the kernels do not cover is evaluated by definition, and so is everything when asked for.
    """
    mode = ExecutionMode(
        positions_only,
        limits,
        by_definition=by_definition,
        compact_always=compact_always,
        warns=not by_definition and not silent,
        silent=silent,
        exact=exact,
        threads=threads,
    )
    pipeline = Pipeline({_NAME: query}, with_settings(options, query.settings), mode)
    reads = pipeline.conformer.batches(events)
    if reads is None:
        return _of_whole(pipeline, _read_whole(pipeline, events), until)
    first = next(reads)
    prepared = pipeline.check(first)
    instance = prepared.instances[_NAME]
    if isinstance(instance.operator, ReferenceOperator) and instance.operator.plan.window is None:
        return _of_whole(pipeline, _joined(first, reads), until)
    account = InputSummary(instance.tally)
    chunks = _chunks(pipeline, prepared, reads, account, until)
    return Matches(instance.schema, _refusing(chunks), account, live=True)


def _of_whole(pipeline: Pipeline, read: ConformedInput, until: Time | None) -> Matches:
    """Evaluate a query on events that are all there."""
    account = InputSummary()
    prepared = pipeline.check(read)
    try:
        chunks = list(_chunks(pipeline, prepared, iter(()), account, until))
    except UnsupportedError:  # values that no register can hold
        mode = replace(pipeline.mode, defers=True, by_definition=pipeline.mode.defers)
        return _of_whole(Pipeline(pipeline.queries, pipeline.options, mode), read, until)
    instance = prepared.instances[_NAME]
    account.tally = instance.tally
    return Matches(instance.schema, iter(chunks), account, live=False)


def _chunks(
    pipeline: Pipeline,
    prepared: PreparedPush,
    more: Iterator[ConformedInput],
    account: InputSummary,
    until: Time | None,
) -> Iterator[ResultChunk]:
    """Push batch after batch; each chunk has the events that its matches need."""
    for found in _steps(pipeline, prepared, more, account, until):
        yield from found[_NAME]


def _steps(
    pipeline: Pipeline,
    prepared: PreparedPush,
    more: Iterator[ConformedInput],
    account: InputSummary,
    until: Time | None,
) -> Iterator[ResultChunks]:
    """Push batch after batch; give what each completes, by query."""
    rows = 0
    while True:
        rows += prepared.input.batch.table.num_rows
        account.add(prepared.late, prepared.rejected)
        yield _whole(pipeline, pipeline.apply(prepared))
        account.events = pipeline.released
        read = next(more, None)
        if read is None:
            break
        prepared = pipeline.check(read, rows)
    if pipeline.reorder is not None:
        yield _whole(pipeline, pipeline.finish(until))
        account.events = pipeline.released
        if not pipeline.mode.silent:
            warn_of(pipeline.silences())


def _whole(pipeline: Pipeline, found: ResultChunks) -> ResultChunks:
    """Raise what kept a query from reading everything."""
    if pipeline.stopped is not None:
        raise pipeline.stopped
    return found


def find_all(
    queries: Mapping[str, Query],
    events: object,
    options: ReadOptions,
    mode: ExecutionMode,
    until: Time | None = None,
) -> dict[str, Matches]:
    """Find the matches of many queries, each as if it were alone, in one pass over the events."""
    pipelines = LiveStream(queries, options, mode).pipelines
    if len(pipelines) > 1:
        events = read_once(events)
    found: dict[str, Matches] = {}
    for pipeline in pipelines:
        found |= _find_in_pipeline(pipeline, events, until)
    return {name: found[name] for name in queries}


def _find_in_pipeline(pipeline: Pipeline, events: object, until: Time | None) -> dict[str, Matches]:
    reads = pipeline.conformer.batches(events)
    live = reads is not None
    if reads is None:
        reads = iter([_read_whole(pipeline, events)])
    account = InputSummary()
    chunks: ResultChunks = {name: [] for name in pipeline.queries}
    try:
        prepared = pipeline.check(next(reads))
        pipeline.execution.ends = not live and not prepared.waits
        for step in _steps(pipeline, prepared, reads, account, until):
            for name, some in step.items():
                chunks[name] += some
    except UnsupportedError as error:
        if live:
            raise _cannot_keep(error) from error
        # Values that no register can hold: those queries that have them need to know before.
        mode = pipeline.mode
        return {
            name: find_matches(
                replace(query, source=replace(query.source, name=name)),
                events,
                pipeline.options,
                positions_only=mode.positions_only,
                limits=mode.limits,
                until=until,
                threads=mode.threads,
            )
            for name, query in pipeline.queries.items()
        }
    return {
        name: Matches(
            instance.schema, iter(chunks[name]), replace(account, tally=instance.tally), live=False
        )
        for name, instance in prepared.instances.items()
    }


def _read_whole(pipeline: Pipeline, events: object) -> ConformedInput:
    """Read events that are all there; those of streams by their names."""
    if not isinstance(events, Mapping):
        return pipeline.conformer.read(events)
    _check_streams(events, pipeline.conformer.sources)
    return pipeline.conformer.merge(events)


def _refusing(chunks: Iterator[ResultChunk]) -> Iterator[ResultChunk]:
    """Say what to do about values that only an evaluation of the whole can compare."""
    try:
        yield from chunks
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
    """Put all batches together."""
    every = [first.batch, *(read.batch for read in more)]
    if len(every) == 1:
        return first
    types = [chunk.cast(pa.string()) for each in every for chunk in each.types.chunks]
    tables = [each.table for each in every]
    batch = first.batch._replace(
        table=pa.concat_tables(tables, promote_options="permissive"),
        types=pa.chunked_array(types, pa.string()),
    )
    return first._replace(batch=batch)
