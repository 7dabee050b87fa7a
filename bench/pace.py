"""How much of the time of a run is left, and how patient its measurements may be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MINUTES = 110.0
"""So long a run may take unless told otherwise; what is begun by then ends within two hours."""


@dataclass(slots=True)
class Pace:
    """The time of a run, and how many groups of measurements it has to do."""

    minutes: float
    groups: int
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    """Groups that have been measured."""
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def elapsed(self) -> float:
        """Minutes since the run began."""
        return (self.clock() - self._began) / 60

    @property
    def is_over(self) -> bool:
        """Whether nothing more is measured."""
        return self.elapsed >= self.minutes

    @property
    def is_behind(self) -> bool:
        """Whether more of the time has gone than of the groups, the one being measured included."""
        return self.elapsed / self.minutes > (self.done + 1) / self.groups
