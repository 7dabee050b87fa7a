"""`ensue why`: how far events come in a query, and what stops them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensue.cli.inputs import event_paths
from ensue.cli.options import (
    EventArguments,
    Parameters,
    SchemaFile,
    Until,
    checked,
    takes_read_options,
)
from ensue.cli.terminal import UsageError, exit_codes, say

if TYPE_CHECKING:
    from ensue.engine.query import Query
    from ensue.io.events import EventSource
    from ensue.options import ReadOptions


@takes_read_options
def why(
    query: Annotated[
        str,
        typer.Argument(help="A file, the query itself, or - for standard input.", metavar="QUERY"),
    ],
    events: EventArguments,
    param: Parameters = None,
    schema: SchemaFile = None,
    until: Until = None,
    most_events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Look at so many events, from the first on.  \\[default: a million, fewer where "
            "the query takes long, 5,000 where matches are only known by listing]",
            show_default=False,
        ),
    ] = None,
    near: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Show so many near misses: events that lack one thing to be a match.",
        ),
    ] = 3,
    **options: Any,
) -> None:
    """Say why a query does not match: how far events come in it, and what stops them.

    For each step of the pattern: how many events satisfy it, how many starts and partial matches
    (runs) come that far, and what stopped the others. Then the events that came nearest to a
    match, and the one thing that each lacked, with values.

    Exit code: 0, whether there are matches or not; 1 for a bad query or bad events, 2 when a file
    is missing.

    Examples:
      ensue generate stock --events 500 -o trades.csv
      ensue why "SELECT * FROM S WHERE SELL ; BUY ; SELL WITHIN 5 EVENTS" trades.csv
      ensue why "SELECT * FROM S WHERE (SELL AS a : BUY AS b) FILTER b.price > a.price" trades.csv
    """
    with exit_codes():
        from ensue.cli.run.loading import load_query
        from ensue.cli.run.ticking import read_time
        from ensue.insight.evaluation import look_at
        from ensue.insight.funnel import funnel
        from ensue.insight.near_misses import near_misses
        from ensue.options import Limits, ReadOptions, chosen, with_settings

        given = checked(options)
        if query == "-" and "-" in events:
            raise UsageError("either the query or the events come from standard input, not both")
        ready = load_query(query, param or (), schema)
        paths = event_paths(events, ready.streams)
        read = with_settings(chosen(ReadOptions, given), ready.settings)
        limits, time = chosen(Limits, given), read_time(until)
        kept = look_at(ready, _sources(paths, ready, read), read, limits, time, most_events)
        say(str(funnel(ready, kept, read, limits, time)))
        if near:
            say("\nnear misses")
            say(str(near_misses(ready, kept, near, read, limits, time)))


def _sources(
    paths: Mapping[str, Sequence[str]], query: Query, read: ReadOptions
) -> EventSource | dict[str, EventSource]:
    """Open the events as `ensue run` does."""
    from ensue.cli.run.events import Events, by_stream

    sources = Events(by_stream(paths, query), [query], read).sources()
    return sources.get("", sources)
