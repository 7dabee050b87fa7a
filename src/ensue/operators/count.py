"""Counting without listing: SELECT count(*) … over the automaton alone, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ensue.analysis.bound import BoundQuery
from ensue.automata.compiled import AtStart, Compiled
from ensue.errors import BudgetError
from ensue.kernels.count import state as runs_state
from ensue.kernels.count.driver import CountDriver
from ensue.kernels.count.runs import Counted
from ensue.logic.evaluate import Tally
from ensue.operators.automaton import Automaton
from ensue.operators.operator import NO_OUTPUT, OperatorOutput, StoppedError
from ensue.options import Limits
from ensue.plan.physical import attribute_types
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.results.total_terms import Adder
from ensue.results.totals import TotalRows, TotalsAccumulator
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch
from ensue.stream.keys import Keys, read_clocks, read_keys, read_streams, unread


@dataclass(slots=True)
class CountOperator:
    """The state of a counting query on a stream: pushed batch after batch."""

    tag: ClassVar[str] = "count"
    compiled: Compiled
    bound: BoundQuery
    limits: Limits
    tally: Tally = field(default_factory=Tally)
    exact: bool = False
    automaton: Automaton | None = None
    """The automaton of its plan, where several operators share what is known of it."""
    alphabet: Alphabet = field(init=False)
    keys: Keys | None = field(init=False)
    adder: Adder = field(init=False)
    counter: CountDriver = field(init=False)
    gathering: TotalsAccumulator = field(init=False)
    now: int = 0
    """The clock at the last event."""
    begins: int = 0
    """The position of the first event that this query sees."""
    _automaton: Automaton = field(init=False)

    def __post_init__(self) -> None:
        bound = self.bound
        assert bound.totals is not None
        self._automaton = self.automaton or Automaton(self.compiled)
        self.alphabet, table = self._automaton.open(self.limits.states)
        self.keys = Keys(bound.partition) if bound.partition else None
        self.adder = Adder(
            bound.totals, dict(bound.selected_types), attribute_types(bound), self.exact
        )
        self.gathering = TotalsAccumulator(self.adder, bound.partition, bound.every)
        self.counter = CountDriver(
            table,
            self.adder.bits(self.compiled.variables),
            window=-1 if bound.window is None else bound.window.size,
            consume=bound.consume if bound.partition or bound.consume == "NONE" else "ANY",
            exact=self.exact,
            most_bytes=self.limits.bytes,
        )

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream."""
        self.begins = position

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that cannot be added up."""
        self.adder.check(Batch(stream.table, stream.types))

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch of events and return the rows that are complete."""
        if not len(stream.times):
            return NO_OUTPUT
        batch = Batch(stream.table, stream.types, self.tally)
        # First what may refuse a value, then what changes the state.
        values = self.adder.values(batch, self._remap)
        if self.keys is not None and self.keys.wants_settling:
            self._settle_keys(self.keys)
        keys, opens = read_keys(self.keys, stream, openings=self._asks_start, begins=self.begins)
        symbols = self.alphabet.read(batch, read_streams(stream), opens)
        if self.tally.witness is not None:
            self.tally.witness(batch)
        clocks, _ = read_clocks(self.bound.window, self.keys, stream, keys)
        counted: list[Counted] = []
        found = self.counter.push(symbols, clocks, keys, stream.first, self.alphabet.bits, values)
        try:
            counted.extend(found)
        except BudgetError as error:
            read = self.counter.reached
            unread(self.keys, keys, opens, read, counted=self._counts_within_keys)
            if read:
                self.now = int(clocks[read - 1])
            rows = TotalRows.none()
            if read:
                own = stream.slice(0, read)
                rows = self.gathering.add(counted, own, int(own.times[-1]))
            raise StoppedError(
                error, OperatorOutput(NO_OUTPUT.matches, rows), stream.first + read
            ) from error
        rows = self.gathering.add(counted, stream, int(stream.times[-1]))
        self.now = int(clocks[-1])
        return OperatorOutput(NO_OUTPUT.matches, rows)

    def advance(self, time: int) -> OperatorOutput:
        """Let time pass: intervals are over, runs leave the window."""
        window = self.bound.window
        if window is not None and window.kind != "events":
            self.now = max(self.now, time)
        return OperatorOutput(NO_OUTPUT.matches, self.gathering.advance(time))

    def finish(self) -> OperatorOutput:
        """Hand out the intervals that are not over yet."""
        self._automaton.keep(self.alphabet, self.counter.table)
        return OperatorOutput(NO_OUTPUT.matches, self.gathering.finish())

    def needed(self) -> np.ndarray:
        """Return no position: rows have all they need."""
        return np.zeros(0, np.int64)

    def save(self) -> dict[str, Any]:
        """Save the runs, and what else outlives a batch."""
        saved: dict[str, Any] = {
            "now": self.now,
            "begins": self.begins,
            "symbols": tuple(self.alphabet.bits),
            "ranks": tuple((term, tuple(values)) for term, values in self.adder.ranks.items()),
            **below("counter", runs_state.save(self.counter)),
            **below("gathering", self.gathering.save()),
        }
        if self.keys is not None:
            self._settle_keys(self.keys)
            saved |= below("keys", self.keys.save())
        return saved

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Go on from runs that were saved."""
        self.now, self.begins = saved["now"], saved["begins"]
        self.alphabet.recall(saved["symbols"])
        self.adder.ranks = {term: list(values) for term, values in saved["ranks"]}
        if self.keys is not None:
            self.keys.load(part(saved, "keys"))
        self.gathering.load(part(saved, "gathering"))
        runs_state.load(self.counter, part(saved, "counter"), self.alphabet.bits)

    def first_needed(self, next_position: int) -> int:
        """Return the first position that is still of interest: rows have all they need."""
        return next_position

    @property
    def live(self) -> tuple[int, int]:
        """How many pairs of a state and a number are kept, and how many bytes are allocated."""
        return self.counter.live

    @property
    def _asks_start(self) -> bool:
        return any(isinstance(each, AtStart) for each in self.compiled.predicates)

    @property
    def _counts_within_keys(self) -> bool:
        window = self.bound.window
        return self.keys is not None and window is not None and window.kind == "events"

    def _remap(self, term: int, ranks: np.ndarray) -> None:
        """Give values that are known by their rank their new ranks, wherever they stand."""
        self.counter.remap(term, ranks)
        if self.gathering.weights is not None:
            self.counter.remap_weights(self.gathering.weights, term, ranks)

    def _settle_keys(self, keys: Keys) -> None:
        """Drop keys without runs, unless something else is kept for them."""
        if self._asks_start or self._counts_within_keys:
            keys.settle(None)
            return
        self.counter.expire(self.now)
        keys.settle(np.concatenate([self.counter.live_keys(), self.gathering.keys]))
