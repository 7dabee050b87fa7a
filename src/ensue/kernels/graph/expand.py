"""Products multiplied out: matches of lazy steps (match/lazy.py) in a graph as all others are.

A product stands for each path of its factor with all that is before it. Its factor is copied as far
as it began late enough, and ends in what is before it: as many nodes as there are paths, at most,
each of which is part of a match. That is done when somebody looks at matches, for some completing
events at a time, so memory does not grow with the number of all matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import kernel, subroutine
from ensue.kernels.graph.bounded import Bounds
from ensue.kernels.graph.compact import Alive, cut, mark_below
from ensue.kernels.graph.segment import MATCHES_AT_ONCE, NO_BUDGET, Cursor, Listing, Segment
from ensue.kernels.layout import NIL, PRODUCT, UNION, Array, Graph, Hits, Int32, new_graph
from ensue.kernels.minmax import larger

_FIRST_NODES = 1 << 12
_FIRST_HITS = 64

_PART, _TIMES = 1 << 18, 8
"""So many nodes are enough for a part of several hits, or so many times those that there are: hits
share most of them, and each part has them anew."""


class Copies(NamedTuple):
    """What a factor is copied with; all of it is 0 before."""

    turn: Int32
    """[node]: for which product it was copied last, numbered from 1 on."""
    copy: Int32
    """[node]: where to."""
    stack: Int32


@subroutine
def copy_factor(
    graph: Graph, top: int, first: int, before: int, turn: int, copies: Copies, into: Graph, at: int
) -> int:
    """Append a factor that ends in a node of the new graph; return where its nodes end, or NIL.

    Paths that began before the start `first` are left out.
    """
    stack = copies.stack
    start = into.start[before]
    depth = 1
    stack[0] = top
    while depth > 0:
        node = stack[depth - 1]
        label = graph.label[node]
        left = graph.left[node]
        right = graph.right[node] if label == UNION else NIL
        if right != NIL and graph.start[right] < first:
            right = NIL
        if copies.turn[node] == turn:
            depth -= 1
        elif label == 0:
            copies.turn[node] = turn
            copies.copy[node] = before
            depth -= 1
        elif copies.turn[left] != turn:
            stack[depth] = left
            depth += 1
        elif right != NIL and copies.turn[right] != turn:
            stack[depth] = right
            depth += 1
        else:
            place = copies.copy[left]
            if label != UNION or right != NIL:
                if at == into.label.shape[0]:
                    return NIL
                place = at
                at += 1
                into.label[place] = label
                into.left[place] = copies.copy[left]
                into.right[place] = copies.copy[right] if right != NIL else NIL
                into.position[place] = graph.position[node]
                into.start[place] = start
            copies.turn[node] = turn
            copies.copy[node] = place
            depth -= 1
    return at


@kernel
def expand(
    graph: Graph, alive: Alive, places: Array, new_starts: Array, copies: Copies, into: Graph
) -> int:
    """Copy what was marked without factors, products multiplied out; return how many nodes it has.

    NIL means that there is no room for them.
    """
    for start in range(alive.start_begin, alive.start_end):
        place = new_starts[start]
        if new_starts[start + 1] > place:
            into.start_position[place] = graph.start_position[start]
            into.start_clock[place] = graph.start_clock[start]
    count = 0
    turn = 0
    for node in range(alive.begin, alive.end):
        if places[node] == 0:
            continue
        label = graph.label[node]
        left = graph.left[node]
        new_left = places[left] - 1 if left != NIL else NIL
        if label == PRODUCT:
            turn += 1
            top = graph.right[node]
            first = graph.position[node]
            count = copy_factor(graph, top, first, new_left, turn, copies, into, count)
            if count == NIL:
                return NIL
            places[node] = copies.copy[top] + 1
            continue
        right = graph.right[node]
        new_right = places[right] - 1 if right != NIL else NIL
        if label == UNION and (new_left == NIL or new_right == NIL):
            places[node] = larger(new_left, new_right) + 1
            continue
        if count == into.label.shape[0]:
            return NIL
        into.label[count] = label
        into.left[count] = new_left
        into.right[count] = new_right
        into.position[count] = graph.position[node]
        into.start[count] = new_starts[graph.start[node]]
        count += 1
        places[node] = count
    return count


@dataclass(frozen=True, slots=True)
class FactoredSegment(Segment):
    """A graph with products, whose roots are the hits of a part of the stream."""

    def parts(self) -> Iterator[Segment]:
        """Give the matches in graphs without products, those of some hits at a time."""
        begin, count, room = 0, _FIRST_HITS, _FIRST_NODES
        enough = max(_PART, _TIMES * len(self.graph.label))
        while begin < len(self.hits.end):
            some = Hits(*(each[begin : begin + count] for each in self.hits))
            expanded = self._expanded(some, room)
            if expanded is not None:
                yield expanded
                begin += len(some.end)
                if 4 * len(expanded.graph.label) <= enough:
                    count *= 2
            elif room < enough or len(some.end) == 1:
                room *= 2
            else:
                count = len(some.end) // 2

    def _expanded(self, hits: Hits, room: int) -> Segment | None:
        """Return the matches of some hits without products; None where that is too much."""
        graph, nodes = self.graph, len(self.graph.label)
        marked = mark_below(graph, hits.roots, within_keys=True, factors=False)
        into = new_graph(room, marked.starts)
        copies = Copies(*(np.zeros(size, np.int32) for size in (nodes, nodes, nodes + 1)))
        alive = Alive(marked.begin, marked.end, marked.start_begin, marked.start_end, 0, 0)
        count = expand(graph, alive, marked.places, marked.new_starts, copies, into)
        if count == NIL:
            return None
        return Segment(cut(into, count, marked.starts), marked.moved(hits), self.limit)

    def count(self) -> int:
        """Count the matches."""
        if self.limit == 1:
            return len(self.hits.end)
        return sum(part.count() for part in self.parts())

    def listings(
        self,
        at_once: int = MATCHES_AT_ONCE,
        bounds: Bounds | None = None,
        cursor: Cursor | None = None,
        most: int = NO_BUDGET,
    ) -> Iterator[Listing]:
        """List the matches, some at a time."""
        assert bounds is None, "bounds are those of a part"
        for part in self.parts():
            yield from part.listings(at_once, cursor=cursor, most=most)
