"""The deadlines of matches that nothing has followed: each event that completes any has one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Until when something must not have followed the matches of some events."""

    end: np.ndarray
    """The positions of the events, which increase."""
    time: np.ndarray
    """Their deadlines, as times are counted inside."""
    last: np.ndarray
    """The positions of the last events before these were over."""

    @classmethod
    def of(cls, ends: np.ndarray, times: np.ndarray, lasts: np.ndarray) -> Deadlines:
        """Take deadlines of events in any order, perhaps the same event more than once."""
        end, place = np.unique(np.asarray(ends, np.int64), return_index=True)
        return cls(end, np.asarray(times, np.int64)[place], np.asarray(lasts, np.int64)[place])

    def at(self, ends: np.ndarray) -> np.ndarray:
        """Return the deadlines of matches with these ends."""
        found: np.ndarray = self.time[np.searchsorted(self.end, ends)]
        return found

    def last_events(self, ends: np.ndarray) -> np.ndarray:
        """Return the last events that could follow matches with these ends in time."""
        found: np.ndarray = self.last[np.searchsorted(self.end, ends)]
        return found
