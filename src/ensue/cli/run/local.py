"""A run in this process: events read bit by bit, pushed into a session, matches written at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from time import perf_counter, sleep
from typing import Any

import typer

from ensue.cli.run.checkpoint import (
    Checkpoint,
    Saver,
    read_checkpoint,
    refuse_other_files,
    refuse_other_run,
)
from ensue.cli.run.events import Events, Step, by_stream
from ensue.cli.run.identity import run_identity
from ensue.cli.run.options import RunOptions, refuse_conflicts
from ensue.cli.run.progress import Progress, progress
from ensue.cli.run.rejecting import RejectedEvents, located
from ensue.cli.run.rules import (
    RuleMatches,
    RuleSession,
    RuleSet,
    refuse_other_streams,
    remark_counts,
)
from ensue.cli.run.sinks import open_matches, open_rejected
from ensue.cli.run.stopping import Stopper, StopRequestError, stopper
from ensue.cli.run.ticking import Ticker
from ensue.cli.run.writing import Sink, TextSink
from ensue.cli.terminal import count, remark
from ensue.engine.query import Query
from ensue.engine.session import Session
from ensue.options import OnError, ReadOptions, ResultOptions, ThreadOptions, chosen
from ensue.results.matches import Matches
from ensue.stream.times import Time

_POLL_SECONDS = 0.2
"""How long a file that is followed is left alone before it is looked at again."""


def execute(
    query: Query | RuleSet,
    paths: Mapping[str, Sequence[str]],
    given: Mapping[str, Any],
    options: RunOptions,
    mentioned: Collection[str],
) -> None:
    """Run a query on files, and say at the end how much was found.

    Args:
        query: what to look for.
        paths: the files of each stream.
        given: the options that Python has too, by their names there.
        options: the options that only the command line has.
        mentioned: names that a narrow table shows before others.
    """
    refuse_conflicts(paths, options)
    queries = _queries(query)
    refuse_other_streams(queries)
    paths = by_stream(paths, queries[0])
    before = None if options.checkpoint is None else read_checkpoint(options.checkpoint)
    identity = run_identity(query, given, options)
    if before is not None:
        assert options.checkpoint is not None
        refuse_other_run(options.checkpoint, before.about, identity)
        if before.finished:
            remark(
                f"{options.checkpoint}: this run is complete; remove the checkpoint to run it again"
            )
            return
    with stopper() as stops:
        try:
            _start(query, paths, given, options, mentioned, stops, before, identity)
        except StopRequestError as request:
            remark("stopped before the first event")
            raise typer.Exit(request.code) from None


def _start(
    query: Query | RuleSet,
    paths: Mapping[str, Sequence[str]],
    given: Mapping[str, Any],
    options: RunOptions,
    mentioned: Collection[str],
    stops: Stopper,
    before: Checkpoint | None,
    identity: Mapping[str, Any],
) -> None:
    """Open everything, at its beginning or at the checkpoint, and run."""
    savers: list[Saver] = []
    tickers: list[Ticker] = []

    def wait() -> bool:
        for ticker in tickers:
            with stops.step():
                ticker.idle()
        for saver in savers:
            saver.idle()
        sleep(_POLL_SECONDS)
        return True

    start = None if before is None else before.position
    collect = options.rejected is not None
    queries = _queries(query)
    read = chosen(ReadOptions, given)
    events = Events(paths, queries, read, start, wait if options.follow else None, collect=collect)
    if before is not None and options.checkpoint is not None:
        refuse_other_files(options.checkpoint, before, events.files, follow=options.follow)
    on_error: OnError = "collect" if collect else "raise"
    session = (
        query.open(**given, on_error=on_error)
        if before is None
        else query.resume(before.session, on_error=on_error, **_limits(given))
    )
    rows = 0 if before is None else before.rows
    positions_only = chosen(ResultOptions, given).positions_only
    needs = events.needs(queries, read, positions_only, options.show_events)
    with (
        open_matches(options, before, mentioned, read.type) as sink,
        open_rejected(options, before) as rejected,
    ):
        if options.checkpoint is not None:
            assert isinstance(sink, TextSink)
            saver = Saver(
                options.checkpoint,
                identity,
                events.files,
                options.checkpoint_every,
                session.snapshot,
                sink.offset,
                rejected=(lambda: (0, 0)) if rejected is None else rejected.position,
            )
            saver.started(rows)
            savers.append(saver)
        if options.tick is not None:
            tickers.append(Ticker(session, sink, options.tick))
        # Where checkpoints are written, their interval says how much is read between two of them.
        threads = 1 if savers else chosen(ThreadOptions, given).number
        steps = events.steps(needs, threads)
        run = _run(session, steps, sink, rejected, stops, savers, rows, options.until)
        summed, stopped = run
    if rejected is not None:
        rejected.show()
    if stopped is not None:
        remark(f"stopped: {summed}")
        raise typer.Exit(stopped.code)
    remark(summed)
    if isinstance(session, RuleSession):
        remark_counts(session.stats["queries"])


def _queries(query: Query | RuleSet) -> list[Query]:
    return [query] if isinstance(query, Query) else query.queries


def _limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits, which may change when a run is continued."""
    return {name: value for name, value in given.items() if name.startswith("max_")}


def _run(
    session: Session | RuleSession,
    steps: Iterator[Step],
    sink: Sink,
    rejected: RejectedEvents | None,
    stops: Stopper,
    savers: Sequence[Saver],
    rows: int,
    until: Time | None,
) -> tuple[str, StopRequestError | None]:
    """Read, push and write to the end of input or until a signal; return the summary."""
    started = perf_counter()
    last: Matches | RuleMatches | None = None
    stopped: StopRequestError | None = None
    try:
        with progress() as report:
            _push_all(session, steps, sink, rejected, stops, savers, report, rows)
        with stops.step():
            last = session.finish(at=until)
            sink.write(last)
    except StopRequestError as request:
        stopped = request
    stops.closing()
    sink.finish(last)
    if not stops.broke_off:
        for saver in savers:
            saver.save(finished=last is not None)
    gives_rows = isinstance(last, Matches) and last.schema.totals is not None
    return summary(session.stats, perf_counter() - started, rows=gives_rows), stopped


def _push_all(
    session: Session | RuleSession,
    steps: Iterator[Step],
    sink: Sink,
    rejected: RejectedEvents | None,
    stops: Stopper,
    savers: Sequence[Saver],
    report: Progress,
    before: int,
) -> None:
    """Push step after step; `before` events were read by runs before this one."""
    done = 0
    for step in steps:
        with stops.step():
            bad = list(step.rejected)
            if step.events is not None:
                found = session.push(step.events, first_row=before + done)
                sink.write(found)
                bad += located(found.rejected, step.locate) if rejected is not None else ()
            if rejected is not None and bad:
                rejected.write(sorted(bad, key=lambda each: each.line or 0))
            for saver in savers:
                saver.step(step.rows, step.position)
        done += step.rows
        report(done, int(done / step.fraction) if step.fraction else None)


def summary(stats: Mapping[str, Any], seconds: float, *, rows: bool) -> str:
    """Say how much was found in how many events, and how long it took."""
    found = ("row", "rows") if rows else ("match", "matches")
    text = (
        f"{count(stats['matches'], *found)} in {count(stats['events'], 'event')}, {seconds:.2f} s"
    )
    if stats["late"]:
        text += f"; {count(stats['late'], 'event')} came too late and took no part"
    if stats["nulls"]:
        text += f"; {count(stats['nulls'], 'calculation')} without a value"
    return text
