"""AGGREGATE inside a pattern, and conditions that are decided on listing: many matches at a time.

The labels of a listing mark, by hidden bits, which events each scope reads and where its rounds end
or begin. A round is a range of the events of a match, so an event's round is known by counting the
marks before it, and everything about a round is computed for all rounds of all matches at once. The
slow twin is `ResidualFilter` with the reference's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from ensue.analysis.bound import Column
from ensue.analysis.conditions import Each, Relation, Trend
from ensue.analysis.expressions import Expression
from ensue.analysis.types import Type
from ensue.automata.condition_forms import attribute_of
from ensue.automata.deferred import Deferred, InnerAggregate
from ensue.kernels.graph.segment import Listing
from ensue.logic import formula as f
from ensue.logic.evaluate import Tally
from ensue.plan.correlated import CorrelatedCondition, Read
from ensue.plan.residual import Residual
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import path_column
from ensue.results.aggregate_columns import AggregateValues, ComputedEvents, merged
from ensue.results.correlation import batch_of, marked
from ensue.results.folding import fold, sizes_of
from ensue.stream.attributes import AttributeColumn, value_column
from ensue.stream.batch import EventBatch

_TRENDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "same": np.equal,
    "increasing": np.less,
    "decreasing": np.greater,
    "nondecreasing": np.less_equal,
    "nonincreasing": np.greater_equal,
}


def computed_batch(columns: dict[str, AggregateValues], count: int, tally: Tally) -> Batch:
    """Return computed values as a batch of events, for expressions over them."""
    raw = {name: each.raw() for name, each in columns.items()} or {"": [None] * count}
    return Batch(pa.table(raw), pa.chunked_array([pa.nulls(count, pa.string())]), tally)


def derived_values(
    formula: f.Aggregate, results: dict[str, AggregateValues], count: int, tally: Tally
) -> dict[str, AggregateValues]:
    """Compute the columns that are expressions over aggregates, and leave hidden ones out."""
    if not formula.derived:
        return results
    batch, found = computed_batch(results, count, tally), dict(results)
    for each in formula.derived:
        column = value_column(batch, each.expression)
        known = column.known if len(column.known) else np.ones(count, bool)
        found[each.name] = AggregateValues(column.values, known, column.distinct)
    return {name: found[name] for name in formula.names}


@dataclass(frozen=True, slots=True)
class InnerEvents:
    """The events that one AGGREGATE inside the pattern computes."""

    at: np.ndarray
    """The places in the listing of the events where its scope ends; increasing."""
    columns: dict[str, AggregateValues]


@dataclass(slots=True)
class NestedEvaluation:
    """What is decided about matches on listing, and what they compute inside the pattern."""

    residual: Residual
    labels: list[int]
    events: Callable[[], EventBatch]
    tally: Tally
    _stream: EventBatch | None = None
    _sources: dict[Expression, AttributeColumn] = field(default_factory=dict)
    _truths: dict[Expression, np.ndarray] = field(default_factory=dict)

    @property
    def stream(self) -> EventBatch:
        """The events of the matches."""
        if self._stream is None:
            self._stream = self.events()
        return self._stream

    def source(self, argument: Expression) -> AttributeColumn:
        """Return the values of an expression for all events."""
        known = self._sources.get(argument)
        if known is None:
            batch = Batch(self.stream.table, self.stream.types)
            known = self._sources[argument] = value_column(batch, argument)
        return known

    def holds(self, predicate: Expression) -> np.ndarray:
        """Tell for which of all events a predicate holds."""
        known = self._truths.get(predicate)
        if known is None:
            batch = Batch(self.stream.table, self.stream.types)
            known = self._truths[predicate] = batch.holds(predicate)
        return known

    def __call__(self, listing: Listing) -> np.ndarray:
        """Tell which matches of a listing satisfy all conditions."""
        return self.read(listing).kept

    def read(self, listing: Listing) -> EvaluatedListing:
        """Evaluate the scopes of a listing."""
        return EvaluatedListing(self, listing)


class EvaluatedListing:
    """The scopes of the matches of a listing."""

    def __init__(self, of: NestedEvaluation, listing: Listing) -> None:
        self.of, self.listing = of, listing
        self._joined: dict[tuple[int, ...], ComputedEvents] = {}
        self.made: list[InnerEvents] = []
        for each in of.residual.inner_aggregates:
            self.made.append(self._computed(each))

    @cached_property
    def owner(self) -> np.ndarray:
        """The match of each event."""
        return np.repeat(np.arange(len(self.listing.start)), np.diff(self.listing.offset))

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each event."""
        return self.of.stream.rows_at(self.listing.position)

    def marked(self, bit: int) -> np.ndarray:
        """Tell which events have a bit."""
        found: np.ndarray = marked(self.of.labels, bit)[self.listing.label]
        return found

    def shown(self) -> dict[str, ComputedEvents]:
        """Return the computed events that belong to the matches, by variable."""
        numbers: dict[str, list[int]] = {}
        for number in self.of.residual.shown:
            numbers.setdefault(self._variable(number), []).append(number)
        return {name: self._events(each) for name, each in numbers.items()}

    # aggregates

    def _computed(self, aggregate: InnerAggregate) -> InnerEvents:
        """Compute the events of an AGGREGATE, round by round."""
        ends = self.marked(aggregate.end)
        last = np.flatnonzero(ends)
        before = np.cumsum(ends) - ends
        bits = dict(aggregate.bits)
        results: dict[str, AggregateValues] = {}
        groups: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        for column in aggregate.formula.columns:
            name = column.variable
            inner = [n for n in aggregate.inner_aggregates if self._variable(n) == name]
            if name not in groups:
                at = self._ends(inner) if inner else self._bound(bits.get(name, 0))
                group = before[at]
                inside = group < len(last)
                inside[inside] = self.owner[last[group[inside]]] == self.owner[at[inside]]
                offsets = np.zeros(len(last) + 1, np.int32)
                np.cumsum(np.bincount(group[inside], minlength=len(last)), out=offsets[1:])
                groups[name] = offsets, at[inside], np.flatnonzero(inside)
            offsets, at, places = groups[name]
            results[column.name] = self._folded(column, inner, offsets, at, places)
        columns = derived_values(aggregate.formula, results, len(last), self.of.tally)
        return InnerEvents(last, columns)

    def _folded(
        self,
        column: Column,
        inner: Sequence[int],
        offsets: np.ndarray,
        at: np.ndarray,
        places: np.ndarray,
    ) -> AggregateValues:
        if column.argument is None:
            return sizes_of(offsets)
        if not inner:
            source = self.of.source(column.argument)
            return fold(column, source, offsets, self.rows[at], self.of.tally)
        events = self._events(inner)
        batch = computed_batch(events.columns, len(events.end), Tally())
        source = value_column(batch, column.argument)
        return fold(column, source, offsets, places, self.of.tally)

    def _variable(self, number: int) -> str:
        return self.of.residual.inner_aggregates[number].formula.variable

    def _bound(self, bit: int) -> np.ndarray:
        return np.flatnonzero(self.marked(bit))

    def _ends(self, numbers: Sequence[int]) -> np.ndarray:
        """Return where the events of some AGGREGATEs of one variable end, in their order."""
        events = self._events(numbers)
        # Of one match no two events have one position.
        firsts: np.ndarray = self.listing.offset[events.owner]
        if not len(firsts):
            return firsts
        every: np.ndarray = np.sort(np.concatenate([self.made[number].at for number in numbers]))
        if len(every) == len(firsts):
            return every
        key = self.owner * (int(self.listing.position.max()) + 1) + self.listing.position
        wanted = events.owner * (int(self.listing.position.max()) + 1) + events.end
        found: np.ndarray = np.searchsorted(key, wanted)
        return found

    def _events(self, numbers: Sequence[int]) -> ComputedEvents:
        """Return the events of some AGGREGATEs that bind one variable."""
        known = self._joined.get(tuple(numbers))
        if known is not None:
            return known
        parts = []
        for number in numbers:
            made, formula = self.made[number], self.of.residual.inner_aggregates[number].formula
            places = np.broadcast_to(np.int64(formula.place), (len(made.at),))
            ends = self.listing.position[made.at]
            offsets = np.searchsorted(made.at, self.listing.offset)
            names = {formula.place: formula.names}
            parts.append(ComputedEvents(places, ends, made.columns, names, offsets))
        found = self._joined[tuple(numbers)] = merged(parts)
        return found

    # conditions

    @cached_property
    def kept(self) -> np.ndarray:
        """Whether each match satisfies all conditions."""
        kept = np.ones(len(self.listing.start), bool)
        for each in self.of.residual.deferred:
            for refused in self._refused(each):
                kept[self.owner[refused]] = False
        return kept

    def _refused(self, deferred: Deferred) -> Iterator[np.ndarray]:
        """Give events of matches that do not satisfy a condition."""
        match deferred.condition:
            case Each(variable=name, predicate=predicate):
                inner = self._inner(deferred, name)
                if inner:
                    events = self._events(inner)
                    batch = computed_batch(events.columns, len(events.end), self.of.tally)
                    yield self._ends(inner)[~batch.holds(predicate)]
                else:
                    at = self._bound(dict(deferred.bits).get(name, 0))
                    yield at[~self.of.holds(predicate)[self.rows[at]]]
            case Trend(variable=name, kind=kind, path=path):
                yield from self._refused_by_trend(deferred, name, kind, path)
            case Relation():
                yield self._refused_by_relation(deferred)
            case other:
                raise AssertionError(other)

    def _inner(self, deferred: Deferred, name: str) -> list[int]:
        return [n for n in deferred.inner_aggregates if self._variable(n) == name]

    def _rounds(self, deferred: Deferred) -> np.ndarray:
        """Return the number of the round that each event is in."""
        begins = self.marked(deferred.marker)
        firsts = self.listing.offset[:-1]
        begins[firsts[firsts < len(begins)]] = True
        return np.cumsum(begins)

    def _refused_by_trend(
        self, deferred: Deferred, name: str, kind: str, path: tuple[str, ...]
    ) -> Iterator[np.ndarray]:
        inner = self._inner(deferred, name)
        attribute = attribute_of(path, Type.UNKNOWN)
        if inner:
            at, events = self._ends(inner), self._events(inner)
            batch = computed_batch(events.columns, len(events.end), Tally())
            source, rows = value_column(batch, attribute), np.arange(len(at))
        else:
            at = self._bound(dict(deferred.bits).get(name, 0))
            source, rows = self.of.source(attribute), self.rows[at]
        if len(source.known):
            yield at[~source.known[rows]]
        values, rounds = source.values[rows], self._rounds(deferred)[at]
        follows = rounds[1:] == rounds[:-1]
        yield at[1:][follows & ~_TRENDS[kind](values[:-1], values[1:])]

    def _refused_by_relation(self, deferred: Deferred) -> np.ndarray:
        """Look at every choice of one event from each variable, round by round."""
        condition = CorrelatedCondition.of(deferred, frozenset())
        assert isinstance(deferred.condition, Relation)
        rounds, bits = self._rounds(deferred), dict(deferred.bits)
        chosen: dict[str, np.ndarray] = {}
        group = np.zeros(0, np.int64)
        places: dict[str, np.ndarray] = {}
        for name in deferred.condition.variables:
            inner = self._inner(deferred, name)
            places[name] = self._ends(inner) if inner else self._bound(bits.get(name, 0))
            own = rounds[places[name]]
            if not chosen:
                chosen[name], group = np.arange(len(own)), own
                continue
            first, last = np.searchsorted(own, group), np.searchsorted(own, group, "right")
            often = last - first
            every = np.repeat(np.arange(len(group)), often)
            begins = np.cumsum(often) - often
            partner = np.arange(len(every)) - np.repeat(begins - first, often)
            chosen = {other: each[every] for other, each in chosen.items()}
            chosen[name], group = partner, group[every]
        columns = {
            each.name: self._read(deferred, each, places[each.variable], chosen[each.variable])
            for each in condition.inner
        }
        holds = batch_of(pa.table(columns), self.of.tally).holds(condition.predicate)
        any_name = deferred.condition.variables[0]
        refused: np.ndarray = places[any_name][chosen[any_name][~holds]]
        return refused

    def _read(
        self, deferred: Deferred, read: Read, places: np.ndarray, chosen: np.ndarray
    ) -> pa.Array | pa.ChunkedArray:
        """Return what a condition reads of the chosen events of a variable."""
        inner = self._inner(deferred, read.variable)
        if inner:
            column = self._events(inner).columns.get(".".join(read.path))
            if column is None:
                return pa.nulls(len(chosen))
            return column.raw().take(pa.array(chosen))
        stream = self.of.stream
        values = path_column(stream.table, read.path) if read.path else stream.types
        if values is None or pa.types.is_struct(values.type):
            return pa.nulls(len(chosen))
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return values.take(pa.array(self.rows[places[chosen]]))
