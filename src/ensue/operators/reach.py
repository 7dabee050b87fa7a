"""Which events of a batch can be part of a match, by where rare events are that every match needs.

All events of a match lie in one window. So where every match has an event that satisfies some
predicate, only events within a window of such an event can matter. Of many rules on a stream most
wait for something that seldom or never happens: they read what is around it and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ensue.analysis.bound import Window
from ensue.analysis.schema import AttributePath
from ensue.operators.automaton import Automaton
from ensue.predicates.sharing import Selected, Shared, Sharing
from ensue.predicates.symbols import Alphabet
from ensue.stream.batch import EventBatch

_LEAST_ROWS = 1 << 10
"""Smaller batches are read as they are."""

_RARE = 16
"""An event is rare if at most one in so many is such an event."""

_WORTH_CUTTING = 0.7
"""At most this share of the events may be left for it to be worth while."""

_FAR = 1 << 61
"""Times and windows beyond this might overflow when they are added."""


@dataclass(slots=True)
class Reach:
    """How far the events that every match needs, as far as they are known, may matter."""

    automaton: Automaton
    window: int | None
    """The length of the window in the units of times; None: there is none."""
    until: int | None = None
    """Events up to this time may be in a match with events that were read; None: none was."""

    is_behind: bool = False
    """Whether events were read as a whole, and `until` does not know of them."""

    @classmethod
    def of(cls, automaton: Automaton, window: Window | None) -> Reach:
        """Return the reach of a query with a window; one in events has no length of time."""
        timed = window is not None and window.kind != "events"
        return cls(automaton, window.size if window is not None and timed else None)

    def own(
        self,
        sharing: Sharing,
        alphabet: Alphabet,
        ignores: Callable[[list[int], int], bool] | None,
        times: np.ndarray,
        now: int,
    ) -> Selected | None:
        """Return the events of a batch that have to be read; None: not one of them.

        Args:
            sharing: what is known of the batch.
            alphabet: the predicates and symbols of the query.
            ignores: tells whether events with some symbols, of so many, change nothing now; None
                where all events matter.
            times: those of the events.
            now: the time of the last event before.
        """
        union, shared = sharing.union, sharing.shared
        if ignores is not None and union.skips(alphabet, shared, ignores):
            return None
        if self.is_behind:
            self._read_all(now)
        parts = None if ignores is None else self._select(sharing, alphabet, times)
        if parts is None:
            self._read_all(int(times[-1]))
        own = _selected(union.own(alphabet, shared), parts, shared)
        return None if own.rows is not None and not len(own.rows) else own

    def _read_all(self, time: int) -> None:
        """Note that all events up to a time were read, whatever they are."""
        self.until, self.is_behind = _FAR if self.window is None else time + self.window, False

    def _select(self, sharing: Sharing, alphabet: Alphabet, times: np.ndarray) -> np.ndarray | None:
        """Return the parts of a batch that have to be read, from row to row; None: all of it."""
        if len(times) < _LEAST_ROWS or max(-times[0], times[-1], self.window or 0) >= _FAR:
            return None
        truth = sharing.union.rarest(alphabet, sharing.shared, self.automaton.necessary)
        if truth is None:
            return None
        count = sharing.shared.count(truth)
        if self.window is None:
            nothing = sharing.ends and self.until is None and not count
            return np.zeros((0, 2), np.int64) if nothing else None
        if _RARE * count > len(times):
            return None
        needed = times[sharing.shared.rows(truth)]
        begins = np.searchsorted(times, needed - self.window)
        ends = np.searchsorted(times, needed + self.window, "right")
        until = self.until
        if until is not None and times[0] <= until:
            begins = np.append(0, begins)
            ends = np.append(np.searchsorted(times, until, "right"), ends)
        if not sharing.ends:  # such an event may come with the next batch
            begins = np.append(begins, np.searchsorted(times, times[-1] - self.window))
            ends = np.append(ends, len(times))
        ends = np.maximum.accumulate(ends)
        opens = np.append(True, begins[1:] > ends[:-1])[: len(begins)]
        begins, ends = begins[opens], ends[np.append(opens[1:], True)[: len(ends)]]
        if (ends - begins).sum() > _WORTH_CUTTING * len(times):
            return None
        if len(needed):
            self.until = max(int(needed[-1]) + self.window, -_FAR if until is None else until)
        return np.stack([begins, ends], axis=1)


def _selected(own: Selected, parts: np.ndarray | None, shared: Shared) -> Selected:
    """Return what of the events that a query reads lies in some parts of a batch."""
    numbers = shared.numbers
    if parts is None or numbers is None:
        return own
    if own.rows is None:
        rows = [np.arange(begin, end) for begin, end in parts.tolist()]
    else:
        rows = [own.rows[begin:end] for begin, end in np.searchsorted(own.rows, parts).tolist()]
    every = np.concatenate([np.zeros(0, np.intp), *rows])
    return Selected(every, numbers[every])


def narrowed(
    batch: EventBatch, own: Selected, sharing: Sharing, partition: Iterable[AttributePath]
) -> EventBatch:
    """Return the events that a query reads, with the columns of its keys."""
    if own.rows is None:
        return batch
    names, kept = tuple(path[0] for path in partition), sharing.shared.kept
    if kept is None or own.rows is not kept.rows:
        return batch.only(own.rows, names)
    if names not in sharing.narrowed:
        sharing.narrowed[names] = batch.only(own.rows, names)
    found: EventBatch = sharing.narrowed[names]
    return found
