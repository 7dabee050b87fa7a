"""What a run writes to, opened: matches in their format, and rejected events."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console

from ensue.cli.run.checkpoint import Checkpoint, open_output
from ensue.cli.run.options import Format, RunOptions
from ensue.cli.run.rejecting import RejectedEvents
from ensue.cli.run.rules import RuleMatches
from ensue.cli.run.writing import Sink, TextSink, open_sink
from ensue.cli.terminal import output
from ensue.io.replacing import replacing
from ensue.results.display import MatchTable
from ensue.results.matches import Matches
from ensue.results.tables import Layout


@contextmanager
def open_matches(
    options: RunOptions,
    before: Checkpoint | None,
    mentioned: Collection[str],
    type_column: str,
) -> Iterator[Sink]:
    """Open what matches are written to; with a checkpoint, where it was made."""
    layout = Layout(events=options.show_events, long=options.long)
    if options.format is Format.TABLE:
        table = MatchTable(options.show_events, options.limit_rows, type_column, mentioned)
        if options.out is None:
            yield _TableSink(table, output(), options.follow)
            return
        with (
            nullcontext(options.out) if options.follow else replacing(options.out) as target,
            target.open("w", encoding="utf-8") as file,
        ):
            yield _TableSink(table, output(file), options.follow)
    elif options.checkpoint is not None:
        assert options.out is not None
        has_header = before is not None and before.output > 0
        with open_output(options.out, None if before is None else before.output) as file:
            yield TextSink(options.format, file, layout, has_header=has_header)
    else:
        with open_sink(options.format, options.out, layout=layout, in_place=options.follow) as sink:
            yield sink


@contextmanager
def open_rejected(
    options: RunOptions, before: Checkpoint | None
) -> Iterator[RejectedEvents | None]:
    """Open what rejected events are written to; None where they stop the run."""
    path = options.rejected
    if path is None:
        yield None
    elif options.checkpoint is not None:
        length, number = (None, 0) if before is None else before.rejected
        with open_output(path, length, "--on-error collect") as file:
            yield RejectedEvents(file, path, number)
    else:
        with (
            nullcontext(path) if options.follow else replacing(path) as target,
            target.open("wb") as file,
        ):
            yield RejectedEvents(file, path)


class _TableSink:
    """A table for people: all of it at the end or, live, what is new at once."""

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
