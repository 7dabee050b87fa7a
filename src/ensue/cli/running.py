"""A run: events read bit by bit, pushed into a session, and the matches written as they come."""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from typing import Any

import typer
from rich.console import Console

from ensue.cli.checkpoint import (
    Checkpoint,
    Saver,
    open_output,
    read_checkpoint,
    refuse_other_files,
    refuse_other_run,
)
from ensue.cli.events import Events, Step, by_stream
from ensue.cli.inputs import STDIN
from ensue.cli.plan import Format, Plan
from ensue.cli.progress import Told, progress
from ensue.cli.rejecting import RejectedEvents, located
from ensue.cli.rules import (
    RuleMatches,
    RuleSession,
    RuleSet,
    refuse_other_streams,
    remark_counts,
)
from ensue.cli.stopping import Stopper, StopRequestError, stopper
from ensue.cli.terminal import UsageError, count, output, remark
from ensue.cli.writing import Sink, TextSink, open_sink
from ensue.engine.query import Query
from ensue.engine.session import Session
from ensue.io.files import COMPRESSED
from ensue.io.replacing import replacing
from ensue.options import OnError, ReadOptions, ResultOptions, chosen
from ensue.results.display import MatchTable
from ensue.results.matches import Matches
from ensue.results.tables import Layout

_POLL = 0.2
"""So many seconds pass before a file that is followed is looked at again."""


def execute(
    query: Query | RuleSet,
    paths: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    plan: Plan,
    mentioned: Collection[str],
) -> None:
    """Run a query on files, and say at the end how much was found."""
    _refuse_impossible(paths, plan)
    queries = _queries(query)
    refuse_other_streams(queries)
    paths = by_stream(paths, queries[0])
    before = None if plan.checkpoint is None else read_checkpoint(plan.checkpoint)
    about = _about(query, options, plan)
    if before is not None:
        assert plan.checkpoint is not None
        refuse_other_run(plan.checkpoint, before.about, about)
        if before.finished:
            remark(
                f"{plan.checkpoint}: this run is complete; remove the checkpoint to run it again"
            )
            return
    with stopper() as stops:
        try:
            _start(query, paths, options, plan, mentioned, stops, before, about)
        except StopRequestError as request:
            remark("stopped before the first event")
            raise typer.Exit(request.code) from None


def _start(
    query: Query | RuleSet,
    paths: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    plan: Plan,
    mentioned: Collection[str],
    stops: Stopper,
    before: Checkpoint | None,
    about: Mapping[str, Any],
) -> None:
    """Open everything, at its beginning or where it was left, and run."""
    savers: list[Saver] = []

    def wait() -> bool:
        for saver in savers:
            saver.idle()
        clock.sleep(_POLL)
        return True

    start = None if before is None else before.position
    collect = plan.rejected is not None
    queries = _queries(query)
    read = chosen(ReadOptions, options)
    events = Events(paths, queries, read, start, wait if plan.follow else None, collect=collect)
    if before is not None and plan.checkpoint is not None:
        refuse_other_files(plan.checkpoint, before, events.files, follow=plan.follow)
    on_error: OnError = "collect" if collect else "raise"
    session = (
        query.open(**options, on_error=on_error)
        if before is None
        else query.resume(before.session, on_error=on_error, **_limits(options))
    )
    rows = 0 if before is None else before.rows
    positions_only = chosen(ResultOptions, options).positions_only
    needs = events.needs(queries, read, positions_only, plan.show_events)
    with (
        _opened(plan, before, mentioned, read.type) as sink,
        _collecting(plan, before) as rejected,
    ):
        if plan.checkpoint is not None:
            assert isinstance(sink, TextSink)
            saver = Saver(
                plan.checkpoint,
                about,
                events.files,
                plan.every,
                session.snapshot,
                sink.offset,
                rejected=(lambda: (0, 0)) if rejected is None else rejected.position,
            )
            saver.started(rows)
            savers.append(saver)
        steps = events.steps(needs)
        said, stopped = _run(session, steps, sink, rejected, stops, savers, rows)
    if rejected is not None:
        rejected.show()
    if stopped is not None:
        remark(f"stopped: {said}")
        raise typer.Exit(stopped.code)
    remark(said)
    if isinstance(session, RuleSession):
        remark_counts(session.stats["queries"])


def _queries(query: Query | RuleSet) -> list[Query]:
    return [query] if isinstance(query, Query) else query.queries


def _run(
    session: Session | RuleSession,
    steps: Iterator[Step],
    sink: Sink,
    rejected: RejectedEvents | None,
    stops: Stopper,
    savers: Sequence[Saver],
    rows: int,
) -> tuple[str, StopRequestError | None]:
    """Read, push and write until all is done, or somebody asks to stop; return what to say."""
    started = clock.perf_counter()
    last: Matches | RuleMatches | None = None
    stopped: StopRequestError | None = None
    try:
        with progress() as tell:
            _push_all(session, steps, sink, rejected, stops, savers, tell, rows)
        with stops.step():
            last = session.finish()
            sink.write(last)
    except StopRequestError as request:
        stopped = request
    stops.closing()
    sink.finish(last)
    if not stops.broke_off:
        for saver in savers:
            saver.save(finished=last is not None)
    gives_rows = isinstance(last, Matches) and last.schema.totals is not None
    said = summary(session.stats, clock.perf_counter() - started, rows=gives_rows)
    return said, stopped


def _push_all(
    session: Session | RuleSession,
    steps: Iterator[Step],
    sink: Sink,
    rejected: RejectedEvents | None,
    stops: Stopper,
    savers: Sequence[Saver],
    tell: Told,
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
        tell(done, int(done / step.part) if step.part else None)


@contextmanager
def _opened(
    plan: Plan, before: Checkpoint | None, mentioned: Collection[str], type_column: str
) -> Iterator[Sink]:
    """Open what matches are written to."""
    if plan.format is Format.TABLE:
        table = MatchTable(plan.show_events, plan.most_rows, type_column, mentioned)
        if plan.out is None:
            yield _TableSink(table, output(), plan.follow)
            return
        with (
            nullcontext(plan.out) if plan.follow else replacing(plan.out) as target,
            target.open("w", encoding="utf-8") as file,
        ):
            yield _TableSink(table, output(file), plan.follow)
    elif plan.checkpoint is not None:
        assert plan.out is not None
        has_header = before is not None and before.output > 0
        with open_output(plan.out, None if before is None else before.output) as file:
            yield TextSink(plan.format, file, _layout(plan), has_header=has_header)
    else:
        with open_sink(plan.format, plan.out, layout=_layout(plan), in_place=plan.follow) as sink:
            yield sink


@contextmanager
def _collecting(plan: Plan, before: Checkpoint | None) -> Iterator[RejectedEvents | None]:
    """Open what rejected events are written to."""
    if plan.rejected is None:
        yield None
    elif plan.checkpoint is not None:
        length, number = (None, 0) if before is None else before.rejected
        with open_output(plan.rejected, length, "--on-error collect") as file:
            yield RejectedEvents(file, plan.rejected, number)
    else:
        with (
            nullcontext(plan.rejected) if plan.follow else replacing(plan.rejected) as target,
            target.open("wb") as file,
        ):
            yield RejectedEvents(file, plan.rejected)


def _rows(plan: Plan) -> str:
    return "long" if plan.long else "events" if plan.show_events else "positions"


def _layout(plan: Plan) -> Layout:
    return Layout(events=plan.show_events, long=plan.long)


class _TableSink:
    """A table for people: all of it at the end, or what is new at once."""

    def __init__(self, table: MatchTable, console: Console, live: bool) -> None:
        self._table = table
        self._console = console
        self._live = live

    def write(self, matches: Matches | RuleMatches) -> None:
        if isinstance(matches, RuleMatches):
            self._table.add_labelled(matches.labelled())
        else:
            self._table.add(matches)
        if self._live:
            self._table.print(self._console)
            self._console.file.flush()

    def finish(self, last: Matches | RuleMatches | None) -> None:
        self._table.print(self._console)


def _refuse_impossible(paths: Mapping[str, Sequence[str]], plan: Plan) -> None:
    """Stop before anything is done when the options do not go together."""
    piped = any(STDIN in files for files in paths.values())
    if plan.follow and len(paths) > 1:
        raise UsageError("--follow reads one stream, and these are several")
    if plan.follow and plan.format is Format.PARQUET:
        raise UsageError(
            "--follow writes matches at once, and a Parquet file is written at the end"
        )
    if plan.checkpoint is None:
        return
    if plan.out is None or plan.format not in (Format.JSON, Format.CSV):
        raise UsageError(
            "--checkpoint needs a file of matches that can be continued: -o matches.jsonl or "
            "-o matches.csv"
        )
    if plan.out.suffix.lower() in COMPRESSED:
        raise UsageError(
            f"-o {plan.out}: a compressed file cannot be continued, as --checkpoint does"
        )
    if piped:
        raise UsageError(
            "--checkpoint needs events that can be read again: write them to a file, and follow it"
        )
    if plan.checkpoint.is_dir() or not plan.checkpoint.absolute().parent.is_dir():
        problem = "this is a folder" if plan.checkpoint.is_dir() else "there is no such folder"
        raise UsageError(f"--checkpoint {plan.checkpoint}: {problem}")


def _about(query: Query | RuleSet, options: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Tell a run from others: from which another one must not go on."""
    return {
        "query": str(query) if isinstance(query, Query) else query.about(),
        "value of --param": {name: repr(value) for name, value in query.params.items()},
        **_deciding(options),
        "--format": plan.format.value,
        "choice of --events or --positions": _rows(plan),
        "file of matches": str(plan.out),
        "--on-error": None if plan.rejected is None else str(plan.rejected),
    }


def _as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _limits(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits, which may change when a run goes on."""
    return {name: value for name, value in options.items() if name.startswith("max_")}


def _deciding(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide what is found; those of later versions where they are used."""
    always = ("type", "time", "time_unit", "tiebreak", "lateness", "output")
    every = {
        each.name: each.default for group in (ReadOptions, ResultOptions) for each in fields(group)
    }
    return {
        f"--{name.replace('_', '-')}": _as_json(options[name])
        for name, default in every.items()
        if name in always or options[name] != default
    }


def summary(stats: Mapping[str, Any], seconds: float, *, rows: bool) -> str:
    """Say how much was found in how many events, and how long it took."""
    found = ("row", "rows") if rows else ("match", "matches")
    said = (
        f"{count(stats['matches'], *found)} in {count(stats['events'], 'event')}, {seconds:.2f} s"
    )
    if stats["late"]:
        said += f"; {count(stats['late'], 'event')} came too late and took no part"
    if stats["nulls"]:
        said += f"; {count(stats['nulls'], 'calculation')} without a value"
    return said
