"""Time axes: where the ticks are, and what stands below them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_SECOND = 1_000_000_000
_STEPS = (
    *(power * times for power in (1, 10, 100) for times in (1, 2, 5)),
    *(1_000 * power * times for power in (1, 10, 100) for times in (1, 2, 5)),
    *(1_000_000 * power * times for power in (1, 10, 100) for times in (1, 2, 5)),
    *(_SECOND * seconds for seconds in (1, 2, 5, 10, 15, 30)),
    *(_SECOND * 60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(_SECOND * 3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(_SECOND * 86400 * days for days in (1, 2, 7, 14, 30, 90, 365)),
)
"""Nanoseconds between ticks of times that people read easily."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from times, or positions, to places on a picture."""

    low: int
    high: int
    left: float
    right: float
    instants: bool
    """Whether times are nanoseconds from the epoch."""

    def __call__(self, time: float) -> float:
        """Return where a time is on the picture."""
        if self.high == self.low:
            return (self.left + self.right) / 2
        share = (time - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def ticks(self, most: int = 8) -> list[tuple[int, str]]:
        """Return the times of at most so many ticks, and their texts.

        >>> Axis(0, 23, 0, 100, False).ticks()
        [(0, '0'), (5, '5'), (10, '10'), (15, '15'), (20, '20')]
        """
        span = max(self.high - self.low, 1)
        step = self._step(span, most)
        first = -(-self.low // step) * step
        return [(at, self.text(at, step)) for at in range(first, self.high + 1, step)]

    def _step(self, span: int, most: int) -> int:
        if self.instants:
            year = _STEPS[-1]
            return next((each for each in _STEPS if span / each <= most), year * (span // year))
        power = 1
        while True:
            for step in (power, 2 * power, 5 * power):
                if span / step <= most:
                    return step
            power *= 10

    def text(self, time: int, step: int = 1) -> str:
        """Write a time, as exactly as ticks that are a step apart need."""
        if not self.instants:
            return f"{time:,}"
        try:
            moment = _EPOCH + timedelta(microseconds=time // 1000)
        except OverflowError:
            return str(time)
        if step >= 86400 * _SECOND:
            return f"{moment:%Y-%m-%d}"
        clock = f"{moment:%H:%M:%S}" if step < 60 * _SECOND else f"{moment:%H:%M}"
        if step < _SECOND:
            clock += f"{time % _SECOND / _SECOND:.9f}"[1:].rstrip("0").ljust(2, "0")
        midnight = time % (86400 * _SECOND) == 0
        return f"{moment:%m-%d} {clock}" if midnight else clock
