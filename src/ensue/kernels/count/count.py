"""The counting kernel: how many matches an event completes, without a match graph.

Every match is one run of the deterministic automaton, so an event is a sparse matrix between its
states, with one more row for the runs that start there, and the product of the matrices of a
window has in that row how many runs are in which state. The product slides along the stream
without an inverse, on two stacks (as sliding-window aggregation calls it): `front` has, for every
start before a point in time called the flip, the runs since then up to the flip, and `rows` the
product of everything after it; `forward` has the runs that started after the flip, and `back` the
events since. When the last start of the front has left the window, the back is flipped and
becomes the front. Each event is flipped once, so the work per event does not follow the window.

All are sparse: vectors are linked lists of pairs (state, weight), kept by partition key. Events
that move nothing are not kept. Without a window nothing leaves, and `forward` is enough.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.count.flip import flip
from ensue.kernels.count.runs import (
    EPOCH,
    FOUND,
    FREE_PAIR,
    NEED_NODES,
    NEED_PAIRS,
    NODES,
    ONE,
    PAIRS,
    PARTIAL,
    TOTAL,
    Counted,
    Input,
    Pairs,
    Scratch,
    State,
    clear,
    drop_nodes,
    drop_pairs,
    free_node,
    take_node,
    take_pair,
)
from ensue.kernels.count.weights import (
    Binds,
    Values,
    add_product,
    add_step,
    copy_row,
    set_number,
)
from ensue.kernels.layout import (
    CONSUME_ANY,
    CONSUME_PARTITION,
    DONE,
    FULL,
    MISSING,
    NIL,
    STAY,
    UNKNOWN,
    Tables,
    Window,
)
from ensue.kernels.minmax import larger


@helper
def steps_of(tables: Tables, pairs: Pairs, head: int, symbol: int) -> tuple[int, int]:
    """Return how many steps a vector takes at a symbol (-1: none moves), and an unknown state."""
    steps = -1
    missing = NIL
    while head != NIL:
        cell = tables.cells[pairs.state[head], symbol]
        if cell == UNKNOWN:
            missing = pairs.state[head]
        elif cell != STAY:
            steps = larger(steps, 0)
            if cell >= 0:
                steps += tables.rows[cell + 1] - tables.rows[cell]
        head = pairs.next[head]
    return steps, missing


@helper
def advance(
    tables: Tables,
    binds: Binds,
    state: State,
    head: int,
    more: int,
    symbol: int,
    values: Values,
    event: int,
    total: int,
) -> int:
    """Let a vector read an event, and one more pair that stays what it is, unless it is NIL.

    The runs that end are added to the pair `total`. Returns the new vector.
    """
    pairs = state.pairs
    counters = state.counters
    moved = NIL
    kept = NIL
    while head != NIL:
        after = pairs.next[head]
        if tables.cells[pairs.state[head], symbol] == STAY:
            pairs.next[head] = kept
            kept = head
        else:
            pairs.next[head] = moved
            moved = head
        head = after
    if more != NIL:
        pairs.next[more] = moved
        moved = more
    while moved != NIL:
        cell = tables.cells[pairs.state[moved], symbol]
        first = tables.rows[cell] if cell >= 0 else 0
        last = tables.rows[cell + 1] if cell >= 0 else 0
        for step in range(first, last):
            there = NIL
            target = tables.targets[step]
            if target != NIL:
                there = kept
                while there != NIL and pairs.state[there] != target:
                    there = pairs.next[there]
                if there == NIL:
                    kept = take_pair(pairs, counters, target, kept)
                    there = kept
            for side in range(2):
                to = there if side == 0 else total
                if to != NIL and (side == 0 or tables.finals[step]):
                    add_step(pairs.weight, to, moved, binds, tables.labels[step], values, event)
        after = pairs.next[moved]
        if moved != more:
            pairs.next[moved] = counters[FREE_PAIR]
            counters[FREE_PAIR] = moved
        moved = after
    return kept


@helper
def pop_front(state: State, key: int, edge: int) -> None:
    """Drop starts that the window has left behind, and with the last of them the rows."""
    pairs = state.pairs
    nodes = state.nodes
    runs = state.runs
    counters = state.counters
    node = runs.front[key]
    if node == NIL or nodes.clock[node] >= edge:
        return
    while node != NIL and nodes.clock[node] < edge:
        after = nodes.next[node]
        drop_pairs(pairs, counters, nodes.vector[node])
        free_node(nodes, counters, node)
        node = after
    runs.front[key] = node
    if node == NIL:
        drop_nodes(pairs, nodes, counters, runs.rows[key])
        runs.rows[key] = NIL


@kernel
def count_matches(
    tables: Tables,
    binds: Binds,
    state: State,
    scratch: Scratch,
    counted: Counted,
    events: Input,
    window: Window,
    begin: int,
) -> tuple[int, int, int, int]:
    """Read events from `begin` on; return (why it stopped, at which event, and two details).

    They are the state without a cell, or what there is no room for and how much is needed.
    """
    pairs = state.pairs
    nodes = state.nodes
    runs = state.runs
    counters = state.counters
    symbols = events.symbols
    clocks = events.clocks
    keyed = events.keys.shape[0] > 0
    weight = pairs.weight
    pairs.state[ONE] = 0
    set_number(weight, ONE, 1)
    for event in range(begin, symbols.shape[0]):
        symbol = symbols[event]
        if tables.inert[symbol]:
            continue
        key = events.keys[event] if keyed else 0
        if key < 0:
            continue
        opening = tables.cells[0, symbol]
        if opening == UNKNOWN:
            return MISSING, event, 0, 0
        if runs.epoch[key] != counters[EPOCH]:
            clear(state, key)
            runs.epoch[key] = counters[EPOCH]

        # First what has left the window.
        if window.length >= 0:
            edge = clocks[event] - window.length
            pop_front(state, key, edge)
            stale = runs.back[key] != NIL and runs.oldest[key] < edge
            if stale and runs.front[key] == NIL:
                if runs.newest[key] < edge:
                    clear(state, key)
                else:
                    what, needed = flip(tables, binds, state, scratch, key, edge)
                    if what >= 0:
                        return FULL, event, what, needed

        # Then what could stop us: unknown cells, and how much room the event needs. The vectors
        # are those of the rows, then that of the runs since the flip.
        needed = 0
        flipped = False
        moving = False
        row = runs.rows[key]
        while True:
            head = nodes.vector[row] if row != NIL else runs.forward[key]
            steps, missing = steps_of(tables, pairs, head, symbol)
            if missing != NIL:
                return MISSING, event, missing, 0
            needed += larger(steps, 0)
            if row == NIL:
                moving = steps >= 0
                break
            flipped = flipped or steps >= 0
            row = nodes.next[row]
        if opening >= 0:
            needed += tables.rows[opening + 1] - tables.rows[opening]
        elif not moving and not flipped:
            continue
        if counters[PAIRS] + needed > pairs.state.shape[0]:
            return FULL, event, NEED_PAIRS, needed
        if counters[NODES] + 1 > nodes.number.shape[0]:
            return FULL, event, NEED_NODES, 1
        if counters[FOUND] + 1 > counted.end.shape[0]:
            return FULL, event, NEED_NODES, 0

        # Then the moves: of the rows, at last of the runs since the flip.
        set_number(weight, TOTAL, 0)
        row = runs.rows[key] if flipped else NIL
        while row != NIL or opening >= 0 or moving:
            older = row != NIL
            total = PARTIAL if older else TOTAL
            if older:
                set_number(weight, PARTIAL, 0)
            head = nodes.vector[row] if older else runs.forward[key]
            more = ONE if opening >= 0 and not older else NIL
            head = advance(tables, binds, state, head, more, symbol, events.values, event, total)
            if not older:
                runs.forward[key] = head
                break
            nodes.vector[row] = head
            if weight.real[PARTIAL, 0] > 0.0:
                pair = nodes.vector[runs.front[key]]
                while pair != NIL:
                    if pairs.state[pair] == nodes.number[row]:
                        add_product(weight, TOTAL, pair, PARTIAL)
                    pair = pairs.next[pair]
            row = nodes.next[row]
        if window.length >= 0 and (opening >= 0 or moving):
            if opening >= 0:
                if runs.back[key] == NIL:
                    runs.oldest[key] = clocks[event]
                runs.newest[key] = clocks[event]
            node = take_node(nodes, counters, symbol, clocks[event], runs.back[key])
            runs.back[key] = node
            copy_row(nodes.values, node, events.values, event)
        if weight.real[TOTAL, 0] > 0.0:
            hit = counters[FOUND]
            counters[FOUND] = hit + 1
            counted.end[hit] = events.first_position + event
            counted.key[hit] = key
            copy_row(counted.weight, hit, weight, TOTAL)
            if window.consume == CONSUME_ANY:
                counters[EPOCH] += 1
            elif window.consume == CONSUME_PARTITION:
                clear(state, key)
    return DONE, symbols.shape[0], 0, 0


@kernel
def expire(state: State, window: int, now: int) -> None:
    """Forget the keys whose last start has left the window or was consumed."""
    runs = state.runs
    for key in range(runs.forward.shape[0]):
        if runs.forward[key] != NIL or runs.front[key] != NIL:
            late = window >= 0 and runs.newest[key] < now - window
            if late or runs.epoch[key] != state.counters[EPOCH]:
                clear(state, key)
