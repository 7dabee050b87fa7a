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
    STAMP,
    Chosen,
    Search,
    choose_paths,
    complete_starts,
    join_roots,
    new_search,
)
from ensue.kernels.graph.compact import cut
from ensue.kernels.graph.order import Order, new_order, note_newest, note_order
from ensue.kernels.graph.segment import NO_BUDGET, Cursor, Listing, Segment
from ensue.kernels.layout import FOREVER, NIL, Graph, Hits, Roots, new_graph
from ensue.kernels.memory import doubled

_STRATEGIES = {"NEXT": NEXT, "LAST": LAST, "FIRST": FIRST}

_FIRST_NODES = 1 << 10
_NODES_A_HIT = 32
_LEAST_ROOM = 1 << 16
_ROOM = 2
"""At once, the chosen matches may have so many times the nodes of the graph."""

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
    """The start, or NIL."""

    def since(self, begin: int) -> Tasks:
        """Leave out the first ones."""
        return Tasks(
            Hits(*(each[begin:] for each in self.hits)),
            Roots(*(each[begin:] for each in self.roots)),
            self.only[begin:],
        )


@dataclass(frozen=True, slots=True)
class _Choosing:
    """A choice on a graph all of whose nodes are known."""

    graph: Graph
    strategy: int
    visible: np.ndarray
    order: Order
    search: Search

    def take(self, tasks: Tasks, room: int, limit: int) -> tuple[Segment | None, int]:
        """Choose as far as there is room; return what is chosen, and how many tasks are done."""
        count = len(tasks.only)
        counters, only = self.search.counters, np.ascontiguousarray(tasks.only)
        counters[CHOSEN_NODES] = counters[CHOSEN_STARTS] = 0
        size = min(doubled(_FIRST_NODES, _NODES_A_HIT * count), room)
        # Beyond the room that the choice knows of, there is some for joining its roots.
        graph, roots = new_graph(size + count, size), np.empty(count, np.int32)
        done = 0
        while True:
            chosen = Chosen(cut(graph, size, size), roots)
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
            if done == count or size == room:
                break
            larger = min(2 * size, room)
            graph, size = _grown(graph, larger + count, larger), larger
        if limit >= 0 and 0 < done < count:
            # What is limited together is chosen together.
            done = int(np.searchsorted(tasks.hits.end, tasks.hits.end[done]))
        if done == 0:
            return None, 0
        return self._segment(graph, Hits(*(each[:done] for each in tasks.hits)), roots, limit), done

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
        tasks, room = Tasks(hits, roots, only), _PART
        while len(tasks.only):
            chosen, done = choosing.take(tasks, room, self.limit)
            if chosen is None:
                room *= 2
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
        tasks = self._tasks(graph, hits, limit)
        count = len(tasks.only)
        if not count:
            return
        strategy = _STRATEGIES[self.choice]
        choosing = _Choosing(graph, strategy, self._visible, self._order, self._search)
        chosen, done = choosing.take(tasks, max(_LEAST_ROOM, _ROOM * len(graph.label)), limit)
        if chosen is not None:
            yield chosen
        if done < count:
            rest = tasks.since(done)
            starts = graph.start_position[np.maximum(rest.only, 0)]
            later = hand_out(rest.hits, limit)
            yield UnchosenSegment(
                later.graph, later.hits, limit, later.lent, strategy, self._visible, starts
            )

    def _tasks(self, graph: Graph, hits: Hits, limit: int) -> Tasks:
        roots = _by_floors(hits.roots, graph.start_clock)
        if self.choice != "FIRST":
            return Tasks(hits, roots, np.full(len(hits.end), NIL, np.int32))
        starts = len(graph.start_clock)
        number, only = np.empty(starts, np.int64), np.empty(starts, np.int32)
        count = complete_starts(graph, roots, self._search, number, only)
        number, only = number[:count], only[:count]
        # They come nearly in this order, which a stable sort makes use of.
        order = np.argsort((number << 32) - only, kind="stable")
        number, only = number[order], only[order]
        if limit >= 0:
            kept = np.arange(count) - np.searchsorted(number, number) < limit
            number, only = number[kept], only[kept]
        own, below = (each[number] for each in hits), (each[number] for each in roots)
        return Tasks(Hits(*own), Roots(*below), only)

    def _note(self, graph: Graph, labels: list[int]) -> None:
        """Get to know the nodes that came since the last time."""
        nodes = len(graph.label)
        if len(self._search.stamp) < nodes:
            self._resize(doubled(_FIRST_NODES, nodes))
        if len(self._visible) != len(labels):
            self._visible = np.array([bool(bits & self.mask) for bits in labels], np.bool_)
        note = note_newest if self.choice == "LAST" else note_order
        note(graph, self._order, self._visible, self._noted)
        self._noted = nodes

    def _resize(self, nodes: int) -> None:
        """Make room for so many nodes; all have to be looked at again."""
        stamp = 0 if nodes == 0 else int(self._search.counters[STAMP])
        self._order = new_order(nodes, spines=self.choice != "LAST")
        self._search = new_search(nodes, first=self.choice == "FIRST")
        self._search.counters[STAMP] = stamp
        self._noted = 0


def _by_floors(roots: Roots, clocks: np.ndarray) -> Roots:
    """Say where windows begin by the first start inside, where clocks are in the order of starts.

    They are not where events are numbered within keys.
    """
    if len(clocks) > 1 and (clocks[1:] < clocks[:-1]).any():
        return roots
    floor = np.maximum(roots.floor, np.searchsorted(clocks, roots.edge)).astype(np.int32)
    return Roots(roots.node, np.full(len(floor), FOREVER, np.int64), floor)


def _grown(graph: Graph, nodes: int, starts: int) -> Graph:
    """Return a graph with more room."""
    grown = new_graph(nodes, starts)
    for old, new in zip(graph, grown, strict=True):
        new[: len(old)] = old
    return grown
