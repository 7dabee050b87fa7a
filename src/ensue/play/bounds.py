"""What the playground may take: sizes, seconds, memory."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.options import Limits

QUERY_LIMITS = Limits(bytes=256 << 20, configurations=200_000, matches=200_000)
"""What a query may take; beyond it stands a budget error, which the page shows."""

MOST_TEXT = 4 << 20
"""Bytes of events on the page."""

MOST_UPLOAD = 32 << 20
"""Bytes of a file that is opened on the page, of which the first events are taken."""

MOST_EVENTS = 50_000
"""Events on the page."""

MOST_MATCHES, MOST_DRAWN = 500, 15
"""Matches that are listed, and those that are drawn."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one answer may take."""

    limits: Limits = QUERY_LIMITS
    seconds: float = 10.0
    memory: int = 2 << 30
    """Bytes that a worker may take beyond what it has at the start."""
    patience: float = 300.0
    """Seconds for a worker to start, in which kernels may be compiled."""
