"""SELECT count(*) over conditions between events: added up on the match graph, not listed.

Configurations with equal registers share their nodes, so the graph is small where the matches are
many. For each completing event the paths below its node are counted, window's edge included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.analysis.types import Type
from ensue.engine.block import below, part
from ensue.engine.fast import Fast
from ensue.engine.findings import Enumerated
from ensue.engine.recogniser import NOTHING, Outcome, StoppedError
from ensue.engine.stream import Stream
from ensue.engine.totals import Adder, Gathering
from ensue.runtime.count import Counted
from ensue.runtime.paths import count_paths
from ensue.runtime.segment import Segment
from ensue.runtime.weights import Weights


@dataclass(slots=True)
class GraphCounting:
    """The state of a query that counts what an evaluation finds."""

    fast: Fast
    gathering: Gathering = field(init=False)

    def __post_init__(self) -> None:
        bound = self.fast.bound
        assert bound.totals is not None

        def type_of(path: tuple[str, ...]) -> Type:
            return bound.schema.type_of(path, None) or Type.UNKNOWN

        adder = Adder(bound.totals, dict(bound.selected_types), type_of)
        self.gathering = Gathering(adder, bound.partition, bound.every)

    def check(self, stream: Stream) -> None:
        """Raise UnsupportedError for values that no register can hold."""
        self.fast.check(stream)

    def push(self, stream: Stream) -> Outcome:
        """Read a stretch of the stream and return the rows that are complete."""
        try:
            return self._gathered(self.fast.push(stream), stream)
        except StoppedError as stopped:
            read = stream.slice(0, stopped.position - stream.first)
            raise StoppedError(
                stopped, self._gathered(stopped.outcome, read), stopped.position
            ) from stopped

    def _gathered(self, outcome: Outcome, stream: Stream) -> Outcome:
        if not len(stream.times):
            return NOTHING
        found = outcome.findings
        assert isinstance(found, Enumerated)
        counted = [_counted(segment) for segment in found.segments]
        return Outcome(NOTHING.findings, self.gathering.add(counted, stream))

    def advance(self, time: int) -> Outcome:
        """Let time pass: intervals are over, partial matches leave the window."""
        self.fast.advance(time)
        return Outcome(NOTHING.findings, self.gathering.advance(time))

    def finish(self) -> Outcome:
        """Hand out the intervals that are not over yet."""
        return Outcome(NOTHING.findings, self.gathering.finish())

    def first_needed(self, next_position: int) -> int:
        """Return the first position that is still of interest: rows have all they need."""
        return next_position

    def needed(self) -> np.ndarray:
        """Return no position: rows have all they need."""
        return np.zeros(0, np.int64)

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.fast.begin_at(position)

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes the match graph has, and how many bytes are allocated."""
        return self.fast.live

    def save(self) -> dict[str, Any]:
        """Write down the partial matches, and what waits for its interval."""
        return {
            **below("fast", self.fast.save()),
            **below("gathering", self.gathering.save()),
        }

    def load(self, saved: Mapping[str, Any], kept: Stream) -> None:
        """Go on from what was saved."""
        self.fast.load(part(saved, "fast"), kept)
        self.gathering.load(part(saved, "gathering"))


def _counted(segment: Segment) -> Counted:
    """Count the matches of each completing event, modulo 2^64 and as doubles."""
    hits = segment.hits
    counts = np.zeros(len(hits.end), np.int64)
    sizes = np.zeros(len(hits.end), np.float64)
    with np.errstate(over="ignore"):
        count_paths(segment.graph, hits.root, hits.edge, hits.floor, counts, sizes)
    least = np.zeros((len(counts), 0), np.int64)
    return Counted(hits.end, hits.key, Weights(counts[:, None], sizes[:, None], least))
