"""The counting kernel: how many matches an event completes, without a match graph.

Every match is one run of the deterministic automaton, so an event is a sparse matrix between its
states, with one more row for the runs that start there, and the product of the matrices of a
window has in that row how many runs are in which state. The product slides along the stream
without an inverse, on two stacks (notes on sliding windows call it so): `front` has, for every
start before a point in time called the turn, the runs since then up to the turn, and `rows` the
product of everything after it; `forward` has the runs that started after the turn, and `back` the
events since. When the last start of the front has left the window, the back is turned over and
becomes the front. Each event is turned once, so the work per event does not follow the window.

All are sparse: vectors are linked lists of pairs (state, weight), kept by partition key. Events
that move nothing are not kept. Without a window nothing leaves, and `forward` is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.runtime.jit import borrowing_kernel, helper
from ensue.runtime.layout import (
    DONE,
    FULL,
    MISSING,
    NOTHING,
    STAY,
    UNKNOWN,
    Array,
    Tables,
)
from ensue.runtime.weights import (
    Binds,
    Values,
    Weights,
    add_product,
    add_step,
    copy_row,
    new_weights,
    set_number,
)

CONSUME_NONE, CONSUME_ANY, CONSUME_PARTITION = range(3)

PAIRS, FREE_PAIR, NODES, FREE_NODE, FOUND, EPOCH, COUNTERS = range(7)
"""How many pairs, nodes and hits there are, the first free ones, and how often all was consumed."""

NEED_PAIRS, NEED_NODES, NEED_SCRATCH = range(3)
"""What there is no room for."""

TOTAL, PARTIAL, ONE, OWN_PAIRS = range(4)
"""Pairs that the kernel keeps to itself: sums in progress, and the one run that may start."""


class Pairs(NamedTuple):
    """Entries of sparse vectors: a state, the weight of the runs in it, the next entry."""

    state: np.ndarray
    next: np.ndarray
    weight: Weights


class Nodes(NamedTuple):
    """Entries of the lists `front`, `rows` and `back` of a key."""

    number: np.ndarray
    """The symbol of an event; the state of a row at the turn."""
    clock: np.ndarray
    next: np.ndarray
    vector: np.ndarray
    """The pairs of a start or of a row."""
    values: Values
    """What an event of the back adds to the terms."""


class Runs(NamedTuple):
    """The runs of every key."""

    forward: np.ndarray
    rows: np.ndarray
    front: np.ndarray
    back: np.ndarray
    oldest: np.ndarray
    """The clock of the first start of the back."""
    newest: np.ndarray
    """The clock of the last start of all."""
    epoch: np.ndarray
    """Whether all was consumed since: counted as in the counters."""


class Counted(NamedTuple):
    """Events that completed matches, and the weight of all of those."""

    end: np.ndarray
    key: np.ndarray
    weight: Weights


class Scratch(NamedTuple):
    """Room to work in."""

    local: np.ndarray
    """[state]: its number among those that matter while the back is turned, or NOTHING."""
    states: np.ndarray
    place: np.ndarray
    """Where the row of each of those begins."""
    symbols: np.ndarray
    """[symbol]: whether it is among those of the back."""
    weight: Weights


def new_pairs(count: int, like: Values, *, exact: bool) -> Pairs:
    """Allocate pairs."""
    return Pairs(
        np.zeros(count, np.int32), np.zeros(count, np.int32), new_weights(count, like, exact=exact)
    )


def new_nodes(count: int, like: Values, *, exact: bool) -> Nodes:
    """Allocate nodes."""
    return Nodes(
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        Values(*new_weights(count, like, exact=exact)),
    )


def new_runs(keys: int) -> Runs:
    """Allocate the runs of some keys."""
    lists = (np.full(keys, NOTHING, np.int32) for _ in range(4))
    clocks = (np.zeros(keys, np.int64) for _ in range(3))
    return Runs(*lists, *clocks)


def new_counted(count: int, like: Values, *, exact: bool) -> Counted:
    """Allocate room for hits."""
    return Counted(
        np.zeros(count, np.int64), np.zeros(count, np.int32), new_weights(count, like, exact=exact)
    )


@helper
def take_pair(pairs: Pairs, counters: Array, state: int, after: int) -> int:
    """Return a new pair without runs."""
    pair: int = counters[FREE_PAIR]
    if pair != NOTHING:
        counters[FREE_PAIR] = pairs.next[pair]
    else:
        pair = counters[PAIRS]
        counters[PAIRS] = pair + 1
    pairs.state[pair] = state
    pairs.next[pair] = after
    set_number(pairs.weight, pair, 0)
    return pair


@helper
def take_node(nodes: Nodes, counters: Array, number: int, clock: int, after: int) -> int:
    """Return a new node."""
    node: int = counters[FREE_NODE]
    if node != NOTHING:
        counters[FREE_NODE] = nodes.next[node]
    else:
        node = counters[NODES]
        counters[NODES] = node + 1
    nodes.number[node] = number
    nodes.clock[node] = clock
    nodes.next[node] = after
    nodes.vector[node] = NOTHING
    return node


@helper
def free_node(nodes: Nodes, counters: Array, node: int) -> None:
    """Give back a node."""
    nodes.next[node] = counters[FREE_NODE]
    counters[FREE_NODE] = node


@helper
def drop_pairs(pairs: Pairs, counters: Array, head: int) -> None:
    """Give back all pairs of a vector."""
    while head != NOTHING:
        after = pairs.next[head]
        pairs.next[head] = counters[FREE_PAIR]
        counters[FREE_PAIR] = head
        head = after


@borrowing_kernel
def drop_nodes(pairs: Pairs, nodes: Nodes, counters: Array, head: int) -> None:
    """Give back all nodes of a list, and their vectors."""
    while head != NOTHING:
        after = nodes.next[head]
        drop_pairs(pairs, counters, nodes.vector[head])
        free_node(nodes, counters, head)
        head = after


@borrowing_kernel
def clear(pairs: Pairs, nodes: Nodes, runs: Runs, counters: Array, key: int) -> None:
    """Forget all runs of a key."""
    drop_pairs(pairs, counters, runs.forward[key])
    runs.forward[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.rows[key])
    runs.rows[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.front[key])
    runs.front[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.back[key])
    runs.back[key] = NOTHING


@borrowing_kernel
def expire(pairs: Pairs, nodes: Nodes, runs: Runs, counters: Array, window: int, now: int) -> None:
    """Forget the keys whose last start has left the window or was consumed."""
    for key in range(runs.forward.shape[0]):
        if runs.forward[key] != NOTHING or runs.front[key] != NOTHING:
            late = window >= 0 and runs.newest[key] < now - window
            if late or runs.epoch[key] != counters[EPOCH]:
                clear(pairs, nodes, runs, counters, key)


@helper
def steps_of(tables: Tables, pairs: Pairs, head: int, symbol: int) -> tuple[int, int]:
    """Return how many steps a vector takes at a symbol (-1: none moves), and an unknown state."""
    steps = -1
    missing = NOTHING
    while head != NOTHING:
        cell = tables.cells[pairs.state[head], symbol]
        if cell == UNKNOWN:
            missing = pairs.state[head]
        elif cell != STAY:
            steps = max(steps, 0)
            if cell >= 0:
                steps += tables.rows[cell + 1] - tables.rows[cell]
        head = pairs.next[head]
    return steps, missing


@helper
def advance(
    tables: Tables,
    binds: Binds,
    pairs: Pairs,
    counters: Array,
    head: int,
    more: int,
    symbol: int,
    values: Values,
    event: int,
    total: int,
) -> int:
    """Let a vector read an event, and one more pair that stays what it is, unless it is NOTHING.

    The runs that end are added to the pair `total`. Returns the new vector.
    """
    moved = NOTHING
    kept = NOTHING
    while head != NOTHING:
        after = pairs.next[head]
        if tables.cells[pairs.state[head], symbol] == STAY:
            pairs.next[head] = kept
            kept = head
        else:
            pairs.next[head] = moved
            moved = head
        head = after
    if more != NOTHING:
        pairs.next[more] = moved
        moved = more
    while moved != NOTHING:
        cell = tables.cells[pairs.state[moved], symbol]
        first = tables.rows[cell] if cell >= 0 else 0
        last = tables.rows[cell + 1] if cell >= 0 else 0
        for step in range(first, last):
            there = NOTHING
            target = tables.targets[step]
            if target != NOTHING:
                there = kept
                while there != NOTHING and pairs.state[there] != target:
                    there = pairs.next[there]
                if there == NOTHING:
                    kept = take_pair(pairs, counters, target, kept)
                    there = kept
            for side in range(2):
                to = there if side == 0 else total
                if to != NOTHING and (side == 0 or tables.finals[step]):
                    add_step(pairs.weight, to, moved, binds, tables.labels[step], values, event)
        after = pairs.next[moved]
        if moved != more:
            pairs.next[moved] = counters[FREE_PAIR]
            counters[FREE_PAIR] = moved
        moved = after
    return kept


@borrowing_kernel
def reach(tables: Tables, scratch: Scratch) -> int:
    """Number the start and the states that the symbols at hand lead to; return how many."""
    scratch.states[0] = 0
    scratch.local[0] = 0
    reached = 1
    done = 0
    while done < reached:
        state = scratch.states[done]
        done += 1
        for symbol in range(scratch.symbols.shape[0]):
            cell = tables.cells[state, symbol]
            if not scratch.symbols[symbol] or cell < 0:
                continue
            for step in range(tables.rows[cell], tables.rows[cell + 1]):
                target = tables.targets[step]
                if target != NOTHING and scratch.local[target] == NOTHING:
                    scratch.local[target] = reached
                    scratch.states[reached] = target
                    reached += 1
    return reached


@borrowing_kernel
def turn(
    tables: Tables,
    binds: Binds,
    pairs: Pairs,
    nodes: Nodes,
    runs: Runs,
    counters: Array,
    scratch: Scratch,
    key: int,
    edge: int,
) -> tuple[int, int]:
    """Turn the back of a key over to be its front; return what there is no room for, or (-1, 0).

    The last event comes first, and none before the window's edge. The scratch has a row for every
    state that matters, with the runs from there to the turn, and room for a second one; the row of
    the start has the runs from all starts so far. Columns are the states that runs are in now.
    """
    for state in range(scratch.local.shape[0]):
        scratch.local[state] = NOTHING
    for symbol in range(scratch.symbols.shape[0]):
        scratch.symbols[symbol] = False
    starts = 0
    node = runs.back[key]
    while node != NOTHING:
        scratch.symbols[nodes.number[node]] = True
        starts += tables.cells[0, nodes.number[node]] >= 0
        node = nodes.next[node]
    reached = reach(tables, scratch)
    width = 0
    pair = runs.forward[key]
    while pair != NOTHING:
        width += 1
        pair = pairs.next[pair]
    if 2 * reached * width > scratch.weight.whole.shape[0]:
        return NEED_SCRATCH, 2 * reached * width
    if counters[PAIRS] + (starts + 1) * width > pairs.state.shape[0]:
        return NEED_PAIRS, (starts + 1) * width
    if counters[NODES] + width > nodes.number.shape[0]:
        return NEED_NODES, width

    room = scratch.weight
    for cell in range(2 * reached * width):
        set_number(room, cell, 0)
    for i in range(reached):
        scratch.place[i] = 2 * i * width
    column = 0
    pair = runs.forward[key]
    while pair != NOTHING:
        set_number(room, scratch.place[scratch.local[pairs.state[pair]]] + column, 1)
        column += 1
        pair = pairs.next[pair]
    front = NOTHING
    node = runs.back[key]
    while node != NOTHING and nodes.clock[node] >= edge:
        symbol = nodes.number[node]
        for i in range(reached):
            cell = tables.cells[scratch.states[i], symbol]
            if cell == STAY or (i == 0 and cell < 0):
                continue
            at = scratch.place[i]
            if i > 0:
                # Others still read the old row; it is left behind below.
                at = 4 * i * width + width - at
                for j in range(width):
                    set_number(room, at + j, 0)
            first = tables.rows[cell] if cell >= 0 else 0
            last = tables.rows[cell + 1] if cell >= 0 else 0
            for step in range(first, last):
                if tables.targets[step] == NOTHING:
                    continue
                row = scratch.place[scratch.local[tables.targets[step]]]
                for j in range(width):
                    if room.real[row + j, 0] > 0.0:
                        add_step(
                            room, at + j, row + j, binds, tables.labels[step], nodes.values, node
                        )
        for i in range(1, reached):
            if tables.cells[scratch.states[i], symbol] != STAY:
                scratch.place[i] = 4 * i * width + width - scratch.place[i]
        after = nodes.next[node]
        if tables.cells[0, symbol] < 0:
            free_node(nodes, counters, node)
        else:
            nodes.next[node] = front
            front = node
            column = 0
            pair = runs.forward[key]
            while pair != NOTHING:
                if room.real[column, 0] > 0.0:
                    own = take_pair(pairs, counters, pairs.state[pair], nodes.vector[front])
                    copy_row(pairs.weight, own, room, column)
                    nodes.vector[front] = own
                column += 1
                pair = pairs.next[pair]
        node = after

    # From now on the front ends here: the product of what comes is the identity.
    drop_nodes(pairs, nodes, counters, node)
    runs.back[key] = NOTHING
    runs.front[key] = front
    rows = NOTHING
    pair = runs.forward[key]
    while pair != NOTHING:
        rows = take_node(nodes, counters, pairs.state[pair], 0, rows)
        nodes.vector[rows] = take_pair(pairs, counters, pairs.state[pair], NOTHING)
        set_number(pairs.weight, nodes.vector[rows], 1)
        pair = pairs.next[pair]
    runs.rows[key] = rows
    drop_pairs(pairs, counters, runs.forward[key])
    runs.forward[key] = NOTHING
    return -1, 0


@helper
def pop_front(pairs: Pairs, nodes: Nodes, runs: Runs, counters: Array, key: int, edge: int) -> None:
    """Drop starts that the window has left behind, and with the last of them the rows."""
    node = runs.front[key]
    if node == NOTHING or nodes.clock[node] >= edge:
        return
    while node != NOTHING and nodes.clock[node] < edge:
        after = nodes.next[node]
        drop_pairs(pairs, counters, nodes.vector[node])
        free_node(nodes, counters, node)
        node = after
    runs.front[key] = node
    if node == NOTHING:
        drop_nodes(pairs, nodes, counters, runs.rows[key])
        runs.rows[key] = NOTHING


@borrowing_kernel
def count_matches(
    tables: Tables,
    binds: Binds,
    pairs: Pairs,
    nodes: Nodes,
    runs: Runs,
    counters: Array,
    scratch: Scratch,
    counted: Counted,
    symbols: Array,
    values: Values,
    clocks: Array,
    keys: Array,
    first_position: int,
    begin: int,
    window: int,
    consume: int,
) -> tuple[int, int, int, int]:
    """Read events from `begin` on; return (why it stopped, at which event, and two details).

    They are the state without a cell, or what there is no room for and how much is needed.
    """
    keyed = keys.shape[0] > 0
    weight = pairs.weight
    pairs.state[ONE] = 0
    set_number(weight, ONE, 1)
    for event in range(begin, symbols.shape[0]):
        symbol = symbols[event]
        if tables.inert[symbol]:
            continue
        key = keys[event] if keyed else 0
        if key < 0:
            continue
        opening = tables.cells[0, symbol]
        if opening == UNKNOWN:
            return MISSING, event, 0, 0
        if runs.epoch[key] != counters[EPOCH]:
            clear(pairs, nodes, runs, counters, key)
            runs.epoch[key] = counters[EPOCH]

        # First what has left the window.
        if window >= 0:
            edge = clocks[event] - window
            pop_front(pairs, nodes, runs, counters, key, edge)
            stale = runs.back[key] != NOTHING and runs.oldest[key] < edge
            if stale and runs.front[key] == NOTHING:
                if runs.newest[key] < edge:
                    clear(pairs, nodes, runs, counters, key)
                else:
                    what, needed = turn(
                        tables, binds, pairs, nodes, runs, counters, scratch, key, edge
                    )
                    if what >= 0:
                        return FULL, event, what, needed

        # Then what could stop us: unknown cells, and how much room the event needs. The vectors
        # are those of the rows, then that of the runs since the turn.
        needed = 0
        turned = False
        moving = False
        row = runs.rows[key]
        while True:
            head = nodes.vector[row] if row != NOTHING else runs.forward[key]
            steps, missing = steps_of(tables, pairs, head, symbol)
            if missing != NOTHING:
                return MISSING, event, missing, 0
            needed += max(steps, 0)
            if row == NOTHING:
                moving = steps >= 0
                break
            turned = turned or steps >= 0
            row = nodes.next[row]
        if opening >= 0:
            needed += tables.rows[opening + 1] - tables.rows[opening]
        elif not moving and not turned:
            continue
        if counters[PAIRS] + needed > pairs.state.shape[0]:
            return FULL, event, NEED_PAIRS, needed
        if counters[NODES] + 1 > nodes.number.shape[0]:
            return FULL, event, NEED_NODES, 1
        if counters[FOUND] + 1 > counted.end.shape[0]:
            return FULL, event, NEED_NODES, 0

        # Then the moves: of the rows, at last of the runs since the turn.
        set_number(weight, TOTAL, 0)
        row = runs.rows[key] if turned else NOTHING
        while row != NOTHING or opening >= 0 or moving:
            older = row != NOTHING
            total = PARTIAL if older else TOTAL
            if older:
                set_number(weight, PARTIAL, 0)
            head = advance(
                tables,
                binds,
                pairs,
                counters,
                nodes.vector[row] if older else runs.forward[key],
                ONE if opening >= 0 and not older else NOTHING,
                symbol,
                values,
                event,
                total,
            )
            if not older:
                runs.forward[key] = head
                break
            nodes.vector[row] = head
            if weight.real[PARTIAL, 0] > 0.0:
                pair = nodes.vector[runs.front[key]]
                while pair != NOTHING:
                    if pairs.state[pair] == nodes.number[row]:
                        add_product(weight, TOTAL, pair, PARTIAL)
                    pair = pairs.next[pair]
            row = nodes.next[row]
        if window >= 0 and (opening >= 0 or moving):
            if opening >= 0:
                if runs.back[key] == NOTHING:
                    runs.oldest[key] = clocks[event]
                runs.newest[key] = clocks[event]
            node = take_node(nodes, counters, symbol, clocks[event], runs.back[key])
            runs.back[key] = node
            copy_row(nodes.values, node, values, event)
        if weight.real[TOTAL, 0] > 0.0:
            hit = counters[FOUND]
            counters[FOUND] = hit + 1
            counted.end[hit] = first_position + event
            counted.key[hit] = key
            copy_row(counted.weight, hit, weight, TOTAL)
            if consume == CONSUME_ANY:
                counters[EPOCH] += 1
            elif consume == CONSUME_PARTITION:
                clear(pairs, nodes, runs, counters, key)
    return DONE, symbols.shape[0], 0, 0
