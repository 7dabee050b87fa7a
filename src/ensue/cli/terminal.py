"""What every command shares: where text goes, in which colours, and errors as exit codes.

What was asked for goes to standard output; warnings, errors and remarks go to standard error, so
that results can be piped. Exit codes: 0 for success, 1 for a bad query or bad data, 2 for a
command line that asks for the impossible, 130 when interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

import typer
from rich.console import Console

from ensue.analysis.context import count as count
from ensue.cli.flags import as_flag
from ensue.errors import CeqlError, Diagnostic, EnsueError, Source, render
from ensue.messages import message_of, spelled

BAD_INPUT = 1
BAD_USAGE = 2
INTERRUPTED = 130

_WIDTH_OFF_TERMINAL = 1000


class UsageError(Exception):
    """The command line asks for something that cannot be; the sentence says what."""


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output(file: TextIO | None = None) -> Console:
    """Return a console on a file or standard output; off a terminal, lines may be long."""
    console = _Output(file=file, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and (file or "COLUMNS" not in os.environ):
        console.width = _WIDTH_OFF_TERMINAL
    return console


def remarks() -> Console:
    """Return a console on standard error."""
    return _Output(stderr=True, highlight=False, markup=False, emoji=False)


def is_coloured(console: Console) -> bool:
    """Return whether this console shows colours."""
    return console.color_system is not None and not console.no_color


def say(text: str = "") -> None:
    """Write a line to standard output, as it is."""
    sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """Write a line to standard error, as it is."""
    sys.stderr.write(text + "\n")


def show(diagnostics: Iterable[Diagnostic], source: Source) -> None:
    """Draw errors and warnings of a query on standard error, in colour where there is any."""
    colour = is_coloured(remarks())
    remark("\n\n".join(drawn(each, source, colour=colour) for each in diagnostics))


def drawn(diagnostic: Diagnostic, source: Source, *, colour: bool) -> str:
    """Draw an error or a warning of a query, with options as the command line spells them."""
    return render(diagnostic, source, colour=colour, spelling=as_flag)


def sentence_of(error: BaseException) -> str:
    """Return what an error or a warning says, with options as the command line spells them."""
    return spelled(message_of(error), as_flag)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn the errors that users can make into a sentence and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        silence_output()
        raise typer.Exit(0) from None
    except UsageError as error:
        _fail(str(error), BAD_USAGE)
    except CeqlError as error:
        show(error.diagnostics, error.source)
        raise typer.Exit(BAD_INPUT) from None
    except EnsueError as error:
        _fail(sentence_of(error), BAD_INPUT)
    except OSError as error:
        _fail(_sentence(error), BAD_INPUT)


def silence_output() -> None:
    """Send what is still buffered nowhere: nobody reads standard output any more."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except io.UnsupportedOperation:
        pass


def _sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _fail(sentence: str, code: int) -> NoReturn:
    bold, plain = ("\x1b[1;31m", "\x1b[0m") if is_coloured(remarks()) else ("", "")
    remark(f"{bold}error{plain}: {sentence}")
    raise typer.Exit(code) from None
