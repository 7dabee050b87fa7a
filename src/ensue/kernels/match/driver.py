"""The match driver: runs the kernels over a stream and keeps their arrays in shape.

Between two stops of the kernel it works out the cells of the automaton that were missing, hands
finished hits over as a segment of their own, compacts the graph, and grows what is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ensue.automata.determine import START
from ensue.errors import BudgetError
from ensue.kernels.graph.arena import Arena
from ensue.kernels.graph.chooser import Chooser
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import (
    CONSUME,
    COUNTERS,
    CRAMPED,
    CROWDED,
    DEAD,
    DONE,
    EMPTY,
    FLOOR,
    FOREVER,
    FREE,
    HITS,
    MISSING,
    MOST_BYTES,
    NIL,
    NODES,
    SLOTS,
    STARTS,
    Graph,
    Hits,
    Input,
    Roots,
    Tables,
    Window,
    new_graph,
    new_hits,
)
from ensue.kernels.match.configurations import Configurations
from ensue.kernels.match.correlate import correlate
from ensue.kernels.match.evaluate import read_events
from ensue.kernels.match.layout import Moves, Pending, State, new_moves, new_pending
from ensue.kernels.memory import doubled, read_only
from ensue.kernels.sets import union
from ensue.kernels.tables import Table
from ensue.messages import Message, Option

_FIRST_NODES, _FIRST_HITS = 1 << 16, 1 << 14
_FIRST_STEPS = 64

_ALL_POSITIONS = np.zeros(0, np.int64)
"""The positions of events of which none is left out."""

_SMALL_BATCH = 16
"""Of so few events it is worth while to see beforehand whether any concerns the query."""

MOST_CONFIGURATIONS = 10_000_000


@dataclass(slots=True)
class MatchDriver:
    """The state of one query on one stream."""

    table: Table
    window: int = -1
    """The length of the window on the clock; -1: none."""
    within_keys: bool = False
    """Whether clocks are numbers within a key, so that starts do not come in their order."""
    consume: str = "NONE"
    limit: int = -1
    most_bytes: int = MOST_BYTES
    most_configurations: int = MOST_CONFIGURATIONS
    """How many there may be where they have registers; looked at before every event."""
    compact_always: bool = False
    """Compact before every event: slow, for tests."""
    registers: int = 0
    """How many registers a configuration has."""
    chooser: Chooser | None = None
    """Chooses among the matches of hits; None: all are handed out."""
    lends: bool = False
    """Whether segments are read before the next one is asked for, and need no own graph."""
    expiring: tuple[tuple[int, int], ...] = ()
    """Registers with a column of values: what holds less than an event's value can go nowhere."""
    counters: np.ndarray = field(init=False)
    arena: Arena = field(init=False)
    configurations: Configurations = field(init=False)
    hits: Hits = field(init=False)
    reached: int = 0
    """How many events of the last push were read: all, unless a budget ran out."""
    _pending: Pending = field(init=False)
    _moves: Moves = field(init=False)
    _expired: tuple[int, ...] = ()
    """For each register that expires, the least content that is still of use."""
    _crowd: int = field(init=False)
    """So many configurations, those that have left the window included, are worth a look."""

    def __post_init__(self) -> None:
        self.counters = np.zeros(COUNTERS, np.int64)
        self.counters[FREE] = NIL
        graph = new_graph(_FIRST_NODES, _FIRST_NODES)
        self.arena = Arena(graph, self.counters, self.most_bytes, self.within_keys)
        self.configurations = Configurations(self.table, self.registers, self.counters)
        if self.configurations.wants_to_wait:
            self.can_wait()
        self.hits = new_hits(_FIRST_HITS)
        self._allocate_steps(_FIRST_STEPS)
        self._crowd = self.most_configurations

    @property
    def graph(self) -> Graph:
        """The match graph; its arrays have room for more than there is."""
        return self.arena.graph

    def push(
        self,
        symbols: np.ndarray,
        clocks: np.ndarray,
        keys: np.ndarray,
        first_position: int,
        alphabet: list[int],
        key_clocks: np.ndarray | None = None,
        values: np.ndarray | None = None,
        positions: np.ndarray | None = None,
    ) -> Iterator[Segment]:
        """Read a batch of events and hand out what they complete.

        Where a budget runs out, everything before the event that was one too many is handed out
        before the BudgetError, and the state is that before this event (see `reached`).

        Args:
            symbols: one for each event, an index into `alphabet`.
            clocks: what windows are measured on: times, or numbers within a key.
            keys: the partition of each event, -1 for none; empty when there are no partitions.
            first_position: the position of the first of these events.
            alphabet: the bits of the symbols.
            key_clocks: where clocks are numbers within a key, the next number of each before
                these events; it is brought up to date.
            values: one row an event, what registers are compared with and filled from.
            positions: the position of each event, where irrelevant ones are left out;
                not with registers.
        """
        if self.is_inert(symbols, len(alphabet)):
            self.reached = len(symbols)
            return
        tables = self.table.arrays(len(alphabet))
        if values is None:
            values = np.zeros((len(symbols), 0), np.int64)
        positions = _ALL_POSITIONS if positions is None else positions
        events = Input(
            read_only(symbols),
            read_only(clocks),
            read_only(keys),
            read_only(values),
            read_only(positions),
            first_position,
        )
        self.configurations.grow_keys(int(keys.max()) + 1 if len(keys) else 1)
        at = self.reached = done = 0
        while at < len(symbols):
            now = events
            if self.compact_always:
                now = events._replace(symbols=events.symbols[: at + 1])
            reason, at, detail = self._evaluate(tables, now, at)
            self.reached = at
            if reason == MISSING:
                try:
                    stale = self.table.fill(int(detail), int(symbols[at]), alphabet)
                except BudgetError:
                    if self.counters[HITS]:
                        yield from self._harvest()
                    raise
                tables = self.table.arrays(len(alphabet))
                if stale:
                    self.configurations.reindex(self.graph.start)
                continue
            if reason != DONE or self.compact_always:
                clock = int(clocks[min(at, len(symbols) - 1)])
                if key_clocks is not None:
                    new = slice(done, at)
                    known = keys[new] >= 0
                    key_clocks[keys[new][known]] = clocks[new][known] + 1
                    done = at
                self._expire(values[min(at, len(symbols) - 1)])
                nodes = int(detail) if reason == CRAMPED else 0
                yield from self._make_room(int(detail) - nodes, clock, key_clocks, nodes)
            if reason == CROWDED:
                self._check_crowd()
        if len(symbols):
            self._expire(values[-1])
        if self.counters[HITS]:
            yield from self._harvest()

    def is_inert(self, symbols: np.ndarray, alphabet: int) -> bool:
        """Tell whether a few events, whatever came before, move no state and start no run.

        Of more than a few that is not found out. `alphabet` is how many symbols there are.
        """
        known, few = self.table.arrays(alphabet), len(symbols) <= _SMALL_BATCH
        return few and all(map(known.inert.item, symbols.tolist()))

    def ignores(self, symbols: list[int], alphabet: int) -> bool:
        """Tell whether events with some symbols move no state and start no run.

        `alphabet` is how many symbols there are.
        """
        tables = self.table.arrays(alphabet)
        opening, idle = tables.cells[START], not self.counters[SLOTS]
        return all(tables.inert[each] or (idle and opening[each] == DEAD) for each in symbols)

    def _expire(self, values: np.ndarray) -> None:
        """Note what registers must hold at least from an event with these values on."""
        self._expired = tuple(int(values[column]) for _, column in self.expiring)

    def _evaluate(self, tables: Tables, events: Input, begin: int) -> tuple[int, int, int]:
        """Let the right kernel read on."""
        state = State(self.graph, self.configurations.slots, self.hits, self.counters)
        window = Window(self.window, CONSUME[self.consume])
        if not self.registers:
            if len(self._pending.place) < len(tables.cells):
                self._pending = new_pending(len(self._pending.mover), len(tables.cells))
            return read_events(tables, state, self._pending, events, window, begin)
        kept = self.configurations
        found_by = (kept.index, kept.trees, kept.lazy, self._moves)
        return correlate(tables, state, *found_by, events, window, self._crowd, begin)

    def _make_room(
        self, steps: int, clock: int, key_clocks: np.ndarray | None, nodes_wanted: int = 0
    ) -> Iterator[Segment]:
        """Hand out hits, compact the graph, and grow whatever is still too small."""
        if self.counters[HITS]:
            yield from self._harvest()
        kept = self.configurations
        if kept.wants_to_wait:
            self.can_wait()
        if self.compact_always or not self._all_alive(clock, key_clocks):
            self.compact(clock, key_clocks)
        elif self.registers:
            kept.reindex(self.graph.start)
        counters, keys = self.counters, len(kept.slots.heads)
        if self.lends and not counters[SLOTS]:
            keys = 1  # nothing is kept by key
        # Compacting looks at every key, so with many of them it had better be rare.
        nodes = self.arena.reserve(3 * steps + 2 + nodes_wanted, keys, sparing=self.chooser is None)
        # Handing out hits copies what they share with the living, so it is done in large lots.
        if len(self.hits.end) < nodes // 4:
            self.hits = new_hits(nodes // 4)
        slots = doubled(len(kept.slots.state), min(nodes, keys))
        if counters[SLOTS] + steps > slots // 2:
            slots = doubled(slots, 4 * (int(counters[SLOTS]) + steps))
        if slots > len(kept.slots.state):
            kept.grow(slots, self.graph.start)
        kept.grow_factors(steps + 1)
        if steps >= len(self._pending.mover):
            self._allocate_steps(doubled(_FIRST_STEPS, steps + 1))

    def _allocate_steps(self, steps: int) -> None:
        self._pending = new_pending(steps, 0)
        self._moves = new_moves(steps, self.registers)

    def _check_crowd(self) -> None:
        """Stop where the configurations in the window are more than the budget.

        Those that have left it were just dropped; for that not to happen at every event, some
        more of them are let be the next time, an eighth of the budget at most.
        """
        count, most = self.configurations.count, self.most_configurations
        if count > most:
            raise BudgetError(
                Message(
                    f"the condition {self.configurations.most_diverse()} needs {count:,} "
                    f"configurations, more than the budget of {most:,}: so many different values "
                    "are remembered at once; a shorter WITHIN or a PARTITION BY makes them fewer, "
                    "and ",
                    Option("max_configurations"),
                    " raises the budget",
                )
            )
        self._crowd = max(most, count + most // 8)

    def _all_alive(self, clock: int, key_clocks: np.ndarray | None) -> bool:
        """Tell whether no start has left the window yet, so that compacting would gain little."""
        if self.counters[FLOOR] or key_clocks is not None or self.expiring:
            return False
        if not self.counters[SLOTS]:
            # All matches so far were of one event each, and are handed out.
            return False
        return self.window < 0 or bool(self.graph.start_clock[0] >= clock - self.window)

    def _harvest(self) -> Iterator[Segment]:
        """Hand out the hits in a form that outlives what comes."""
        count = int(self.counters[HITS])
        self.counters[HITS] = 0
        hits = Hits(*(each[:count].copy() for each in self.hits))
        hand_out = self.arena.segment if self.lends else self.arena.hand_out
        if self.chooser is None:
            yield hand_out(hits, self.limit)
        else:
            used, labels = self.arena.used, self.table.labels
            yield from self.chooser.choose(used, labels, hits, self.limit, hand_out)

    def compact(self, clock: int, key_clocks: np.ndarray | None) -> None:
        """Keep only what configurations inside the window still need."""
        kept, floor = self.configurations, int(self.counters[FLOOR])
        slots, (used, keys) = kept.slots, kept.used()
        if self.window < 0:
            edges = np.full(len(used), FOREVER, np.int64)
        elif key_clocks is None:
            edges = np.full(len(used), clock - self.window, np.int64)
        else:
            edges = key_clocks[keys] - self.window
        starts = self.graph.start[slots.root[used]]
        alive = (starts >= floor) & (self.graph.start_clock[starts] >= edges)
        for (register, _), least in zip(self.expiring, self._expired, strict=False):
            held = slots.registers[used, register]
            alive &= (held == EMPTY) | (held >= least)
        used, keys, edges = used[alive], keys[alive], edges[alive]
        roots = Roots(slots.root[used], edges, np.full(len(used), floor, np.int32))
        places = kept.keep(self.arena, roots, used, keys)
        if self.chooser is not None:
            self.chooser.forget()
        self.counters[FLOOR] = 0
        kept.relink(used, places, keys, self.graph.start)

    def can_wait(self) -> bool:
        """Prepare for lazy steps; False where they are impossible, because there are trees."""
        self.arena.factored = self.configurations.can_wait()
        return self.arena.factored

    def restore(
        self,
        graph: Graph,
        floor: int,
        state: np.ndarray,
        registers: np.ndarray,
        root: np.ndarray,
        keys: np.ndarray,
    ) -> None:
        """Go on from partial matches that were saved: a fresh driver takes them over."""
        kept = self.configurations
        nodes, starts, count = len(graph.label), len(graph.start_clock), len(state)
        kept.grow_keys(int(keys.max(initial=0)) + 1)
        self.arena.resize(
            doubled(len(self.graph.label), 2 * nodes),
            doubled(len(self.graph.start_clock), 2 * starts),
        )
        kept.grow(2 * count, self.graph.start)
        for mine, given in zip(self.graph, graph, strict=True):
            mine[: len(given)] = given
        self.counters[NODES], self.counters[STARTS], self.counters[FLOOR] = nodes, starts, floor
        kept.slots.state[:count] = state
        kept.slots.registers[:count] = registers
        kept.relink(np.arange(count), root, keys, self.graph.start)

    def first_start(self, now: int | None, otherwise: int) -> int:
        """Return the first position where a partial match may have started.

        `now` is the clock at the last event, or None where clocks are numbers within keys.
        """
        starts = int(self.counters[STARTS])
        first = int(self.counters[FLOOR])
        if self.window >= 0 and now is not None:
            alive = self.graph.start_clock[:starts].searchsorted(now - self.window)
            first = max(first, int(alive))
        return int(self.graph.start_position[first]) if first < starts else otherwise

    def positions(self) -> np.ndarray:
        """Return where partial matches start, and what they bind."""
        nodes, starts = int(self.counters[NODES]), int(self.counters[STARTS])
        bound = self.graph.position[:nodes][self.graph.label[:nodes] > 0]
        return union(bound, self.graph.start_position[:starts])

    def held(self) -> np.ndarray:
        """Return all values that registers hold."""
        return self.configurations.contents()

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes there are, and how many bytes all arrays take."""
        kept = self.configurations
        arrays = (*self.graph, *kept.slots, *self.hits, *kept.index, *(kept.lazy or ()))
        choosing = self.chooser.nbytes if self.chooser else 0
        return int(self.counters[NODES]), sum(each.nbytes for each in arrays) + choosing

    def live_keys(self) -> np.ndarray:
        """Return the keys that have a configuration."""
        return self.configurations.keys()
