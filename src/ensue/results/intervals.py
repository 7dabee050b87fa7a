"""Where something must not have happened, checked for many matches at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ensue.automata.deferred import Interval
from ensue.kernels.graph.segment import Listing
from ensue.results.absent_matches import Asked
from ensue.results.correlation import marked
from ensue.results.deadlines import Deadlines
from ensue.stream.batch import EventBatch


class LatestStarts(NamedTuple):
    """The latest start of a match of ψ that has ended by each of some events."""

    first: int
    latest: np.ndarray


@dataclass(frozen=True, slots=True)
class Barriers:
    """What is known, of a ψ that must not happen, at the events that matches may refer to."""

    latest_starts: tuple[LatestStarts, ...]

    def latest(self, position: int) -> int:
        """Return the latest start of a match of ψ that has ended by an event."""
        place = bisect_right(self.latest_starts, position, key=lambda each: each.first) - 1
        batch = self.latest_starts[place]
        return int(batch.latest[position - batch.first])

    def inside(self, asked: Asked, events: Callable[[], EventBatch]) -> np.ndarray:
        """Tell in which intervals a match of ψ lies; here no condition names events of φ."""
        ends, rows = np.unique(asked.last, return_inverse=True)
        latest = np.array([self.latest(end) for end in ends.tolist()], np.int64)
        inside: np.ndarray = latest[rows] >= asked.first
        return inside


class Barrier(Protocol):
    """Matches of a ψ that must not happen."""

    def inside(self, asked: Asked, events: Callable[[], EventBatch]) -> np.ndarray:
        """Tell in which intervals one lies that satisfies its conditions with events of φ."""


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """Tells which matches nothing happened in that must not."""

    intervals: tuple[Interval, ...]
    barriers: tuple[Barrier, ...]
    labels: list[int]
    events: Callable[[], EventBatch]
    deadlines: Deadlines | None = None
    """Until when something must not have followed the matches."""

    def __call__(self, listing: Listing) -> np.ndarray:
        kept = np.ones(len(listing.start), bool)
        for each in self.intervals:
            match, asked = (self._following if each.after else self._asked)(each, listing)
            inside = self.barriers[each.absent].inside(asked, self.events)
            kept[match[inside]] = False
        return kept

    def _asked(self, interval: Interval, listing: Listing) -> tuple[np.ndarray, Asked]:
        """Return all intervals of some matches, and whose they are."""
        ends = np.flatnonzero(marked(self.labels, interval.end)[listing.label])
        match = np.searchsorted(listing.offset, ends, side="right") - 1
        opened = listing.offset[match]
        begins = self._last(listing, interval.begin)[ends]
        first = np.where(
            begins >= opened, listing.position[np.maximum(begins, 0)], listing.start[match]
        )
        opened = np.maximum(begins, opened)
        events = {}
        for name, bit in interval.outer:
            place = self._last(listing, bit)[ends]
            events[name] = np.where(
                place >= opened, listing.position[np.maximum(place, 0)], -1
            ).astype(np.int64)
        key = listing.key[match].astype(np.int64)
        last = listing.position[ends].astype(np.int64)
        return match, Asked(key, first.astype(np.int64), last, events)

    def _following(self, interval: Interval, listing: Listing) -> tuple[np.ndarray, Asked]:
        """Return what comes after some matches, until their deadlines."""
        assert self.deadlines is not None
        match = np.arange(len(listing.start))
        events = {}
        for name, bit in interval.outer:
            place = np.append(self._last(listing, bit), -1)[listing.offset[1:] - 1]
            own = (place >= listing.offset[:-1]) & (listing.offset[1:] > listing.offset[:-1])
            bound = listing.position[np.maximum(place, 0)] if len(listing.position) else place
            events[name] = np.where(own, bound, -1).astype(np.int64)
        end = listing.end.astype(np.int64)
        last = self.deadlines.last_events(end)
        return match, Asked(listing.key.astype(np.int64), end + 1, last, events)

    def _last(self, listing: Listing, bit: int) -> np.ndarray:
        """Return, for each event of all matches, the last one so far that is marked; or -1."""
        here = marked(self.labels, bit)[listing.label]
        found: np.ndarray = np.maximum.accumulate(np.where(here, np.arange(len(here)), -1))
        return found
