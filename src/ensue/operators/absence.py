"""φ UNLESS ψ with a ψ that relates events: ψ is evaluated beside φ.

A match of φ survives when every match of ψ that ends by its end starts before it starts. So all
that has to be known of ψ is, at each event, the latest start of those that ended so far (in its
partition). Where ψ has conditions that are decided as matches are listed, its events are kept too.

Where conditions of ψ name variables of φ, its matches are kept as far as the window reaches, with
what those conditions ask of them (see results/correlation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ensue.errors import BudgetError
from ensue.kernels.graph.segment import Listing
from ensue.kernels.match.evaluate import carry_latest
from ensue.messages import Message, Option
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.operators.replay_point import ReplayPoint
from ensue.results.absent_matches import AbsentMatches
from ensue.results.intervals import Barriers, LatestStarts
from ensue.results.match_set import GraphMatches, MatchSet, TooManyError, Word
from ensue.results.residual_filter import ResidualFilter
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.store import EventStore

_NEVER = -1


class Engine(Protocol):
    """What evaluates ψ; it reports one match, the latest, for each completing event."""

    def begin_at(self, position: int) -> None: ...
    def check(self, stream: EventBatch) -> None: ...
    def push(self, stream: EventBatch) -> OperatorOutput: ...
    def first_needed(self, next_position: int) -> int: ...
    def needed(self) -> np.ndarray | None: ...
    def save(self) -> dict[str, Any]: ...
    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None: ...


@dataclass(slots=True)
class AbsenceOperator:
    """The evaluation of ψ."""

    engine: Engine
    by_key: np.ndarray = field(default_factory=lambda: np.full(1, _NEVER, np.int64))
    """The latest start for each partition key, as φ numbers them."""
    latest_starts: list[LatestStarts] = field(default_factory=list)
    events: EventStore = field(default_factory=EventStore)
    """The events that matches of ψ refer to, where conditions have to look at them."""

    @property
    def barriers(self) -> Barriers | AbsentMatches:
        """What is known so far."""
        return Barriers(tuple(self.latest_starts))

    @property
    def _reached(self) -> int:
        """The first position that was not read."""
        if not self.latest_starts:
            return 0
        last = self.latest_starts[-1]
        return last.first + len(last.latest)

    def push(self, stream: EventBatch, keys: np.ndarray, first_needed: int) -> None:
        """Read a batch; `first_needed` is the first position that φ may still refer to.

        When φ stopped at a budget, it reads some events again that ψ has read already. Where ψ
        stops, that is raised once it is written down what ψ has found by then.
        """
        known = self._reached - stream.first
        if known >= len(stream.times):
            return
        if known > 0:
            stream, keys = stream.slice(known, len(stream.times)), keys[known:]
        try:
            found = self.engine.push(stream).matches
        except StoppedError as stopped:
            read = stopped.position - stream.first
            self._note(stopped.output.matches, stream.slice(0, read), keys[:read], first_needed)
            raise
        self._note(found, stream, keys, first_needed)

    def _note(
        self, found: MatchSet, stream: EventBatch, keys: np.ndarray, first_needed: int
    ) -> None:
        """Note what was found in a batch."""
        most = int(keys.max(initial=-1)) + 1
        if most > len(self.by_key):
            more = np.full(2 * most - len(self.by_key), _NEVER, np.int64)
            self.by_key = np.concatenate([self.by_key, more])
        latest = np.full(len(stream.times), _NEVER, np.int64)
        if isinstance(found, ResidualFilter):
            self._look_at(found, stream)
            for end, start in found.latest_starts():
                latest[end - stream.first] = start
        else:
            assert isinstance(found, GraphMatches)
            for segment in found.segments:
                for listing in segment.listings():
                    np.maximum.at(latest, listing.end - stream.first, listing.start)
        carry_latest(keys, self.by_key, latest)
        self.latest_starts = [
            each for each in self.latest_starts if each.first + len(each.latest) > first_needed
        ]
        self.latest_starts.append(LatestStarts(stream.first, latest))

    def _look_at(self, found: MatchSet, stream: EventBatch) -> Callable[[], EventBatch]:
        """Keep the events of a batch, for matches that end in it or later; return them."""
        self.events.add(stream)
        view = self.events.view()
        if isinstance(found, ResidualFilter):
            found.events = view
        if self.events.has_grown:
            after = stream.first + len(stream.times)
            self.events.forget_before(self.engine.first_needed(after))
        if self.events.is_large:
            needed = self.engine.needed()
            if needed is not None:
                self.events.keep_only(needed)
        return view

    def save(self) -> dict[str, Any]:
        """Save what is known of ψ."""
        kept = self.latest_starts
        whole = [each.latest for each in kept] or [np.zeros(0, np.int64)]
        return {
            "first": kept[0].first if kept else 0,
            "latest": np.concatenate(whole),
            "by_key": self.by_key,
            **below("engine", self.engine.save()),
        }

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was known."""
        self.by_key = saved["by_key"].copy()
        self.latest_starts = [LatestStarts(saved["first"], saved["latest"])]
        self._load_engine(saved, kept)

    def _load_engine(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        # Of what is kept, φ may not have read everything.
        self.events.add(kept.slice(0, int(np.searchsorted(kept.all_positions(), self._reached))))
        self.engine.load(part(saved, "engine"), kept)


_UNUSED_MATCHES = 1 << 10
"""So many matches of ψ may be kept without need before those out of the window are looked for."""


@dataclass(slots=True)
class CorrelatedAbsenceOperator(AbsenceOperator):
    """The evaluation of a ψ whose conditions name variables of φ."""

    happened: AbsentMatches = field(kw_only=True)
    _next: int = 0
    """The first position that was not read."""
    _oldest: int = 0
    """The first position that φ may refer to."""
    _kept: int = 0
    """How many matches of ψ were left when the old ones were forgotten."""
    _replay: ReplayPoint = field(default_factory=ReplayPoint)

    @property
    def barriers(self) -> AbsentMatches:
        """What is known so far."""
        return self.happened

    @property
    def _reached(self) -> int:
        return self._next

    def _note(
        self, found: MatchSet, stream: EventBatch, keys: np.ndarray, first_needed: int
    ) -> None:
        """Note the matches of ψ that a batch completes."""
        if not len(stream.times):
            return
        before = self.happened.parts
        try:
            self._add(found, stream, keys)
        except TooManyError as error:
            # It is as if the batch had ended before the event that completes too many.
            self.happened.parts = before
            engine: Any = self.engine
            self.engine = self._replay.returned(engine, self.events)
            read = error.position - stream.first
            if read:
                again = stream.slice(0, read)
                self._note(self.engine.push(again).matches, again, keys[:read], first_needed)
            limit = engine.limits.matches
            budget_error = BudgetError(
                Message(
                    f"the event at position {error.position} completes more than {limit:,} matches "
                    "of what stands right of UNLESS, which are listed because conditions compare "
                    "them with events of its left; a shorter WITHIN, a PARTITION BY, stricter "
                    "filters or no repetition right of UNLESS make them fewer, and ",
                    Option("max_matches"),
                    " raises the budget",
                )
            )
            raise StoppedError(budget_error, NO_OUTPUT, error.position) from error
        self._keep(stream)
        self._next, self._oldest = stream.first + len(stream.times), first_needed
        if len(self.happened) > 2 * self._kept + _UNUSED_MATCHES:
            self.happened = self.happened.since(first_needed)
            self._kept = len(self.happened)

    def _keep(self, stream: EventBatch) -> None:
        """Keep the events of a batch, for the replay point too."""
        self.events.add(stream)
        engine: Any = self.engine
        self._replay.note(engine, stream)
        after = stream.first + len(stream.times)
        if self.events.has_grown:
            oldest = min(self.engine.first_needed(after), self._replay.oldest)
            self.events.forget_before(oldest)
        if self.events.is_large:
            now, then = self.engine.needed(), self._replay.needed(after)
            if now is not None and then is not None:
                self.events.keep_only(np.union1d(now, then))

    def _add(self, found: MatchSet, stream: EventBatch, keys: np.ndarray) -> None:
        """List the matches of ψ that a batch completes."""
        assert isinstance(found, ResidualFilter | GraphMatches)
        view = self.events.view(stream)
        if isinstance(found, ResidualFilter):
            found.events = view
        read: Iterable[tuple[Listing, list[int]]]
        if isinstance(found, ResidualFilter):
            read = _listed(list(found.passing()))
        else:
            read = ((listing, found.labels) for listing in found.listings())
        for listing, labels in read:
            ends = listing.end - stream.first
            self.happened.add(listing, keys[ends] if len(keys) else 0 * ends, labels, view)

    def save(self) -> dict[str, Any]:
        """Save what is known of ψ."""
        self.happened = self.happened.since(self._oldest)
        return {
            "next": self._next,
            **below("happened", self.happened.save()),
            **below("engine", self.engine.save()),
        }

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from what was known."""
        self._next = saved["next"]
        self._load_engine(saved, kept)
        self.happened = self.happened.loaded(part(saved, "happened"))
        self._replay.mark(part(saved, "engine"))


def _listed(words: list[Word]) -> Iterator[tuple[Listing, list[int]]]:
    """Put matches that were checked one by one together again, and name their labels."""
    if not words:
        return
    numbers: dict[int, int] = {}
    every = [(at, numbers.setdefault(bits, len(numbers))) for w in words for at, bits in w.labels]
    flat = np.array(every, np.int64).reshape(-1, 2)
    listing = Listing(
        np.array([word.start for word in words], np.int64),
        np.array([word.end for word in words], np.int64),
        np.cumsum([0, *(len(word.labels) for word in words)]),
        flat[:, 0],
        flat[:, 1],
        np.array([word.key for word in words], np.int64),
        alike=False,
    )
    yield listing, list(numbers)
