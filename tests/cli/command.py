"""What the tests of the command line share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from ensue.cli.app import app

NARROW = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


class Outcome:
    """What a command printed, and how it ended."""

    def __init__(self, arguments: tuple[object, ...], stdin: str | bytes | None) -> None:
        result = CliRunner().invoke(app, [str(each) for each in arguments], stdin, env=NARROW)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        self.code = result.exit_code
        self.stdout = result.stdout
        self.stderr = result.stderr
        self.bytes = result.stdout_bytes


def ensue(*arguments: object, stdin: str | bytes | None = None) -> Outcome:
    """Run a command in this process."""
    return Outcome(arguments, stdin)


class Command(subprocess.Popen[str]):
    """A process that does not outlive a test that fails."""

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, traceback)


def start(*arguments: object, folder: Path | None = None) -> Command:
    """Start a command in a process of its own, which SIGINT reaches.

    A process that a shell starts in the background ignores that signal, and so would its children.
    """
    return Command(
        [sys.executable, "-m", "ensue", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **NARROW},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
