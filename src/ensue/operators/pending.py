"""Matches that wait for their deadline, which something must not follow until then.

What waits are completing events with the node of their matches: the matches share the graph and
are not listed before they are decided. Where ψ names events of φ, only listing can tell what it
refutes: then everything waits, and is asked about when it is listed (see results/intervals.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.analysis.bound import Window
from ensue.errors import BudgetError
from ensue.kernels.graph.gathered import GatheredGraph
from ensue.kernels.graph.segment import Segment
from ensue.kernels.layout import FOREVER, NIL, Hits, new_hits
from ensue.kernels.match.state import check_graph, saved_labels
from ensue.kernels.match.waiting import (
    ARRIVED,
    FRONT,
    TOTAL,
    WAITS,
    Decided,
    Entries,
    KeyLists,
    Passing,
    decide,
)
from ensue.kernels.memory import doubled, read_only
from ensue.kernels.tables import Table
from ensue.messages import Message, Option
from ensue.operators.operator import NO_OUTPUT, StoppedError
from ensue.results.deadlines import Deadlines
from ensue.state.container import part

_FIRST_ENTRIES = 64

_UNUSED_ENTRIES = 1 << 12
"""So many entries may be kept without need before those that wait are gathered."""

_LATEST = 2**63 - 1
"""The latest time that there is."""


@dataclass(slots=True)
class DecidedOutcome:
    """Hits that nothing has followed, in the order of their deadlines; the others wait."""

    pending: PendingMatches
    segments: list[Segment] = field(default_factory=list)
    """The hits, with their graphs."""
    ends: list[np.ndarray] = field(default_factory=list)
    times: list[np.ndarray] = field(default_factory=list)
    lasts: list[np.ndarray] = field(default_factory=list)

    def take(self, segment: Segment) -> None:
        """Let hits of the batch wait, and the events before the last of them pass."""
        self.pending.take(segment, self)

    def finished(self, read: int) -> DecidedOutcome:
        """Let so many events of the batch pass, and no more."""
        self.pending.pass_to(read, self)
        return self

    def advanced(self, time: int) -> DecidedOutcome:
        """Let time pass without events."""
        self.pending.advance(time, self)
        return self

    @property
    def deadlines(self) -> Deadlines:
        """Until when nothing has followed the matches."""
        none = np.zeros(0, np.int64)
        columns = (self.ends, self.times, self.lasts)
        return Deadlines.of(*(np.concatenate([none, *each]) for each in columns))


@dataclass(slots=True)
class PendingMatches:
    """The completing events of a query that wait for their deadline."""

    window: Window
    limit: int
    gathers_always: bool = False
    """Drop what does not wait after every batch: slow, for tests."""
    graph: GatheredGraph = field(default_factory=GatheredGraph)
    hits: Hits = field(init=False)
    """The nodes of the entries; arrays have room for more than there are."""
    entries: Entries = field(init=False)
    lists: KeyLists = field(init=False)
    cursor: np.ndarray = field(default_factory=lambda: np.zeros(3, np.int64))
    waiting: int = 0
    """How many entries wait, or may."""
    position: int = 0
    """The position of the event that comes next."""
    _passing: Passing | None = None
    _passed: int = 0

    def __post_init__(self) -> None:
        self.entries = _new_entries(_FIRST_ENTRIES)
        self.hits = new_hits(_FIRST_ENTRIES)
        self.lists = _new_lists(1)

    @property
    def _counts(self) -> bool:
        return self.window.kind == "events"

    # events

    def begin(
        self, times: np.ndarray, keys: np.ndarray, latest: np.ndarray | None, first_position: int
    ) -> DecidedOutcome:
        """Take a batch, and return what lets its events pass.

        `latest` has the latest start, up to each event, of what must not follow; None: it is asked
        about as matches are listed.
        """
        self._passing = Passing(
            read_only(np.ascontiguousarray(times)),
            read_only(np.ascontiguousarray(keys, np.int32)),
            read_only(np.zeros(0, np.int64) if latest is None else latest),
            first_position,
        )
        self._passed = 0
        most = int(keys.max(initial=0)) + 1
        if most > len(self.lists.head):
            grown = _new_lists(doubled(len(self.lists.head), most))
            for old, new in zip(self.lists, grown, strict=True):
                new[: len(old)] = old
            self.lists = grown
        return DecidedOutcome(pending=self)

    def take(self, segment: Segment, outcome: DecidedOutcome) -> None:
        """Let hits of the batch wait, and the events before the last of them pass.

        That one has to wait: the next segment may have more of its matches.
        """
        assert self._passing is not None
        self.limit = segment.limit
        hits = self.graph.add(segment)
        count, more = int(self.cursor[TOTAL]), len(hits.end)
        if count + more > len(self.entries.end):
            size = doubled(len(self.entries.end), count + more)
            self.entries = _grown(self.entries, _new_entries(size), count)
            self.hits = _grown(self.hits, new_hits(size), count)
        for mine, theirs in zip(self.hits, hits, strict=True):
            mine[count : count + more] = theirs
        self.entries.end[count : count + more] = hits.end
        self.entries.key[count : count + more] = hits.key
        self.entries.next[count : count + more] = NIL
        self.entries.verdict[count : count + more] = WAITS
        self.cursor[TOTAL] += more
        self.pass_to(int(hits.end[-1]) - self._passing.first_position, outcome)

    def pass_to(self, end: int, outcome: DecidedOutcome) -> None:
        """Let events of the batch pass, up to a number."""
        assert self._passing is not None
        begin, self._passed = self._passed, end
        count, room = 0, int(self.cursor[TOTAL])
        if not room:
            # Nothing waits; events in the key are counted from the next one that does.
            self.position = self._passing.first_position + end
            return
        decided = Decided(np.empty(room, np.int32), np.empty(room, np.int64))
        count = decide(
            self.entries,
            self.lists,
            self.cursor,
            self._passing,
            self.window.size,
            int(self._counts),
            begin,
            end,
            decided,
        )
        self.position = self._passing.first_position + end
        self._hand_out(decided.entry[:count], decided.last[:count], outcome)
        self._gather()

    def advance(self, time: int, outcome: DecidedOutcome) -> None:
        """Let time pass without events."""
        if self._counts:
            return
        front, total = int(self.cursor[FRONT]), int(self.cursor[TOTAL])
        clocks = self.entries.clock[front:total]
        edge = max(time - self.window.size, FOREVER)
        passed = front + int(np.searchsorted(clocks, edge))
        own = np.arange(front, passed)
        own = own[self.entries.verdict[own] == WAITS]
        self.cursor[FRONT] = passed
        # Of several entries of a key the last one tells what its list begins with.
        self.lists.head[self.entries.key[own]] = self.entries.next[own]
        self.entries.verdict[own] = NIL
        self._hand_out(own, np.full(len(own), self.position - 1), outcome)
        self._gather()

    def _hand_out(self, entry: np.ndarray, last: np.ndarray, outcome: DecidedOutcome) -> None:
        if not len(entry):
            return
        hits = Hits(*(each[entry] for each in self.hits))
        outcome.segments.append(self.graph.segment(hits, self.limit))
        outcome.ends.append(hits.end)
        outcome.lasts.append(last.copy())
        if self._counts:
            assert self._passing is not None
            outcome.times.append(self._passing.times[last - self._passing.first_position])
        else:
            clocks = self.entries.clock[entry]
            late = clocks > _LATEST - self.window.size
            outcome.times.append(np.where(late, _LATEST, clocks + self.window.size * ~late))

    # what is kept

    def _gather(self) -> None:
        """Drop what does not wait any more, when it is most of what is kept."""
        total = int(self.cursor[TOTAL])
        if total > 2 * self.waiting + _UNUSED_ENTRIES + len(self.lists.head) or self.gathers_always:
            self.gather()

    def gather(self) -> None:
        """Drop what does not wait any more."""
        total = int(self.cursor[TOTAL])
        alive = np.flatnonzero(self.entries.verdict[:total] == WAITS)
        self.waiting = len(alive)
        if len(alive) == total:
            return
        moved = self.graph.keep(Hits(*(each[alive] for each in self.hits)))
        place = np.full(total + 1, NIL, np.int32)  # the last one is for NIL
        place[alive] = np.arange(len(alive))
        size = doubled(_FIRST_ENTRIES, 2 * len(alive))
        self.hits = _grown(moved, new_hits(size), len(alive))
        own = Entries(*(each[alive] for each in self.entries))
        own = own._replace(next=place[own.next])
        self.entries = _grown(own, _new_entries(size), len(alive))
        self.lists.head[:] = place[self.lists.head]
        self.lists.tail[:] = place[self.lists.tail]
        to_arrive = total - int(self.cursor[ARRIVED])
        self.cursor[:] = (0, len(alive) - to_arrive, len(alive))

    def check(self, most: int, position: int) -> None:
        """Stop before the event at a position where what waits needs too many bytes."""
        size = self.nbytes
        if size <= most:
            return
        error = BudgetError(
            Message(
                f"the matches that wait for their deadline need {size:,} bytes, more than the "
                f"budget of {most:,}; a shorter deadline or stricter filters make them fewer, and ",
                Option("max_bytes"),
                " raises the budget",
            )
        )
        raise StoppedError(error, NO_OUTPUT, position) from error

    @property
    def nbytes(self) -> int:
        """About how many bytes are kept."""
        arrays = (*self.entries, *self.hits, *self.lists)
        return self.graph.nbytes + sum(each.nbytes for each in arrays)

    def keys(self) -> np.ndarray:
        """Return the keys of what waits, some more than once."""
        self.gather()
        return self.entries.key[: self.waiting]

    def positions(self) -> np.ndarray:
        """Return all positions that matches which wait refer to."""
        self.gather()
        return np.concatenate([self.graph.positions(), self.entries.end[: self.waiting]])

    def first_needed(self, next_position: int) -> int:
        """Return the first position that a match which waits may refer to."""
        if not self.cursor[TOTAL] or self.graph.first is None:
            return next_position
        return min(self.graph.first, next_position)

    def first_deadline(self) -> int | None:
        """Return the first deadline in time that something waits for; None: there is none."""
        if self._counts:
            return None
        self.gather()
        clocks = self.entries.clock[: self.waiting]
        return min(int(clocks[0]) + self.window.size, _LATEST) if len(clocks) else None

    def ends(self) -> np.ndarray:
        """Return the positions of the events that wait, in their order."""
        self.gather()
        return self.entries.end[: self.waiting]

    # state

    def save(self, table: Table) -> dict[str, Any]:
        """Save what waits."""
        self.gather()
        count = self.waiting
        graph = self.graph.save()
        return {
            **graph,
            "labels": saved_labels(graph["graph/label"], table),
            "position": self.position,
            "clock": self.entries.clock[:count],
            "counts": self.lists.seen,
            **{name: each[:count] for name, each in self.hits._asdict().items()},
        }

    def load(self, saved: Mapping[str, Any], table: Table) -> None:
        """Go on with what was saved; ValueError where it cannot be."""
        hits = Hits(*(saved[name] for name in Hits._fields))
        count, keys = len(saved["clock"]), len(saved["counts"])
        check_graph(part(saved, "graph"), saved["labels"], hits.root)
        if {len(each) for each in hits} - {count} or not keys:
            raise ValueError("the matches that wait are inconsistent")
        if count and not (hits.key.min() >= 0 and hits.key.max() < keys):
            raise ValueError("the matches that wait are inconsistent")
        label = saved["graph/label"].copy()
        for number, bits in saved["labels"].items():
            label[saved["graph/label"] == number] = table.label_of(bits)
        self.graph = GatheredGraph()
        self.graph.load(saved, label)
        size = doubled(_FIRST_ENTRIES, count)
        self.hits = _grown(hits, new_hits(size), count)
        after, head, tail = _linked(hits.key, keys)
        waits = np.full(count, WAITS, np.int8)
        own = Entries(hits.end, saved["clock"], hits.key, after, waits)
        self.entries = _grown(own, _new_entries(size), count)
        self.lists = KeyLists(head, tail, saved["counts"].copy())
        self.cursor[:] = (0, count, count)
        self.cursor[ARRIVED] = self.waiting = count
        self.position = saved["position"]


def _linked(key: np.ndarray, keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the next entry of each entry's key, and the first and last entry of each key."""
    after, head = np.full(len(key), NIL, np.int32), np.full(keys, NIL, np.int32)
    tail = head.copy()
    order = np.argsort(key, kind="stable").astype(np.int32)
    same = key[order[1:]] == key[order[:-1]]
    after[order[:-1][same]] = order[1:][same]
    head[key[order[::-1]]] = order[::-1]
    tail[key[order]] = order
    return after, head, tail


def _new_entries(size: int) -> Entries:
    return Entries(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int8),
    )


def _new_lists(size: int) -> KeyLists:
    return KeyLists(
        np.full(size, NIL, np.int32), np.full(size, NIL, np.int32), np.zeros(size, np.int64)
    )


def _grown(old: Any, new: Any, count: int) -> Any:
    """Copy the first entries of arrays into larger ones."""
    for mine, theirs in zip(new, old, strict=True):
        mine[:count] = theirs[:count]
    return new
