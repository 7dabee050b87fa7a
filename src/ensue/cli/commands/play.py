"""`ensue play`: a page that shows what a query finds, and why."""

from __future__ import annotations

import os
import sys
import webbrowser
from dataclasses import fields
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensue.cli.inputs import STDIN, query_source, read_parameters, read_schema
from ensue.cli.options import Parameters, SchemaFile, checked, takes_read_options
from ensue.cli.terminal import UsageError, exit_codes, say

if TYPE_CHECKING:
    from ensue.play.start import Start

_PORT = 8765


@takes_read_options
def play(
    query: Annotated[
        str | None,
        typer.Argument(
            help="A file, or the query itself; without one, an example of the cookbook.",
            metavar="QUERY",
            show_default=False,
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Argument(
            help="A file of CSV, JSON lines, Parquet or Arrow, or - for standard input; of a large "
            "one the first events are taken.",
            metavar="EVENTS",
            show_default=False,
        ),
    ] = None,
    param: Parameters = None,
    schema: SchemaFile = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen; on any other address than those of this machine, a token is "
            "needed to use the page.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help=f"The port; 0 takes a free one.  \\[default: {_PORT}, or a free one]",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the page has to know; without one, another is made up where it is needed.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="N", min=0.1, help="How long an answer may take.")
    ] = 10.0,
    memory: Annotated[
        int, typer.Option(metavar="MB", min=64, help="How much memory a query may take.")
    ] = 2048,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    **options: Any,
) -> None:
    """Open a page to try queries: matches, the automaton event by event, strategies, why not.

    The page works offline, and is for this machine alone unless --host says otherwise. Ctrl+C
    ends it.

    Exit code: 0 when it is ended, 2 when a file is missing or the port is taken.

    Examples:
      ensue play
      ensue play query.ceql trades.csv --time at
      ensue play "SELECT * FROM S WHERE SELL ; BUY PARTITION BY [name]" trades.parquet
    """
    with exit_codes():
        import secrets

        from ensue.options import Limits, ReadOptions, chosen
        from ensue.play.bounds import QUERY_LIMITS, Bounds
        from ensue.play.server import Playground, is_loopback

        given = checked(options)
        read = chosen(ReadOptions, given)
        settings: dict[str, Any] = {
            each.name: list(value) if isinstance(value, tuple) else value
            for each in fields(ReadOptions)
            if (value := getattr(read, each.name)) != each.default
        }
        params = read_parameters(param or ())
        settings |= {"params": params} if params else {}
        settings |= {"schema": read_schema(schema)} if schema is not None else {}
        usual = {f"max_{each.name}": each.default for each in fields(Limits)}
        limits = {
            name.removeprefix("max_"): given[name]
            for name, default in usual.items()
            if given[name] != default
        }
        own = {each.name: getattr(QUERY_LIMITS, each.name) for each in fields(Limits)}
        bounds = Bounds(Limits(**{**own, **limits}), seconds, memory << 20)
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(24)
        start = _start(query, events, settings, given)
        _serve(Playground(start, bounds, token), host, port, opens=browser)


def _serve(playground: Any, host: str, port: int | None, *, opens: bool) -> None:
    from threading import Thread

    from ensue.play.server import Server

    try:
        server = _server(Server, host, port, playground)
    except OSError as error:
        raise UsageError(
            f"{host} port {_PORT if port is None else port}: {error.strerror}; "
            "--port 0 takes a free port"
        ) from error
    say(f"The playground is at {server.url}")
    if server.remote_url is not None:
        say(f"On other machines it is at {server.remote_url}")
    say("Ctrl+C ends it.")
    sys.stdout.flush()
    for worker in (playground.quick, playground.slow):
        Thread(target=worker.start, daemon=True).start()
    if opens and _has_display():
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say()
    finally:
        server.server_close()
        playground.close()


def _server(kind: Any, host: str, port: int | None, playground: Any) -> Any:
    """Listen on the port that was asked for; on another one, if none was and the usual is taken."""
    if port is not None:
        return kind(host, port, playground)
    try:
        return kind(host, _PORT, playground)
    except OSError:
        return kind(host, 0, playground)


def _has_display() -> bool:
    """Tell whether there is somebody to see a browser."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


# What the page shows at first


def _start(
    query: str | None, events: str | None, settings: dict[str, Any], given: dict[str, Any]
) -> Start:
    from ensue.play.start import Start, examples

    if query == STDIN:
        raise UsageError("the query of a playground is a file or a text, not standard input")
    text = "" if query is None else _query(query)
    if events is None and query is None:
        return Start(settings=settings)
    if events is None:
        # Events of the first example, so that there is something to see.
        first = examples()[0]
        return Start(text, first["events"], "", {**first["settings"], **settings})
    found = _events(events, given)
    return Start(text, found["text"], found["name"], settings, found["note"])


def _query(argument: str) -> str:
    """Read a query with its settings: those beside it become a header."""
    from ensue.rules.files import FENCE, read_text

    source = query_source(argument)
    path = Path(argument)
    if source.name != argument or not path.is_file():
        return source.text
    written = read_text(path)
    if written.settings is None:
        return written.text
    return f"{FENCE}\n{written.settings.rstrip()}\n{FENCE}\n{written.text}"


def _events(argument: str, given: dict[str, Any]) -> dict[str, str]:
    """Read the events, as many as the page takes."""
    from ensue.io.columns import TextOptions
    from ensue.io.events import open_events
    from ensue.play.bounds import MOST_UPLOAD
    from ensue.play.events import as_text, upload

    path = Path(argument)
    if argument == STDIN:
        data = sys.stdin.buffer.read(MOST_UPLOAD)
        kind = "jsonl" if data.lstrip()[:1] in (b"{", b"[") else "csv"
        return upload({"name": f"events.{kind}", "data": data})
    if not path.exists() and not has_magic(argument):
        raise UsageError(f"{argument}: there is no such file")
    if path.is_file() and path.stat().st_size <= MOST_UPLOAD:
        return upload({"name": path.name, "data": path.read_bytes()})
    options = TextOptions(nulls=tuple(given["nulls"]), delimiter=given["delimiter"])
    return {"name": path.name, **as_text(open_events(path, options=options))}
