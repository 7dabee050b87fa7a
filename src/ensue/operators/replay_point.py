"""A replay point to where an evaluation has been: a state, and what it has read since.

To write a state down takes the longer, the larger it is. So that is done anew only after events
in proportion to the size of the last one: what a push pays for it, one with the other, does not
follow what is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ensue.kernels.sets import union
from ensue.operators.late_progress import LateProgress
from ensue.results.residual_filter import ResidualFilter
from ensue.stream.batch import EventBatch
from ensue.stream.store import EventStore

if TYPE_CHECKING:
    from ensue.operators.match import MatchOperator

_LEAST_EVENTS_REPLAYED = 1 << 10
"""So many events at least are read before a state is written down again."""

_SHARE = 16
"""So many nodes (keys, …) of a state are worth an event that has to be read again."""


@dataclass(slots=True)
class ReplayPoint:
    """A state of an evaluation, at first that of a fresh one, and which events came since."""

    oldest: int = 0
    """The first event that a match which the state may come to may refer to."""
    _saved: dict[str, Any] | None = None
    _needed: np.ndarray | None = None
    """All of these events, where they are known."""
    _position: int | None = None
    """The first event that was read since; None: there is none."""
    _left: int = _LEAST_EVENTS_REPLAYED
    """How many events are read before the next state is written down."""

    @property
    def nbytes(self) -> int:
        """About how many bytes the state takes."""
        return sum(getattr(each, "nbytes", 0) for each in (self._saved or {}).values())

    def note(self, matching: MatchOperator, stream: EventBatch) -> None:
        """Note that an operator has read a batch; earlier states are not asked for any more."""
        if self._position is None:
            self._position = stream.first
        self._left -= len(stream.times)
        if self._left <= 0:
            self.mark(matching.save())
            self.oldest = matching.first_needed(stream.first + len(stream.times))
            self._needed = matching.needed()

    def needed(self, following: int) -> np.ndarray | None:
        """Return all events that it takes to go back, before one that follows; None: not known."""
        if self._needed is None or self._position is None:
            return self._needed
        return union(self._needed, np.arange(self._position, following))

    def mark(self, saved: Mapping[str, Any]) -> None:
        """Note the current state of an evaluation."""
        # Who wrote it down may go on to change its arrays.
        self._saved = {
            name: each.copy() if isinstance(each, np.ndarray) else each
            for name, each in saved.items()
        }
        self._position = None
        sizes = (len(each) for each in saved.values() if isinstance(each, np.ndarray | list))
        self._left = max(_LEAST_EVENTS_REPLAYED, max(sizes) // _SHARE)

    def returned(self, matching: MatchOperator, store: EventStore) -> MatchOperator:
        """Return an evaluation that has read what was noted, and nothing more.

        The store has all events from the oldest on, as far as they were noted.
        """
        begins = matching.begins
        matching = replace(matching, now=0, late=LateProgress())
        matching.begin_at(begins)
        if self._saved is not None:
            matching.load(self._saved, store.view()())
        if self._position is not None:
            found = matching.push(store.since(self._position)).matches
            if isinstance(found, ResidualFilter):
                found.events = store.view()
        return matching
