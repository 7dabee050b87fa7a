"""φ UNLESS ψ with a ψ that relates events: ψ is evaluated beside φ.

A match of φ survives when every match of ψ that ends by its end starts before it starts. So all
that has to be known of ψ is, at each event, the latest start of those that ended so far (in its
partition). Where ψ has conditions that are decided as matches are listed, its events are kept too.

Where conditions of ψ name variables of φ, its matches are kept as far as the window reaches, with
what those conditions ask of them (see results/correlation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ensue.analysis.bound import BoundQuery
from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.deferred import Interval
from ensue.errors import BudgetError
from ensue.kernels.graph.segment import Listing, Segment
from ensue.kernels.match.evaluate import carry_latest
from ensue.kernels.sets import union
from ensue.logic.evaluate import Tally
from ensue.messages import Message, Option
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.operators.replay_point import ReplayPoint
from ensue.plan.residual import Residual
from ensue.results.absent_matches import AbsentMatches
from ensue.results.correlation import Correlation
from ensue.results.intervals import Barriers, LatestStarts
from ensue.results.match_set import GraphMatches, MatchSet, TooManyError, Word
from ensue.results.residual_filter import ResidualFilter
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.store import EventStore

_NEVER = -1


class Engine(Protocol):
    """What evaluates ψ; it reports one match, the latest, for each completing event."""

    reader: Callable[[Segment], None] | None

    def begin_at(self, position: int) -> None: ...
    def check(self, stream: EventBatch) -> None: ...
    def push(self, stream: EventBatch, *, keys: np.ndarray | None = None) -> OperatorOutput: ...
    def live_keys(self) -> np.ndarray: ...
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
    shares_keys: bool = False
    """Whether the engine has no keys of its own, and goes by the numbers that φ gives them."""
    _replay: ReplayPoint = field(default_factory=ReplayPoint)
    _ended: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    """Where matches end, and the latest start of each, that were read as they were found."""

    def read(self, segment: Segment) -> None:
        """Note where matches end and start, which is all there is to know of them."""
        graph, hits = segment.graph, segment.hits
        # A node knows the latest start below it, which is inside the window.
        self._ended.append((hits.end, graph.start_position[graph.start[hits.root]]))

    @property
    def barriers(self) -> Barriers | AbsentMatches:
        """What is known so far."""
        return Barriers(tuple(self.latest_starts))

    def latest_in(self, first: int, count: int) -> np.ndarray:
        """Return, for some of the last events, the latest start of what has ended by then."""
        parts = [
            each.latest[max(first - each.first, 0) : max(first + count - each.first, 0)]
            for each in self.latest_starts
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])

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
            found = self.engine.push(stream, keys=keys if self.shares_keys else None).matches
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
            found.events = self.events.view(stream)
            try:
                for end, start in found.latest_starts():
                    latest[end - stream.first] = start
            except TooManyError as error:
                raise self._stopped(error, stream, keys, first_needed) from error
            self._keep(stream)
        else:
            for ends, starts in self._ended:
                latest[ends - stream.first] = starts
            self._ended.clear()
        carry_latest(keys, self.by_key, latest)
        self.latest_starts = [
            each for each in self.latest_starts if each.first + len(each.latest) > first_needed
        ]
        self.latest_starts.append(LatestStarts(stream.first, latest))

    def _stopped(
        self, error: TooManyError, stream: EventBatch, keys: np.ndarray, first_needed: int
    ) -> StoppedError:
        """Return to before the event that completes too many matches, as if the batch ended there.

        What is found up to there is noted.
        """
        engine: Any = self.engine
        self.engine = self._replay.returned(engine, self.events)
        read = error.position - stream.first
        if read:
            again = stream.slice(0, read)
            self._note(self.engine.push(again).matches, again, keys[:read], first_needed)
        budget_error = BudgetError(
            Message(
                f"the event at position {error.position} completes more than "
                f"{engine.limits.matches:,} matches of what stands right of UNLESS or NOT FOLLOWED "
                f"BY, which are listed {self._why}, refused ones included; a shorter WITHIN, a "
                "PARTITION BY, stricter filters or no repetition there make them fewer, and ",
                Option("max_matches"),
                " raises the budget",
            )
        )
        return StoppedError(budget_error, NO_OUTPUT, error.position)

    @property
    def _why(self) -> str:
        """Why matches are listed, for messages."""
        return "because of conditions that only listing decides"

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
                self.events.keep_only(union(now, then))

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
        self._replay.mark(part(saved, "engine"))


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
            self.happened.parts = before
            raise self._stopped(error, stream, keys, first_needed) from error
        self._keep(stream)
        self._next, self._oldest = stream.first + len(stream.times), first_needed
        if len(self.happened) > 2 * self._kept + _UNUSED_MATCHES:
            self.happened = self.happened.since(first_needed)
            self._kept = len(self.happened)

    @property
    def _why(self) -> str:
        return "because conditions compare them with events of its left"

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


def absent_checks(compiled: Compiled) -> Residual | None:
    """Return what is left to check of what must not happen."""
    plan = compiled.plan
    if not (plan.deferred or plan.intervals):
        return None
    return Residual(
        (),
        False,
        1,
        tuple(plan.deferred),
        tuple(plan.intervals),
        tuple(plan.inner_aggregates),
        by_word=True,
    )


def push_absences(
    absences: Sequence[AbsenceOperator],
    follower: AbsenceOperator | None,
    stream: EventBatch,
    keys: np.ndarray,
    oldest: int,
) -> StoppedError | None:
    """Evaluate what must not happen; tell how far that came, where a budget ran out.

    φ may refer to events from `oldest` on; what must not follow is asked about new events only.
    """
    first: StoppedError | None = None
    for absence in absences:
        try:
            absence.push(stream, keys, stream.first if absence is follower else oldest)
        except StoppedError as stopped:
            if first is None or stopped.position < first.position:
                first = stopped
    return first


FOLLOWING = Interval(0, 0, -1, after=True)
"""Where what must not follow a match must be absent."""


def absent_query(bound: BoundQuery, interval: Interval, *, shared: bool) -> BoundQuery:
    """Return what a ψ is evaluated as: one match, the latest, is enough where none is compared."""
    window, absence = bound.window, bound.not_followed
    if interval.after and absence is not None:
        # It has to start and to end between a match and its deadline.
        window = absence.window
    limit = None if interval.outer else 1
    alone = replace(bound, consume="NONE", limit=limit, window=window, not_followed=None)
    return replace(alone, partition=()) if shared else alone


def shares_keys(bound: BoundQuery, absent: Compiled, interval: Interval) -> bool:
    """Tell whether φ can number the keys of a ψ: it must not matter how many events one has had."""
    counts = bound.counts_events or any(isinstance(each, AtStart) for each in absent.predicates)
    return interval is FOLLOWING and bool(bound.partition) and not counts


def open_absence(
    engine: Engine, absent: Compiled, interval: Interval, tally: Tally, *, shared: bool
) -> AbsenceOperator:
    """Return the evaluation of a ψ by an engine, which may share the keys of φ."""
    if not interval.outer:
        absence = AbsenceOperator(engine, shares_keys=shared)
        engine.reader = None if absent_checks(absent) else absence.read
        return absence
    outer = frozenset(name for name, _ in interval.outer)
    correlation = Correlation(tuple(absent.plan.correlated), outer, tally)
    return CorrelatedAbsenceOperator(engine, happened=AbsentMatches(correlation))
