"""FIRST on the match graph: the starts that complete their first match, and their paths.

Unions and bottoms all of whose starts have completed are marked, in their position, which is not
used for anything else. A root is walked from the latest start to the earliest, along spines (see
order.py): of the side that adds starts to a spine only these are looked at, so that every start is
met once, on its preferred path. Starts whose paths go on together are walked together, and what is
chosen of them shares its nodes. Where a union is mixed, or much is met that has completed without
being marked, all that is open below the root is visited and marked instead, and each start chosen
for by itself (see choose.py). Either way no node is looked at a second time without need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.graph.choose import (
    CHOSEN_NODES,
    CHOSEN_STARTS,
    NO_ROOM,
    PARTED,
    READY,
    STAMP,
    TASKS,
    Search,
    add_chosen,
    add_start,
    both,
    is_full,
)
from ensue.kernels.graph.order import EARLIEST, LATEST, SAME, SPINE, Order, is_inside
from ensue.kernels.layout import NIL, UNION, Graph, Int32, Int64, Roots
from ensue.kernels.minmax import larger

_COMPLETED = 1
"""The position of unions and bottoms all of whose starts have completed a match."""

_PATIENCE = 32
"""So many nodes are walked in vain, and one more for each start that is found."""


class Completions(NamedTuple):
    """What FIRST has to choose among: the matches of a root, from one start."""

    hit: Int64
    """The number of the root."""
    start: Int32
    """The start, or READY where all of the root is chosen."""
    root: Int32
    """Then, what is chosen."""


@helper
def walk_open(
    graph: Graph,
    order: Order,
    root: int,
    edge: int,
    floor: int,
    search: Search,
    chosen: Graph,
) -> int:
    """Write down the preferred paths from all open starts below a root, and mark what completes.

    Return their node, NIL, or why there is none: PARTED or NO_ROOM.
    """
    notes = order.notes
    counters = search.counters
    stack = search.stack
    visited = search.visited
    nodes = counters[CHOSEN_NODES]
    starts = counters[CHOSEN_STARTS]
    # A frame is a node, the first start that is asked for below it, and what is found on its left.
    depth = 0
    marked = 0
    idle = -_PATIENCE
    node = root
    least = floor
    result = NIL
    down = True
    while down or depth > 0:
        if down:
            node = notes[node, SAME]
            label = graph.label[node]
            latest = notes[node, LATEST]
            closed = label <= 0 and graph.position[node] == _COMPLETED
            if closed or latest < least or not is_inside(graph, latest, edge, floor):
                down = False
            elif is_full(chosen, counters, 1):
                result = NO_ROOM
                break
            elif label == 0:
                place = add_start(graph, graph.start[node], chosen, counters)
                result = add_chosen(chosen, counters, 0, NIL, NIL, 0, place)
                visited[marked] = node
                marked += 1
                idle -= 1
                down = False
            else:
                further = notes[node, SPINE]
                if label == UNION and further == NIL:
                    result = PARTED
                    break
                stack[depth] = node
                stack[depth + 1] = least
                stack[depth + 2] = PARTED
                depth += 3
                if label == UNION:
                    least = larger(least, notes[further, LATEST] + 1)
                node = graph.left[node]
        else:
            node = stack[depth - 3]
            least = stack[depth - 2]
            before = stack[depth - 1]
            label = graph.label[node]
            if label == UNION and before == PARTED:
                stack[depth - 1] = result
                result = NIL
                node = notes[node, SPINE]
                down = True
                continue
            depth -= 3
            if is_full(chosen, counters, 1):
                result = NO_ROOM
                break
            if label == UNION:
                if result == NIL:
                    result = before
                elif before != NIL:
                    result = both(chosen, counters, before, result)
                if least <= floor or least <= notes[node, EARLIEST]:
                    visited[marked] = node
                    marked += 1
            elif result != NIL:
                start = chosen.start[result]
                position = graph.position[node]
                result = add_chosen(chosen, counters, label, result, NIL, position, start)
            if result == NIL:
                idle += 1
                if idle > 0:
                    result = PARTED
                    break
    if result < NIL:
        counters[CHOSEN_NODES] = nodes
        counters[CHOSEN_STARTS] = starts
        return result
    for place in range(marked):
        graph.position[visited[place]] = _COMPLETED
    return result


@helper
def visit_open(graph: Graph, root: int, edge: int, floor: int, search: Search) -> int:
    """Collect the unions and bottoms below a root that have not completed; return how many."""
    counters = search.counters
    stamp = search.stamp
    stack = search.stack
    counters[STAMP] += 1
    now = counters[STAMP]
    count = 0
    stack[0] = root
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        while graph.label[node] > 0:
            node = graph.left[node]
        if stamp[node] == now or graph.position[node] == _COMPLETED:
            continue
        if not is_inside(graph, graph.start[node], edge, floor):
            continue
        stamp[node] = now
        search.visited[count] = node
        count += 1
        if graph.label[node] == UNION:
            stack[depth] = graph.right[node]
            stack[depth + 1] = graph.left[node]
            depth += 2
    return count


@kernel
def complete_starts(
    graph: Graph,
    order: Order,
    roots: Roots,
    search: Search,
    chosen: Graph,
    walks: bool,
    found: Completions,
    begin: int,
) -> int:
    """Find the starts below roots that complete their first match, from one root on.

    They are marked, and written down with the number of their root, or with `walks` what is chosen
    of all of them together, if that is easily told. Return the first root without room for it.
    """
    counters = search.counters
    for hit in range(begin, roots.node.shape[0]):
        root = roots.node[hit]
        edge = roots.edge[hit]
        floor = roots.floor[hit]
        best = PARTED
        if walks:
            best = walk_open(graph, order, root, edge, floor, search, chosen)
        if best == NO_ROOM:
            return hit
        task = counters[TASKS]
        if best >= 0:
            found.hit[task] = hit
            found.start[task] = READY
            found.root[task] = best
            counters[TASKS] = task + 1
        elif best == PARTED:
            count = visit_open(graph, root, edge, floor, search)
            for place in range(count):
                node = search.visited[place]
                graph.position[node] = _COMPLETED
                if graph.label[node] == 0:
                    found.hit[task] = hit
                    found.start[task] = graph.start[node]
                    task += 1
            counters[TASKS] = task
    end: int = roots.node.shape[0]
    return end


def new_completions(starts: int, hits: int) -> Completions:
    """Allocate room for all that can complete at some hits."""
    size = starts + hits
    return Completions(np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32))
