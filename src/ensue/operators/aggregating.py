"""What adds up the matches that an evaluation finds has in common, however it adds them up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.logic.clauses import Row
from ensue.operators.match import MatchOperator
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.results.match_set import MatchSet
from ensue.results.totals import TotalRows
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.store import EventStore

Totals = Sequence[Row] | TotalRows


@dataclass(slots=True)
class AggregatingOperator(ABC):
    """The state of a query that adds up what an evaluation finds."""

    matching: MatchOperator
    store: EventStore = field(default_factory=EventStore, init=False)
    """The events that matches to come may ask for."""

    @abstractmethod
    def _add(self, found: MatchSet, stream: EventBatch) -> Totals:
        """Add up the matches that a batch has completed, and return the rows that are over."""

    @abstractmethod
    def _add_decided(self, found: MatchSet, time: int) -> Totals:
        """Add up matches that time alone has decided, and return the rows that are over."""

    def _settled(self, time: int) -> int:
        """Return the time before which no match can end, nor be decided, any more."""
        pending = self.matching.pending
        if pending is None or self.matching.bound.every is None:
            return time
        first = pending.ends()[:1]
        if not len(first):
            return time
        kept = self.store.view()()
        return min(time, int(kept.times[kept.rows_at(first)[0]]))

    @abstractmethod
    def _over(self, time: int | None) -> Totals:
        """Return the rows of the intervals that this time is beyond; None: of all."""

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that no register can hold."""
        self.matching.check(stream)

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch of events and return the rows that are complete."""
        stopped = None
        try:
            found = self.matching.push(stream).matches
        except StoppedError as error:
            stopped, found = error, error.output.matches
            stream = stream.slice(0, error.position - stream.first)
        rows = self._add(found, stream) if len(stream.times) else ()
        output = OperatorOutput(NO_OUTPUT.matches, rows)
        if stopped is not None:
            raise StoppedError(stopped, output, stopped.position) from stopped
        return output

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass: intervals are over, partial matches leave the window."""
        found = self.matching.advance(time).matches
        rows = self._add_decided(found, time) if found else self._over(self._settled(time))
        return OperatorOutput(NO_OUTPUT.matches, rows)

    def finish(self) -> OperatorOutput:
        """Hand out the intervals that are not over yet."""
        return OperatorOutput(NO_OUTPUT.matches, self._over(None))

    def first_needed(self, next_position: int) -> int:
        """Return the first position that is still of interest: rows have all they need."""
        return next_position

    def needed(self) -> np.ndarray:
        """Return no position: rows have all they need."""
        return np.zeros(0, np.int64)

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.matching.begin_at(position)

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes the match graph has, and how many bytes are allocated."""
        nodes, size = self.matching.live
        return nodes, size + self._bytes

    @property
    def _bytes(self) -> int:
        """About how many bytes are kept beside the match graph."""
        return self.store.nbytes

    def save(self) -> dict[str, Any]:
        """Save the partial matches, and their events."""
        saved = below("fast", self.matching.save())
        first = self.matching.first_needed(self.store.following)
        return saved | below("store", self.store.trimmed(first, self.matching.needed()).save())

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was saved."""
        self.store.load(part(saved, "store"), self.matching.bound.clock.column)
        # What partial matches refer to is kept here, not with the rows that results show.
        own = self.store.view()() if self.store.rows else kept.slice(0, 0)
        self.matching.load(part(saved, "fast"), own)
