"""Matches as columns, with the aggregates that are computed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.logic.clauses import Found
from ensue.logic.complex_event import ComplexEvent, Computed
from ensue.predicates.arrow_values import arrow_type, arrow_values

_NAMES = Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class AggregateValues:
    """Computed values of some matches: numbers, or ranks of something else."""

    values: np.ndarray
    valid: np.ndarray
    distinct: list[Any] | None = None

    def plain(self) -> list[Any]:
        """Return the values as the language knows them: instants in nanoseconds."""
        if self.distinct is not None:
            known = self.distinct
            pairs = zip(self.values.tolist(), self.valid.tolist(), strict=True)
            return [known[rank] if ok else None for rank, ok in pairs]
        values: list[Any] = self.values.tolist()
        if self.valid.all():
            return values
        return [v if ok else None for v, ok in zip(values, self.valid.tolist(), strict=True)]

    def arrow(self, kind: Type) -> pa.Array:
        """Return the values as a column of the computed type."""
        if self.distinct is not None:
            return pa.array(self.plain(), arrow_type(kind))
        return arrow_values(self.values, self.valid, kind)

    def raw(self) -> pa.Array:
        """Return the values as a column for predicates: instants in nanoseconds."""
        if self.distinct is not None:
            return pa.array(self.plain())
        return pa.array(self.values, mask=None if self.valid.all() else ~self.valid)

    def taken(self, rows: np.ndarray) -> AggregateValues:
        """Choose some matches."""
        return AggregateValues(self.values[rows], self.valid[rows], self.distinct)

    def words(self) -> list[np.ndarray]:
        """Return integers that are equal where values are."""
        values = np.where(self.valid, self.values, 0)
        if values.dtype == np.float64:
            values = (values + 0.0).view(np.int64)
        return [values.astype(np.int64, copy=False), self.valid.astype(np.int64)]


@dataclass(frozen=True, slots=True)
class ComputedEvents:
    """The events of some matches that AGGREGATE bound to one variable, in the order of their ends.

    Those of match i stand from offsets[i] to offsets[i + 1]. Of one place in the query all have the
    same columns; where there are several, an event is NULL in the columns of the others.
    """

    place: np.ndarray
    end: np.ndarray
    columns: dict[str, AggregateValues]
    names: _NAMES
    """The columns of each place."""
    offsets: np.ndarray

    @classmethod
    def one_each(
        cls, place: int, end: np.ndarray, columns: dict[str, AggregateValues]
    ) -> ComputedEvents:
        """Return one event for each match, which ends with it."""
        places = np.broadcast_to(np.int64(place), (len(end),))
        offsets = np.arange(len(end) + 1)
        return cls(places, end, columns, {place: tuple(columns)}, offsets)

    @property
    def owner(self) -> np.ndarray:
        """The match of each event."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def taken(self, rows: np.ndarray) -> ComputedEvents:
        """Choose some matches."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        at = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return self._events(at, offsets)

    def sliced(self, begin: int, end: int) -> ComputedEvents:
        """Choose the matches from one to before another."""
        own = slice(int(self.offsets[begin]), int(self.offsets[end]))
        columns = {
            name: AggregateValues(each.values[own], each.valid[own], each.distinct)
            for name, each in self.columns.items()
        }
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        return ComputedEvents(self.place[own], self.end[own], columns, self.names, offsets)

    def _events(self, at: np.ndarray, offsets: np.ndarray) -> ComputedEvents:
        columns = {name: each.taken(at) for name, each in self.columns.items()}
        return ComputedEvents(self.place[at], self.end[at], columns, self.names, offsets)

    def listed(self) -> list[Computed]:
        """Return all events one by one."""
        plain = {name: each.plain() for name, each in self.columns.items()}
        places, ends = self.place.tolist(), self.end.tolist()
        rows: dict[int, list[tuple[tuple[str, Any], ...]]] = {}
        for place, names in self.names.items():
            columns = [[(name, value) for value in plain[name]] for name in names]
            rows[place] = list(zip(*columns, strict=True)) if columns else [()] * len(ends)
        return [
            Computed(place, end, rows[place][at])
            for at, (place, end) in enumerate(zip(places, ends, strict=True))
        ]


def merged(parts: Sequence[ComputedEvents]) -> ComputedEvents:
    """Put events of the same matches that are bound to one variable together; equal ones are one.

    Several AGGREGATEs may bind one variable, and one of them may stand for several parts of the
    automaton.
    """
    if len(parts) == 1:
        return parts[0]
    matches = len(parts[0].offsets) - 1
    places: dict[int, tuple[str, ...]] = {}
    for each in parts:
        places |= each.names
    owner, end = (
        np.concatenate([getattr(each, name) for each in parts]) for name in ("owner", "end")
    )
    place = np.concatenate([each.place for each in parts])
    names = dict.fromkeys(name for each in parts for name in each.columns)
    columns = {name: _joined_values([_column(each, name) for each in parts]) for name in names}
    order = np.lexsort((place, end, owner))
    keys = [owner, end, place, *(word for each in columns.values() for word in each.words())]
    if len(order):
        table = np.stack([key[order] for key in keys], axis=1)
        group = (table[1:, :3] != table[:-1, :3]).any(axis=1)
        if not group.all():
            # Events of one place and end stand together, but equal ones not side by side.
            _, first = np.unique(table, axis=0, return_index=True)
            order = order[np.sort(first)]
    offsets = np.searchsorted(owner[order], np.arange(matches + 1))
    whole = ComputedEvents(place, end, columns, places, offsets)
    return whole._events(order, offsets)


def _column(events: ComputedEvents, name: str) -> AggregateValues:
    known = events.columns.get(name)
    if known is not None:
        return known
    count = len(events.end)
    return AggregateValues(np.zeros(count, np.int64), np.zeros(count, bool))


@dataclass(slots=True)
class AggregatedColumns:
    """Some matches with what is computed for them."""

    start: np.ndarray
    end: np.ndarray
    bound: dict[str, pa.ListArray]
    computed: dict[str, ComputedEvents]
    """By variable."""

    def taken(self, rows: np.ndarray) -> AggregatedColumns:
        """Choose some matches."""
        chosen = pa.array(rows)
        return AggregatedColumns(
            self.start[rows],
            self.end[rows],
            {name: lists.take(chosen) for name, lists in self.bound.items()},
            {name: each.taken(rows) for name, each in self.computed.items()},
        )

    def sliced(self, begin: int, end: int) -> AggregatedColumns:
        """Choose the matches from one to before another."""
        return AggregatedColumns(
            self.start[begin:end],
            self.end[begin:end],
            {name: lists.slice(begin, end - begin) for name, lists in self.bound.items()},
            {name: each.sliced(begin, end) for name, each in self.computed.items()},
        )

    def found(self, names: list[str]) -> list[Found]:
        """Give the matches one by one, bindings of these variables included."""
        lists = [(name, self.bound[name].to_pylist()) for name in names]
        computed = [
            (name, events.listed(), events.offsets.tolist())
            for name, events in self.computed.items()
        ]
        return [
            Found(
                (),
                ComplexEvent(
                    start,
                    end,
                    frozenset([(name, at) for name, each in lists for at in each[row]]),
                    frozenset(
                        [
                            (name, event)
                            for name, events, offsets in computed
                            for event in events[offsets[row] : offsets[row + 1]]
                        ]
                    ),
                ),
            )
            for row, (start, end) in enumerate(
                zip(self.start.tolist(), self.end.tolist(), strict=True)
            )
        ]


def _joined_values(values: list[AggregateValues]) -> AggregateValues:
    """Put values together; ranks of different lists get the ranks of one."""
    distinct = values[0].distinct
    numbers = [each.values for each in values]
    if any(each.distinct is not distinct for each in values):
        known = [each.distinct or [] for each in values]
        distinct = sorted({value for some in known for value in some})
        place = {value: rank for rank, value in enumerate(distinct)}
        ranks = [np.array([place[value] for value in some] or [0], np.int64) for some in known]
        numbers = [own[each] for own, each in zip(ranks, numbers, strict=True)]
    return AggregateValues(
        np.concatenate(numbers), np.concatenate([each.valid for each in values]), distinct
    )


def _joined_events(every: list[ComputedEvents]) -> ComputedEvents:
    """Put events of different matches together."""
    names: dict[int, tuple[str, ...]] = {}
    for each in every:
        names |= each.names
    columns = dict.fromkeys(name for each in every for name in each.columns)
    base = np.cumsum([0, *(len(each.end) for each in every)])
    offsets = [each.offsets[:-1] + before for each, before in zip(every, base, strict=False)]
    return ComputedEvents(
        np.concatenate([each.place for each in every]),
        np.concatenate([each.end for each in every]),
        {name: _joined_values([_column(each, name) for each in every]) for name in columns},
        names,
        np.concatenate([*offsets, base[-1:]]),
    )


def joined(chunks: list[AggregatedColumns]) -> AggregatedColumns:
    """Put chunks together."""
    if len(chunks) == 1:
        return chunks[0]
    one = chunks[0]
    return AggregatedColumns(
        np.concatenate([each.start for each in chunks]),
        np.concatenate([each.end for each in chunks]),
        {name: pa.concat_arrays([each.bound[name] for each in chunks]) for name in one.bound},
        {name: _joined_events([each.computed[name] for each in chunks]) for name in one.computed},
    )
