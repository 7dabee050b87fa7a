"""What is decided as matches are enumerated: operators at the top, LIMIT, deferred conditions.

Over conditions between events, the automaton cannot do it: its runs carry hidden bits, and who
beats whom depends on values. So the matches of each completing event are gathered as they are
enumerated. Conditions that no register decides are checked there too, by definition; then it is
only known there which events complete a match, and so what they consume. So are aggregates and
filters on them, unless they are worked out on columns (see aggregates.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np

from ensue.analysis.expressions import paths_of
from ensue.automata.deferred import Deferred, InnerAggregate, Round
from ensue.kernels.graph.segment import Listing
from ensue.logic import formula as f
from ensue.logic.clauses import Found, support_only
from ensue.logic.complex_event import ComplexEvent, Computed, Event
from ensue.logic.evaluate import Tally
from ensue.logic.reference import Reference, projected, select
from ensue.plan.residual import Residual
from ensue.plan.residual_operators import read_columns
from ensue.results.bounds import bounds_of
from ensue.results.choice import choose_listed
from ensue.results.deadlines import Deadlines
from ensue.results.intervals import Barrier, Undisturbed
from ensue.results.match_set import UNKNOWN, GraphMatches, ListedMatches, MatchColumns, Word
from ensue.results.nested import NestedEvaluation
from ensue.results.progress import NO_PROGRESS, Progress
from ensue.stream.batch import EventBatch
from ensue.stream.reference_events import to_events

_MATCHES_AT_ONCE = 1 << 14
"""So many matches are made columns at once."""

_ROWS_AT_ONCE = 1024
"""So many rows are made events at once."""


Neighbours = set[tuple[int, int]]
"""Pairs of events with nothing between them in their (sub)stream."""


def apply_residual(
    residual: Residual, matches: set[ComplexEvent], reference: Reference, neighbours: Neighbours
) -> list[ComplexEvent]:
    """Refine the matches of one completing event, the latest start first."""
    for operator in residual.operators:
        match operator:
            case f.Project(variables=names):
                matches = {projected(c, names) for c in matches}
            case f.Select(strategy="STRICT"):
                matches = {c for c in matches if neighbours.issuperset(_steps(c))}
            case f.Select(strategy=strategy):
                matches = select(matches, strategy)
            case f.Aggregate():
                matches = {reference.aggregated(c, operator) for c in matches}
            case f.Filter(conditions=conditions):
                matches = {
                    c
                    for c in matches
                    if all(reference.satisfies(c, condition) for condition in conditions)
                }
    if residual.positions_only:
        matches = {support_only(c) for c in matches}
    return sorted(matches, key=lambda c: (-c.start, sorted(c.bindings), repr(c.computed)))


def _steps(c: ComplexEvent) -> Iterator[tuple[int, int]]:
    """Return each event of a support with the next."""
    return pairwise(sorted(c.support))


@dataclass(slots=True)
class Rows:
    """The events of a batch by position, made on demand."""

    view: Callable[[], EventBatch]
    names: frozenset[str] | None
    """The columns that are read; None: any."""
    _stream: EventBatch | None = None
    _blocks: dict[int, list[Event]] = field(default_factory=dict)

    def __getitem__(self, position: int) -> Event:
        if self._stream is None:
            self._stream = self.view()
        stream = self._stream
        block, row = divmod(int(stream.rows_at(np.array([position]))[0]), _ROWS_AT_ONCE)
        if block not in self._blocks:
            every, names = stream.table.column_names, self.names
            kept = [name for name in every if names is None or name in names]
            self._blocks[block] = to_events(_cut(stream, block * _ROWS_AT_ONCE, kept))
        return self._blocks[block][row]


def _cut(stream: EventBatch, begin: int, names: list[str]) -> EventBatch:
    """Return a block of rows, and some of their columns."""
    streams = stream.streams
    return EventBatch(
        stream.table.select(names).slice(begin, _ROWS_AT_ONCE),
        stream.types.slice(begin, _ROWS_AT_ONCE),
        None if streams is None else streams.slice(begin, _ROWS_AT_ONCE),
        stream.times[begin : begin + _ROWS_AT_ONCE],
        None,
        None,
        stream.first + begin,
    )


@dataclass(slots=True)
class ResidualFilter:
    """Matches that are refined as they are enumerated."""

    found: GraphMatches
    residual: Residual
    tally: Tally = field(default_factory=Tally)
    before: Progress = NO_PROGRESS
    """What was consumed and completed before."""
    barriers: tuple[Barrier, ...] = ()
    """What must not have happened."""
    deadlines: Deadlines | None = None
    """Until when something must not have followed the matches."""
    events: Callable[[], EventBatch] | None = None
    """The events of the matches, once they are kept somewhere."""
    _count: int | None = field(default=None, init=False)
    _after: Progress | None = field(default=None, init=False)

    @property
    def count(self) -> int:
        if self._count is None:
            self.found.refuse_if_exhausted()
            self._count = sum(1 for _ in self)
        return self._count

    @property
    def least(self) -> int:
        return self._count or 0

    def at_least(self, most: int) -> int:
        """Count them; that takes as long as listing them."""
        return self.count

    @property
    def effort(self) -> int:
        """Tell that counting takes as long as listing."""
        return UNKNOWN if self._count is None and self.found else 0

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def __bool__(self) -> bool:
        """Tell whether there are any; as long as their events are unknown, whether it may be."""
        sure = not self.residual.refuses and self.residual.consume == "NONE"
        if sure or self.events is None:
            return bool(self.found)
        return any(True for _ in self)

    def after(self) -> Progress:
        """Return what has been consumed and completed after these matches."""
        if self._after is None:
            self.found.refuse_if_exhausted()
            for _ in self:
                pass
        assert self._after is not None
        return self._after

    def passing(self) -> Iterator[Word]:
        """Give the matches that pass the checks, with the labels of their events."""
        reference = self._reference()
        for word in self.found.words():
            if self._read(word, reference) is not None:
                yield word

    def latest_starts(self) -> Iterator[tuple[int, int]]:
        """Give each completing event, and the latest start of a match that passes the checks."""
        reference = self._reference()
        for end, group in groupby(self.found.words(), key=lambda word: word.end):
            latest = -1
            for word in group:
                if word.start > latest and self._read(word, reference) is not None:
                    latest = word.start
                    left = self.found.cursor.latest_left(end)
                    if left is not None and left <= latest:
                        self.found.cursor.skip()
            if latest >= 0:
                yield end, latest

    def __iter__(self) -> Iterator[Found]:
        reference = self._reference()
        bounds = self.residual.bounds
        if bounds and self.found:
            self.found.bounds = bounds_of(bounds, self.found.labels, self._view())
        consumed, completed = dict(self.before.consumed), set(self.before.completed)
        consumes, choice = self.residual.consume, self.residual.choice
        refine = self._first_ones if self._stops_early else self._all
        for (end, key), group in groupby(self.found.words(), key=lambda word: (word.end, word.key)):
            found = refine(end, group, reference)
            if consumes != "NONE" and found:
                of = key if consumes == "PARTITION" else 0
                found = [match for match in found if match.start > consumed.get(of, -1)]
                if found:
                    consumed[of] = max(end, consumed.get(of, end))
            if choice is not None:
                found = choose_listed(found, choice, completed)
            for match in islice(found, self.residual.limit):
                yield Found((), match)
        self._after = Progress(consumed, frozenset(completed))

    def _all(self, _: int, group: Iterable[Word], reference: Reference) -> list[ComplexEvent]:
        """Refine all matches of a completing event."""
        neighbours: Neighbours = set()
        matches: set[ComplexEvent] = set()
        for word in group:
            match = self._read(word, reference)
            if match is not None:
                matches.add(match)
                neighbours |= self._neighbours(word)
        return apply_residual(self.residual, matches, reference, neighbours)

    @property
    def _stops_early(self) -> bool:
        """Whether matches are refined one by one, and some of them are enough."""
        residual = self.residual
        alone = residual.limit is not None and residual.consume == "NONE"
        compares = any(isinstance(each, f.Select) for each in residual.operators)
        return alone and residual.choice is None and not compares

    def _first_ones(
        self, end: int, group: Iterable[Word], reference: Reference
    ) -> list[ComplexEvent]:
        """Refine matches of a completing event until LIMIT has enough.

        From then on only those count that start later than all others.
        """
        limit, found = self.residual.limit, set[ComplexEvent]()
        latest = -1
        assert limit is not None
        for word in group:
            if len(found) >= limit and word.start <= latest:
                continue
            match = self._read(word, reference)
            if match is None:
                continue
            found.update(apply_residual(self.residual, {match}, reference, set()))
            latest = max((each.start for each in found), default=-1)
            left = self.found.cursor.latest_left(end) if len(found) >= limit else None
            if left is not None and left <= latest:
                self.found.cursor.skip()
        return sorted(found, key=lambda c: (-c.start, sorted(c.bindings), repr(c.computed)))

    def _read(self, word: Word, reference: Reference) -> ComplexEvent | None:
        """Return the match that a run has read, with the events computed inside; None: none."""
        residual = self.residual
        made: list[list[tuple[str, Computed]]] = []

        def scope(each: InnerAggregate | Deferred, round: Round) -> ComplexEvent:
            computed = frozenset(
                one
                for number in each.inner_aggregates
                for one in made[number]
                if round.first <= one[1].end <= round.last
            )
            return ComplexEvent(word.start, round.last, round.bound, computed)

        for inner_aggregate in residual.inner_aggregates:
            rounds = (
                scope(inner_aggregate, round) for round in inner_aggregate.rounds(word.labels)
            )
            name = inner_aggregate.formula.variable
            made.append([(name, reference.computed(c, inner_aggregate.formula)) for c in rounds])
        for deferred in () if residual.decided_on_columns else residual.deferred:
            for round in deferred.rounds(word.labels):
                if not reference.satisfies(scope(deferred, round), deferred.condition):
                    return None
        bindings = frozenset(
            (name, position)
            for position, label in word.labels
            for bit, name in enumerate(self.found.variables)
            if label >> bit & 1
        )
        shown = frozenset(one for number in residual.shown for one in made[number])
        return ComplexEvent(word.start, word.end, bindings, shown)

    def _neighbours(self, word: Word) -> Neighbours:
        """Return the bound events of a match between which nothing came."""
        adjoined = self.residual.adjoined
        if not adjoined:
            return set()
        return {(last, at) for (last, _), (at, label) in pairwise(word.labels) if label & adjoined}

    def _reference(self) -> Reference:
        """Return what evaluates conditions and aggregates on the events of the matches.

        From here on only matches are listed that nothing happened in that must not, and that
        satisfy the conditions which are decided many matches at a time.
        """
        residual = self.residual
        labels = self.found.labels
        checks: list[Callable[[Listing], np.ndarray]] = []
        if residual.deferred and residual.decided_on_columns:
            checks.append(NestedEvaluation(residual, labels, self._view, self.tally))
        if residual.intervals:
            checks.append(
                Undisturbed(residual.intervals, self.barriers, labels, self._view, self.deadlines)
            )
        if checks:
            self.found.keeps = lambda listing: np.logical_and.reduce([c(listing) for c in checks])
        every = (paths_of(read) for each in residual.deferred for read in each.expressions())
        operators = (*residual.operators, *(each.formula for each in residual.inner_aggregates))
        read = {path[0] for paths in every for path in paths} | read_columns(operators)
        rows: Any = Rows(self._view, frozenset(read))
        return Reference(rows, self.tally)

    def _view(self) -> EventBatch:
        assert self.events is not None, "matches are looked at before their events are kept"
        return self.events()

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        found = iter(self)
        while some := list(islice(found, _MATCHES_AT_ONCE)):
            yield from ListedMatches(some).columns(variables)
