"""Wait for what other processes do: for a condition to hold, never for a time to pass."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE = 900
"""Seconds after which a test gives up; many times what a slow and busy machine takes."""


def wait_until(
    happened: Callable[[], Any], what: str, process: subprocess.Popen[Any] | None = None
) -> None:
    """Look again and again until something has happened; fail where it cannot happen any more.

    With a process, it is the one that is waited for: when that has ended, nothing more will happen.
    """
    end = time.monotonic() + PATIENCE
    while not happened():
        if process is not None and process.poll() is not None and not happened():
            pytest.fail(f"the process ended with {process.returncode} before {what}")
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE} seconds in vain until {what}")
        time.sleep(0.01)  # between two looks
