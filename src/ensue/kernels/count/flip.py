"""The flip of the two stacks: the back becomes the front.

The events since the last flip become the starts that leave the window one by one.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.count.runs import (
    NEED_NODES,
    NEED_PAIRS,
    NEED_SCRATCH,
    NODES,
    PAIRS,
    Scratch,
    State,
    drop_nodes,
    drop_pairs,
    free_node,
    take_node,
    take_pair,
)
from ensue.kernels.count.weights import Binds, add_step, copy_row, set_number
from ensue.kernels.layout import NIL, STAY, Tables


@helper
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
                if target != NIL and scratch.local[target] == NIL:
                    scratch.local[target] = reached
                    scratch.states[reached] = target
                    reached += 1
    return reached


@subroutine
def flip(
    tables: Tables, binds: Binds, state: State, scratch: Scratch, key: int, edge: int
) -> tuple[int, int]:
    """Flip the back of a key to be its front; return what there is no room for, or (-1, 0).

    The last event comes first, and none before the window's edge. The scratch has a row for every
    state that matters, with the runs from there to the flip, and room for a second one; the row of
    the start has the runs from all starts so far. Columns are the states that runs are in now.
    """
    pairs = state.pairs
    nodes = state.nodes
    runs = state.runs
    counters = state.counters
    for number in range(scratch.local.shape[0]):
        scratch.local[number] = NIL
    for symbol in range(scratch.symbols.shape[0]):
        scratch.symbols[symbol] = False
    starts = 0
    node = runs.back[key]
    while node != NIL:
        scratch.symbols[nodes.number[node]] = True
        starts += tables.cells[0, nodes.number[node]] >= 0
        node = nodes.next[node]
    reached = reach(tables, scratch)
    width = 0
    pair = runs.forward[key]
    while pair != NIL:
        width += 1
        pair = pairs.next[pair]
    if 2 * reached * width > scratch.weight.whole.shape[0]:
        return NEED_SCRATCH, 2 * reached * width
    if counters[PAIRS] + (starts + 1) * width > pairs.state.shape[0]:
        return NEED_PAIRS, (starts + 1) * width
    if counters[NODES] + width > nodes.number.shape[0]:
        return NEED_NODES, width

    weights = scratch.weight
    for cell in range(2 * reached * width):
        set_number(weights, cell, 0)
    for i in range(reached):
        scratch.place[i] = 2 * i * width
    column = 0
    pair = runs.forward[key]
    while pair != NIL:
        set_number(weights, scratch.place[scratch.local[pairs.state[pair]]] + column, 1)
        column += 1
        pair = pairs.next[pair]
    front = NIL
    node = runs.back[key]
    while node != NIL and nodes.clock[node] >= edge:
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
                    set_number(weights, at + j, 0)
            first = tables.rows[cell] if cell >= 0 else 0
            last = tables.rows[cell + 1] if cell >= 0 else 0
            for step in range(first, last):
                if tables.targets[step] == NIL:
                    continue
                row = scratch.place[scratch.local[tables.targets[step]]]
                for j in range(width):
                    if weights.real[row + j, 0] > 0.0:
                        add_step(
                            weights, at + j, row + j, binds, tables.labels[step], nodes.values, node
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
            while pair != NIL:
                if weights.real[column, 0] > 0.0:
                    own = take_pair(pairs, counters, pairs.state[pair], nodes.vector[front])
                    copy_row(pairs.weight, own, weights, column)
                    nodes.vector[front] = own
                column += 1
                pair = pairs.next[pair]
        node = after

    # From now on the front ends here: the product of what comes is the identity.
    drop_nodes(pairs, nodes, counters, node)
    runs.back[key] = NIL
    runs.front[key] = front
    rows = NIL
    pair = runs.forward[key]
    while pair != NIL:
        rows = take_node(nodes, counters, pairs.state[pair], 0, rows)
        nodes.vector[rows] = take_pair(pairs, counters, pairs.state[pair], NIL)
        set_number(pairs.weight, nodes.vector[rows], 1)
        pair = pairs.next[pair]
    runs.rows[key] = rows
    drop_pairs(pairs, counters, runs.forward[key])
    runs.forward[key] = NIL
    return -1, 0
