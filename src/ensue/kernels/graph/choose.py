"""The choice of NEXT, LAST and FIRST on the match graph: what is not chosen is not looked at.

The preferred support below a node follows from those of its children: appending an event to two
supports changes nothing about which is preferred. So it is worked out from a root down, each node
once, and the preferred paths are written to a graph of their own as they are found. Several paths
with one support are all preferred.

LAST looks first at the side of a union with the later event, and at the other one only if that has
such an event too. NEXT follows spines (see order.py) to the first start inside the window; where
these lead to one path, nothing is noted of the nodes on the way. FIRST asks for each start below a
root that has not completed a match yet; these are found first (see first.py), and are chosen among
here where spines do not lead from all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel, subroutine
from ensue.kernels.graph.enumerate import alive
from ensue.kernels.graph.order import Order, led_to, may_start
from ensue.kernels.layout import NIL, UNION, Array, Graph, Int32, Int64, Roots

NEXT, LAST, FIRST = range(3)

CHOSEN_NODES, CHOSEN_STARTS, STAMP, TASKS, CHOOSING_COUNTERS = range(5)
"""Places in the counters: how many nodes and starts were chosen, the last stamp, and how many
choices FIRST has to make."""

NO_ROOM, PARTED, READY = -2, -3, -4
"""In place of a node: there was no room for what is chosen, or there are several ways to go. In
place of a start: what is chosen of the root is written down already."""


class Search(NamedTuple):
    """What the choice works with."""

    stamp: Int64
    """[node]: when it was last looked at; negative, as long as it is not known what to choose."""
    found: Int32
    """[node]: then, the chosen paths below it in their own graph, or NIL."""
    stack: Int32
    visited: Int32
    """For FIRST, the nodes below a root that have not completed."""
    counters: Int64


class Chosen(NamedTuple):
    """The chosen paths: a graph, and the root of each hit there."""

    graph: Graph
    root: Int32


@helper
def add_chosen(
    chosen: Graph, counters: Array, label: int, left: int, right: int, position: int, start: int
) -> int:
    """Append a node to the chosen ones and return its number."""
    node: int = counters[CHOSEN_NODES]
    counters[CHOSEN_NODES] = node + 1
    chosen.label[node] = label
    chosen.left[node] = left
    chosen.right[node] = right
    chosen.position[node] = position
    chosen.start[node] = start
    return node


@helper
def is_full(chosen: Graph, counters: Array, more: int) -> bool:
    """Tell whether there is no room for so many more nodes, and a start."""
    nodes = counters[CHOSEN_NODES] + more
    starts = counters[CHOSEN_STARTS]
    full: bool = nodes > chosen.label.shape[0] or starts >= chosen.start_clock.shape[0]
    return full


@helper
def add_start(graph: Graph, start: int, chosen: Graph, counters: Array) -> int:
    """Append a start to the chosen ones and return its number."""
    place: int = counters[CHOSEN_STARTS]
    counters[CHOSEN_STARTS] = place + 1
    chosen.start_position[place] = graph.start_position[start]
    chosen.start_clock[place] = graph.start_clock[start]
    return place


@helper
def both(chosen: Graph, counters: Array, a: int, b: int) -> int:
    """Return the union of two chosen nodes, the later start on the left."""
    left = a
    right = b
    if chosen.start_position[chosen.start[a]] < chosen.start_position[chosen.start[b]]:
        left = b
        right = a
    return add_chosen(chosen, counters, UNION, left, right, 0, chosen.start[left])


@helper
def settled(chosen: Graph, visible: Array, node: int) -> int:
    """Return the last event of a chosen path that counts, or the bottom."""
    label = chosen.label[node]
    while label == UNION or (label > 0 and not visible[label]):
        node = chosen.left[node]
        label = chosen.label[node]
    return node


@subroutine
def preferred(chosen: Graph, visible: Array, a: int, b: int, strategy: int) -> int:
    """Compare two chosen supports, from their ends: 1 for the first, -1 for the second, 0: equal.

    The first difference that is met decides for LAST, the last one for the others.
    """
    verdict = 0
    a = settled(chosen, visible, a)
    b = settled(chosen, visible, b)
    while a != b:
        at_a = chosen.position[a] if chosen.label[a] > 0 else -1
        at_b = chosen.position[b] if chosen.label[b] > 0 else -1
        if at_a == -1 and at_b == -1:
            break
        if at_a != at_b:
            verdict = 1 if at_a > at_b else -1
            if strategy == LAST:
                break
        if at_a >= at_b:
            a = settled(chosen, visible, chosen.left[a])
        if at_b >= at_a:
            b = settled(chosen, visible, chosen.left[b])
    return verdict


@helper
def follow(
    graph: Graph,
    order: Order,
    root: int,
    edge: int,
    floor: int,
    only: int,
    search: Search,
    chosen: Graph,
) -> int:
    """Write down the path to which spines alone lead from a node; return it, or why there is none.

    Most are found so, and of what the search notes of each node nothing is needed for it.
    """
    counters = search.counters
    depth = 0
    node = led_to(graph, order, root, only, edge, floor)
    while graph.label[node] > 0:
        search.stack[depth] = node
        depth += 1
        node = led_to(graph, order, graph.left[node], only, edge, floor)
    if graph.label[node] != 0:
        node = PARTED
    elif only != NIL and graph.start[node] != only:
        node = NIL
    elif is_full(chosen, counters, depth + 1):
        node = NO_ROOM
    else:
        place = add_start(graph, graph.start[node], chosen, counters)
        node = add_chosen(chosen, counters, 0, NIL, NIL, 0, place)
        while depth > 0:
            depth -= 1
            event = search.stack[depth]
            position = graph.position[event]
            node = add_chosen(chosen, counters, graph.label[event], node, NIL, position, place)
    return node


@helper
def find_best(
    graph: Graph,
    order: Order,
    visible: Array,
    strategy: int,
    root: int,
    edge: int,
    floor: int,
    only: int,
    search: Search,
    chosen: Graph,
) -> int:
    """Write down the preferred paths below a node; return their node, NIL or NO_ROOM.

    Of all starts inside the window, or where `only` is not NIL of this one.
    """
    counters = search.counters
    stamp = search.stamp
    found = search.found
    stack = search.stack
    counters[STAMP] += 1
    now = counters[STAMP]
    if strategy != LAST:
        root = led_to(graph, order, root, only, edge, floor)
    stack[0] = root
    depth = 1
    while depth > 0:
        node = stack[depth - 1]
        if stamp[node] == now:
            depth -= 1
            continue
        if is_full(chosen, counters, 1):
            return NO_ROOM
        label = graph.label[node]
        start = graph.start[node]
        result = NIL
        if label == 0:
            if only == NIL or start == only:
                place = add_start(graph, start, chosen, counters)
                result = add_chosen(chosen, counters, 0, NIL, NIL, 0, place)
        elif label != UNION:
            child = found[node]
            if stamp[node] != -now:
                # Until the node is known, its place has what is looked at for it.
                child = graph.left[node]
                if strategy != LAST:
                    child = led_to(graph, order, child, only, edge, floor)
                stamp[node] = -now
                found[node] = child
                if stamp[child] != now:
                    stack[depth] = child
                    depth += 1
                    continue
            rest = found[child]
            if rest != NIL:
                position = graph.position[node]
                result = add_chosen(
                    chosen, counters, label, rest, NIL, position, chosen.start[rest]
                )
        else:
            first = graph.left[node]
            second = graph.right[node]
            if only == NIL:
                if not alive(graph, second, edge, floor):
                    second = NIL
                elif strategy == LAST and order.newest[second] > order.newest[first]:
                    first = graph.right[node]
                    second = graph.left[node]
            else:
                if not may_start(order, second, only):
                    second = NIL
                if not may_start(order, first, only):
                    first = second
                    second = NIL
            if first != NIL:
                if strategy != LAST:
                    first = led_to(graph, order, first, only, edge, floor)
                if stamp[first] != now:
                    stack[depth] = first
                    depth += 1
                    continue
                result = found[first]
            if second != NIL:
                seen = False
                if strategy == LAST and result != NIL:
                    end = settled(chosen, visible, result)
                    at = chosen.position[end] if chosen.label[end] > 0 else -1
                    seen = order.newest[second] < at
                if not seen:
                    if strategy != LAST:
                        second = led_to(graph, order, second, only, edge, floor)
                    if stamp[second] != now:
                        stack[depth] = second
                        depth += 1
                        continue
                    other = found[second]
                    if result == NIL:
                        result = other
                    elif other != NIL and other != result:
                        verdict = preferred(chosen, visible, result, other, strategy)
                        if verdict < 0:
                            result = other
                        elif verdict == 0:
                            result = both(chosen, counters, result, other)
        stamp[node] = now
        found[node] = result
        depth -= 1
    answer: int = found[root]
    return answer


@kernel
def choose_paths(
    graph: Graph,
    order: Order,
    visible: Array,
    strategy: int,
    roots: Roots,
    only: Array,
    search: Search,
    chosen: Chosen,
    begin: int,
) -> int:
    """Choose among the matches of each root, from one on; return the first without room.

    Where only[root] is not NIL, among those from this start.
    """
    counters = search.counters
    for hit in range(begin, roots.node.shape[0]):
        if only[hit] == READY:
            continue
        nodes = counters[CHOSEN_NODES]
        starts = counters[CHOSEN_STARTS]
        root = roots.node[hit]
        edge = roots.edge[hit]
        floor = roots.floor[hit]
        start = only[hit]
        best = PARTED
        if strategy != LAST:
            best = follow(graph, order, root, edge, floor, start, search, chosen.graph)
        if best == PARTED:
            best = find_best(
                graph, order, visible, strategy, root, edge, floor, start, search, chosen.graph
            )
        if best == NO_ROOM:
            counters[CHOSEN_NODES] = nodes
            counters[CHOSEN_STARTS] = starts
            return hit
        chosen.root[hit] = best
    end: int = roots.node.shape[0]
    return end


@kernel
def join_roots(chosen: Graph, counters: Array, hits: Array, roots: Array) -> int:
    """Let chosen roots of one hit, which follow each other, be one; return how many are left."""
    kept = 0
    for place in range(roots.shape[0]):
        if kept > 0 and hits[kept - 1] == hits[place]:
            roots[kept - 1] = both(chosen, counters, roots[kept - 1], roots[place])
        else:
            hits[kept] = hits[place]
            roots[kept] = roots[place]
            kept += 1
    return kept


def new_search(nodes: int, *, first: bool = False) -> Search:
    """Allocate what the choice works with, on a graph of so many nodes."""
    return Search(
        np.zeros(nodes, np.int64),
        np.empty(nodes, np.int32),
        np.empty((3 if first else 2) * nodes + 3, np.int32),
        np.empty(nodes if first else 0, np.int32),
        np.zeros(CHOOSING_COUNTERS, np.int64),
    )
