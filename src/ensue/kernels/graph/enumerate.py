"""Enumeration and counting of the matches below a node.

Both walk the graph depth first, left before right, so matches come latest start first, and turn
away from what lies before the window's edge. The walk can stop when its output is full and go on
later: its whole state is the stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.graph.bounded import Bounds, add_event, copy_totals, may_end_well
from ensue.kernels.layout import CLIP, NIL, UNION, Array, Float64, Graph, Int32, Int64, Roots
from ensue.kernels.minmax import larger

HIT, DEPTH, LISTED, ALIKE, EXAMINED, CARRIED, CURSORS = range(7)
"""Where a walk is: the hit, the size of its stack, how many matches of the hit are listed. Whether
all that it listed last have the same labels, as those of a sequence. How many paths of the hit were
followed, to a match or to where bounds turn the walk away; and how many of its event's were before
the first hit."""

_LOW_HALF = 0xFFFFFFFF
"""The lower of the two numbers of 32 bits in a word."""


class Walk(NamedTuple):
    """The state of an enumeration."""

    cursor: Int64
    node: Int32
    length: Int32
    edge: Int64
    """The stack: nodes to visit, how long the path above each was, and the least clock of a start
    that the path above allows."""
    path_position: Int64
    path_label: Int32
    held: Float64
    """[place in the stack, total]: the totals of the path above it; the last row is scratch."""


class Counts(NamedTuple):
    """What counting finds, and what it needs of every node: how many paths lead there."""

    ways: Int64
    sizes: Float64
    """[node]: the number of paths modulo 2^64, and as a double."""
    stack: Int32
    counts: Int64
    estimates: Float64
    """[root]: the same for the matches; the estimate tells where 64 bits were too few."""


class Found(NamedTuple):
    """Matches as flat arrays: those of match i stand from offset[i] to offset[i + 1]."""

    start: Int64
    hit: Int64
    offset: Int64
    position: Int64
    label: Int32


class Members(NamedTuple):
    """The variables of label n: variable[row[n]:row[n + 1]]."""

    row: Int32
    variable: Int32


class Split(NamedTuple):
    """The events of matches by variable.

    What is bound to variable v stands from positions[base[v]] on, and its share of match i ends at
    offsets[v, i + 1].
    """

    base: Int64
    filled: Int64
    """A copy of the bases, to count on from."""
    positions: Int64
    offsets: Int32


@helper
def alive(graph: Graph, node: int, edge: int, floor: int) -> bool:
    """Tell whether something below a node starts inside the window."""
    start = graph.start[node]
    inside: bool = start >= floor and graph.start_clock[start] >= edge
    return inside


def pack(graph: Graph) -> np.ndarray:
    """Put all that a walk reads of a node side by side, so that a visit costs one access.

    The four words of a node are: its label, and its left child; the start of its right child, and
    that child; the clock of that start; the position of its event, where its run starts, or the
    least clock of a start.
    """
    nodes = len(graph.label)
    packed = np.empty((nodes, 4), np.int64)
    right = np.maximum(graph.right, 0)
    start = graph.start[right]
    packed[:, 0] = graph.label.astype(np.int64) << 32 | graph.left.astype(np.uint32)
    packed[:, 1] = start.astype(np.int64) << 32 | right
    packed[:, 2] = graph.start_clock[start]
    packed[:, 3] = np.where(graph.label == 0, graph.start_position[graph.start], graph.position)
    return packed


@kernel
def list_matches(
    packed: Array,
    roots: Roots,
    limit: int,
    most: int,
    bounds: Bounds | None,
    walk: Walk,
    found: Found,
) -> int:
    """List matches until all are listed or `found` is full; return how many.

    At most `limit` a root are listed, unless it is negative. The walk stops where it would follow
    more than `most` paths of a root. With bounds, branches are skipped on which no path may end
    with its totals inside them; without, the kernel is compiled without what looks at totals.
    """
    held = walk.held
    now = held.shape[0] - 1
    count = 0
    filled = 0
    found.offset[0] = 0
    hit = walk.cursor[HIT]
    depth = walk.cursor[DEPTH]
    listed = walk.cursor[LISTED]
    examined = walk.cursor[EXAMINED]
    full = False
    alike = True
    # A path is at most as long as the graph has nodes, for which half of the room is kept.
    enough = found.position.shape[0] // 2
    while hit < roots.node.shape[0]:
        if depth == 0 and listed == 0:
            walk.node[0] = roots.node[hit]
            walk.length[0] = 0
            walk.edge[0] = roots.edge[hit]
            if bounds is not None:
                for total in range(held.shape[1]):
                    held[0, total] = bounds.begin[total]
            depth = 1
            examined = walk.cursor[CARRIED] if hit == 0 else 0
        floor = roots.floor[hit]
        while depth > 0:
            if count == found.start.shape[0] or filled > enough or examined >= most:
                full = True
                break
            depth -= 1
            examined += 1
            node = walk.node[depth]
            length = walk.length[depth]
            edge = walk.edge[depth]
            if bounds is not None:
                copy_totals(held, now, depth)
                if not may_end_well(bounds, hit, held, now, node):
                    continue
            word = packed[node, 0]
            label = word >> 32
            good = True
            while label != 0:
                if label == UNION:
                    right = packed[node, 1]
                    other = right & _LOW_HALF
                    inside = right >> 32 >= floor and packed[node, 2] >= edge
                    if bounds is not None and inside:
                        inside = may_end_well(bounds, hit, held, now, other)
                    if inside:
                        walk.node[depth] = other
                        walk.length[depth] = length
                        walk.edge[depth] = edge
                        if bounds is not None:
                            copy_totals(held, depth, now)
                        depth += 1
                elif label == CLIP:
                    edge = larger(edge, packed[node, 3])
                else:
                    walk.path_position[length] = packed[node, 3]
                    walk.path_label[length] = label
                    length += 1
                    if bounds is not None:
                        add_event(bounds, held, now, node)
                node = word & _LOW_HALF
                word = packed[node, 0]
                label = word >> 32
                if bounds is not None:
                    good = may_end_well(bounds, hit, held, now, node)
                    if not good:
                        break
            if not good:
                continue
            found.start[count] = packed[node, 3]
            found.hit[count] = hit
            for i in range(length):
                label = walk.path_label[length - 1 - i]
                found.position[filled + i] = walk.path_position[length - 1 - i]
                found.label[filled + i] = label
                alike = alike and found.label[i] == label
            alike = alike and filled == count * length
            filled += length
            count += 1
            found.offset[count] = filled
            listed += 1
            if listed == limit:
                depth = 0
        if full:
            break
        hit += 1
        depth = 0
        listed = 0
    walk.cursor[HIT] = hit
    walk.cursor[DEPTH] = depth
    walk.cursor[LISTED] = listed
    walk.cursor[ALIKE] = alike
    walk.cursor[EXAMINED] = examined
    return count


@kernel
def count_matches(graph: Graph, roots: Roots, patience: int, counting: Counts) -> None:
    """Count the matches of every root.

    Few are counted by walking; beyond `patience` steps, by adding up the number of paths from the
    root to every node below it, which takes one pass over the graph however many there are. How
    many nodes that pass saw is the `patience` of the next root, so that wasted steps at most double
    the time.
    """
    ways = counting.ways
    sizes = counting.sizes
    stack = counting.stack
    for hit in range(roots.node.shape[0]):
        edge = roots.edge[hit]
        floor = roots.floor[hit]
        root = roots.node[hit]
        total = 0
        steps = 0
        depth = 1
        stack[0] = root
        while depth > 0 and steps < patience:
            steps += 1
            depth -= 1
            node = stack[depth]
            label = graph.label[node]
            if label == UNION:
                right = graph.right[node]
                if alive(graph, right, edge, floor):
                    stack[depth] = right
                    depth += 1
            if label != 0:
                stack[depth] = graph.left[node]
                depth += 1
            else:
                total += 1
        if depth == 0:
            counting.counts[hit] = total
            counting.estimates[hit] = total
            continue
        total = 0
        size = 0.0
        ways[root] = 1
        sizes[root] = 1.0
        pending = 1
        node = root + 1
        while pending > 0:
            node -= 1
            if sizes[node] == 0.0:
                continue
            pending -= 1
            if graph.label[node] == 0:
                total += ways[node]
                size += sizes[node]
            else:
                left = graph.left[node]
                if sizes[left] == 0.0:
                    pending += 1
                ways[left] += ways[node]
                sizes[left] += sizes[node]
                right = graph.right[node]
                if right != NIL and alive(graph, right, edge, floor):
                    if sizes[right] == 0.0:
                        pending += 1
                    ways[right] += ways[node]
                    sizes[right] += sizes[node]
            ways[node] = 0
            sizes[node] = 0.0
        patience = root - node + 1
        counting.counts[hit] = total
        counting.estimates[hit] = size


@kernel
def split_by_variable(
    label: Array, position: Array, offset: Array, members: Members, split: Split
) -> None:
    """Sort the bound events of matches by variable, match by match."""
    offsets = split.offsets
    filled = split.filled
    for variable in range(offsets.shape[0]):
        offsets[variable, 0] = 0
    for match in range(offset.shape[0] - 1):
        for i in range(offset[match], offset[match + 1]):
            for row in range(members.row[label[i]], members.row[label[i] + 1]):
                variable = members.variable[row]
                split.positions[filled[variable]] = position[i]
                filled[variable] += 1
        for variable in range(offsets.shape[0]):
            offsets[variable, match + 1] = filled[variable] - split.base[variable]


def new_walk(nodes: int, totals: int) -> Walk:
    """Allocate the state of an enumeration over a graph, with so many totals of each path."""
    return Walk(
        np.zeros(CURSORS, np.int64),
        np.zeros(nodes + 2, np.int32),
        np.zeros(nodes + 2, np.int32),
        np.zeros(nodes + 2, np.int64),
        np.zeros(nodes + 2, np.int64),
        np.zeros(nodes + 2, np.int32),
        np.zeros((nodes + 3 if totals else 0, totals), np.float64),
    )


def new_counts(nodes: int, roots: int) -> Counts:
    """Allocate what counting needs."""
    return Counts(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.float64),
        np.zeros(nodes + 1, np.int32),
        np.zeros(roots, np.int64),
        np.zeros(roots, np.float64),
    )


def new_found(matches: int, positions: int) -> Found:
    """Allocate room for matches."""
    return Found(
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
        np.empty(matches + 1, np.int64),
        np.empty(positions, np.int64),
        np.empty(positions, np.int32),
    )
