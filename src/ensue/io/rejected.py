"""Events that could not be read or could not take part, kept with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rejected:
    """An event that could not take part, and why."""

    event: Any
    """Its attributes; of a line that cannot be read, its text."""
    reason: str
    file: str | None = None
    """The file that it comes from."""
    line: int | None = None
    """The line of the file on which it starts, counted from 1."""
    row: int | None = None
    """Which of the events of one push it is, counted from 0, where it could be read."""


Reject = Callable[[Rejected], None]
"""Takes what could not be read, so that reading goes on after it."""
