"""The count driver: runs the counting kernel over a stream and keeps its arrays in shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ensue.errors import BudgetError
from ensue.kernels.count import count, flip, runs, weights
from ensue.kernels.count.runs import (
    COUNTERS,
    EPOCH,
    FOUND,
    FREE_NODE,
    FREE_PAIR,
    NEED_NODES,
    NEED_PAIRS,
    NODES,
    OWN_PAIRS,
    PAIRS,
    Counted,
    Input,
    Nodes,
    Pairs,
    Runs,
    Scratch,
    State,
    new_counted,
    new_nodes,
    new_pairs,
    new_runs,
)
from ensue.kernels.count.weights import (
    Binds,
    Values,
    Weights,
    binds_of,
    new_weights,
    uncompiled,
)
from ensue.kernels.layout import CONSUME, FULL, MISSING, MOST_BYTES, NIL, Tables, Window
from ensue.kernels.memory import doubled, read_only
from ensue.kernels.tables import Table
from ensue.messages import Message, Option

_HITS_AT_ONCE = 1 << 14
"""So many hits are handed out together."""

_FIRST_SIZE = 1 << 10
"""So many pairs and nodes there is room for in the beginning."""

_FIRST_WEIGHTS = 64


class Terms(NamedTuple):
    """The bit of the variable of each term; the first of `whole` and `real` is the number."""

    whole: Sequence[int] = (0,)
    real: Sequence[int] = (0,)
    least: Sequence[int] = ()

    def nothing(self, events: int, *, exact: bool = False) -> Values:
        """Return values of so many events that add nothing."""
        return Values(
            np.zeros((events, len(self.whole)), object if exact else np.int64),
            np.zeros((events, len(self.real)), np.float64),
            np.full((events, len(self.least)), weights.NO_VALUE, np.int64),
        )


@dataclass(slots=True)
class CountDriver:
    """The state of a counting query on one stream."""

    table: Table
    terms: Terms = field(default_factory=Terms)
    window: int = -1
    consume: str = "NONE"
    exact: bool = False
    most_bytes: int = MOST_BYTES
    pairs: Pairs = field(init=False)
    nodes: Nodes = field(init=False)
    runs: Runs = field(init=False)
    counted: Counted = field(init=False)
    counters: np.ndarray = field(init=False)
    reached: int = 0
    """How many events of the last push were read: all, unless a budget ran out."""
    _scratch: Weights = field(init=False)
    _kernels: Any = field(init=False)

    def __post_init__(self) -> None:
        like = self.terms.nothing(0)
        self._kernels = uncompiled(weights, runs, flip, count) if self.exact else count
        self.pairs = new_pairs(_FIRST_SIZE, like, exact=self.exact)
        self.nodes = new_nodes(_FIRST_SIZE, like, exact=self.exact)
        self.runs = new_runs(1)
        self.counted = new_counted(_HITS_AT_ONCE, like, exact=self.exact)
        self.counters = np.zeros(COUNTERS, np.int64)
        self.counters[PAIRS] = OWN_PAIRS
        self.counters[[FREE_PAIR, FREE_NODE]] = NIL
        self._scratch = new_weights(_FIRST_WEIGHTS, like, exact=self.exact)

    def push(
        self,
        symbols: np.ndarray,
        clocks: np.ndarray,
        keys: np.ndarray,
        first_position: int,
        alphabet: list[int],
        values: Values,
    ) -> Iterator[Counted]:
        """Read a batch of events and hand out how many matches they complete.

        Where a budget runs out, everything before the event that was one too many is handed out
        before the BudgetError, and the state is that before this event (see `reached`).

        Args:
            symbols: one for each event, an index into `alphabet`.
            clocks: what windows are measured on: times, or numbers within a key.
            keys: the partition of each event, -1 for none; empty when there are no partitions.
            first_position: the position of the first of these events.
            alphabet: the bits of the symbols.
            values: what each event adds to the terms.
        """
        self._grow_keys(int(keys.max()) + 1 if len(keys) else 1)
        tables, binds, scratch = self._arrays(alphabet)
        events = Input(
            read_only(symbols),
            read_only(clocks),
            read_only(keys),
            Values(*map(read_only, values)),
            first_position,
        )
        window = Window(self.window, CONSUME[self.consume])
        at = self.reached = 0
        # Counts are kept modulo 2^64 on purpose.
        with np.errstate(over="ignore", invalid="ignore"):
            while at < len(symbols):
                reason, at, what, needed = self._kernels.count_matches(
                    tables, binds, self._state, scratch, self.counted, events, window, at
                )
                self.reached = at
                if reason == MISSING:
                    try:
                        self.table.fill(int(what), int(symbols[at]), alphabet)
                    except BudgetError:
                        if self.counters[FOUND]:
                            yield self._harvest()
                        raise
                    tables, binds, scratch = self._arrays(alphabet)
                elif reason == FULL:
                    if self.counters[FOUND]:
                        yield self._harvest()
                    self._make_room(int(what), int(needed))
                    scratch = scratch._replace(weight=self._scratch)
        if self.counters[FOUND]:
            yield self._harvest()

    @property
    def _state(self) -> State:
        return State(self.pairs, self.nodes, self.runs, self.counters)

    def _arrays(self, alphabet: list[int]) -> tuple[Tables, Binds, Scratch]:
        tables = self.table.arrays(len(alphabet))
        states = tables.cells.shape[0]
        binds = binds_of(self.table.labels, self.terms)
        scratch = Scratch(
            np.zeros(states, np.int32),
            np.zeros(states, np.int32),
            np.zeros(states, np.int64),
            np.zeros(tables.cells.shape[1], np.bool_),
            self._scratch,
        )
        return tables, binds, scratch

    def _harvest(self) -> Counted:
        """Hand out the hits so far."""
        found = int(self.counters[FOUND])
        self.counters[FOUND] = 0
        kept = self.counted
        return Counted(
            kept.end[:found].copy(),
            kept.key[:found].copy(),
            Weights(*(each[:found].copy() for each in kept.weight)),
        )

    def _make_room(self, what: int, needed: int) -> None:
        like = self.terms.nothing(0)
        if what == NEED_PAIRS:
            size = doubled(len(self.pairs.state), int(self.counters[PAIRS]) + needed)
            self._check(size, len(self.nodes.number))
            grown = new_pairs(size, like, exact=self.exact)
            copy_into(self.pairs, grown)
            self.pairs = grown
        elif what == NEED_NODES:
            size = doubled(len(self.nodes.number), int(self.counters[NODES]) + needed)
            if size > len(self.nodes.number):
                self._check(len(self.pairs.state), size)
                larger = new_nodes(size, like, exact=self.exact)
                copy_into(self.nodes, larger)
                self.nodes = larger
        else:
            size = doubled(len(self._scratch.whole), needed)
            self._scratch = new_weights(size, like, exact=self.exact)

    def _check(self, pairs: int, nodes: int) -> None:
        size = self._size(pairs, nodes)
        if size > self.most_bytes:
            raise BudgetError(
                Message(
                    f"counting needs {size:,} bytes, more than the budget of {self.most_bytes:,}; "
                    "a shorter WITHIN or fewer columns make it less, and ",
                    Option("max_bytes"),
                    " raises the budget",
                )
            )

    def _size(self, pairs: int, nodes: int) -> int:
        terms = sum(map(len, self.terms))
        return pairs * (8 + 8 * terms) + nodes * (20 + 8 * terms)

    def _grow_keys(self, keys: int) -> None:
        known = len(self.runs.forward)
        if keys > known:
            grown = new_runs(doubled(known, keys))
            copy_into(self.runs, grown)
            grown.epoch[known:] = self.counters[EPOCH]
            self.runs = grown

    def expire(self, now: int) -> None:
        """Forget the keys of which no run is inside the window any more."""
        self._kernels.expire(self._state, self.window, now)

    def remap(self, term: int, ranks: np.ndarray) -> None:
        """Replace the least values of a term, which are ranks, by new ones."""
        for each in (self.pairs.weight, self.counted.weight):
            self.remap_weights(each, term, ranks)
        _remap(self.nodes.values.least[:, term], ranks)

    @staticmethod
    def remap_weights(weights: Weights, term: int, ranks: np.ndarray) -> None:
        """Do so in some weights."""
        _remap(weights.least[:, term], ranks)

    @property
    def live(self) -> tuple[int, int]:
        """How many pairs there are, and how many bytes are allocated."""
        return int(self.counters[PAIRS]) - OWN_PAIRS, self._size(
            len(self.pairs.state), len(self.nodes.number)
        )

    def live_keys(self) -> np.ndarray:
        """Return the keys that have runs."""
        return np.flatnonzero((self.runs.forward != NIL) | (self.runs.front != NIL))


def _remap(least: np.ndarray, ranks: np.ndarray) -> None:
    """Replace ranks, or with max their complements, in place."""
    known = least != weights.NO_VALUE
    least[known] = ranks[np.where(least[known] < 0, ~least[known], least[known])]


def copy_into(old: Any, new: Any) -> None:
    """Copy arrays into the beginnings of larger ones, however they are nested."""
    for a, b in zip(old, new, strict=True):
        if isinstance(a, tuple):
            copy_into(a, b)
        else:
            b[: len(a)] = a
