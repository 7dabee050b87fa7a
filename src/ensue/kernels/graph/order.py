"""What NEXT and FIRST need to know of the nodes of a match graph: who is preferred in a union.

For a start s below a node n let F(n, s) be the support that NEXT prefers among the paths from s. A
node a *covers* a node x if every start of x up to the last start of a is one of a too, and there
F(a, s) beats F(x, s). A union of which one side covers the other needs no comparison: the covering
side, its *spine*, has all starts up to its last one, the other side adds later starts or nothing at
all. So unions along the history of a state are a list in the order of starts, in which pointers
that jump ahead find the first start inside a window in logarithmic time.

That a covers x follows from a few facts, checked one step at a time; where none applies the union
is *mixed*, and both sides are looked at when it is asked about.

- out(p, y) covers x if y covers x or is x: what is longer wins.
- out(p, y) covers out(q, z) if p < q and y covers z or is z, or if p = q and y covers z.
- A union covers what its later side covers, since its spine covers that.
- On the starts of a, a node whose spine leads to a is a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel, subroutine
from ensue.kernels.layout import FOREVER, NIL, UNION, Array, Graph, Int32, Int64
from ensue.kernels.minmax import smaller

_PATIENCE = 16
"""So many steps are taken to find out whether a node covers another."""


SAME, SPINE, JUMP, DEPTH, EARLIEST, LATEST, BOUND, COVERED, NOTES = range(9)
"""What is noted of a node, side by side, so that a look at it costs one access: the node with the
same preferred paths (itself, or the side of a union that is all of it); of a union the side with
the earlier starts, which covers the other, or NIL; a node further along the spine, and how far it
is to the end (skew-binary jump pointers); the first and the last start below it, whatever the
window; whether all paths below it bind the event where they start; a node that it is known to
cover, or NIL."""


class Order(NamedTuple):
    """What is known of each node."""

    newest: Int64
    """For LAST: the last event of a path below it that counts, whatever the window; -1: none."""
    notes: Int32
    """For NEXT and FIRST: [node, what is noted]."""


@helper
def along(order: Order, node: int, start: int) -> int:
    """Follow the spine of a node as long as starts from this one on are left."""
    notes = order.notes
    further = notes[node, SPINE]
    while further != NIL and notes[further, LATEST] >= start:
        ahead = notes[node, JUMP]
        node = ahead if notes[ahead, LATEST] >= start else further
        further = notes[node, SPINE]
    return node


@helper
def may_start(order: Order, node: int, start: int) -> bool:
    """Tell whether a start may be below a node."""
    notes = order.notes
    possible: bool = notes[node, EARLIEST] <= start and start <= notes[node, LATEST]
    return possible


@helper
def is_inside(graph: Graph, start: int, edge: int, floor: int) -> bool:
    """Tell whether a start is inside the window; where the floor tells it, no clock is read."""
    inside: bool = start >= floor and (edge == FOREVER or graph.start_clock[start] >= edge)
    return inside


@helper
def led_to(graph: Graph, order: Order, node: int, only: int, edge: int, floor: int) -> int:
    """Return where spines lead from a node for NEXT and FIRST: the same paths are preferred."""
    if graph.label[node] == UNION:
        node = led_on(graph, order, node, only, edge, floor)
    return node


@subroutine
def led_on(graph: Graph, order: Order, node: int, only: int, edge: int, floor: int) -> int:
    """Return where spines lead from a union."""
    notes = order.notes
    moving = True
    while moving:
        before = node
        if notes[node, SAME] != node:
            node = notes[node, SAME]
        elif notes[node, SPINE] != NIL and (only != NIL or notes[node, BOUND] != 0):
            if only != NIL:
                node = along(order, node, only)
            else:
                further = notes[node, SPINE]
                while further != NIL and is_inside(graph, notes[further, LATEST], edge, floor):
                    node = notes[node, JUMP]
                    if not is_inside(graph, notes[node, LATEST], edge, floor):
                        node = further
                    further = notes[node, SPINE]
            if node == before:
                node = notes[graph.left[node], SAME]
        moving = node != before and graph.label[node] == UNION
    return node


@helper
def extends(graph: Graph, order: Order, visible: Array, above: int, below: int) -> bool:
    """Tell whether a node adds an event to all paths of another."""
    label = graph.label[above]
    found: bool = label > 0 and visible[label] and order.notes[graph.left[above], SAME] == below
    return found


@helper
def covers(graph: Graph, order: Order, visible: Array, above: int, below: int) -> bool:
    """Tell whether a node is known to cover another."""
    notes = order.notes
    first_above = above
    first_below = NIL
    second_above = NIL
    second_below = NIL
    strict = False
    strict_at_first = False
    known = False
    for _ in range(_PATIENCE):
        below = along(order, below, notes[above, LATEST])
        if first_below == NIL:
            first_below = below
        elif second_below == NIL:
            second_above = above
            second_below = below
            strict_at_first = strict
        if above == below or notes[above, COVERED] == below:
            known = strict or above != below
            break
        label = graph.label[above]
        if label == UNION:
            if notes[above, SPINE] == NIL:
                break
            above = notes[graph.left[above], SAME]
        elif label > 0 and visible[label]:
            other = graph.label[below]
            if other > 0 and visible[other] and graph.position[above] <= graph.position[below]:
                strict = strict or graph.position[above] < graph.position[below]
                below = notes[graph.left[below], SAME]
            else:
                strict = True
            above = notes[graph.left[above], SAME]
        else:
            break
    if known:
        notes[first_above, COVERED] = first_below
        # What the second step found out is what the next event asks about. It holds by itself only
        # where the first step did not decide.
        if second_below != NIL and not strict_at_first and second_above != second_below:
            notes[second_above, COVERED] = second_below
    return known


@kernel
def note_newest(graph: Graph, order: Order, visible: Array, begin: int) -> None:
    """Note the last events below nodes, from one node on."""
    newest = order.newest
    for node in range(begin, graph.label.shape[0]):
        label = graph.label[node]
        if label == 0:
            newest[node] = -1
        elif label == UNION:
            left = newest[graph.left[node]]
            right = newest[graph.right[node]]
            newest[node] = max(left, right)
        elif visible[label]:
            newest[node] = graph.position[node]
        else:
            newest[node] = newest[graph.left[node]]


@kernel
def note_order(graph: Graph, order: Order, visible: Array, begin: int) -> None:
    """Note who is preferred in the unions from one node on."""
    notes = order.notes
    for node in range(begin, graph.label.shape[0]):
        label = graph.label[node]
        start = graph.start[node]
        notes[node, SAME] = node
        notes[node, SPINE] = NIL
        notes[node, JUMP] = node
        notes[node, DEPTH] = 0
        notes[node, LATEST] = start
        notes[node, COVERED] = NIL
        if label == 0:
            notes[node, EARLIEST] = start
            notes[node, BOUND] = 0
            continue
        left = graph.left[node]
        if label != UNION:
            notes[node, EARLIEST] = notes[left, EARLIEST]
            bound = notes[left, BOUND]
            if visible[label] and graph.label[left] == 0:
                bound = graph.position[node] == graph.start_position[start]
            notes[node, BOUND] = bound
            continue
        right = graph.right[node]
        notes[node, EARLIEST] = smaller(notes[left, EARLIEST], notes[right, EARLIEST])
        notes[node, BOUND] = notes[left, BOUND] & notes[right, BOUND]
        left = notes[left, SAME]
        right = notes[right, SAME]
        latest = notes[right, LATEST]
        # With equal starts the left side was there before: it is asked first, unless the right
        # one goes on where it ends.
        ahead = right
        behind = left
        apart = notes[left, EARLIEST] > latest
        if start <= latest and not extends(graph, order, visible, right, left):
            ahead = left
            behind = right
        preferred = apart or covers(graph, order, visible, ahead, behind)
        if not preferred:
            ahead, behind = behind, ahead
            preferred = covers(graph, order, visible, ahead, behind)
        if not preferred:
            continue
        if notes[ahead, LATEST] >= start:
            notes[node, SAME] = ahead
        else:
            notes[node, SPINE] = right
            far = notes[right, DEPTH]
            notes[node, DEPTH] = far + 1
            near = notes[right, JUMP]
            beyond = notes[near, JUMP]
            even = far - notes[near, DEPTH] == notes[near, DEPTH] - notes[beyond, DEPTH]
            notes[node, JUMP] = beyond if even else right


def new_order(nodes: int, *, spines: bool) -> Order:
    """Allocate what is known of nodes: their last events, or with `spines` who is preferred."""
    return Order(
        np.empty(0 if spines else nodes, np.int64),
        np.empty((nodes if spines else 0, NOTES), np.int32),
    )
