"""Graphs with one path for each match that is seen in the end.

Where projections hide events, or only the largest supports are wanted, very many paths of a match
graph may become a few matches. They are found without following all paths: those that agree in
what can be seen so far go on together, as the set of nodes that they have come to (the subset
construction, from the end of matches to their start). Every such set has something below it, so
the time follows the graph and what is found. For MAX a set also knows the nodes of its rivals,
whose paths have the same events and more: where a rival can do all that is left to do, no match
of the set is among the largest.

Sets are few for most patterns, but not for all: a budget of steps says when to give up, and then
the paths are listed one by one, under the budget of listings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import CLIP, NIL, UNION, Graph, Hits

_MOST_STEPS = 1 << 18
"""So many nodes are looked at for the matches of one event."""

_DEEPEST = 300
"""Longer paths are not followed together."""

_FEW_PATHS = 1 << 12
"""So many paths of a hit are listed in less time than it takes to find out which are alike."""

_Nodes = frozenset[int]


class TooManyStepsError(Exception):
    """Raised where matches are better listed one by one."""


class Ahead(NamedTuple):
    """What comes next below some nodes, towards the start."""

    events: dict[tuple[int, int], _Nodes]
    """By position and visible bits, the nodes of the next visible event."""
    starts: frozenset[int]
    """The starts that are reached without another visible event."""
    everything: frozenset[int]
    """All of it as one set: nodes, and starts as numbers below 0."""


@dataclass(slots=True)
class Thinning:
    """Makes graphs with one path for each match that is seen in the end."""

    visible: int
    """The bits of labels that can be seen."""
    largest: bool = False
    """Whether only matches are wanted whose support is no part of another."""
    labels: list[int] = field(default_factory=list)
    """The bits of each label number; what is left of labels is added to it."""

    def thinned(self, segment: Segment) -> Segment:
        """Return a segment with the same visible matches, each of one path, or the one given."""
        if type(segment) is not Segment or not len(segment.hits.end):
            return segment  # those with products are multiplied out as they are listed
        whole = segment.trimmed()
        if (whole.graph.label <= CLIP).any() or whole.estimates().max() <= _FEW_PATHS:
            return segment
        try:
            return _Thinner(self, whole).thinned()
        except TooManyStepsError:
            return segment

    def number_of(self, bits: int) -> int:
        """Return the number of a label with these bits."""
        if bits not in self.labels:
            self.labels.append(bits)
        return self.labels.index(bits)


@dataclass(slots=True)
class _Thinner:
    """Thins one segment."""

    how: Thinning
    segment: Segment
    old: list[list[int]] = field(init=False)
    clocks: list[int] = field(init=False)
    seen: list[int] = field(init=False)
    """The visible bits of each label."""
    made: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """The nodes of the new graph: label, left, right, position, start."""
    steps: int = 0
    edge: int = 0
    floor: int = 0
    _ahead: dict[_Nodes, Ahead] = field(default_factory=dict)
    _memo: dict[tuple[_Nodes, ...], int] = field(default_factory=dict)
    _passed: dict[tuple[_Nodes, int, bool], _Nodes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.segment.graph
        self.old = [each.tolist() for each in graph[:5]]
        self.clocks = graph.start_clock.tolist()
        self.seen = [bits & self.how.visible for bits in self.how.labels]

    def thinned(self) -> Segment:
        hits, kept, roots = self.segment.hits, [], []
        rows = list(zip(*(each.tolist() for each in hits), strict=True))
        begin = 0
        while begin < len(rows):
            (end, _, self.edge, self.floor, key), last = rows[begin], begin
            while last < len(rows) and (rows[last][0], rows[last][4]) == (end, key):
                last += 1
            self._ahead.clear()
            self._memo.clear()
            self._passed.clear()
            self.steps = 0
            nodes = frozenset(row[1] for row in rows[begin:last])
            empty: _Nodes = frozenset()
            root = self._largest(nodes, nodes, empty) if self.how.largest else self._distinct(nodes)
            if root != NIL:
                kept.append(begin)
                roots.append(root)
            begin = last
        columns = np.array(self.made or [(0, 0, 0, 0, 0)], np.int64).T
        label, left, right, position, start = columns
        graph = Graph(
            label.astype(np.int32),
            left.astype(np.int32),
            right.astype(np.int32),
            position,
            start.astype(np.int32),
            self.segment.graph.start_position,
            self.segment.graph.start_clock,
        )
        own = Hits(*(each[kept] for each in hits))._replace(root=np.array(roots, np.int32))
        return Segment(graph, own, self.segment.limit)

    # the old graph

    def ahead(self, nodes: _Nodes) -> Ahead:
        """Return what comes next below some nodes."""
        known = self._ahead.get(nodes)
        if known is not None:
            return known
        label, left, right, position, start = self.old
        events: dict[tuple[int, int], set[int]] = defaultdict(set)
        starts: set[int] = set()
        looked_at, waiting = set(nodes), list(nodes)
        while waiting:
            node = waiting.pop()
            number = label[node]
            if number == UNION:
                below = [left[node], right[node]]
            elif number == 0:
                starts.add(start[node])
                continue
            elif self.seen[number]:
                events[position[node], self.seen[number]].add(node)
                continue
            else:
                below = [left[node]]
            for each in below:
                if each not in looked_at and self._is_alive(start[each]):
                    looked_at.add(each)
                    waiting.append(each)
        self._step(len(looked_at))
        found = Ahead(
            {at: frozenset(some) for at, some in events.items()},
            frozenset(starts),
            frozenset().union(*events.values(), (~each for each in starts)),
        )
        self._ahead[nodes] = found
        return found

    def _is_alive(self, start: int) -> bool:
        return start >= self.floor and self.clocks[start] >= self.edge

    def _step(self, count: int) -> None:
        self.steps += count + 1
        if self.steps > _MOST_STEPS:
            raise TooManyStepsError

    def _below(self, nodes: Iterable[int]) -> _Nodes:
        """Return what is left after the events of some nodes."""
        left, start = self.old[1], self.old[4]
        return frozenset(left[node] for node in nodes if self._is_alive(start[left[node]]))

    # the new graph

    def _add(self, label: int, left: int, right: int, position: int, start: int) -> int:
        self.made.append((label, left, right, position, start))
        return len(self.made) - 1

    def _union(self, nodes: list[int]) -> int:
        """Join what was made, the latest start first; NIL where it is nothing."""
        nodes.sort(key=lambda node: self.made[node][4])
        joined = NIL
        for node in nodes:
            if joined == NIL:
                joined = node
            else:
                joined = self._add(UNION, node, joined, 0, self.made[node][4])
        return joined

    def _distinct(self, nodes: _Nodes, depth: int = 0) -> int:
        """Make what can be seen below some nodes, each match once."""
        known = self._memo.get((nodes,))
        if known is not None:
            return known
        if depth > _DEEPEST:
            raise TooManyStepsError
        ahead = self.ahead(nodes)
        made = [self._add(0, NIL, NIL, 0, start) for start in ahead.starts]
        for (position, bits), some in ahead.events.items():
            below = self._distinct(self._below(some), depth + 1)
            number = self.how.number_of(bits)
            made.append(self._add(number, below, NIL, position, self.made[below][4]))
        found = self._memo[(nodes,)] = self._union(made)
        return found

    def _largest(self, own: _Nodes, same: _Nodes, rivals: _Nodes, depth: int = 0) -> int:
        """Make the matches below some nodes that no rival beats; NIL where there are none.

        Args:
            own: where paths with certain labels have come to.
            same: where all paths with the same events have, whatever their labels.
            rivals: where those have that have the same events and others besides.
            depth: how many events there are so far.
        """
        key = own, same, rivals
        known = self._memo.get(key)
        if known is not None:
            return known
        if depth > _DEEPEST:
            raise TooManyStepsError
        ahead, alike = self.ahead(own), self.ahead(same)
        made: list[int] = []
        if not rivals and not alike.events:
            made = [self._add(0, NIL, NIL, 0, start) for start in ahead.starts]
        for (position, bits), some in ahead.events.items():
            after = self._below(some)
            beating = self._passing(rivals, position) | self._passing(same, position, more=True)
            if self.ahead(after).everything <= self.ahead(beating).everything:
                continue
            others = (nodes for (at, _), nodes in alike.events.items() if at == position)
            also = self._below(node for nodes in others for node in nodes)
            below = self._largest(after, also, beating, depth + 1)
            if below != NIL:
                number = self.how.number_of(bits)
                made.append(self._add(number, below, NIL, position, self.made[below][4]))
        found = self._memo[key] = self._union(made)
        return found

    def _passing(self, nodes: _Nodes, position: int, *, more: bool = False) -> _Nodes:
        """Return where paths come to that have an event, and perhaps others before they reach it.

        With `more`, only those that have at least one other.
        """
        known = self._passed.get((nodes, position, more))
        if known is not None:
            return known
        found: set[int] = set()
        waiting, done = nodes, set[int]()
        first = True
        while waiting:
            passed: set[int] = set()
            for (at, _), some in self.ahead(waiting).events.items():
                if at == position and not (first and more):
                    found |= some
                elif at > position:
                    passed |= some
            passed -= done
            done |= passed
            self._step(len(passed))
            waiting, first = self._below(passed), False
        below = self._passed[nodes, position, more] = self._below(found)
        return below
