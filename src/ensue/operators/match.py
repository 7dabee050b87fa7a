"""The match operator: predicates to symbols, symbols through the kernels, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ensue.analysis.bound import BoundQuery
from ensue.automata.compiled import AtStart, Compiled
from ensue.automata.determine import Determined
from ensue.automata.relevance import Needed, needed
from ensue.errors import BudgetError
from ensue.kernels.graph.segment import Segment
from ensue.kernels.match import state as saved_state
from ensue.kernels.match.driver import MatchDriver
from ensue.kernels.tables import Table
from ensue.logic.evaluate import Tally
from ensue.operators.absence import AbsenceOperator, CorrelatedAbsenceOperator
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.options import Limits
from ensue.plan.physical import attribute_types, consumption
from ensue.plan.residual import Residual
from ensue.plan.residual_operators import adds_only
from ensue.predicates.encode import Encoder
from ensue.predicates.evaluate import Batch
from ensue.predicates.sharing import Shared, Union
from ensue.predicates.symbols import Alphabet
from ensue.results.absent_matches import AbsentMatches
from ensue.results.aggregates import AggregatedMatches
from ensue.results.correlation import Correlation
from ensue.results.match_set import GraphMatches, MatchSet
from ensue.results.residual_filter import ResidualFilter
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.keys import Keys, read_clocks, read_keys, read_streams, unread

_UNUSED_STRINGS = 1 << 16
"""So many strings may be kept without need before those in registers are looked for."""


class Sharing(NamedTuple):
    """What queries on one stream have in common, on a batch of it."""

    union: Union
    shared: Shared


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
    alphabet: Alphabet = field(init=False)
    encoder: Encoder = field(init=False)
    evaluator: MatchDriver = field(init=False)
    keys: Keys | None = field(init=False)
    now: int = 0
    """The clock at the last event."""
    absences: tuple[AbsenceOperator, ...] = field(init=False)
    """What is evaluated beside, because it must not happen."""
    begins: int = 0
    """The position of the first event that this query sees."""
    most_listed: int | None = None
    """How many matches of one event may be listed; None: as many as there are."""
    held_keys: Callable[[], np.ndarray] | None = None
    """Gives the numbers of keys for which another operator keeps state."""
    _asks_start: bool = field(init=False)
    """Whether it matters which event is the first."""
    _strings_kept: int = 0
    _newest: ResidualFilter | None = None
    """The last matches, where they tell what is consumed."""
    _consumed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bound = self.bound
        self._asks_start = any(isinstance(each, AtStart) for each in self.compiled.predicates)
        self.alphabet = Alphabet(self.compiled.predicates, self.given)
        table = Table(Determined(self.compiled, self.limits.states))
        self.encoder = Encoder(tuple(self.compiled.plan.columns), table.columns)
        self.keys = Keys(bound.partition) if bound.partition else None
        self.evaluator = MatchDriver(
            table,
            window=-1 if bound.window is None else bound.window.size,
            within_keys=self._counts_within_keys,
            consume="NONE" if self._consumes_late else consumption(bound),
            limit=-1 if bound.limit is None or self._refines else bound.limit,
            registers=len(table.registers),
            most_bytes=self.limits.bytes,
            most_configurations=self.limits.configurations,
            compact_always=self.compact_always,
        )

        self.absences = tuple(map(self._absence, self.compiled.absent, self._outer()))

    def _outer(self) -> list[frozenset[str]]:
        """Return, for each of what must not happen, the variables of φ that it names."""
        intervals = sorted(self.compiled.plan.intervals, key=lambda each: each.absent)
        return [frozenset(name for name, _ in each.outer) for each in intervals]

    def _absence(self, absent: Compiled, outer: frozenset[str]) -> AbsenceOperator:
        """Return what evaluates something that must not happen."""
        alone = replace(self.bound, consume="NONE", limit=None if outer else 1)
        checks = _checks(absent)
        engine = MatchOperator(absent, alone, self.limits, self.tally, checks, self.compact_always)
        if not outer:
            return AbsenceOperator(engine)
        engine.most_listed = self.limits.matches
        correlation = Correlation(tuple(absent.plan.correlated), outer, self.tally)
        return CorrelatedAbsenceOperator(engine, happened=AbsentMatches(correlation))

    @property
    def _columnar(self) -> bool:
        """Whether what is left to do on enumeration is done on columns."""
        residual = self.residual
        if residual is None or not residual.columnar:
            return False
        return bool(residual.intervals) or not self.compiled.hides

    @property
    def _refines(self) -> bool:
        """Whether a match of the automaton may be none in the end."""
        if self.residual is None:
            return False
        adds = self._columnar and adds_only(self.residual.operators)
        return not adds or bool(self.residual.intervals)

    @property
    def _consumes_late(self) -> bool:
        return self.residual is not None and self.residual.consume != "NONE"

    @property
    def _counts_within_keys(self) -> bool:
        window = self.bound.window
        return self.keys is not None and window is not None and window.kind == "events"

    def needed_events(self) -> Needed | None:
        """Tell what must hold for an event to matter; None: any event may."""
        window = self.bound.window
        counts = window is not None and window.kind == "events"
        return None if counts or self.compiled.plan.registers else needed(self.compiled)

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that no register can hold."""
        if self.compiled.plan.registers:
            self.encoder.encode(Batch(stream.table, stream.types))
        for absence in self.absences:
            absence.engine.check(stream)

    def push(self, stream: EventBatch, sharing: Sharing | None = None) -> OperatorOutput:
        """Read a batch of events and return the matches it completes."""
        if not len(stream.times):
            return NO_OUTPUT
        self._consume()
        for absence in self.absences:
            absence.engine.check(stream)
        batch = Batch(stream.table, stream.types, self.tally)
        if sharing is not None:
            batch = sharing.shared.batch
        # First what may refuse a value, then what changes the state.
        values = self.encoder.encode(batch)
        whole, own = stream, None
        if sharing is not None:
            own = sharing.union.own(self.alphabet, sharing.shared)
            if own.rows is not None:
                stream = stream.only(own.rows, (path[0] for path in self.bound.partition))
        if self.keys is not None and self.keys.wants_settling:
            self._settle_keys(self.keys)
        keys, opens = read_keys(self.keys, stream, openings=self._asks_start, begins=self.begins)
        if sharing is None or own is None:
            symbols = self.alphabet.read(batch, read_streams(stream), opens)
        else:
            symbols = sharing.union.symbols(self.alphabet, sharing.shared, own, opens)
        if self.tally.witness is not None:
            self.tally.witness(batch)
        clocks, key_clocks = read_clocks(self.bound.window, self.keys, stream, keys)
        stopped = self._push_absences(stream, keys)
        end = len(stream.times) if stopped is None else stopped.position - stream.first
        segments: list[Segment] = []
        found = self.evaluator.push(
            symbols[:end],
            clocks[:end],
            keys[:end],
            stream.first,
            self.alphabet.bits,
            key_clocks,
            values[:end],
            stream.positions,
        )
        try:
            segments.extend(found)
        except BudgetError as error:
            end = self.evaluator.reached
            stopped = StoppedError(error, NO_OUTPUT, int(stream.all_positions()[end]))
        if stopped is None:
            self.now = int(clocks[-1] if stream is whole else whole.times[-1])
        elif end:
            self.now = int(clocks[end - 1])
        output = OperatorOutput(self._match_set(segments))
        if stopped is not None:
            unread(self.keys, keys, opens, end, counted=self._counts_within_keys)
            raise StoppedError(stopped, output, stopped.position) from stopped
        return output

    def _push_absences(self, stream: EventBatch, keys: np.ndarray) -> StoppedError | None:
        """Evaluate what must not happen; tell how far that came, where a budget ran out."""
        if not self.absences:
            return None
        oldest = self.first_needed(stream.first)
        first: StoppedError | None = None
        for absence in self.absences:
            try:
                absence.push(stream, keys, oldest)
            except StoppedError as stopped:
                if first is None or stopped.position < first.position:
                    first = stopped
        return first

    def _match_set(self, segments: list[Segment]) -> MatchSet:
        """Hand out what the kernel found, and what is left to do about it."""
        if self.encoder.size > 2 * self._strings_kept + _UNUSED_STRINGS:
            self.compact()
            self.encoder.keep(self.evaluator.held())
            self._strings_kept = self.encoder.size
        listed = GraphMatches(segments, self.compiled.variables, self.evaluator.table.labels)
        listed.most = self.most_listed
        if self.residual is None:
            return listed
        barriers = tuple(each.barriers for each in self.absences)
        if self._columnar:
            residual = self.residual
            operators, limit, bounds = residual.operators, residual.limit, residual.bounds
            kinds = attribute_types(self.bound)
            return AggregatedMatches(
                listed,
                operators,
                limit,
                kinds,
                self.tally,
                bounds=bounds,
                intervals=residual.intervals,
                barriers=barriers,
                merges=self.compiled.hides,
            )
        refined = ResidualFilter(listed, self.residual, self.tally, self._consumed, barriers)
        if self._consumes_late and listed:
            self._newest = refined
        return refined

    def _consume(self) -> None:
        """Look at the last matches, where they tell what is consumed."""
        if self._newest is not None:
            oldest = self.first_needed(0)
            after = self._newest.consumed()
            self._consumed = {key: end for key, end in after.items() if end >= oldest}
            self._newest = None

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass: partial matches leave the window."""
        window = self.bound.window
        if window is not None and window.kind != "events":
            self.now = max(self.now, time)
        return NO_OUTPUT

    def finish(self) -> OperatorOutput:
        """Signal the end of input; no match waits for it."""
        return NO_OUTPUT

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes the match graph has, and how many bytes are allocated."""
        return self.evaluator.live

    def _settle_keys(self, keys: Keys) -> None:
        """Drop keys without partial matches, unless something else is kept for them."""
        if self._asks_start or self._counts_within_keys:
            keys.settle(None)
        else:
            self.compact()
            living = self.evaluator.live_keys()
            if self.held_keys is not None:
                living = np.union1d(living, self.held_keys())
            keys.settle(living)

    def compact(self) -> None:
        """Keep only what partial matches inside the window still need."""
        counts = None
        if self.keys is not None and self._counts_within_keys:
            counts = self.keys.counters()
        self.evaluator.compact(self.now, counts)

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.begins = position
        for absence in self.absences:
            absence.engine.begin_at(position)

    def needed(self) -> np.ndarray | None:
        """Return all positions that partial matches refer to; None: all from the first."""
        self.compact()
        found = [self.evaluator.positions()]
        for absence in self.absences:
            needed = absence.engine.needed()
            if needed is None:
                return None
            found.append(needed)
        return np.concatenate(found)

    def save(self) -> dict[str, Any]:
        """Save the partial matches, and what else outlives a batch."""
        if self.keys is None:
            self.compact()
        else:
            self._settle_keys(self.keys)
            self.compact()
        self.encoder.keep(self.evaluator.held())
        saved = {"now": self.now, "begins": self.begins, **saved_state.save(self.evaluator)}
        saved |= below("encoder", self.encoder.save())
        self._consume()
        saved["consumed"] = np.array(list(self._consumed.items()), np.int64).reshape(-1, 2)
        for number, absence in enumerate(self.absences):
            saved |= below(f"absent/{number}", absence.save())
        return saved if self.keys is None else saved | below("keys", self.keys.save())

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from partial matches that were saved."""
        self.now, self.begins = saved["now"], saved["begins"]
        self.encoder.load(part(saved, "encoder"))
        if self.keys is not None:
            self.keys.load(part(saved, "keys"))
        saved_state.load(self.evaluator, saved)
        self._consumed = {int(key): int(end) for key, end in saved.get("consumed", ())}
        for number, absence in enumerate(self.absences):
            absence.load(part(saved, f"absent/{number}"), kept)

    def first_needed(self, next_position: int) -> int:
        """Return the first position that partial matches may still refer to."""
        within_keys = self._counts_within_keys
        first = self.evaluator.first_start(None if within_keys else self.now, next_position)
        return min([first, *(each.engine.first_needed(next_position) for each in self.absences)])


def _checks(compiled: Compiled) -> Residual | None:
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
