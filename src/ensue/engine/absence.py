"""φ UNLESS ψ with a ψ that relates events: ψ is evaluated beside φ.

A match of φ survives when every match of ψ that ends by its end starts before it starts. So all
that has to be known of ψ is, at each event, the latest start of those that ended so far (in its
partition).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from ensue.engine.block import below, part
from ensue.engine.findings import Enumerated, Findings
from ensue.engine.stream import Stream
from ensue.runtime.evaluate import carry_latest

_NEVER = -1


class Engine(Protocol):
    """What evaluates ψ; it reports one match, the latest, for each completing event."""

    def begin_at(self, position: int) -> None: ...
    def check(self, stream: Stream) -> None: ...
    def read(self, stream: Stream) -> Findings: ...
    def save(self) -> dict[str, Any]: ...
    def load(self, saved: Mapping[str, Any], kept: Stream) -> None: ...


class Stretch(NamedTuple):
    """The latest start of a match of ψ that has ended by each of some events."""

    first: int
    latest: np.ndarray


class Barriers(NamedTuple):
    """What is known of ψ at the events that matches may refer to."""

    stretches: tuple[Stretch, ...]

    def latest(self, position: int) -> int:
        """Return the latest start of a match of ψ that has ended by an event."""
        place = bisect_right(self.stretches, position, key=lambda each: each.first) - 1
        stretch = self.stretches[place]
        return int(stretch.latest[position - stretch.first])


@dataclass(slots=True)
class Absence:
    """The evaluation of ψ."""

    engine: Engine
    by_key: np.ndarray = field(default_factory=lambda: np.full(1, _NEVER, np.int64))
    """The latest start for each partition key, as φ numbers them."""
    stretches: list[Stretch] = field(default_factory=list)

    def push(self, stream: Stream, keys: np.ndarray, first_needed: int) -> Barriers:
        """Read a stretch; `first_needed` is the first position that φ may still refer to."""
        most = int(keys.max(initial=-1)) + 1
        if most > len(self.by_key):
            more = np.full(2 * most - len(self.by_key), _NEVER, np.int64)
            self.by_key = np.concatenate([self.by_key, more])
        latest = np.full(len(stream.times), _NEVER, np.int64)
        found = self.engine.read(stream)
        assert isinstance(found, Enumerated)
        for segment in found.segments:
            for listing in segment.listings():
                np.maximum.at(latest, listing.end - stream.first, listing.start)
        carry_latest(keys, self.by_key, latest)
        self.stretches = [
            each for each in self.stretches if each.first + len(each.latest) > first_needed
        ]
        self.stretches.append(Stretch(stream.first, latest))
        return Barriers(tuple(self.stretches))

    def save(self) -> dict[str, Any]:
        """Write down what is known of ψ."""
        kept = self.stretches
        whole = [each.latest for each in kept] or [np.zeros(0, np.int64)]
        return {
            "first": kept[0].first if kept else 0,
            "latest": np.concatenate(whole),
            "by_key": self.by_key,
            **below("engine", self.engine.save()),
        }

    def load(self, saved: Mapping[str, Any], kept: Stream) -> None:
        """Go on from what was known."""
        self.by_key = saved["by_key"].copy()
        self.stretches = [Stretch(saved["first"], saved["latest"])]
        self.engine.load(part(saved, "engine"), kept)
