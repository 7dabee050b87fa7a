"""Segments: matches of a part of the stream in a graph, listed or counted on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ensue.kernels.graph.bounded import Bounds
from ensue.kernels.graph.compact import mark_below
from ensue.kernels.graph.enumerate import (
    ALIKE,
    CARRIED,
    DEPTH,
    EXAMINED,
    HIT,
    LISTED,
    Found,
    Members,
    Split,
    Walk,
    count_matches,
    list_matches,
    new_counts,
    new_found,
    new_walk,
    pack,
    split_by_variable,
)
from ensue.kernels.layout import Graph, Hits, Int32, Int64, new_graph
from ensue.kernels.memory import new_integers

_WALKED_STEPS = 1 << 10
"""So many steps counting walks at first before it adds up paths instead."""

_SAFE_COUNT = 9.0e18
"""Counts up to this fit into 64 bits, however they were rounded."""

MATCHES_AT_ONCE = 1 << 16

_FIRST_AT_ONCE, _FEWEST_AT_ONCE = 1 << 10, 1 << 6
"""Where some of an event's matches may be enough, so many are listed first, and at least."""

NO_BUDGET = 2**62
"""As many paths as this nobody follows."""


class ExaminedError(Exception):
    """More paths of an event would have to be followed than may be."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Bound(NamedTuple):
    """What is bound to a variable: that of match i stands from offsets[i] to offsets[i + 1]."""

    offsets: Int32
    positions: Int64


@dataclass(frozen=True, slots=True)
class Listing:
    """Some matches, in order: where they start and end, and what is bound in each."""

    start: Int64
    end: Int64
    offset: Int64
    position: Int64
    label: Int32
    key: Int32
    """The partition key of each match."""
    alike: bool
    """Whether all have the same labels, as those of a sequence."""

    def taken(self, kept: np.ndarray) -> Listing:
        """Choose some matches."""
        if kept.all():
            return self
        lengths = np.diff(self.offset)
        events = np.repeat(kept, lengths)
        offset = np.zeros(int(np.count_nonzero(kept)) + 1, self.offset.dtype)
        np.cumsum(lengths[kept], out=offset[1:])
        return Listing(
            self.start[kept],
            self.end[kept],
            offset,
            self.position[events],
            self.label[events],
            self.key[kept],
            self.alike and len(offset) > 1,
        )

    def by_variable(self, members: Sequence[Sequence[int]], variables: int) -> list[Bound]:
        """Return, for every variable, offsets and positions of its events, match by match.

        Args:
            members: the variables of each label.
            variables: how many there are.
        """
        if self.alike:
            return self._by_columns(members, variables)
        rows = np.cumsum([0, *map(len, members)]).astype(np.int32)
        flat = np.array([each for some in members for each in some] or [0], np.int32)
        often = np.bincount(self.label, minlength=len(members))
        totals = np.zeros(variables, np.int64)
        for label, some in enumerate(members):
            for variable in some:
                totals[variable] += often[label]
        bases = np.cumsum([0, *totals.tolist()])[:-1].astype(np.int64)
        positions = new_integers(int(totals.sum()))
        offsets = np.empty((variables, len(self.start) + 1), np.int32)
        split = Split(bases, bases.copy(), positions, offsets)
        split_by_variable(self.label, self.position, self.offset, Members(rows, flat), split)
        return [
            Bound(offsets[variable], positions[base : base + total])
            for variable, (base, total) in enumerate(zip(bases, totals, strict=True))
        ]

    def _by_columns(self, members: Sequence[Sequence[int]], variables: int) -> list[Bound]:
        """Do the same where all matches have the same labels."""
        count, length = len(self.start), int(self.offset[1])
        positions = self.position.reshape(count, length)
        of_label = [set(members[label]) for label in self.label[:length]]
        # Variables bound to the same events share their column.
        shared: dict[tuple[int, ...], Bound] = {}
        found = []
        for variable in range(variables):
            places = tuple(place for place, some in enumerate(of_label) if variable in some)
            if places not in shared:
                own = new_integers(count * len(places)).reshape(count, len(places))
                for column, place in enumerate(places):
                    own[:, column] = positions[:, place]
                shared[places] = Bound(_even_offsets(count, len(places)), own.ravel())
            found.append(shared[places])
        return found


@lru_cache(maxsize=16)
def _even_offsets(count: int, each: int) -> np.ndarray:
    """Return the offsets of so many lists with so many values each."""
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(each)
    offsets.flags.writeable = False
    return offsets


@dataclass(frozen=True, slots=True)
class Segment:
    """A graph whose roots are the hits of a part of the stream."""

    graph: Graph
    hits: Hits
    limit: int
    """At most so many matches a hit; -1: all."""
    lent: bool = False
    """Whether the graph is that of the evaluation, in which there is more than the hits need."""

    @property
    def effort(self) -> int:
        """About how many steps counting takes at most."""
        return 0 if self.limit == 1 else len(self.hits.end) * len(self.graph.label)

    def parts(self) -> Iterator[Segment]:
        """Give segments whose roots have the matches of the hits and no others."""
        yield self

    def trimmed(self) -> Segment:
        """Return the same matches in a graph of which they need every node."""
        if not self.lent:
            return self
        hits = self.hits
        marked = mark_below(self.graph, hits.roots, within_keys=True)
        graph = marked.gathered(self.graph, new_graph(marked.nodes, marked.starts))
        return replace(self, graph=graph, hits=marked.moved(hits), lent=False)

    def count(self) -> int:
        """Count the matches without listing them."""
        hits = self.hits
        if self.limit == 1:
            return len(hits.end)
        counting = new_counts(len(self.graph.label), len(hits.end))
        count_matches(self.graph, hits.roots, _WALKED_STEPS, counting)
        counts: np.ndarray = counting.counts
        total = 0
        for hit in np.flatnonzero(counting.estimates > _SAFE_COUNT):
            counts[hit] = 0
            exact = self._count_exactly(int(hit))
            total += exact if self.limit < 0 else min(exact, self.limit)
        if self.limit >= 0:
            counts = np.minimum(counts, self.limit)
        return int(total + sum(counts.tolist()))

    def estimates(self) -> np.ndarray:
        """Return about how many paths each hit has."""
        counting = new_counts(len(self.graph.label), len(self.hits.end))
        count_matches(self.graph, self.hits.roots, _WALKED_STEPS, counting)
        estimates: np.ndarray = np.maximum(counting.estimates, counting.counts)
        return estimates

    def _count_exactly(self, hit: int) -> int:
        """Count the paths below a hit in whole numbers of any size."""
        graph, root = self.graph, int(self.hits.root[hit])
        edge, floor = int(self.hits.edge[hit]), int(self.hits.floor[hit])
        ways: dict[int, int] = {root: 1}
        total = 0
        for node in range(root, -1, -1):
            number = ways.pop(node, 0)
            if not number:
                continue
            if graph.label[node] == 0:
                total += number
                continue
            for child in (int(graph.left[node]), int(graph.right[node])):
                if child < 0:
                    continue
                start = graph.start[child]
                if start >= floor and graph.start_clock[start] >= edge:
                    ways[child] = ways.get(child, 0) + number
        return total

    def listings(
        self,
        at_once: int = MATCHES_AT_ONCE,
        bounds: Bounds | None = None,
        cursor: Cursor | None = None,
        most: int = NO_BUDGET,
    ) -> Iterator[Listing]:
        """List the matches, some at a time; memory does not grow with their number.

        With bounds, matches whose totals are outside may be left out. What a listing shows is
        overwritten by the next one. Between two of them, `cursor` can skip the rest of a hit.
        Where more than `most` paths of an event would have to be followed, also in segments that
        `cursor` was in before, ExaminedError is raised after the listing of what was found.
        """
        hits, nodes = self.hits, len(self.graph.label)
        walk = new_walk(nodes, 0 if bounds is None else len(bounds.low))
        packed = pack(self.graph)
        found = new_found(at_once, max(8 * at_once, 2 * nodes + 4))
        if cursor is not None:
            walk.cursor[CARRIED] = cursor.examined(int(hits.end[0])) if len(hits.end) else 0
            cursor.segment, cursor.walk = self, walk
        while walk.cursor[HIT] < len(hits.end):
            room = found if cursor is None else cursor.room(found)
            count = list_matches(packed, hits.roots, self.limit, most, bounds, walk, room)
            if count:
                yield _listing(hits, found, count, alike=bool(walk.cursor[ALIKE]))
            if walk.cursor[DEPTH] and walk.cursor[EXAMINED] >= most:
                raise ExaminedError(int(hits.end[walk.cursor[HIT]]))


@dataclass(slots=True)
class Cursor:
    """Where a listing has stopped, perhaps in the middle of the matches of a hit."""

    segment: Segment | None = None
    walk: Walk | None = None
    at_once: int = _FIRST_AT_ONCE
    """How many matches are listed next: fewer where the rest of hits was skipped."""

    def room(self, found: Found) -> Found:
        """Return the room for the matches that are listed next; after them come twice as many."""
        count = min(self.at_once, len(found.start))
        self.at_once = 2 * count
        return found._replace(
            start=found.start[:count], hit=found.hit[:count], offset=found.offset[: count + 1]
        )

    def examined(self, end: int) -> int:
        """Return how many paths of an event were followed in the segment before."""
        if self.walk is None or self.segment is None:
            return 0
        return int(self.walk.cursor[EXAMINED]) if self.segment.hits.end[-1:] == [end] else 0

    def latest_left(self, end: int) -> int | None:
        """Return the latest start of the matches of a hit that are not listed yet; None: no more.

        The stack of the walk has all that is left of the hit, each node with its latest start.
        """
        if self.walk is None or self.segment is None or not self.walk.cursor[DEPTH]:
            return None
        if self.segment.hits.end[self.walk.cursor[HIT]] != end:
            return None
        graph = self.segment.graph
        nodes = self.walk.node[: self.walk.cursor[DEPTH]]
        return int(graph.start_position[graph.start[nodes]].max())

    def skip(self) -> None:
        """Go on with the next hit, of which a part may be enough too."""
        assert self.walk is not None
        self.at_once = max(_FEWEST_AT_ONCE, int(self.walk.cursor[LISTED]) // 4)
        self.walk.cursor[HIT] += 1
        self.walk.cursor[DEPTH] = self.walk.cursor[LISTED] = 0


def _listing(hits: Hits, found: Found, count: int, *, alike: bool) -> Listing:
    filled = int(found.offset[count])
    of = found.hit[:count]
    return Listing(
        found.start[:count],
        np.take(hits.end, of, out=new_integers(count), mode="clip"),
        found.offset[: count + 1],
        found.position[:filled],
        found.label[:filled],
        hits.key[of],
        alike,
    )
