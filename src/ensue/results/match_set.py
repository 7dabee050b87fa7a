"""What an evaluation found, whoever evaluated: counted, iterated, or as columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.errors import BudgetError
from ensue.kernels.graph.bounded import Bounds
from ensue.kernels.graph.distinct import Thinning
from ensue.kernels.graph.segment import NO_BUDGET, Cursor, ExaminedError, Listing, Segment
from ensue.kernels.layout import Hits
from ensue.kernels.memory import new_integers
from ensue.logic.clauses import Found
from ensue.logic.complex_event import ComplexEvent
from ensue.messages import Message, Option

UNKNOWN = sys.maxsize
"""The effort of counting what has to be listed for that."""


class TooManyError(BudgetError):
    """An event completes more matches than may be listed."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


class Values(Protocol):
    """Computed values of some matches."""

    @property
    def values(self) -> np.ndarray:
        """Numbers, or ranks of something else."""

    @property
    def valid(self) -> np.ndarray:
        """Which of them are not NULL."""

    @property
    def distinct(self) -> list[Any] | None:
        """What the ranks stand for."""

    def arrow(self, kind: Type) -> pa.Array:
        """Return the values as a column of a type."""


class ComputedLists(Protocol):
    """Computed events of some matches that are bound to one variable (see ComputedEvents)."""

    @property
    def place(self) -> np.ndarray:
        """The place of each event's AGGREGATE in the query."""

    @property
    def end(self) -> np.ndarray:
        """The position of each event."""

    @property
    def columns(self) -> Mapping[str, Values]:
        """The values of all events."""

    @property
    def names(self) -> Mapping[int, tuple[str, ...]]:
        """The columns of each place."""

    @property
    def offsets(self) -> np.ndarray:
        """The events of match i stand from offsets[i] to offsets[i + 1]."""

    @property
    def owner(self) -> np.ndarray:
        """The match of each event."""

    def taken(self, rows: np.ndarray) -> ComputedLists:
        """Choose some matches."""


@dataclass(frozen=True, slots=True)
class MatchColumns:
    """Some matches as columns."""

    start: np.ndarray
    end: np.ndarray
    bound: dict[str, pa.ListArray]
    """Positions for each variable; under '' those bound to any."""
    computed: Mapping[str, ComputedLists] | None = None
    """Computed events by variable; None: not as columns."""
    listed: Callable[[], list[Found]] | None = None
    """Gives the same matches one by one."""

    def slice(self, begin: int, end: int) -> MatchColumns:
        """Choose the matches from one to before another."""
        listed, count = self.listed, end - begin
        return MatchColumns(
            self.start[begin:end],
            self.end[begin:end],
            {name: lists.slice(begin, count) for name, lists in self.bound.items()},
            self.computed
            and {name: each.taken(np.arange(begin, end)) for name, each in self.computed.items()},
            listed and (lambda: listed()[begin:end]),
        )


class MatchSet(Protocol):
    """The matches of a query, in order."""

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def least(self) -> int:
        """A lower bound on their number that needs no counting."""

    @property
    def effort(self) -> int:
        """About how many steps counting takes."""

    def at_least(self, most: int) -> int:
        """Return how many there are, or some number above `most` where there are more."""

    @property
    def nbytes(self) -> int:
        """About how many bytes are kept for them."""

    def __bool__(self) -> bool:
        """Whether there are any."""

    def __iter__(self) -> Iterator[Found]:
        """Give them one by one."""

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        """Give them as columns, many at a time; '' stands for any variable."""


@dataclass(frozen=True, slots=True)
class ListedMatches:
    """Matches that stand in a list."""

    found: list[Found]

    effort = nbytes = 0

    @property
    def count(self) -> int:
        return len(self.found)

    @property
    def least(self) -> int:
        return len(self.found)

    def at_least(self, most: int) -> int:
        """Return how many there are."""
        return len(self.found)

    def __bool__(self) -> bool:
        return bool(self.found)

    def __iter__(self) -> Iterator[Found]:
        return iter(self.found)

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        matches = [each.match for each in self.found]
        yield MatchColumns(
            np.array([each.start for each in matches], np.int64),
            np.array([each.end for each in matches], np.int64),
            {
                name: pa.array(
                    [each.positions(name) if name else sorted(each.support) for each in matches],
                    pa.list_(pa.int64()),
                )
                for name in variables
            },
            listed=lambda: self.found,
        )


class Purpose(NamedTuple):
    """Why matches are listed one by one, for messages."""

    why: str
    """The conditions that only listing decides, after a word such as "for"."""
    repeated: str = ""
    """The part of the pattern that makes them many."""


COUNTED = Purpose("to be counted")


class Word(NamedTuple):
    """A match as its run read it: the events that got labels, with their bits."""

    start: int
    end: int
    key: int
    labels: list[tuple[int, int]]


@dataclass(slots=True)
class GraphMatches:
    """Matches that stand in match graphs and are listed on demand."""

    segments: list[Segment]
    variables: tuple[str, ...]
    """The variable of each bit of a label."""
    labels: list[int]
    """The bits of each label number."""
    bounds: Callable[[Segment], Bounds] | None = None
    """What totals of the paths of a segment must stay within, to be worth listing."""
    keeps: Callable[[Listing], np.ndarray] | None = None
    """Tells which matches of a listing are any."""
    thinning: Thinning | None = None
    """Joins paths that are one match in the end, before any is listed."""
    most: int | None = None
    """How many matches of one event may be listed, those that turn out to be none included; None:
    as many as there are."""
    purpose: Purpose = COUNTED
    """Why they are listed, where there is a budget."""
    query: str | None = None
    """The name of the query, for messages."""
    exhausted: TooManyError | None = field(default=None, init=False)
    """Why a listing of them has stopped."""
    cursor: Cursor = field(default_factory=Cursor, init=False)
    """Where a listing has stopped; who has enough matches of an event skips the rest."""
    _count: int | None = field(default=None, init=False)

    @property
    def count(self) -> int:
        if self._count is None:
            self._count = sum(segment.count() for segment in self.segments)
        return self._count

    @property
    def least(self) -> int:
        if self._count is not None:
            return self._count
        return sum(len(segment.hits.end) for segment in self.segments)

    def at_least(self, most: int) -> int:
        """Count some events' matches after the other, until there are more than `most`."""
        known = 0
        for segment in self.segments:
            begin, step = 0, 64
            while begin < len(segment.hits.end) and known <= most:
                hits = Hits(*(array[begin : begin + step] for array in segment.hits))
                known += replace(segment, hits=hits).count()
                begin, step = begin + step, 2 * step
        return known

    @property
    def effort(self) -> int:
        return 0 if self._count is not None else sum(each.effort for each in self.segments)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for each in self.segments for array in (*each.graph, *each.hits))

    def __bool__(self) -> bool:
        return bool(self.segments)

    def words(self) -> Iterator[Word]:
        """Give the matches with the labels of their events, bit by bit."""
        for listing in self.listings():
            offsets = listing.offset.tolist()
            places, labels = listing.position.tolist(), listing.label.tolist()
            bits = [
                (place, self.labels[label]) for place, label in zip(places, labels, strict=True)
            ]
            whole = (listing.start.tolist(), listing.end.tolist(), listing.key.tolist())
            for index, (start, end, key) in enumerate(zip(*whole, strict=True)):
                yield Word(start, end, key, bits[offsets[index] : offsets[index + 1]])

    def __iter__(self) -> Iterator[Found]:
        if self.thinning is not None:
            self._thinned()
        names = [
            tuple(name for bit, name in enumerate(self.variables) if label >> bit & 1)
            for label in self.labels
        ]
        for listing in self.listings():
            yield from _found(listing, names)

    def listings(self) -> Iterator[Listing]:
        """List all matches; then, unless some are left out, it is known how many there are."""
        count = 0
        self.cursor = Cursor()
        most = NO_BUDGET if self.most is None else self.most
        for each in self.segments if self.thinning is None else self._thinned():
            try:
                for listing in self._listed(each, most):
                    count += len(listing.start)
                    yield listing if self.keeps is None else listing.taken(self.keeps(listing))
            except ExaminedError as error:
                self.exhausted = TooManyError(error.position, self._too_many(error.position))
                raise self.exhausted from None
        if self.bounds is None and self.keeps is None:
            self._count = count

    def _listed(self, segment: Segment, most: int) -> Iterator[Listing]:
        if self.bounds is None:
            yield from segment.listings(cursor=self.cursor, most=most)
            return
        for part in segment.parts():
            # Bounds look at the event of every node, which is there for those of matches only.
            own = part.trimmed()
            yield from own.listings(bounds=self.bounds(own), cursor=self.cursor, most=most)

    def thin(self, thinning: Thinning | None) -> None:
        """Join paths that are one match in the end before any is listed."""
        if thinning is not None:
            # What is left of labels is added to them: to those of these matches only.
            self.labels = thinning.labels = self.labels.copy()
            self.thinning = thinning

    def _thinned(self) -> list[Segment]:
        """Join paths that are one match in the end, once for all listings."""
        assert self.thinning is not None
        self.segments = [self.thinning.thinned(each) for each in self.segments]
        self.thinning = None
        return self.segments

    def refuse_if_exhausted(self) -> None:
        """Raise what has stopped a listing before, instead of trying again."""
        if self.exhausted is not None:
            raise self.exhausted

    def _too_many(self, position: int) -> Message:
        query = f"query '{self.query}': " if self.query else ""
        made = f" by {self.purpose.repeated}" if self.purpose.repeated else ""
        return Message(
            f"{query}the event at position {position} completes more than {self.most:,} "
            f"matches{made}, which have to be listed {self.purpose.why}, those that are none in "
            "the end included; a shorter WITHIN, a PARTITION BY or stricter filters on single "
            "events make them fewer, and ",
            Option("max_matches"),
            " raises the budget",
        )

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        for listing in self.listings():
            yield self.split(listing, variables)

    def split(self, listing: Listing, variables: list[str]) -> MatchColumns:
        """Return the matches of a listing as columns."""
        wanted = [self.variables.index(n) if n in self.variables else None for n in variables]
        members = [
            [
                place
                for place, (name, bit) in enumerate(zip(variables, wanted, strict=True))
                if (label if not name else bit is not None and label >> bit & 1)
            ]
            for label in self.labels
        ]
        split = listing.by_variable(members, len(variables))
        bound = {
            name: pa.ListArray.from_arrays(pa.array(each.offsets), pa.array(each.positions))
            for name, each in zip(variables, split, strict=True)
        }
        start = new_integers(len(listing.start))
        start[:] = listing.start
        return MatchColumns(start, listing.end, bound)


def _found(listing: Listing, names: list[tuple[str, ...]]) -> Iterator[Found]:
    starts, ends = listing.start.tolist(), listing.end.tolist()
    offsets = listing.offset.tolist()
    positions, labels = listing.position.tolist(), listing.label.tolist()
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        bindings = frozenset(
            (name, positions[i])
            for i in range(offsets[index], offsets[index + 1])
            for name in names[labels[i]]
        )
        yield Found((), ComplexEvent(start, end, bindings))
