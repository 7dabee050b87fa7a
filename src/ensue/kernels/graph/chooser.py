"""The chooser: gives hits a graph with the matches that NEXT, LAST or FIRST choose, and no others.

What is known of nodes is worked out once for each, when there are hits to choose for, and again
after the graph was compacted. Chosen matches are copied, so they do not keep the match graph alive.
Where the copies would be much larger than the graph, as with matches that bind everything in a long
window, the hits get a part of the match graph, and the choice is made when they are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ensue.kernels.graph.bounded import Bounds
from ensue.kernels.graph.choose import (
    CHOSEN_NODES,
    CHOSEN_STARTS,
    FIRST,
    LAST,
    NEXT,
    READY,
    STAMP,
    TASKS,
    Chosen,
    Search,
    choose_paths,
    join_roots,
    new_search,
)
from ensue.kernels.graph.compact import cut
from ensue.kernels.graph.first import complete_starts, new_completions
from ensue.kernels.graph.order import Order, new_order, note_newest, note_order
from ensue.kernels.graph.segment import NO_BUDGET, Cursor, Listing, Segment
from ensue.kernels.layout import FOREVER, NIL, UNION, Graph, Hits, Roots, new_graph
from ensue.kernels.memory import doubled

_STRATEGIES = {"NEXT": NEXT, "LAST": LAST, "FIRST": FIRST}

_FIRST_NODES = 1 << 10
_NODES_A_HIT = 32
_LEAST_ROOM = 1 << 16
_ROOM = 2
"""At once, the chosen matches may have so many times the nodes of the graph."""

_GROWTH = 4
"""Arrays of what is known of nodes have room for so many times those that there are: what is copied
into larger ones costs more than what is never touched."""

_SPARE = 8
"""Chosen matches are copied out of arrays that have more than so many times the nodes."""

_PART = 1 << 18
"""So many nodes chosen matches have, about, that are listed together."""


class Tasks(NamedTuple):
    """What is to be chosen among: the matches of hits, with FIRST of one start each."""

    hits: Hits
    """One for each task; those of one event follow each other, the latest start first."""
    roots: Roots
    """The nodes of the hits, with windows by floors if that is possible."""
    only: np.ndarray
    """The start, NIL for all, or READY where what is chosen is known."""
    chosen: np.ndarray
    """Then, its root; else there is only room for it."""

    @classmethod
    def of(cls, hits: Hits, roots: Roots, only: np.ndarray) -> Tasks:
        """Return tasks none of which is done."""
        return cls(hits, roots, only, np.empty(len(only), np.int32))

    def since(self, begin: int) -> Tasks:
        """Leave out the first ones."""
        return Tasks(
            Hits(*(each[begin:] for each in self.hits)),
            Roots(*(each[begin:] for each in self.roots)),
            self.only[begin:],
            self.chosen[begin:],
        )


@dataclass(slots=True)
class _Room:
    """The graph of what is chosen, which may grow up to a size."""

    size: int
    most: int
    spare: int
    """Beyond the nodes that the choice knows of there are so many for joining its roots."""
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        self.size = min(self.size, self.most)
        self.graph = new_graph(self.size + self.spare, self.size)

    @property
    def usable(self) -> Graph:
        """The part that the choice knows of."""
        return cut(self.graph, self.size, self.size)

    def grow(self) -> bool:
        """Make twice as much room; False: it has the most there may be."""
        if self.size == self.most:
            return False
        self.size = min(2 * self.size, self.most)
        grown = new_graph(self.size + self.spare, self.size)
        for old, new in zip(self.graph, grown, strict=True):
            new[: len(old)] = old
        self.graph = grown
        return True


@dataclass(frozen=True, slots=True)
class _Choosing:
    """A choice on a graph all of whose nodes are known."""

    graph: Graph
    strategy: int
    visible: np.ndarray
    order: Order
    search: Search

    def room(self, hits: int, tasks: int, most: int) -> _Room:
        """Allocate what so many hits may need, at most so many nodes; nothing is chosen yet."""
        self.search.counters[CHOSEN_NODES] = self.search.counters[CHOSEN_STARTS] = 0
        return _Room(doubled(_FIRST_NODES, _NODES_A_HIT * hits), most, tasks)

    def complete(self, hits: Hits, roots: Roots, most: int, limit: int) -> tuple[Tasks, _Room]:
        """Find what completes its first match, and choose where that is easily told."""
        count, counters = len(hits.end), self.search.counters
        found = new_completions(len(self.graph.start_clock), count)
        room = self.room(count, len(found.hit), most)
        counters[TASKS] = done = 0
        walks = True
        while done < count:
            done = complete_starts(
                self.graph,
                self.order,
                roots,
                self.search,
                room.usable,
                walks,
                found,
                done,
            )
            if done < count:
                walks = room.grow()
        number, only, chosen = (each[: int(counters[TASKS])] for each in found)
        # They come nearly in this order, which a stable sort makes use of.
        order = np.argsort((number << 32) - only, kind="stable")
        number, only, chosen = number[order], only[order], chosen[order]
        if limit >= 0:
            kept = np.arange(len(only)) - np.searchsorted(number, number) < limit
            number, only, chosen = number[kept], only[kept], chosen[kept]
        own, below = (each[number] for each in hits), (each[number] for each in roots)
        return Tasks(Hits(*own), Roots(*below), only, chosen), room

    def take(self, tasks: Tasks, room: _Room, limit: int) -> tuple[Segment | None, int]:
        """Choose as far as there is room; return what is chosen, and how many tasks are done."""
        count, only = len(tasks.only), np.ascontiguousarray(tasks.only)
        roots, done = np.ascontiguousarray(tasks.chosen), 0
        while True:
            chosen = Chosen(room.usable, roots)
            done = choose_paths(
                self.graph,
                self.order,
                self.visible,
                self.strategy,
                tasks.roots,
                only,
                self.search,
                chosen,
                done,
            )
            if done == count or not room.grow():
                break
        if limit >= 0 and 0 < done < count:
            # What is limited together is chosen together.
            done = int(np.searchsorted(tasks.hits.end, tasks.hits.end[done]))
        if done == 0:
            return None, 0
        hits = Hits(*(each[:done] for each in tasks.hits))
        return self._segment(room.graph, hits, roots, limit), done

    def starts_of(self, tasks: Tasks, room: _Room) -> Tasks:
        """Return tasks of one start each: what is chosen of some is forgotten."""
        ready = tasks.only == READY
        if not ready.any():
            return tasks
        graph = room.usable
        below = [_starts_below(graph, int(root)) for root in tasks.chosen[ready]]
        sizes = np.ones(len(ready), np.int64)
        sizes[ready] = [len(each) for each in below]
        only = np.repeat(tasks.only, sizes)
        positions = np.concatenate(below)
        only[only == READY] = np.searchsorted(self.graph.start_position, positions)
        hits = Hits(*(np.repeat(each, sizes) for each in tasks.hits))
        roots = Roots(*(np.repeat(each, sizes) for each in tasks.roots))
        return Tasks.of(hits, roots, only)

    def _segment(self, graph: Graph, hits: Hits, roots: np.ndarray, limit: int) -> Segment:
        count, counters = len(hits.end), self.search.counters
        first, roots = np.ones(count, np.bool_), roots[:count].copy()
        if self.strategy == FIRST:
            first[1:] = hits.end[1:] != hits.end[:-1]
            count = join_roots(graph, counters, np.cumsum(first), roots)
        nodes, starts = int(counters[CHOSEN_NODES]), int(counters[CHOSEN_STARTS])
        own = cut(graph, nodes, starts)
        if _SPARE * nodes < len(graph.label):
            own = Graph(*(each.copy() for each in own))
        return Segment(
            own,
            Hits(
                hits.end[first],
                roots[:count],
                np.full(count, FOREVER, np.int64),
                np.zeros(count, np.int32),
                hits.key[first],
            ),
            limit,
        )


@dataclass(frozen=True, slots=True)
class UnchosenSegment(Segment):
    """A graph whose roots are hits of which some matches are chosen as they are listed."""

    strategy: int = NEXT
    visible: np.ndarray = field(default_factory=lambda: np.zeros(0, np.bool_))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """With FIRST, the position of the start of each hit."""

    def parts(self) -> Iterator[Segment]:
        """Give the chosen matches, some at a time."""
        hits, graph = self.hits, self.graph
        nodes, spines = len(graph.label), self.strategy != LAST
        order = new_order(nodes, spines=spines)
        note = note_order if spines else note_newest
        note(graph, order, self.visible, 0)
        choosing = _Choosing(graph, self.strategy, self.visible, order, new_search(nodes))
        only = np.full(len(hits.end), NIL, np.int32)
        if self.strategy == FIRST:
            only[:] = np.searchsorted(graph.start_position, self.starts)
        roots = _by_floors(hits.roots, graph.start_clock)
        tasks, most = Tasks.of(hits, roots, only), _PART
        while count := len(tasks.only):
            chosen, done = choosing.take(tasks, choosing.room(count, count, most), self.limit)
            if chosen is None:
                most *= 2
                continue
            tasks = tasks.since(done)
            yield chosen

    @property
    def effort(self) -> int:
        """About how many steps counting takes at most."""
        return len(self.hits.end) * len(self.graph.label)

    def count(self) -> int:
        """Count the chosen matches."""
        return sum(part.count() for part in self.parts())

    def listings(
        self,
        at_once: int = _PART,
        bounds: Bounds | None = None,
        cursor: Cursor | None = None,
        most: int = NO_BUDGET,
    ) -> Iterator[Listing]:
        """List the chosen matches, some at a time."""
        assert bounds is None, "what is bounded is chosen as it is listed"
        for part in self.parts():
            yield from part.listings(cursor=cursor, most=most)


@dataclass(slots=True)
class Chooser:
    """Chooses among the matches of one completing event, or with FIRST of one start."""

    choice: str
    """NEXT, LAST or FIRST."""
    mask: int
    """The bits of labels whose events count in a support."""
    _order: Order = field(init=False)
    _search: Search = field(init=False)
    _noted: int = 0
    """So many nodes are known."""
    _visible: np.ndarray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        self._resize(0)

    def forget(self) -> None:
        """Forget what is known of the nodes: the graph was compacted."""
        self._noted = 0

    @property
    def nbytes(self) -> int:
        """How many bytes are allocated."""
        return sum(each.nbytes for each in (*self._order, *self._search))

    def choose(
        self,
        graph: Graph,
        labels: list[int],
        hits: Hits,
        limit: int,
        hand_out: Callable[[Hits, int], Segment],
    ) -> Iterator[Segment]:
        """Choose among the matches of hits.

        Args:
            graph: all nodes that there are.
            labels: the bits of each label number.
            hits: the completing events.
            limit: at most so many matches a hit are listed; -1: all.
            hand_out: gives hits a graph, for a choice that is made later.
        """
        self._note(graph, labels)
        strategy, count = _STRATEGIES[self.choice], len(hits.end)
        choosing = _Choosing(graph, strategy, self._visible, self._order, self._search)
        roots = _by_floors(hits.roots, graph.start_clock)
        most = max(_LEAST_ROOM, _ROOM * len(graph.label))
        if strategy == FIRST:
            tasks, room = choosing.complete(hits, roots, most, limit)
        else:
            tasks = Tasks.of(hits, roots, np.full(count, NIL, np.int32))
            room = choosing.room(count, count, most)
        if not len(tasks.only):
            return
        chosen, done = choosing.take(tasks, room, limit)
        if chosen is not None:
            yield chosen
        if done < len(tasks.only):
            rest = choosing.starts_of(tasks.since(done), room)
            starts = graph.start_position[np.maximum(rest.only, 0)]
            later = hand_out(rest.hits, limit)
            yield UnchosenSegment(
                later.graph, later.hits, limit, later.lent, strategy, self._visible, starts
            )

    def _note(self, graph: Graph, labels: list[int]) -> None:
        """Get to know the nodes that came since the last time."""
        nodes = len(graph.label)
        if len(self._search.stamp) < nodes:
            self._resize(doubled(_FIRST_NODES, _GROWTH * nodes))
        if len(self._visible) != len(labels):
            self._visible = np.array([bool(bits & self.mask) for bits in labels], np.bool_)
        note = note_newest if self.choice == "LAST" else note_order
        note(graph, self._order, self._visible, self._noted)
        self._noted = nodes

    def _resize(self, nodes: int) -> None:
        """Make room for so many nodes; what is known of nodes stays known."""
        order = new_order(nodes, spines=self.choice != "LAST")
        search = new_search(nodes, first=self.choice == "FIRST")
        if self._noted:
            for mine, theirs in zip(order, self._order, strict=True):
                mine[: self._noted] = theirs[: self._noted]
            search.counters[STAMP] = self._search.counters[STAMP]
        self._order, self._search = order, search


def _by_floors(roots: Roots, clocks: np.ndarray) -> Roots:
    """Say where windows begin by the first start inside, where clocks are in the order of starts.

    They are not where events are numbered within keys.
    """
    if len(clocks) > 1 and (clocks[1:] < clocks[:-1]).any():
        return roots
    floor = np.maximum(roots.floor, np.searchsorted(clocks, roots.edge)).astype(np.int32)
    return Roots(roots.node, np.full(len(floor), FOREVER, np.int64), floor)


def _starts_below(graph: Graph, root: int) -> np.ndarray:
    """Return the positions of the starts below a chosen node, the latest first."""
    found, stack = list[int](), [root]
    while stack:
        node = stack.pop()
        while graph.label[node] > 0:
            node = int(graph.left[node])
        if graph.label[node] == UNION:
            stack += int(graph.right[node]), int(graph.left[node])
        else:
            found.append(int(graph.start_position[graph.start[node]]))
    return np.array(found, np.int64)
