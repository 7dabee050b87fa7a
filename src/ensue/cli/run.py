"""`ensue run`: find the matches of a query in files of events."""

from __future__ import annotations

import re
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensue.cli.options import checked, takes_options
from ensue.cli.plan import Every, Format, Plan
from ensue.cli.terminal import BAD_INPUT, UsageError, exit_codes, remark, show
from ensue.io.files import with_compressed
from ensue.options import ReadOptions, chosen

if TYPE_CHECKING:
    from ensue.cli.rules import RuleSet
    from ensue.engine.query import Query
    from ensue.errors import Source


class Engine(StrEnum):
    """Who evaluates the query."""

    LOCAL = "local"
    SPARK = "spark"


_SUFFIXES = {
    (".parquet", ".pq"): Format.PARQUET,
    with_compressed(".csv"): Format.CSV,
    with_compressed(".json", ".jsonl", ".ndjson"): Format.JSON,
    (".txt",): Format.TABLE,
}


_UNIFORM = (Format.CSV, Format.PARQUET)
"""Formats whose rows have the same columns, whatever the query."""


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
    events: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENTS",
            help="CSV, JSON lines, Parquet or Arrow files, folders or patterns, one after the "
            "other; - for standard input; or STREAM=FILE for each stream that FROM names.",
            show_default=False,
        ),
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value for $NAME: JSON, or else a string. May be repeated.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Types of attributes as JSON: {attribute: type} or {event: {attribute: type}}.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            help="table, json (one object a line), csv or parquet.  "
            "\\[default: as FILE ends, or table]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="Where to write matches.", show_default=False),
    ] = None,
    show_events: Annotated[
        bool | None,
        typer.Option(
            "--events/--positions",
            help="Show the events of a match, or only where they are.  \\[default: events]",
            show_default=False,
        ),
    ] = None,
    long: Annotated[
        bool,
        typer.Option(
            "--long",
            help="Write one row for each event of a match, instead of one for each match.",
        ),
    ] = False,
    limit_rows: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show at most N matches in a table.")
    ] = 1000,
    on_error: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="collect FILE",
            help="Keep events that cannot be read in FILE, with line and reason, and go on.  "
            "\\[default: stop at the first]",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Wait for more events at the end of the file, or of what standard input has by "
            "now, and write matches at once.",
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write down now and then how far the run has come; started again, it goes on "
            "from there.",
            show_default=False,
        ),
    ] = None,
    checkpoint_every: Annotated[
        str,
        typer.Option(metavar="N", help="How often: after N events, or a time such as 10s."),
    ] = "10s",
    engine: Annotated[
        Engine,
        typer.Option(
            metavar="ENGINE", help="local, or spark: Parquet, CSV or JSON files and folders."
        ),
    ] = Engine.LOCAL,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where Spark runs.  \\[default: local\\[*]]", show_default=False
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Leave out rules of a folder that are wrong, and run the others."
        ),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Only tell how Spark would find the matches.")
    ] = False,
    **options: object,
) -> None:
    """Find the matches of a query in events.

    Only the matches go to standard output; warnings and counts go to standard error.

    Files of any size are read bit by bit; Ctrl-C stops and keeps what was found so far.

    Examples:
      ensue generate stock --events 500 -o trades.csv
      ensue run "SELECT * FROM S WHERE SELL : BUY PARTITION BY \\[name]" trades.csv
      echo 'SELECT * FROM S WHERE BUY FILTER BUY\\[volume > $v]' > large.ceql
      ensue run large.ceql trades.csv --param v=2500 --format json
      ensue run large.ceql - --follow --param v=2500 < trades.csv
      ensue run large.ceql trades.csv trades.csv --param v=2500 -o large.parquet
      ensue run . trades.csv --param v=2500 --format json
    """
    with exit_codes():
        from ensue.cli.inputs import (
            STDIN,
            event_files,
            event_paths,
            query_source,
            rule_arguments,
        )
        from ensue.cli.outputs import refuse_reading_outputs

        given = checked(options)
        following = "json" if follow and out is None and format is None else None
        plan = Plan(
            _format(Format(following) if following else format, out),
            out,
            _show_events(show_events, positions_only=given["output"] == "positions", long=long),
            long,
            limit_rows,
            follow,
            checkpoint,
            _every(checkpoint_every),
            _rejected(on_error),
        )
        if query == STDIN and STDIN in events:
            raise UsageError("the query and the events cannot both come from standard input")
        files, events = rule_arguments(query, events)
        asked: Query | RuleSet
        failures = 0
        if files:
            from ensue.cli.loading import load

            asked, failures = load(
                files, param or [], schema, uniform=plan.format in _UNIFORM, keep_going=keep_going
            )
            sources = [each.source for each in asked.queries]
            streams = [word.text for word in asked.queries[0].tree.sources]
        else:
            source = query_source(query)
            asked = _compile(source, param or [], schema)
            sources, streams = [source], [word.text for word in asked.tree.sources]
        paths = event_paths(events, streams)
        refuse_reading_outputs(
            {"-o": out, "--checkpoint": checkpoint, "--on-error collect": plan.rejected},
            {
                "events of": event_files(paths),
                "query": [query, *files],
                "schema": [] if schema is None else [schema],
            },
        )
        if engine is Engine.SPARK:
            from ensue.cli import spark

            if follow or checkpoint is not None or on_error is not None or long:
                raise UsageError(
                    "--follow, --checkpoint, --on-error and --long go with --engine local only"
                )
            spark.execute(
                asked,
                paths,
                given,
                master=master,
                format=plan.format,
                out=out,
                most=limit_rows,
                only_explain=explain,
            )
            return
        if explain or master is not None:
            raise UsageError("--explain and --master go with --engine spark; see ensue explain")
        # Arrow is imported by those who run a query, not by those who ask for help.
        from ensue.cli.running import execute

        read = chosen(ReadOptions, given)
        mentioned = {name for source in sources for name in _names(source)}
        execute(asked, paths, given, plan, {read.type, read.time or "", *mentioned})
    if failures:
        raise typer.Exit(BAD_INPUT)


def _format(format: Format | None, out: Path | None) -> Format:
    """Decide how to write, before the work is done."""
    if out is None:
        if format is Format.PARQUET:
            raise UsageError("--format parquet needs a file: add -o matches.parquet")
        return format or Format.TABLE
    if out.is_dir() or not out.absolute().parent.is_dir():
        problem = "this is a folder" if out.is_dir() else "there is no such folder"
        raise UsageError(f"-o {out}: {problem}")
    name = out.name.lower()
    by_name = next((each for ends, each in _SUFFIXES.items() if name.endswith(ends)), None)
    if format is None and by_name is None:
        raise UsageError(
            f"-o {out}: the name must end in .csv, .jsonl, .parquet or .txt, or add --format"
        )
    if Format.PARQUET in (format, by_name) and format not in (None, by_name):
        raise UsageError(f"-o {out} and --format {format} do not go together")
    chosen = format or by_name
    assert chosen is not None
    return chosen


def _rejected(given: tuple[str, Path] | None) -> Path | None:
    """Read --on-error: where rejected events are kept."""
    if given is None:
        return None
    word, path = given
    if word != "collect":
        raise UsageError(
            f"--on-error {word}: write --on-error collect FILE; without it, the run stops"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        problem = "this is a folder" if path.is_dir() else "there is no such folder"
        raise UsageError(f"--on-error collect {path}: {problem}")
    return path


def _show_events(wanted: bool | None, *, positions_only: bool, long: bool) -> bool:
    if long and wanted is False:
        raise UsageError("--long writes events, so it does not go with --positions")
    if positions_only:
        if wanted:
            raise UsageError("--events and --output positions do not go together")
        return False
    return wanted is not False


def _every(text: str) -> Every:
    """Read how often a checkpoint is written.

    >>> _every("5000"), _every("1.5 s"), _every("2m")
    (Every(events=5000, seconds=None), Every(events=None, seconds=1.5), Every(events=None, \
seconds=120.0))
    """
    number = text.replace(",", "").replace("_", "")
    if number.isdecimal() and int(number):
        return Every(events=int(number))
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *(ms|s|m|h)", text)
    if found is None:
        raise UsageError(f"--checkpoint-every {text}: write a number of events, or a time as 10s")
    return Every(seconds=float(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]])


def _compile(source: Source, given: list[str], schema: Path | None) -> Query:
    """Compile a query and show its warnings."""
    from ensue.analysis.schema import from_python
    from ensue.cli.inputs import read_parameters, read_schema, refuse_unknown_parameters
    from ensue.engine.query import compile
    from ensue.errors import CeqlWarning

    params: dict[str, Any] = read_parameters(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        try:
            # The events have other attributes too, and these are looked for when they are there.
            known = None if schema is None else from_python(read_schema(schema), partial=True)
            query = compile(source.text, known, params, name=source.name)
        except TypeError as error:
            raise UsageError(f"--schema {schema}: {error}") from error
    refuse_unknown_parameters(source, params)
    if query.warnings:
        show(query.warnings, source)
        remark("")
    return query


def _names(source: Source) -> set[str]:
    """Return the names that a query mentions."""
    from ensue.language.tokens import tokenize

    return {str(token.value) for token in tokenize(source) if token.kind == "NAME"}
