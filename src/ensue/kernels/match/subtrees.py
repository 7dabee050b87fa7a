"""The nodes of subtrees: for a slot of a search tree, the union of all that is below it.

They are made when a range first asks for them. Whatever changes below a slot (it comes or goes, or
gets other runs) makes those above it stale, so no change costs more than the way down. What is
stale has only stale slots above it. A slot with all that is lower has a node of its own, which a
change among the higher ones leaves as it is. None of these nodes is in a snapshot, and compaction
drops them.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import NIL, NODES, Array, Graph, Tables
from ensue.kernels.match.evaluate import is_over, join
from ensue.kernels.match.layout import (
    BEGUN,
    BRANCH,
    HIGHER,
    LOWER,
    NOTHING,
    OWN,
    SIDE,
    SINCE,
    STALE,
    WHOLE,
    Index,
    Slots,
    Trees,
)
from ensue.kernels.match.treap import forget_due, goes_before, make_stale
from ensue.kernels.minmax import larger

NO_NODES, NO_ROOM = -3, -4
"""Instead of a number: the graph is full, or what a move needs is."""


@subroutine
def touch(tables: Tables, slots: Slots, index: Index, trees: Trees, slot: int) -> None:
    """Note that a configuration has got other runs."""
    group = index.group[slot]
    for number in range(tables.indexes.shape[0]):
        if tables.ordered[number] and tables.indexed[slots.state[slot], number]:
            other = trees.root[number, group]
            while other != NIL:
                low = other == slot or goes_before(
                    trees, tables.prefixes[number], tables.indexes[number], slot, other
                )
                make_stale(trees, number, other, low)
                if other == slot:
                    forget_due(trees, number, slot)
                    trees.branches[slot, BRANCH * number + OWN] = slots.root[slot]
                    trees.branches[slot, BRANCH * number + BEGUN] = slots.start[slot]
                    other = NIL
                elif low:
                    other = trees.branches[other, BRANCH * number + LOWER]
                else:
                    other = trees.branches[other, BRANCH * number + HIGHER]


@helper
def sum_up(
    trees: Trees,
    graph: Graph,
    counters: Array,
    number: int,
    slot: int,
    part: int,
    floor: int,
    edge: int,
) -> None:
    """Make the node of a slot with all that is lower (0), or of that with the rest (1)."""
    first = BRANCH * number
    source = first + (OWN if part == 0 else SIDE)
    node = trees.branches[slot, source]
    start = trees.branches[slot, source + 1]
    if node != NOTHING and is_over(graph, start, floor, edge):
        node = NOTHING
    child = trees.branches[slot, first + (LOWER if part == 0 else HIGHER)]
    if child != NIL:
        other = trees.branches[child, first + WHOLE]
        begun = trees.branches[child, first + SINCE]
        if other != NOTHING and not is_over(graph, begun, floor, edge):
            if node == NOTHING:
                node = other
                start = begun
            else:
                node = join(graph, counters, node, start, other, begun)
                start = larger(start, begun)
    target = first + (SIDE if part == 0 else WHOLE)
    trees.branches[slot, target] = node
    trees.branches[slot, target + 1] = start


@subroutine
def whole_of(
    trees: Trees,
    graph: Graph,
    counters: Array,
    number: int,
    top: int,
    floor: int,
    edge: int,
    stack: Array,
) -> int:
    """Return the node of all that is below a slot and not over; NOTHING where all is."""
    depth = 0
    if trees.branches[top, BRANCH * number + WHOLE] == STALE:
        stack[0] = top
        depth = 1
    while depth > 0:
        slot = stack[depth - 1]
        lower = trees.branches[slot, BRANCH * number + LOWER]
        higher = trees.branches[slot, BRANCH * number + HIGHER]
        child = NIL
        unknown = trees.branches[slot, BRANCH * number + SIDE] == STALE
        if unknown and lower != NIL and trees.branches[lower, BRANCH * number + WHOLE] == STALE:
            child = lower
        elif higher != NIL and trees.branches[higher, BRANCH * number + WHOLE] == STALE:
            child = higher
        if child != NIL:
            if depth == stack.shape[0]:
                return NO_ROOM
            stack[depth] = child
            depth += 1
            continue
        if counters[NODES] + 2 > graph.label.shape[0]:
            return NO_NODES
        for part in range(0 if unknown else 1, 2):
            sum_up(trees, graph, counters, number, slot, part, floor, edge)
        depth -= 1
    found: int = trees.branches[top, BRANCH * number + WHOLE]
    return found
