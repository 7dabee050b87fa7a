"""`ensue lsp`: a language server for editors."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ensue.cli.terminal import UsageError, exit_codes

_MISSING = "editor support needs pygls; install it with: pip install 'ensue[lsp]'"


def lsp(
    stdio: Annotated[  # noqa: ARG001
        bool, typer.Option("--stdio", help="Standard input and output: the only way, so far.")
    ] = False,
) -> None:
    """Serve editors: errors as you type, hover, completion, formatting, fixes.

    It speaks the Language Server Protocol on standard input and output; editors start it
    themselves. It needs the extra ensue\\[lsp].

    Examples:
      ensue lsp --help
    """
    with exit_codes():
        try:
            from ensue.editor.server import make_server
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in ("pygls", "lsprotocol"):
                raise
            raise UsageError(_MISSING) from None
        # The server closes its files when it ends, and standard output is flushed after that.
        with os.fdopen(os.dup(0), "rb") as reading, os.fdopen(os.dup(1), "wb") as writing:
            make_server().start_io(reading, writing)
