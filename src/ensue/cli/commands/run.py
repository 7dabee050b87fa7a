"""`ensue run`: find the matches of a query in files of events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ensue.cli.inputs import STDIN, event_files, event_paths, rule_arguments
from ensue.cli.options import (
    CHECKPOINTS,
    ENGINE,
    EVENTS,
    MATCHES,
    QUERY,
    EventArguments,
    Parameters,
    SchemaFile,
    Until,
    checked,
    takes_options,
)
from ensue.cli.run.options import (
    Engine,
    Format,
    RunOptions,
    checkpoint_interval,
    output_format,
    rejected_file,
    shows_events,
)
from ensue.cli.terminal import BAD_INPUT, UsageError, exit_codes


@takes_options
def run(
    query: Annotated[
        str,
        typer.Argument(
            help="A file, a folder of rules (all .ceql files below it), several .ceql files, the "
            "query itself, or - for standard input.",
            metavar="QUERY",
        ),
    ],
    events: EventArguments,
    param: Parameters = None,
    schema: SchemaFile = None,
    format: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            help="table, json (one object a line), csv or parquet.  "
            "\\[default: as FILE ends, or table]",
            show_default=False,
            rich_help_panel=MATCHES,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Where to write matches.",
            show_default=False,
            rich_help_panel=MATCHES,
        ),
    ] = None,
    show_events: Annotated[
        bool | None,
        typer.Option(
            "--events/--positions",
            help="Show the events of a match, or only where they are.  \\[default: events]",
            show_default=False,
            rich_help_panel=MATCHES,
        ),
    ] = None,
    long: Annotated[
        bool,
        typer.Option(
            "--long",
            help="Write one row for each event of a match, instead of one for each match.",
            rich_help_panel=MATCHES,
        ),
    ] = False,
    limit_rows: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Show at most N matches in a table.", rich_help_panel=MATCHES
        ),
    ] = 1000,
    on_error: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="collect FILE",
            help="Keep events that cannot be read in FILE, with line and reason, and go on.  "
            "\\[default: stop at the first]",
            show_default=False,
            rich_help_panel=EVENTS,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Wait for more events at the end of the file, or of what standard input has by "
            "now, and write matches at once.",
            rich_help_panel=EVENTS,
        ),
    ] = False,
    until: Until = None,
    tick: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="With --follow, let time pass by the clock so often, such as 10s, so that NOT "
            "FOLLOWED BY is decided without events.",
            show_default=False,
            rich_help_panel=EVENTS,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the state of the run to FILE now and then; the same command, started "
            "again, goes on from there.",
            show_default=False,
            rich_help_panel=CHECKPOINTS,
        ),
    ] = None,
    checkpoint_every: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="How often: after N events, or a time such as 10s.",
            rich_help_panel=CHECKPOINTS,
        ),
    ] = "10s",
    engine: Annotated[
        Engine,
        typer.Option(
            metavar="ENGINE",
            help="local, or spark: Parquet, CSV or JSON files and folders.",
            rich_help_panel=ENGINE,
        ),
    ] = Engine.LOCAL,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where Spark runs.  \\[default: local\\[*]]",
            show_default=False,
            rich_help_panel=ENGINE,
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            help="Leave out rules of a folder that are wrong, and run the others.",
            rich_help_panel=QUERY,
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Only say how Spark would find the matches.", rich_help_panel=ENGINE
        ),
    ] = False,
    **options: object,
) -> None:
    """Find the matches of a query in events.

    Only the matches go to standard output; warnings and counts go to standard error.

    Files of any size are read bit by bit; Ctrl-C stops and keeps what was found so far.

    Exit codes:
      0         all is done
      1         the query or the events are wrong, or a limit is reached
      2         an option is wrong, or options do not go together
      130, 143  stopped by Ctrl-C, by SIGTERM

    Examples:
      ensue generate stock --events 500 -o trades.csv
      ensue run "SELECT * FROM S WHERE SELL : BUY PARTITION BY \\[name]" trades.csv
      echo 'SELECT * FROM S WHERE BUY FILTER BUY\\[volume > $v]' > large.ceql
      ensue run large.ceql trades.csv --param v=2500 --format json
      ensue run large.ceql - --follow --param v=2500 < trades.csv
      ensue run large.ceql trades.csv trades.csv --param v=2500 -o large.parquet
      ensue run . trades.csv --param v=2500 --format json
    """
    left_out = 0
    with exit_codes():
        given = checked(options)
        from ensue.cli.run.ticking import read_tick, read_time

        own = RunOptions(
            output_format(format, out, follow=follow),
            out,
            shows_events(show_events, positions_only=given["output"] == "positions", long=long),
            long,
            limit_rows,
            follow,
            checkpoint,
            checkpoint_interval(checkpoint_every),
            rejected_file(on_error),
            read_time(until),
            read_tick(tick, follow=follow, lateness=given["lateness"]),
        )
        if query == STDIN and STDIN in events:
            raise UsageError("the query and the events cannot both come from standard input")
        rules, events = rule_arguments(query, events)
        # Arrow is imported by those who run a query, not by those who ask for help.
        from ensue.cli.run.loading import load
        from ensue.cli.run.outputs import refuse_reading_outputs

        loaded = load(query, rules, param or [], schema, own.format, keep_going=keep_going)
        left_out = loaded.left_out
        paths = event_paths(events, loaded.streams)
        inputs: dict[str, Sequence[str | Path]] = {
            "events of": event_files(paths),
            "query": [query, *rules],
            "schema": [] if schema is None else [schema],
        }
        refuse_reading_outputs(own.outputs, inputs)
        if engine is Engine.SPARK:
            from ensue.cli.run import spark

            spark.refuse_local_options(own, given)
            spark.execute(loaded.query, paths, given, own, master=master, only_explain=explain)
        elif explain or master is not None:
            raise UsageError("--explain and --master go with --engine spark; see ensue explain")
        else:
            from ensue.cli.run import local

            local.execute(loaded.query, paths, given, own, loaded.names)
    if left_out:
        raise typer.Exit(BAD_INPUT)
