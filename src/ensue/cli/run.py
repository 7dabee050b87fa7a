"""`ensue run`: find the matches of a query in files of events."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensue.cli.terminal import UsageError, count, exit_codes, output, remark, remarks, show

if TYPE_CHECKING:
    from ensue.engine.match import Matches
    from ensue.engine.query import Query
    from ensue.errors import Source


class Format(StrEnum):
    """How to write matches."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


class TimeUnit(StrEnum):
    """What an integer time column counts."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Output(StrEnum):
    """What a match tells of its events."""

    BINDINGS = "bindings"
    POSITIONS = "positions"


_SUFFIXES = {
    (".parquet", ".pq"): Format.PARQUET,
    (".csv", ".csv.gz"): Format.CSV,
    tuple(f".{end}{zipped}" for end in ("json", "jsonl", "ndjson") for zipped in ("", ".gz")): (
        Format.JSON
    ),
    (".txt",): Format.TABLE,
}


def run(
    query: Annotated[
        str,
        typer.Argument(help="A file, the query itself, or - for standard input.", metavar="QUERY"),
    ],
    events: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENTS",
            help="CSV, JSON lines, Parquet or Arrow files, one after the other; or STREAM=FILE "
            "for each stream that FROM names.",
            show_default=False,
        ),
    ],
    type: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the events' types.")
    ] = "type",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with their times; WITHIN ... \\[column] names its own.",
            show_default=False,
        ),
    ] = None,
    time_unit: Annotated[
        TimeUnit | None,
        typer.Option(
            metavar="UNIT",
            help="What integer times count: s, ms, us or ns.",
            show_default=False,
        ),
    ] = None,
    tiebreak: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A column that orders events of one time.", show_default=False
        ),
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How late an event may come, such as 10s; events are put in order.",
            show_default=False,
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value for $NAME: JSON, or else a string. May be repeated.",
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
    kind: Annotated[
        Output,
        typer.Option(
            "--output",
            metavar="KIND",
            help="bindings, or positions: without the variables that events are bound to.",
        ),
    ] = Output.BINDINGS,
    limit_rows: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show at most N matches in a table.")
    ] = 1000,
) -> None:
    """Find the matches of a query in events.

    Only the matches go to standard output; warnings and counts go to standard error.

    Examples:
      ensue generate stock --events 500 -o trades.csv
      ensue run "SELECT * FROM S WHERE SELL : BUY PARTITION BY \\[name]" trades.csv
      echo 'SELECT * FROM S WHERE BUY FILTER BUY\\[volume > $v]' > large.ceql
      ensue run large.ceql trades.csv --param v=2500 --format json
      ensue run large.ceql trades.csv trades.csv --param v=2500 -o large.parquet
    """
    with exit_codes():
        from ensue.cli.inputs import event_paths, open_paths, query_source

        format = _format(format, out)
        show_events = _show_events(show_events, kind)
        source = query_source(query)
        compiled = _compile(source, param or [])
        paths = event_paths(events, [word.text for word in compiled.tree.sources])
        # What is imported here is not part of the time that the query takes.
        from ensue.engine import evaluation  # noqa: F401

        before = clock.perf_counter()
        with remarks().status("Looking for matches"):
            matches = compiled.run(
                open_paths(paths),
                type=type,
                time=time,
                time_unit=time_unit,
                tiebreak=tiebreak,
                lateness=_lateness(lateness),
                output=kind.value,
            )
        seconds = clock.perf_counter() - before
        if format is Format.TABLE:
            options = {"events": show_events, "most": limit_rows, "type_column": type}
            _print(matches, out, options, {type, time or "", *_names(source)})
        else:
            from ensue.cli.writing import write_table

            write_table(matches.to_arrow(events=show_events), format, out)
        remark(summary(matches, seconds))


def summary(matches: Matches, seconds: float) -> str:
    """Say how much was found in how many events, and how long it took."""
    stats = matches.stats
    found = ("match", "matches") if matches.shape.totals is None else ("row", "rows")
    said = (
        f"{count(stats['matches'], *found)} in {count(stats['events'], 'event')}, {seconds:.2f} s"
    )
    if stats["late"]:
        said += f"; {count(stats['late'], 'event')} came too late and took no part"
    if stats["nulls"]:
        said += f"; {count(stats['nulls'], 'calculation')} without a value"
    return said


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


def _show_events(wanted: bool | None, kind: Output) -> bool:
    if kind is Output.POSITIONS:
        if wanted:
            raise UsageError("--events and --output positions do not go together")
        return False
    return wanted is not False


def _lateness(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


def _compile(source: Source, given: list[str]) -> Query:
    """Compile a query and show its warnings."""
    from ensue.cli.inputs import read_parameters, refuse_unknown_parameters
    from ensue.engine.query import compile
    from ensue.errors import CeqlWarning

    params: dict[str, Any] = read_parameters(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        query = compile(source.text, params=params, name=source.name)
    refuse_unknown_parameters(source, params)
    if query.warnings:
        show(query.warnings, source)
        remark("")
    return query


def _print(
    matches: Matches, out: Path | None, options: dict[str, Any], mentioned: Iterable[str]
) -> None:
    """Print matches as a table, to a file or to standard output."""
    from ensue.cli.tables import print_matches

    if out is None:
        print_matches(output(), matches, mentioned=mentioned, **options)
        return
    with out.open("w", encoding="utf-8") as file:
        print_matches(output(file), matches, mentioned=mentioned, **options)


def _names(source: Source) -> set[str]:
    """Return the names that a query mentions."""
    from ensue.language.tokens import tokenize

    return {str(token.value) for token in tokenize(source) if token.kind == "NAME"}
