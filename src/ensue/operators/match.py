"""The match operator: predicates to symbols, symbols through the kernels, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ensue.analysis.bound import BoundQuery
from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.deferred import Interval
from ensue.automata.relevance import Needed
from ensue.errors import BudgetError
from ensue.kernels.graph.segment import Segment
from ensue.kernels.match import state as saved_state
from ensue.kernels.match.driver import MatchDriver
from ensue.logic.evaluate import Tally
from ensue.logic.formula import Choice
from ensue.operators.absence import (
    FOLLOWING,
    AbsenceOperator,
    absent_checks,
    absent_query,
    open_absence,
    push_absences,
    shares_keys,
)
from ensue.operators.automaton import Automaton
from ensue.operators.late_progress import LateProgress
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.operators.pending import DecidedOutcome, PendingMatches
from ensue.operators.reach import Reach, narrowed
from ensue.operators.refining import chooser_of, may_refuse, purpose_of, thinning_of
from ensue.options import Limits
from ensue.plan.physical import consumption
from ensue.plan.residual import Residual
from ensue.predicates.encode import Encoder
from ensue.predicates.evaluate import Batch
from ensue.predicates.sharing import Sharing
from ensue.predicates.symbols import Alphabet
from ensue.results.aggregates import AggregatedMatches
from ensue.results.deadlines import Deadlines
from ensue.results.match_set import GraphMatches, MatchSet
from ensue.results.residual_filter import ResidualFilter
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.keys import Keys, read_keys, read_ordinals, read_streams, unread


@dataclass(slots=True)
class MatchOperator:
    """The state of a query on a stream: pushed batch after batch."""

    tag: ClassVar[str] = "match"
    compiled: Compiled
    bound: BoundQuery
    limits: Limits
    tally: Tally = field(default_factory=Tally)
    residual: Residual | None = None
    compact_always: bool = False
    given: Mapping[int, int] = field(default_factory=dict)
    """Predicates whose answers come with the events, and their bits there."""
    following: Compiled | None = None
    """What must not follow a match until its deadline, where it names no events of the match."""
    alphabet: Alphabet = field(init=False)
    encoder: Encoder = field(init=False)
    evaluator: MatchDriver = field(init=False)
    keys: Keys | None = field(init=False)
    now: int = 0
    """The clock at the last event."""
    absences: tuple[AbsenceOperator, ...] = field(init=False)
    """What is evaluated beside, because it must not happen; last, what must not follow."""
    pending: PendingMatches | None = field(init=False)
    """What waits for its deadline."""
    begins: int = 0
    """The position of the first event that this query sees."""
    most_listed: int | None = None
    """How many matches of one event may be listed; None: as many as there are."""
    held_keys: Callable[[], np.ndarray] | None = None
    """Gives the numbers of keys for which another operator keeps state."""
    choice: Choice | None = None
    """What SELECT chooses on the match graph; None: all matches."""
    automaton: Automaton | None = None
    """The automaton of its plan, where several operators share what is known of it."""
    reader: Callable[[Segment], None] | None = None
    """Reads hits as they are found, where nobody lists their matches."""
    _automaton: Automaton = field(init=False)
    _reach: Reach = field(init=False)
    """Which events of a batch that many queries read have to be looked at."""
    _counts_events: bool = field(init=False)
    """Whether some window counts events."""
    _nothing: OperatorOutput = field(init=False)
    """The output where no match is completed."""
    _asks_start: bool = field(init=False)
    """Whether it matters which event is the first."""
    _reads_symbols_only: bool = field(init=False)
    """Whether an event whose symbol moves nothing changes nothing but the time."""
    late: LateProgress = field(default_factory=LateProgress)
    """What is consumed or completed, where only listing tells."""

    def __post_init__(self) -> None:
        bound = self.bound
        self._counts_events = bound.counts_events
        self._asks_start = any(isinstance(each, AtStart) for each in self.compiled.predicates)
        chooser = chooser_of(self.choice, self.residual, self.compiled)
        self._automaton = self.automaton or Automaton(self.compiled)
        self.alphabet, table = self._automaton.open(
            self.limits.states, self.given, merging=chooser is None
        )
        self.encoder = Encoder(tuple(self.compiled.plan.columns), table.columns)
        self.keys = Keys(bound.partition) if bound.partition else None
        refines = may_refuse(self.residual, self.compiled)
        self.evaluator = MatchDriver(
            table,
            window=-1 if bound.window is None else bound.window.size,
            within_keys=self._counts_within_keys,
            consume="NONE" if self._consumes_late else consumption(bound),
            limit=-1 if bound.limit is None or refines else bound.limit,
            registers=len(table.registers),
            expiring=table.expiring(partitioned=self.keys is not None),
            most_bytes=self.limits.bytes,
            most_configurations=self.limits.configurations,
            compact_always=self.compact_always,
            chooser=chooser,
        )
        self._nothing = OperatorOutput(GraphMatches([], self.compiled.variables, table.labels))
        absence, self.pending = bound.not_followed, None
        if absence is not None:
            self.pending = PendingMatches(absence.window, self.evaluator.limit, self.compact_always)
        intervals = sorted(self.compiled.plan.intervals, key=lambda each: each.absent)
        followers = () if self.following is None else (self._absence(self.following, FOLLOWING),)
        self.absences = (*map(self._absence, self.compiled.absent, intervals), *followers)
        self._reach = Reach.of(self._automaton, bound.window)
        more = bound.partition, absence, self.encoder.columns, self._counts_events, self.absences
        self._reads_symbols_only = not any(more)

    def _absence(self, absent: Compiled, interval: Interval) -> AbsenceOperator:
        """Return what evaluates something that must not happen."""
        shared = shares_keys(self.bound, absent, interval)
        alone, checks = absent_query(self.bound, interval, shared=shared), absent_checks(absent)
        engine = MatchOperator(absent, alone, self.limits, self.tally, checks, self.compact_always)
        if not shared:
            engine.most_listed = self.limits.matches
        return open_absence(engine, absent, interval, self.tally, shared=shared)

    @property
    def _consumes_late(self) -> bool:
        return self.residual is not None and self.residual.consume != "NONE"

    @property
    def _counts_within_keys(self) -> bool:
        """Whether the window of the query is measured in events of a key."""
        window = self.bound.window
        return self.keys is not None and window is not None and window.kind == "events"

    @property
    def _numbers_within_keys(self) -> bool:
        """Whether any window is, so that the events of each key are numbered."""
        return self.keys is not None and self._counts_events

    def needed_events(self) -> Needed | None:
        """Tell what must hold for an event to matter; None: any event may."""
        if self._counts_events or self.compiled.plan.registers or self.pending is not None:
            return None
        return self._automaton.needed

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that no register can hold."""
        if self.compiled.plan.registers:
            self.encoder.encode(Batch(stream.table, stream.types))
        for absence in self.absences:
            absence.engine.check(stream)

    def push(
        self, stream: EventBatch, sharing: Sharing | None = None, *, keys: np.ndarray | None = None
    ) -> OperatorOutput:
        """Read a batch of events, perhaps with their keys; return the matches it completes."""
        if not len(stream.times):
            return NO_OUTPUT
        if self.pending is not None:
            self.pending.check(self.limits.bytes, stream.first)
        try:
            self._consume()
        except BudgetError as error:
            raise StoppedError(error, NO_OUTPUT, stream.first) from error
        for absence in self.absences:
            absence.engine.check(stream)
        batch = Batch(stream.table, stream.types, self.tally)
        if sharing is not None:
            batch = sharing.shared.batch
        # First what may refuse a value, then what changes the state.
        values = self.encoder.encode(batch) if self.encoder.columns else None
        whole, own = stream, None
        if sharing is None:
            self._reach.is_behind = True
        else:
            skips = None if self.absences else self.evaluator.ignores
            own = self._reach.own(sharing, self.alphabet, skips, whole.times, self.now)
            if own is None:
                self.now = int(whole.times[-1])
                return self._output([], None)
            stream = narrowed(whole, own, sharing, self.bound.partition)
        if self.keys is not None and self.keys.wants_settling:
            self._settle_keys(self.keys)
        asks, begins = self._asks_start, self.begins
        own_keys, opens = read_keys(self.keys, stream, openings=asks, begins=begins)
        keys = own_keys if keys is None else keys
        if sharing is None or own is None:
            symbols = self.alphabet.read(batch, read_streams(stream), opens)
        else:
            symbols = sharing.union.symbols(self.alphabet, sharing.shared, own, opens)
        if self.tally.witness is not None:
            self.tally.witness(batch)
        if self._reads_symbols_only and self.evaluator.is_inert(symbols, len(self.alphabet.bits)):
            self.now = int(whole.times[-1])
            return self._nothing if self.residual is None else self._output([], None)
        clocks, key_clocks = np.ascontiguousarray(stream.times), None
        if self._counts_events:
            numbers, before = read_ordinals(self.keys, stream, keys)
            if values is not None:
                self.encoder.fill_clocks(values, clocks, numbers)
            if self.bound.window is not None and self.bound.window.kind == "events":
                clocks, key_clocks = numbers, before
        elif values is not None:
            self.encoder.fill_clocks(values, clocks, None)
        stopped, follower = None, None if self.following is None else self.absences[-1]
        if self.absences:
            oldest = self.first_needed(stream.first)
            stopped = push_absences(self.absences, follower, stream, keys, oldest)
        end = len(stream.times) if stopped is None else stopped.position - stream.first
        decided, segments = self._decided(stream, keys), list[Segment]()
        self.evaluator.lends = self.reader is not None or decided is not None
        values = None if values is None else values[:end]
        events = symbols[:end], clocks[:end], keys[:end], stream.first, self.alphabet.bits
        found = self.evaluator.push(*events, key_clocks, values, stream.positions)
        try:
            for segment in found:
                if decided is not None:
                    decided.take(segment)
                elif self.reader is not None:
                    self.reader(segment)
                else:
                    segments.append(segment)
        except BudgetError as error:
            end = self.evaluator.reached
            stopped = StoppedError(error, NO_OUTPUT, int(stream.all_positions()[end]))
        if stopped is None:
            self.now = int(clocks[-1] if stream is whole else whole.times[-1])
        elif end:
            self.now = int(clocks[end - 1])
        output = self._output(segments, None if decided is None else decided.finished(end))
        if stopped is None:
            return output
        unread(self.keys, keys, opens, end, counted=self._numbers_within_keys)
        raise StoppedError(stopped, output, stopped.position) from stopped

    def _decided(self, stream: EventBatch, keys: np.ndarray) -> DecidedOutcome | None:
        """Return what lets the hits of a batch wait for their deadline; None: there is none."""
        if self.pending is None:
            return None
        latest = None
        if self.following is not None:
            latest = self.absences[-1].latest_in(stream.first, len(stream.times))
        return self.pending.begin(stream.times, keys, latest, stream.first)

    def _output(self, segments: list[Segment], decided: DecidedOutcome | None) -> OperatorOutput:
        if self.encoder.wants_thinning:
            self.compact()
            self.encoder.keep(self.evaluator.held())
        if not segments and decided is None and self.residual is None:
            return self._nothing
        if decided is None:
            return OperatorOutput(self.match_set(segments, None))
        late = decided.deadlines
        return OperatorOutput(self.match_set(decided.segments, late), (), late)

    def match_set(self, segments: list[Segment], deadlines: Deadlines | None) -> MatchSet:
        """Hand out what the kernel found, and what is left to do about it."""
        labels, most = self.evaluator.table.labels, self.most_listed
        listed = GraphMatches(segments, self.compiled.variables, labels, most=most)
        if self.residual is None:
            return listed
        listed.thin(thinning_of(self.residual, self.compiled))
        if may_refuse(self.residual, self.compiled) and not self.residual.by_word:
            listed.most, listed.purpose = self.limits.matches, purpose_of(self.residual)
        barriers = tuple(each.barriers for each in self.absences)
        if self.residual.columnar:
            how = self.tally, barriers, deadlines, self.compiled.hides
            return AggregatedMatches(listed, self.residual, *how)
        before = self.late.progress, barriers, deadlines
        refined = ResidualFilter(listed, self.residual, self.tally, *before)
        if (self._consumes_late or self.residual.choice == "FIRST") and listed:
            self.late.newest = refined
        return refined

    def _consume(self) -> None:
        """Look at the last matches, where they tell what is consumed or completed."""
        if self.late.newest is not None:
            self.late.settle(self.first_needed(0))

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass: partial matches leave the window."""
        window = self.bound.window
        if window is not None and window.kind != "events":
            self.now = max(self.now, time)
        if self.pending is None:
            return NO_OUTPUT
        self._consume()
        return self._output([], DecidedOutcome(self.pending).advanced(time))

    def finish(self) -> OperatorOutput:
        """Signal the end of input; no match waits for it."""
        self._automaton.keep(self.alphabet, self.evaluator.table)
        return NO_OUTPUT

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes the match graph has, and how many bytes are allocated."""
        nodes, size = self.evaluator.live
        return nodes, size + (0 if self.pending is None else self.pending.nbytes)

    def _settle_keys(self, keys: Keys) -> None:
        """Drop keys without partial matches, unless something else is kept for them."""
        if self._asks_start or self._numbers_within_keys:
            keys.settle(None)
        else:
            self.compact()
            held = [] if self.held_keys is None else [self.held_keys()]
            waits = [] if self.pending is None else [self.pending.keys()]
            keys.settle(np.concatenate([self.live_keys(), *held, *waits]))

    def live_keys(self) -> np.ndarray:
        """Return the keys that have partial matches, here or beside, some more than once."""
        beside = [each.engine.live_keys() for each in self.absences if each.shares_keys]
        return np.concatenate([self.evaluator.live_keys(), *beside])

    def compact(self) -> None:
        """Keep only what partial matches inside the window still need."""
        keys = self.keys if self._counts_within_keys else None
        self.evaluator.compact(self.now, None if keys is None else keys.counters())

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.begins = position
        for each in self.absences:
            each.engine.begin_at(position)

    def needed(self) -> np.ndarray | None:
        """Return all positions that partial matches refer to; None: all from the first."""
        self.compact()
        found = [self.evaluator.positions()]
        if self.pending is not None:
            found.append(self.pending.positions())
        for absence in self.absences:
            needed = absence.engine.needed()
            if needed is None:
                return None
            found.append(needed)
        return np.concatenate(found)

    def save(self) -> dict[str, Any]:
        """Save the partial matches, and what else outlives a batch."""
        if self.keys is not None:
            self._settle_keys(self.keys)
        self.compact()
        self.encoder.keep(self.evaluator.held())
        saved = {"now": self.now, "begins": self.begins, **saved_state.save(self.evaluator)}
        saved |= below("encoder", self.encoder.save())
        saved |= self.late.save(self.first_needed(0), self.evaluator.table)
        for number, absence in enumerate(self.absences):
            saved |= below(f"absent/{number}", absence.save())
        if self.pending is not None:
            saved |= below("pending", self.pending.save(self.evaluator.table))
        return saved if self.keys is None else saved | below("keys", self.keys.save())

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from partial matches that were saved."""
        self.now, self.begins = saved["now"], saved["begins"]
        self._reach.is_behind = True
        self.encoder.load(part(saved, "encoder"))
        if self.keys is not None:
            self.keys.load(part(saved, "keys"))
        saved_state.load(self.evaluator, saved)
        if self.pending is not None:
            self.pending.load(part(saved, "pending"), self.evaluator.table)
        for number, absence in enumerate(self.absences):
            absence.load(part(saved, f"absent/{number}"), kept)
        fresh = self.match_set([], None)
        own = fresh if isinstance(fresh, ResidualFilter) else None
        self.late.load(saved, own, self.evaluator.table, self.bound.clock.column)

    def first_needed(self, next_position: int) -> int:
        """Return the first position that partial matches may still refer to."""
        within_keys = self._counts_within_keys
        first = self.evaluator.first_start(None if within_keys else self.now, next_position)
        if self.pending is not None:
            first = self.pending.first_needed(first)
        return min([first, *(each.engine.first_needed(next_position) for each in self.absences)])
