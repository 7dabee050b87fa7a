"""Rejected events: those that could not be read or used, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rejected:
    """An event that could not be read or used, and why."""

    event: Any
    """Its attributes, or the text of a line that cannot be read."""
    reason: str
    file: str | None = None
    """The file that it was read from."""
    line: int | None = None
    """The line of the file on which it starts, counted from 1."""
    row: int | None = None
    """Its index among the events of one push, if it could be read."""


Reject = Callable[[Rejected], None]
"""Receives a rejected event; reading continues after it."""
