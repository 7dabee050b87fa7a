"""What is decided as matches are enumerated: projection, strategy, LIMIT, deferred conditions.

Over conditions between events, the automaton cannot do it: its runs carry hidden bits, and who
beats whom depends on values. So the matches of each completing event are gathered as they are
enumerated. Conditions that no register decides are checked there too, by definition; then it is
only known there which events complete a match, and so what they consume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

import numpy as np

from ensue.analysis.expressions import paths_of
from ensue.automata.registers import Deferred, Interval
from ensue.engine.absence import Barriers
from ensue.engine.findings import Columns, Enumerated, Listed, Word
from ensue.engine.stream import Stream
from ensue.engine.values import to_events
from ensue.logic import formula as f
from ensue.logic.evaluate import Tally
from ensue.logic.reference import (
    ComplexEvent,
    Event,
    Found,
    Reference,
    projected,
    select,
    support_only,
)

_BLOCK = 1024
"""So many rows are made events at once."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """Operators at the top of a formula, innermost first, and what comes before and after."""

    operators: tuple[f.Project | f.Select, ...]
    positions_only: bool
    limit: int | None
    deferred: tuple[Deferred, ...] = ()
    """Conditions that are checked before all else."""
    intervals: tuple[Interval, ...] = ()
    """Where something must not have happened."""
    consume: str = "NONE"
    """What a completing event consumes, where that is not known before."""

    @property
    def refuses(self) -> bool:
        """Whether some matches are found to be none."""
        return bool(self.deferred or self.intervals)

    def apply(self, matches: set[ComplexEvent]) -> list[ComplexEvent]:
        """Refine the matches of one completing event, the latest start first."""
        for operator in self.operators:
            if isinstance(operator, f.Project):
                matches = {projected(c, operator.variables) for c in matches}
            else:
                matches = select(matches, operator.strategy)
        if self.positions_only:
            matches = {support_only(c) for c in matches}
        return sorted(matches, key=lambda c: (-c.start, sorted(c.bindings)))


def peel(formula: f.Formula) -> tuple[f.Formula, tuple[f.Project | f.Select, ...]]:
    """Take projections and strategies off the top of a formula."""
    peeled: list[f.Project | f.Select] = []
    while isinstance(formula, f.Project) or (
        isinstance(formula, f.Select) and formula.strategy in ("NEXT", "LAST", "MAX")
    ):
        peeled.append(formula)
        formula = formula.formula
    return formula, tuple(reversed(peeled))


@dataclass(slots=True)
class Rows:
    """The events of a stretch by position, made when somebody asks."""

    view: Callable[[], Stream]
    names: frozenset[str]
    """The columns that somebody asks for."""
    _stream: Stream | None = None
    _blocks: dict[int, list[Event]] = field(default_factory=dict)

    def __getitem__(self, position: int) -> Event:
        if self._stream is None:
            self._stream = self.view()
        stream = self._stream
        block, row = divmod(int(stream.rows_at(np.array([position]))[0]), _BLOCK)
        if block not in self._blocks:
            kept = [name for name in stream.table.column_names if name in self.names]
            self._blocks[block] = to_events(_cut(stream, block * _BLOCK, kept))
        return self._blocks[block][row]


def _cut(stream: Stream, begin: int, names: list[str]) -> Stream:
    """Return a block of rows, and some of their columns."""
    streams = stream.streams
    return Stream(
        stream.table.select(names).slice(begin, _BLOCK),
        stream.types.slice(begin, _BLOCK),
        None if streams is None else streams.slice(begin, _BLOCK),
        stream.times[begin : begin + _BLOCK],
        None,
        None,
        stream.first + begin,
    )


@dataclass(slots=True)
class Refined:
    """Matches that are refined as they are enumerated."""

    found: Enumerated
    refinement: Refinement
    tally: Tally = field(default_factory=Tally)
    before: Mapping[int, int] = field(default_factory=dict)
    """Up to where everything was consumed before, by key; 0 where keys do not matter."""
    barriers: tuple[Barriers, ...] = ()
    """What must not have happened."""
    events: Callable[[], Stream] | None = None
    """The events of the matches, once they are kept somewhere."""
    _count: int | None = field(default=None, init=False)
    _after: dict[int, int] | None = field(default=None, init=False)

    @property
    def count(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __bool__(self) -> bool:
        """Tell whether there are any; as long as their events are unknown, whether it may be."""
        if not self.refinement.refuses or self.events is None:
            return bool(self.found)
        return any(True for _ in self)

    def consumed(self) -> dict[int, int]:
        """Return up to where everything is consumed after these matches."""
        if self._after is None:
            for _ in self:
                pass
        assert self._after is not None
        return self._after

    def __iter__(self) -> Iterator[Found]:
        holds = self._conditions()
        names = list(enumerate(self.found.variables))
        consumed = dict(self.before)
        consumes = self.refinement.consume
        for (end, key), group in groupby(self.found.words(), key=lambda word: (word.end, word.key)):
            matches = {
                ComplexEvent(
                    word.start,
                    word.end,
                    frozenset(
                        (name, position)
                        for position, label in word.labels
                        for bit, name in names
                        if label >> bit & 1
                    ),
                )
                for word in group
                if holds(word)
            }
            found = self.refinement.apply(matches)
            if consumes != "NONE" and found:
                of = key if consumes == "PARTITION" else 0
                found = [match for match in found if match.start > consumed.get(of, -1)]
                if found:
                    consumed[of] = end
            for match in islice(found, self.refinement.limit):
                yield Found((), match)
        self._after = consumed

    def _conditions(self) -> Callable[[Word], bool]:
        """Return what checks the deferred conditions of a match."""
        deferred = self.refinement.deferred
        if not self.refinement.refuses or not self.found:
            return lambda _: True
        assert self.events is not None, "matches are looked at before their events are kept"
        every = (paths_of(read) for each in deferred for read in each.expressions())
        rows: Any = Rows(self.events, frozenset(path[0] for paths in every for path in paths))
        reference = Reference(rows, self.tally)
        return lambda word: (
            self._undisturbed(word)
            and all(
                reference.satisfies(ComplexEvent(word.start, word.end, bound), each.condition)
                for each in deferred
                for bound in each.rounds(word.labels)
            )
        )

    def _undisturbed(self, word: Word) -> bool:
        """Tell whether nothing happened inside the intervals of a match that must not."""
        for begin, end, absent in self.refinement.intervals:
            first = word.start
            for position, label in word.labels:
                if label & begin:
                    first = position
                if label & end and self.barriers[absent].latest(position) >= first:
                    return False
        return True

    def columns(self, variables: list[str]) -> Iterator[Columns]:
        return Listed(list(self)).columns(variables)
