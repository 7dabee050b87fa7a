"""Time of a run: how far it has come at the end, and ticks of the clock where no events come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

from ensue.analysis.durations import duration
from ensue.cli.run.rules import RuleSession
from ensue.cli.run.writing import Sink
from ensue.cli.terminal import UsageError
from ensue.engine.session import Session


def read_time(text: str | None) -> int | datetime | None:
    """Read --until: a whole number, or an instant as in ISO 8601.

    >>> read_time("17"), read_time("2026-01-31T09:30:00Z")
    (17, datetime.datetime(2026, 1, 31, 9, 30, tzinfo=datetime.timezone.utc))
    """
    if text is None:
        return None
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--until {text}: write a time as in 2026-01-31T09:30:00Z, or a whole number for an "
            "integer time column"
        ) from None


def read_tick(text: str | None, *, follow: bool, lateness: object) -> float | None:
    """Read --tick: how many seconds are between two looks at the clock."""
    if text is None:
        return None
    if not follow:
        raise UsageError("--tick goes with --follow: a file that is read once has an end")
    if lateness is None:
        raise UsageError(
            "--tick needs --lateness: how long after its time an event may be written to the file"
        )
    try:
        seconds = duration(text, "tick") / 1e9
    except ValueError:
        raise UsageError(f"--tick {text}: write a time such as 10s") from None
    if seconds <= 0:
        raise UsageError(f"--tick {text}: time has to pass between two ticks")
    return seconds


@dataclass(slots=True)
class Ticker:
    """Lets the time of a session pass by the clock on the wall."""

    session: Session | RuleSession
    sink: Sink
    seconds: float
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    elapsed: Callable[[], float] = monotonic
    _due: float = field(init=False)

    def __post_init__(self) -> None:
        self._due = self.elapsed() + self.seconds

    def idle(self) -> None:
        """Advance time, should a tick be due, and write what that completes."""
        if self.elapsed() < self._due:
            return
        self._due = self.elapsed() + self.seconds
        self.sink.write(self.session.advance(self.now()))
