"""The `ensue` command and its subcommands."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from ensue.cli.commands.check import check
from ensue.cli.commands.demo import demo
from ensue.cli.commands.explain import explain
from ensue.cli.commands.generate import generate
from ensue.cli.commands.lsp import lsp
from ensue.cli.commands.play import play
from ensue.cli.commands.run import run
from ensue.cli.commands.test import run_tests
from ensue.cli.commands.warm import warm
from ensue.cli.commands.why import why
from ensue.cli.terminal import remark, say, sentence_of, silence_output

app = typer.Typer(
    name="ensue",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check)
app.command()(run)
app.command()(explain)
app.command()(why)
app.command()(play)
app.command("test")(run_tests)
app.add_typer(generate, name="generate")
app.command()(demo)
app.command()(warm)
app.command()(lsp)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            say(f"ensue {version('ensue')}")
        except PackageNotFoundError:
            say("ensue (not installed, run from its sources)")
        raise typer.Exit


@app.callback()
def _ensue(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Complex event recognition: find every group of events that satisfies a query.

    Start with `ensue demo`; every command explains itself with --help.
    """


def _show_warning(
    otherwise: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    *place: Any,
    **more: Any,
) -> None:
    """Show our own warnings as a sentence, without the place in Python code that they come from."""
    if category.__module__ == "ensue.errors":
        text = message if isinstance(message, str) else sentence_of(message)
        # Those about a query begin with their code, and have the word already.
        remark(text if text.startswith("warning[") else f"warning: {text}")
    else:
        otherwise(message, category, *place, **more)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a sign is no reason to fail.
            stream.reconfigure(errors="replace")
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    try:
        app(prog_name="ensue")
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            silence_output()
