"""Functions run in a process of their own: fresh memory, and a limit of time and of memory."""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class FailedError(Exception):
    """A process took too long, or died."""


def isolated(function: Callable[..., Any], timeout: float, **arguments: Any) -> Any:
    """Call a function of a module of this package in a new process; all is passed as JSON."""
    name = f"{function.__module__}:{function.__qualname__}"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench.processes", name],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FailedError(f"over {timeout:.0f} s") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise FailedError(last[0][:200])
    return json.loads(done.stdout.splitlines()[-1])


def peak_memory() -> int:
    """Return the most bytes that were resident at once in this process; it never goes down."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_memory(process: int | None = None) -> int:
    """Return how many bytes of a process, or of this one, are resident now.

    Where nobody tells, return the most there were, or of another process 0.
    """
    try:
        statm = Path(f"/proc/{process or 'self'}/statm")
        pages = int(statm.read_text().split()[1])
    except OSError:
        return peak_memory() if process is None else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit_memory() -> None:
    """Let this process fail before the machine does."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (whole * 3 // 4, whole * 3 // 4))
    except (OSError, ValueError):
        return


def _main() -> None:
    module, function = sys.argv[1].split(":")
    arguments = json.load(sys.stdin)
    _limit_memory()
    print(json.dumps(getattr(importlib.import_module(module), function)(**arguments)))


if __name__ == "__main__":
    _main()
