"""Matches of a ψ that must not happen, looked up for many matches of φ at a time.

The matches of ψ stand in parts, which are put together as they grow alike in size, so that there
are few. A part is sorted by partition, codes of equalities and end. Where all conditions are
equalities, matches that end no earlier and start no later than another are left out, and the
answer is a binary search. Otherwise the conditions are evaluated on pairs of what is asked and a
match of ψ, in blocks, in the order of the ends of ψ and until one satisfies them. All that is
asked from one start, with the same events, is one question then: which such end is the first?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.kernels.graph.segment import Listing
from ensue.plan.correlated import CorrelatedCondition
from ensue.predicates.vectors import Numbers, UnsupportedError
from ensue.results.absent_index import Part, PartIndex
from ensue.results.correlation import (
    ANY,
    NEVER,
    UNKNOWN,
    Choices,
    Codes,
    Correlation,
    batch_of,
    columns_of,
    compared,
)
from ensue.stream.batch import EventBatch

_PAIRS_AT_ONCE = 1 << 18
"""So many pairs of what is asked and a match of ψ are looked at in one block."""

_NO_END = np.iinfo(np.int64).max


class Asked(NamedTuple):
    """Intervals of matches of φ."""

    key: np.ndarray
    first: np.ndarray
    last: np.ndarray
    events: Mapping[str, np.ndarray]
    """For each variable the position of its event; -1: none."""


@dataclass(slots=True)
class AbsentMatches:
    """The matches of ψ so far.

    What is added later ends later, so whoever asks about earlier ends may go on to do so. To
    forget what is old makes a new value.
    """

    correlation: Correlation
    parts: tuple[Part, ...] = ()
    codes: Codes = field(default_factory=Codes)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def add(
        self,
        listing: Listing,
        keys: np.ndarray,
        labels: list[int],
        events: Callable[[], EventBatch],
    ) -> None:
        """Note matches of ψ, none of which ends before others that are noted, with φ's keys."""
        coded, chosen = self.correlation.read(listing, labels, events(), self.codes)
        start, end = listing.start.astype(np.int64), listing.end.astype(np.int64)
        new = Part(start, end, keys.astype(np.int64), tuple(coded), tuple(chosen)).without_idle()
        parts = [*self.parts, new]
        while len(parts) > 1 and len(parts[-2]) <= 2 * len(parts[-1]):
            last = parts.pop()
            parts[-1] = parts[-1].joined(last).without_idle()
        self.parts = tuple(parts)

    def since(self, position: int) -> AbsentMatches:
        """Return the matches that start at a position or later."""
        kept = [each.taken(np.flatnonzero(each.start >= position)) for each in self.parts]
        kept = [each for each in kept if len(each)]
        if not kept:
            return AbsentMatches(self.correlation)
        whole = kept[0]
        for each in kept[1:]:
            whole = whole.joined(each)
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *whole.codes]))
        used = used[used >= 0]
        values = list(self.codes.numbers)
        numbers = {values[code]: new for new, code in enumerate(used.tolist())}
        codes = tuple(
            np.where(each >= 0, np.searchsorted(used, each), each) for each in whole.codes
        )
        part = Part(whole.start, whole.end, whole.key, codes, whole.choices)
        return AbsentMatches(self.correlation, (part.without_idle(),), Codes(numbers))

    def inside(self, asked: Asked, events: Callable[[], EventBatch]) -> np.ndarray:
        """Tell in which intervals a match of ψ lies that satisfies the conditions with φ's."""
        found = np.zeros(len(asked.key), bool)
        if not self.parts or not len(found):
            return found
        stream = events()
        if self.correlation.others:
            return _Pairs(self, asked, stream).inside()
        for _, index, rows, group in self._looked_up(asked, stream):
            place = index.places(group, asked.last[rows], "right") - 1
            hit = (place >= 0) & (group >= 0)
            hit &= (index.group[place] == group) & (index.latest[place] >= asked.first[rows])
            found[rows[hit]] = True
        return found

    def _looked_up(
        self, asked: Asked, stream: EventBatch
    ) -> Iterator[tuple[Part, PartIndex, np.ndarray, np.ndarray]]:
        """Find the groups of matches with the wanted values, part by part; -1: none."""
        wanted = [self._wanted(each, asked, stream) for each in self.correlation.equalities]
        bits = np.zeros(len(asked.key), np.int64)
        for number, each in enumerate(wanted):
            bits |= (each != ANY).astype(np.int64) << number
        for pattern in np.unique(bits).tolist():
            rows = np.flatnonzero(bits == pattern)
            numbers = tuple(n for n in range(len(wanted)) if pattern >> n & 1)
            codes = [wanted[number][rows] for number in numbers]
            for part in self.parts:
                index = part.index(numbers)
                for free in index.free:
                    yield part, index, rows, index.groups(asked.key[rows], codes, free)

    def _wanted(self, each: CorrelatedCondition, asked: Asked, stream: EventBatch) -> np.ndarray:
        """Return the codes that events of φ have for an equality."""
        assert each.sides is not None
        bound = np.flatnonzero(bound_to(each, asked))
        codes = np.full(len(asked.key), ANY)
        if len(bound):
            positions = {name: asked.events[name][bound] for name in each.names}
            spread: np.ndarray | slice = slice(None)
            if len(positions) == 1:
                ((name, own),) = positions.items()
                positions[name], spread = np.unique(own, return_inverse=True)
            table = columns_of(stream, each.outer, positions)
            found = self.codes.of(table, each.sides[2], self.correlation.tally, new=False)
            codes[bound] = np.where(found == NEVER, UNKNOWN, found)[spread]
        return codes

    def save(self) -> dict[str, Any]:
        """Save the matches."""
        whole = self.since(0)
        saved: dict[str, Any] = {"values": tuple(whole.codes.numbers)}
        for part in whole.parts:
            saved |= {"start": part.start, "end": part.end, "key": part.key}
            saved |= {f"code/{n}": each for n, each in enumerate(part.codes)}
            for number, each in enumerate(part.choices):
                saved[f"owner/{number}"] = each.owner
                saved[f"choice/{number}"] = each.columns
        return saved

    def loaded(self, saved: Mapping[str, Any]) -> AbsentMatches:
        """Return what was written down."""
        correlation = self.correlation
        if "start" not in saved:
            return AbsentMatches(correlation)
        part = Part(
            saved["start"],
            saved["end"],
            saved["key"],
            tuple(saved[f"code/{number}"] for number in range(len(correlation.equalities))),
            tuple(
                Choices(saved[f"owner/{number}"], saved[f"choice/{number}"])
                for number in range(len(correlation.others))
            ),
        )
        numbers = {value: number for number, value in enumerate(saved["values"])}
        return AbsentMatches(correlation, (part,), Codes(numbers))


def bound_to(each: CorrelatedCondition, asked: Asked) -> np.ndarray:
    """Tell where all variables of φ that a condition names are bound."""
    bound = np.ones(len(asked.key), bool)
    for name in each.names:
        bound &= asked.events[name] >= 0
    return bound


class _Pairs:
    """What is asked, from different starts or with different events, beside matches of ψ."""

    def __init__(self, happened: AbsentMatches, asked: Asked, stream: EventBatch) -> None:
        self.happened, self.correlation = happened, happened.correlation
        names = sorted(asked.events)
        rows = np.stack([asked.key, asked.first, *(asked.events[n] for n in names)], axis=1)
        order = np.lexsort(rows.T)
        ordered = rows[order]
        new = np.ones(len(order), bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        self.of = np.empty(len(order), np.int64)
        self.of[order] = np.cumsum(new) - 1
        one = ordered[new]
        last = np.full(len(one), -1, np.int64)
        np.maximum.at(last, self.of, asked.last)
        events = {name: one[:, 2 + place] for place, name in enumerate(names)}
        self.all, self.asked = asked, Asked(one[:, 0], one[:, 1], last, events)
        self.stream = stream
        self.bound = [bound_to(each, self.asked) for each in self.correlation.others]
        # Where nothing is bound any event will do; the answer is not used.
        some = int(stream.all_positions()[0])
        chosen = {name: np.where(at >= 0, at, some) for name, at in events.items()}
        self.outer = [columns_of(stream, each.outer, chosen) for each in self.correlation.others]
        self.soonest = np.full(len(one), _NO_END)

    def inside(self) -> np.ndarray:
        """Tell which intervals the first such end of ψ lies in."""
        for part, index, rows, group in self.happened._looked_up(self.asked, self.stream):
            conditions = [self._condition(number, part) for number in range(len(self.outer))]
            begin = index.places(group, self.asked.first[rows], "left")
            before = np.minimum(self.asked.last[rows], self.soonest[rows] - 1)
            end = np.where(group >= 0, index.places(group, before, "right"), begin)
            known = self.soonest[rows]
            width = 8
            while True:
                left = np.flatnonzero((begin < end) & (self.soonest[rows] == known))
                if not len(left):
                    break
                many = np.minimum(end[left] - begin[left], width)
                for block in _blocks(many):
                    some = left[block]
                    place = np.repeat(begin[some], many[block]) + _counted(many[block])
                    asked = np.repeat(rows[some], many[block])
                    self._look(part, index.order[place], asked, conditions)
                begin[left] += many
                width *= 4
        inside: np.ndarray = self.soonest[self.of] <= self.all.last
        return inside

    def _look(
        self, part: Part, matches: np.ndarray, asked: np.ndarray, conditions: list[_Holds]
    ) -> None:
        """Look at pairs of matches of ψ and of what is asked."""
        ok = part.start[matches] >= self.asked.first[asked]
        for number, (choices, holds) in enumerate(zip(part.choices, conditions, strict=True)):
            pairs = np.flatnonzero(ok & self.bound[number][asked])
            begin = np.searchsorted(choices.owner, matches[pairs], side="left")
            many = np.searchsorted(choices.owner, matches[pairs], side="right") - begin
            of = np.repeat(pairs, many)
            if len(of):
                row = np.repeat(begin, many) + _counted(many)
                ok[of[~holds(row, asked[of])]] = False
        np.minimum.at(self.soonest, asked[ok], part.end[matches[ok]])

    def _condition(self, number: int, part: Part) -> _Holds:
        """Return what evaluates a condition on choices of events of ψ and what is asked."""
        each, tally = self.correlation.others[number], self.correlation.tally
        mine, theirs = part.choices[number].columns, self.outer[number]
        if each.sides is not None:
            inner, sign, outer = each.sides
            try:
                left = batch_of(mine, tally).compute(inner)
                right = batch_of(theirs, tally).compute(outer)
            except UnsupportedError:
                pass
            else:
                if isinstance(left, Numbers) and isinstance(right, Numbers):
                    plain = compared(sign, left, right)
                    if plain is not None:
                        return plain

        def holds(rows: np.ndarray, asked: np.ndarray) -> np.ndarray:
            return self.correlation.holds(
                each, mine.take(pa.array(rows)), theirs.take(pa.array(asked))
            )

        return holds


_Holds = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _counted(many: np.ndarray) -> np.ndarray:
    """Count from 0 within each of some runs."""
    ends = np.cumsum(many)
    counted: np.ndarray = np.arange(int(many.sum())) - np.repeat(ends - many, many)
    return counted


def _blocks(many: np.ndarray) -> Iterator[slice]:
    """Cut runs into blocks with not many more than _PAIRS in all."""
    number = np.cumsum(many) // _PAIRS_AT_ONCE
    borders = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(many)]
    for begin, end in pairwise(borders):
        yield slice(begin, end)
