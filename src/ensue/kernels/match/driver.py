"""The evaluator: drives the kernels over a stream and keeps their arrays in shape.

Between two stops of the kernel it works out the cells of the automaton that were missing, hands
finished hits over as a segment of their own, compacts the graph, and grows what is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.errors import BudgetError
from ensue.kernels.graph.arena import Arena
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import (
    CONSUME,
    COUNTERS,
    CROWDED,
    DONE,
    FLOOR,
    FOREVER,
    FREE,
    HITS,
    LIVE,
    MISSING,
    MOST_BYTES,
    NODES,
    NOTHING,
    SLOTS,
    STARTS,
    Graph,
    Hits,
    Index,
    Scratch,
    Slots,
    Tables,
    new_graph,
    new_hits,
    new_index,
    new_scratch,
    new_slots,
)
from ensue.kernels.match.correlate import correlate
from ensue.kernels.match.evaluate import evaluate
from ensue.kernels.match.index import rebuild
from ensue.kernels.memory import read_only
from ensue.kernels.tables import Table, room
from ensue.messages import Message, Option

_FIRST_NODES = 1 << 16

_FOLLOWING = np.zeros(0, np.int64)
"""The positions of events of which none is left out."""

_FEW = 16
"""Of so few events it is worth while to see beforehand whether any concerns the query."""

MOST_CONFIGURATIONS = 10_000_000

FEW_CONTENTS = 64
"""Up to so many configurations of one state are looked at one by one; more get a search tree."""


@dataclass(slots=True)
class Evaluator:
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
    arena: Arena = field(init=False)
    slots: Slots = field(init=False)
    hits: Hits = field(init=False)
    counters: np.ndarray = field(init=False)
    scratch: np.ndarray = field(init=False)
    moves: Scratch = field(init=False)
    index: Index = field(init=False)
    reached: int = 0
    """How many events of the last push were read: all, unless a budget ran out."""
    _crowd: int = field(init=False)
    """So many configurations, those that have left the window included, are worth a look."""

    def __post_init__(self) -> None:
        self.slots = new_slots(64, 1, self.registers)
        self.hits = new_hits(1 << 14)
        self.index = new_index(64, len(self.table.indexes), FEW_CONTENTS)
        self._new_scratch(64)
        self.counters = np.zeros(COUNTERS, np.int64)
        self.counters[FREE] = NOTHING
        graph = new_graph(_FIRST_NODES, _FIRST_NODES)
        self.arena = Arena(graph, self.counters, self.most_bytes, self.within_keys)
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
        """Read events and hand out what they complete.

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
            positions: the position of each event, where some are left out that concern nobody;
                not with registers.
        """
        if values is None:
            values = np.zeros((len(symbols), 0), np.int64)
        if positions is None:
            positions = _FOLLOWING
        symbols, clocks, keys = read_only(symbols), read_only(clocks), read_only(keys)
        values, positions = read_only(values), read_only(positions)
        self._grow_keys(int(keys.max()) + 1 if len(keys) else 1)
        tables = self.table.arrays(len(alphabet))
        if len(symbols) <= _FEW and tables.inert[symbols].all():
            self.reached = len(symbols)
            return
        at = self.reached = done = 0
        while at < len(symbols):
            last = at + 1 if self.compact_always else len(symbols)
            read = (clocks, keys, first_position, at, self.window, CONSUME[self.consume])
            reason, at, detail = self._evaluate(tables, symbols[:last], values, positions, *read)
            self.reached = at
            if reason == MISSING:
                try:
                    stale = self.table.fill(int(detail), int(symbols[at]), alphabet)
                except BudgetError:
                    if self.counters[HITS]:
                        yield self._harvest()
                    raise
                tables = self.table.arrays(len(alphabet))
                if stale:
                    self.reindex(tables)
                continue
            if reason != DONE or self.compact_always:
                now = int(clocks[min(at, len(symbols) - 1)])
                if key_clocks is not None:
                    new = slice(done, at)
                    known = keys[new] >= 0
                    key_clocks[keys[new][known]] = clocks[new][known] + 1
                    done = at
                yield from self._make_room(int(detail), now, key_clocks, tables)
            if reason == CROWDED:
                self._check_crowd()
        if self.counters[HITS]:
            yield self._harvest()

    def _evaluate(
        self,
        tables: Tables,
        symbols: np.ndarray,
        values: np.ndarray,
        positions: np.ndarray,
        clocks: np.ndarray,
        keys: np.ndarray,
        *read: Any,
    ) -> tuple[int, int, int]:
        """Let the right kernel read on."""
        graph, slots, counters, hits = self.graph, self.slots, self.counters, self.hits
        if not self.registers:
            return evaluate(
                tables,
                graph,
                slots,
                counters,
                hits,
                self.scratch,
                symbols,
                clocks,
                keys,
                positions,
                *read,
            )
        return correlate(
            tables,
            graph,
            slots,
            self.index,
            counters,
            hits,
            self.moves,
            self._crowd,
            symbols,
            values,
            clocks,
            keys,
            *read,
        )

    def _grow_keys(self, keys: int) -> None:
        heads = self.slots.heads
        if keys > len(heads):
            grown = np.full(room(len(heads), keys), NOTHING, np.int32)
            grown[: len(heads)] = heads
            self.slots = self.slots._replace(heads=grown)

    def _make_room(
        self, steps: int, now: int, key_clocks: np.ndarray | None, tables: Tables
    ) -> Iterator[Segment]:
        """Hand out hits, compact the graph, and grow whatever is still too small."""
        if self.counters[HITS]:
            yield self._harvest()
        if self.compact_always or not self._all_alive(now, key_clocks):
            self.compact(now, key_clocks)
        elif self.registers:
            self.reindex(tables)
        counters = self.counters
        nodes, starts = len(self.graph.label), len(self.graph.start_clock)
        # Compacting looks at every key, so with many of them it had better be rare.
        nodes, starts = room(nodes, len(self.slots.heads)), room(starts, len(self.slots.heads))
        if counters[NODES] + 3 * steps + 2 > nodes // 2:
            nodes = room(nodes, 4 * int(counters[NODES] + 3 * steps + 2))
        if counters[STARTS] + 1 > starts // 2:
            starts = room(starts, 4 * int(counters[STARTS] + 1))
        self.arena.resize(nodes, starts)
        # Handing out hits copies what they share with the living, so it is done in large lots.
        if len(self.hits.end) < nodes // 4:
            self.hits = new_hits(nodes // 4)
        slots = room(len(self.slots.state), min(nodes, len(self.slots.heads)))
        if counters[SLOTS] + steps > slots // 2:
            slots = room(slots, 4 * (int(counters[SLOTS]) + steps))
        if slots > len(self.slots.state):
            self._grow_slots(slots, tables)
        if steps >= self.scratch.shape[1]:
            self._new_scratch(room(64, steps + 1))

    def _check_crowd(self) -> None:
        """Stop where the configurations in the window are more than the budget.

        Those that have left it were just dropped; for that not to happen at every event, some
        more of them are let be the next time, an eighth of the budget at most.
        """
        live, most = int(self.index.counts[LIVE]), self.most_configurations
        if live > most:
            raise BudgetError(self._too_many(live))
        self._crowd = max(most, live + most // 8)

    def _too_many(self, count: int) -> Message:
        """Name the condition whose register has the most different contents."""
        contents = self.slots.registers[:count]
        different = [len(np.unique(contents[:, each])) for each in range(self.registers)]
        register = self.table.registers[int(np.argmax(different))]
        text = self.table.determined.compiled.plan.text_of(register)
        return Message(
            f"the condition {text} needs {count:,} configurations, more than the budget of "
            f"{self.most_configurations:,}: so many different values are remembered at once; a "
            "shorter WITHIN or a PARTITION BY makes them fewer, and ",
            Option("max_configurations"),
            " raises the budget",
        )

    def _new_scratch(self, steps: int) -> None:
        self.scratch = np.zeros((4, steps), np.int32)
        self.moves = new_scratch(steps, self.registers)

    def _all_alive(self, now: int, key_clocks: np.ndarray | None) -> bool:
        """Tell whether no start has left the window yet, so that compacting would gain little."""
        if self.counters[FLOOR] or key_clocks is not None:
            return False
        return self.window < 0 or bool(self.graph.start_clock[0] >= now - self.window)

    def _grow_slots(self, wanted: int, tables: Tables) -> None:
        live, keys = self.configurations() if self.registers else (None, None)
        grown = new_slots(room(len(self.slots.state), wanted), 1, self.registers)
        for name in ("state", "registers", "root", "start", "next"):
            old = getattr(self.slots, name)
            getattr(grown, name)[: len(old)] = old
        self.slots = grown._replace(heads=self.slots.heads)
        if live is not None and keys is not None:
            self.index = new_index(len(grown.state), len(self.table.indexes), FEW_CONTENTS)
            self._relink(live, self.slots.root[live], keys, tables)

    def _harvest(self) -> Segment:
        """Hand out the hits in a form that outlives what comes."""
        count = int(self.counters[HITS])
        self.counters[HITS] = 0
        hits = Hits(*(each[:count].copy() for each in self.hits))
        return self.arena.hand_out(hits, self.limit)

    def compact(self, now: int, key_clocks: np.ndarray | None) -> None:
        """Keep only what configurations inside the window still need."""
        slots, floor = self.slots, int(self.counters[FLOOR])
        live, keys = self.configurations()
        if self.window < 0:
            edges = np.full(len(live), FOREVER, np.int64)
        elif key_clocks is None:
            edges = np.full(len(live), now - self.window, np.int64)
        else:
            edges = key_clocks[keys] - self.window
        starts = self.graph.start[slots.root[live]]
        alive = (starts >= floor) & (self.graph.start_clock[starts] >= edges)
        live, keys, edges = live[alive], keys[alive], edges[alive]
        floors = np.full(len(live), floor, np.int32)
        roots = self.arena.compact(slots.root[live], edges, floors)
        self.counters[FLOOR] = 0
        self._relink(live, roots, keys)

    def configurations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots in use and their keys, those of one key together."""
        if not self.registers:
            return _live_slots(self.slots)
        live = np.flatnonzero(self.slots.root[: self.counters[SLOTS]] != NOTHING)
        keys = self.index.key[self.index.group[live]]
        order = np.argsort(keys, kind="stable")
        return live[order], keys[order]

    def reindex(self, tables: Tables) -> None:
        """Close the gaps between configurations with registers, and index them anew."""
        live, keys = self.configurations()
        self._relink(live, self.slots.root[live], keys, tables)

    def _relink(
        self,
        live: np.ndarray,
        roots: np.ndarray,
        keys: np.ndarray,
        tables: Tables | None = None,
    ) -> None:
        """Write the live configurations into the first slots, key by key."""
        slots, count = self.slots, len(live)
        slots.state[:count] = slots.state[live]
        slots.registers[:count] = slots.registers[live]
        slots.root[:count] = roots
        slots.start[:count] = self.graph.start[roots]
        self.counters[SLOTS] = count
        self.counters[FREE] = NOTHING
        if self.registers:
            slots.root[count:] = NOTHING
            rebuild(tables or self.table.arrays(1), slots, self.index, keys)
            return
        slots.heads[:] = NOTHING
        same = np.zeros(count, bool)
        same[:-1] = keys[1:] == keys[:-1]
        slots.next[:count] = np.where(same, np.arange(1, count + 1), NOTHING)
        opens = np.ones(count, bool)
        opens[1:] = keys[1:] != keys[:-1]
        slots.heads[keys[opens]] = np.flatnonzero(opens)

    def restore(
        self,
        graph: Graph,
        floor: int,
        state: np.ndarray,
        registers: np.ndarray,
        root: np.ndarray,
        keys: np.ndarray,
    ) -> None:
        """Go on from partial matches that were saved: a fresh evaluator takes them over."""
        nodes, starts, count = len(graph.label), len(graph.start_clock), len(state)
        self._grow_keys(int(keys.max(initial=0)) + 1)
        self.arena.resize(
            room(len(self.graph.label), 2 * nodes), room(len(self.graph.start_clock), 2 * starts)
        )
        self._grow_slots(2 * count, self.table.arrays(1))
        for mine, given in zip(self.graph, graph, strict=True):
            mine[: len(given)] = given
        self.counters[NODES], self.counters[STARTS], self.counters[FLOOR] = nodes, starts, floor
        self.slots.state[:count] = state
        self.slots.registers[:count] = registers
        self._relink(np.arange(count), root, keys)

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
        return np.unique(np.concatenate([bound, self.graph.start_position[:starts]]))

    def held(self) -> np.ndarray:
        """Return all values that registers hold."""
        live, _ = self.configurations()
        return np.unique(self.slots.registers[live])

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes there are, and how many bytes all arrays take."""
        arrays = (*self.graph, *self.slots, *self.hits, *self.index)
        return int(self.counters[NODES]), sum(each.nbytes for each in arrays)

    def live_keys(self) -> np.ndarray:
        """Return the keys that have a configuration."""
        return np.flatnonzero(self.slots.heads != NOTHING)


def _live_slots(slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Return all slots in use and their keys, those of one key together."""
    keys = np.flatnonzero(slots.heads != NOTHING)
    layer = slots.heads[keys]
    found, owners = [layer], [keys]
    while len(layer):
        after = slots.next[layer]
        more = after != NOTHING
        layer, keys = after[more], keys[more]
        found.append(layer)
        owners.append(keys)
    every, owner = np.concatenate(found), np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return every[order], owner[order]
