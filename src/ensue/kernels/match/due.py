"""What lazy steps owe to the configurations below a slot of a search tree, as one node.

In `A ; B ; C` with a.x < c.x, B is taken for all configurations at once (lazy.py), and C asks for a
range of them (ranges.py). To bring them up to date one by one would take as long as there are
many. But what B's factor owes to a whole subtree is one product: all that is below, then each path
since it was asked for the last time. So slots of a tree know for each target of lazy steps what is
due below them, and since when. Where nothing below has changed, another product is all that comes
to it; else what is due is put together anew from the slot, whose own part is known in the same way,
and from its children. So an event that asks makes a few nodes for each slot on its way, and so does
one that changes something.

That holds as long as no path of the factor is continued: then one that began earlier would be new.
So a lazy step that leads to where another one begins, as in `A ; B+ ; C`, is applied to each
configuration where there are trees (automata/common_steps.py).

A configuration that is brought up to date by itself owes what is in the tree of the target then,
and makes what is due above it stale. None of these nodes is in a snapshot, and compaction drops
them.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import NIL, NODES, PRODUCT, STARTS, Array, Graph
from ensue.kernels.match.evaluate import add_node, is_over, join
from ensue.kernels.match.layout import (
    ALL_DUE,
    BRANCH,
    DUE,
    HIGHER,
    LOWER,
    LOWER_DUE,
    NOTHING,
    OWN,
    OWN_DUE,
    SIDE,
    STALE,
    WHOLE,
    Lazy,
    Moves,
    Trees,
)
from ensue.kernels.match.subtrees import NO_NODES, NO_ROOM, sum_up, whole_of

_MOST_NODES = 12
"""So many are made for one slot at most: a product, and a union, of each of its parts."""


@helper
def owed(
    graph: Graph, counters: Array, node: int, root: int, first: int, floor: int, edge: int
) -> int:
    """Return a node and each path of a factor from a start on as a product, or NOTHING."""
    found = NOTHING
    if (
        node != NOTHING
        and graph.start[root] >= first
        and not is_over(graph, graph.start[node], floor, edge)
    ):
        found = add_node(graph, counters, PRODUCT, node, root, first, graph.start[node])
    return found


@helper
def both(graph: Graph, counters: Array, one: int, other: int, floor: int, edge: int) -> int:
    """Return the union of two nodes, each of which may be NOTHING; the first may be over."""
    found = one
    if found != NOTHING and is_over(graph, graph.start[found], floor, edge):
        found = NOTHING
    if found == NOTHING:
        found = other
    elif other != NOTHING:
        found = join(graph, counters, found, graph.start[found], other, graph.start[other])
    return found


@subroutine
def settled(
    trees: Trees,
    graph: Graph,
    counters: Array,
    slot: int,
    place: int,
    source: int,
    root: int,
    floor: int,
    edge: int,
) -> int:
    """Return what is due below a slot, which is known up to some start, up to the last one.

    `source` is the place of the node of all that it is due to. There is room for two nodes.
    """
    node = trees.branches[slot, source]
    first = trees.due[slot, place + 1]
    more = owed(graph, counters, node, root, first, floor, edge)
    found = both(graph, counters, trees.due[slot, place], more, floor, edge)
    trees.due[slot, place] = found
    trees.due[slot, place + 1] = counters[STARTS]
    return found


@subroutine
def due_alone(
    trees: Trees,
    graph: Graph,
    counters: Array,
    applied: Array,
    slot: int,
    place: int,
    first: int,
    root: int,
    floor: int,
    edge: int,
) -> int:
    """Return what is due to a slot itself; `place` and `first` are where its places begin."""
    if trees.due[slot, place + OWN_DUE] == STALE:
        trees.due[slot, place + OWN_DUE] = NOTHING
        trees.due[slot, place + OWN_DUE + 1] = applied[slot]
    return settled(trees, graph, counters, slot, place + OWN_DUE, first + OWN, root, floor, edge)


@subroutine
def due_of(
    trees: Trees,
    graph: Graph,
    counters: Array,
    applied: Array,
    number: int,
    target: int,
    top: int,
    kind: int,
    root: int,
    floor: int,
    edge: int,
    stack: Array,
) -> int:
    """Return what a factor owes to a slot (OWN), with all that is lower (SIDE), or to all (WHOLE).

    NOTHING where it owes nothing. The nodes of the same part of the tree are known.
    """
    first = BRANCH * number
    place = DUE * (number * trees.targets + target)
    if kind == OWN:
        if counters[NODES] + _MOST_NODES > graph.label.shape[0]:
            return NO_NODES
        return due_alone(trees, graph, counters, applied, top, place, first, root, floor, edge)
    depth = 0
    wanted = place + (ALL_DUE if kind == WHOLE else LOWER_DUE)
    if trees.due[top, wanted] == STALE:
        stack[0] = top
        depth = 1
    while depth > 0:
        slot = stack[depth - 1]
        lower = trees.branches[slot, first + LOWER]
        higher = trees.branches[slot, first + HIGHER]
        whole = kind == WHOLE or depth > 1
        unknown = trees.due[slot, place + LOWER_DUE] == STALE
        child = NIL
        if unknown and lower != NIL and trees.due[lower, place + ALL_DUE] == STALE:
            child = lower
        elif whole and higher != NIL and trees.due[higher, place + ALL_DUE] == STALE:
            child = higher
        if child != NIL:
            if depth == stack.shape[0]:
                return NO_ROOM
            stack[depth] = child
            depth += 1
            continue
        if counters[NODES] + _MOST_NODES > graph.label.shape[0]:
            return NO_NODES
        if unknown:
            found = due_alone(
                trees, graph, counters, applied, slot, place, first, root, floor, edge
            )
            if lower != NIL:
                below = settled(
                    trees,
                    graph,
                    counters,
                    lower,
                    place + ALL_DUE,
                    first + WHOLE,
                    root,
                    floor,
                    edge,
                )
                found = both(graph, counters, below, found, floor, edge)
            trees.due[slot, place + LOWER_DUE] = found
            trees.due[slot, place + LOWER_DUE + 1] = counters[STARTS]
        if whole:
            side = place + LOWER_DUE
            found = settled(trees, graph, counters, slot, side, first + SIDE, root, floor, edge)
            if higher != NIL:
                below = settled(
                    trees,
                    graph,
                    counters,
                    higher,
                    place + ALL_DUE,
                    first + WHOLE,
                    root,
                    floor,
                    edge,
                )
                found = both(graph, counters, below, found, floor, edge)
            trees.due[slot, place + ALL_DUE] = found
            trees.due[slot, place + ALL_DUE + 1] = counters[STARTS]
        depth -= 1
    if counters[NODES] + _MOST_NODES > graph.label.shape[0]:
        return NO_NODES
    source = first + kind
    return settled(trees, graph, counters, top, wanted, source, root, floor, edge)


@subroutine
def part_of(
    trees: Trees,
    graph: Graph,
    counters: Array,
    lazy: Lazy | None,
    factor: int,
    number: int,
    slot: int,
    kind: int,
    floor: int,
    edge: int,
    stack: Array,
) -> int:
    """Return the node of a slot (OWN), with all that is lower (SIDE), or of all below (WHOLE).

    With a factor it is what that owes to it. NOTHING where there is nothing.
    """
    first = BRANCH * number
    found: int = trees.branches[slot, first + kind]
    if kind == WHOLE and found == STALE:
        found = whole_of(trees, graph, counters, number, slot, floor, edge, stack)
    elif kind == SIDE and found == STALE:
        lower = trees.branches[slot, first + LOWER]
        found = NOTHING
        if lower != NIL:
            found = whole_of(trees, graph, counters, number, lower, floor, edge, stack)
        if found >= NOTHING:
            if counters[NODES] + 1 > graph.label.shape[0]:
                return NO_NODES
            sum_up(trees, graph, counters, number, slot, 0, floor, edge)
            found = trees.branches[slot, first + SIDE]
    if lazy is not None and factor != NIL and found >= NOTHING:
        root = lazy.root[factor]
        target = lazy.target[factor]
        found = due_of(
            trees,
            graph,
            counters,
            lazy.applied,
            number,
            target,
            slot,
            kind,
            root,
            floor,
            edge,
            stack,
        )
    return found


@helper
def add_part(
    trees: Trees,
    graph: Graph,
    counters: Array,
    moves: Moves,
    lazy: Lazy | None,
    factor: int,
    number: int,
    slot: int,
    kind: int,
    floor: int,
    edge: int,
    count: int,
) -> int:
    """Append such a node to what a move consists of, unless all of it is over."""
    node = part_of(
        trees, graph, counters, lazy, factor, number, slot, kind, floor, edge, moves.order
    )
    if node < NOTHING:
        return node
    if node == NOTHING:
        return count
    start = trees.branches[slot, BRANCH * number + kind + 1]
    if lazy is not None and factor != NIL:
        start = graph.start[node]
    if is_over(graph, start, floor, edge):
        return count
    if count == moves.part.shape[0]:
        return NO_ROOM
    moves.part[count] = node
    moves.part_start[count] = start
    return count + 1
