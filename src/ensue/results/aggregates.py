"""AGGREGATE on enumeration, many matches at a time.

Where only aggregates of stream events, filters on them and projections are left to be applied,
everything is done on columns: the kernels of kernels/aggregate.py go over the events of each match
once. Matches that become equal by a projection are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.bound import Column
from ensue.analysis.conditions import Each
from ensue.analysis.patterns import aggregate_type
from ensue.analysis.types import Type
from ensue.automata.deferred import Interval
from ensue.kernels.aggregate import (
    CODES,
    COUNT,
    HARD,
    LOST,
    NONE,
    Groups,
    ValueColumn,
    fold_real,
    fold_whole,
)
from ensue.kernels.memory import read_only
from ensue.logic import formula as f
from ensue.logic.aggregates import aggregate
from ensue.logic.clauses import Found
from ensue.logic.evaluate import Tally
from ensue.plan.aggregate_bounds import AggregateBound
from ensue.plan.residual_operators import ResidualOperator
from ensue.predicates.evaluate import Batch
from ensue.results.aggregate_columns import AggregatedColumns, AggregateValues
from ensue.results.bounds import bounds_of
from ensue.results.intervals import Barrier, Undisturbed
from ensue.results.match_set import UNKNOWN, GraphMatches, Made, MatchColumns
from ensue.stream.attributes import AttributeColumn, attribute_column
from ensue.stream.batch import EventBatch

Path = tuple[str, ...]


@dataclass(slots=True)
class AggregatedMatches:
    """Matches to which aggregates are added, and which are filtered by them, as they are listed."""

    found: GraphMatches
    operators: tuple[ResidualOperator, ...]
    limit: int | None
    type_of: Callable[[Path], Type]
    tally: Tally = field(default_factory=Tally)
    events: Callable[[], EventBatch] | None = None
    """The events of the matches, once they are kept somewhere."""
    bounds: tuple[AggregateBound, ...] = ()
    """What aggregates must stay within, known before all events of a match are."""
    intervals: tuple[Interval, ...] = ()
    """Where something must not have happened."""
    barriers: tuple[Barrier, ...] = ()
    """What that is."""
    merges: bool = False
    """Whether several runs may be one match."""
    _sources: dict[Path, AttributeColumn] = field(default_factory=dict)
    _stream: EventBatch | None = None
    _count: int | None = None

    @property
    def _keeps_all(self) -> bool:
        """Whether every match of the automaton is one match in the end."""
        plain = not (self.intervals or self.merges)
        return plain and all(isinstance(each, f.Aggregate) for each in self.operators)

    @property
    def count(self) -> int:
        if self._count is None:
            if self._keeps_all:
                self._count = self.found.count
            else:
                self._count = sum(len(chunk.start) for chunk in self._chunks(self._variables))
        return self._count

    @property
    def least(self) -> int:
        return self.found.least if self._keeps_all else self._count or 0

    def at_least(self, most: int) -> int:
        """Count them, on the match graph where every match of it is one in the end."""
        if self._keeps_all:
            return self.found.at_least(most)
        return self.count

    @property
    def effort(self) -> int:
        """Tell that counting takes as long as listing, where some matches may be none."""
        if self._keeps_all:
            return self.found.effort
        return UNKNOWN if self._count is None and self.found else 0

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def __bool__(self) -> bool:
        """Tell whether there are any; as long as their events are unknown, whether it may be."""
        filtered = any(isinstance(each, f.Filter) for each in self.operators) or self.intervals
        if not filtered or self.events is None:
            return bool(self.found)
        return any(len(chunk.start) for chunk in self._chunks(self._variables))

    def __iter__(self) -> Iterator[Found]:
        names = self._variables
        for chunk in self._chunks(names):
            yield from chunk.found(names)

    def columns(self, variables: list[str]) -> Iterator[MatchColumns]:
        every = list(dict.fromkeys([*variables, *([] if self._keeps_all else self._variables)]))
        names = self._variables
        for chunk in self._chunks(every):
            computed = {
                name: {
                    column: each.arrow(self._type(name, column)) for column, each in columns.items()
                }
                for name, (_, columns) in chunk.computed.items()
            }

            def listed(chunk: AggregatedColumns = chunk) -> list[Found]:
                return chunk.found([name for name in names if name in chunk.bound])

            made = {name: Made(*each) for name, each in chunk.computed.items()}
            yield MatchColumns(chunk.start, chunk.end, chunk.bound, computed, made, listed)

    @property
    def _variables(self) -> list[str]:
        """The variables that matches have in the end."""
        names = set(self.found.variables)
        for operator in self.operators:
            if isinstance(operator, f.Project):
                names &= operator.variables
        return [name for name in self.found.variables if name in names]

    def _type(self, variable: str, name: str) -> Type:
        for operator in self.operators:
            if isinstance(operator, f.Aggregate) and operator.variable == variable:
                for column in operator.columns:
                    if column.name == name:
                        kind = Type.UNKNOWN if column.path is None else self.type_of(column.path)
                        return aggregate_type(column.function, kind)
        raise AssertionError(name)

    # chunks

    def _chunks(self, variables: list[str]) -> Iterator[AggregatedColumns]:
        """List matches and apply the operators, those of one completing event together."""
        if self._keeps_all:
            yield from map(self._applied, self._listed(variables))
            return
        waiting: list[AggregatedColumns] = []
        for chunk in map(self._applied, self._listed(variables)):
            if not len(chunk.start):
                continue
            opens = int(np.searchsorted(chunk.end, chunk.end[-1]))
            if opens or (waiting and waiting[-1].end[-1] != chunk.end[0]):
                rows = np.arange(opens)
                done = [*waiting, chunk.taken(rows)] if opens else waiting
                yield self._settled(_joined(done))
                waiting = []
                chunk = chunk.taken(np.arange(opens, len(chunk.start))) if opens else chunk
            waiting.append(chunk)
        if waiting:
            yield self._settled(_joined(waiting))

    def _listed(self, variables: list[str]) -> Iterator[AggregatedColumns]:
        wanted = [
            column.variable
            for operator in self.operators
            if isinstance(operator, f.Aggregate)
            for column in operator.columns
        ]
        if self.intervals:
            labels = self.found.labels
            self.found.keeps = Undisturbed(self.intervals, self.barriers, labels, self._events)
        if self.bounds:
            self.found.bounds = bounds_of(self.bounds, self.found.labels, self._events())
        for columns in self.found.columns(list(dict.fromkeys([*variables, *wanted]))):
            yield AggregatedColumns(columns.start, columns.end, dict(columns.bound), {})

    def _applied(self, chunk: AggregatedColumns) -> AggregatedColumns:
        for operator in self.operators:
            match operator:
                case f.Aggregate(variable=name, columns=columns, place=place):
                    results = {each.name: self._result(each, chunk) for each in columns}
                    chunk.computed[name] = (place, results)
                case f.Filter(conditions=conditions):
                    kept = np.ones(len(chunk.start), bool)
                    for condition in conditions:
                        assert isinstance(condition, Each)
                        _, results = chunk.computed[condition.variable]
                        kept &= self._holds(condition, results, len(kept))
                    if not kept.all():
                        chunk = chunk.taken(np.flatnonzero(kept))
                case f.Project(variables=names):
                    chunk.computed = {n: each for n, each in chunk.computed.items() if n in names}
                case f.Select():
                    raise AssertionError(operator)
        return chunk

    def _holds(
        self, condition: Each, results: Mapping[str, AggregateValues], count: int
    ) -> np.ndarray:
        table = pa.table({name: each.raw() for name, each in results.items()})
        types = pa.chunked_array([pa.nulls(count, pa.string())])
        return Batch(table, types, self.tally).holds(condition.predicate)

    def _settled(self, chunk: AggregatedColumns) -> AggregatedColumns:
        """Let equal matches be one, the latest start of each end come first, and LIMIT cut."""
        order = np.lexsort((-chunk.start, chunk.end))
        if self.merges or any(isinstance(each, f.Project) for each in self.operators):
            order = order[_first_of_equal(chunk, order, self._variables)]
        if self.limit is not None:
            ends = chunk.end[order]
            rank = np.arange(len(order)) - np.searchsorted(ends, ends)
            order = order[rank < self.limit]
        return chunk.taken(order)

    # aggregates

    def _result(self, column: Column, chunk: AggregatedColumns) -> AggregateValues:
        lists = chunk.bound[column.variable]
        offsets = lists.offsets.to_numpy()
        if column.path is None:
            return AggregateValues(np.diff(offsets).astype(np.int64), np.ones(len(lists), bool))
        stream = self._events()
        source = self._source(stream, column)
        rows = stream.rows_at(lists.values.to_numpy())
        count = len(lists)
        state = np.zeros(count, np.int8)
        real = np.zeros(count, np.float64)
        code = CODES[column.function]
        found: np.ndarray = real
        values = ValueColumn(read_only(source.values), read_only(source.known))
        groups = Groups(read_only(offsets), read_only(rows))
        with np.errstate(all="ignore"):
            if source.values.dtype == np.float64:
                fold_real(values, groups, code, real, state)
                found = real.astype(np.int64) if code == COUNT else real
            else:
                whole = np.zeros(count, np.int64)
                fold_whole(values, groups, code, whole, real, state)
                found = real if column.function == "avg" else whole
        valid = (state != NONE) & (state != LOST)
        lost = int(np.count_nonzero(state == LOST))
        for match in np.flatnonzero(state == HARD).tolist():
            own = rows[offsets[match] : offsets[match + 1]]
            listed = source.values[own]
            if len(source.known):
                listed = listed[source.known[own]]
            exact: Any = aggregate(column.function, listed.tolist())
            valid[match] = exact is not None
            lost += exact is None
            found[match] = 0.0 if exact is None else exact
        self.tally.nulls += lost
        return AggregateValues(found, valid, None if code == COUNT else source.distinct)

    def _events(self) -> EventBatch:
        if self._stream is None:
            assert self.events is not None, "matches are looked at before their events are kept"
            self._stream = self.events()
        return self._stream

    def _source(self, stream: EventBatch, column: Column) -> AttributeColumn:
        """Return the values of an attribute, as doubles where the function asks for doubles."""
        assert column.path is not None
        as_double = column.function == "stddev"
        known = self._sources.get(column.path)
        if known is None:
            known = self._sources[column.path] = attribute_column(stream, column.path)
        if known.distinct is not None and column.function in ("sum", "avg", "range", "stddev"):
            # Decimals are computed as doubles.
            doubles = np.array([float(each) for each in known.distinct] or [0.0])
            return AttributeColumn(doubles[known.values], known.known)
        if as_double and known.values.dtype != np.float64:
            return AttributeColumn(known.values.astype(np.float64), known.known)
        return known


def _joined(chunks: list[AggregatedColumns]) -> AggregatedColumns:
    """Put chunks together."""
    if len(chunks) == 1:
        return chunks[0]
    one = chunks[0]
    return AggregatedColumns(
        np.concatenate([each.start for each in chunks]),
        np.concatenate([each.end for each in chunks]),
        {name: pa.concat_arrays([each.bound[name] for each in chunks]) for name in one.bound},
        {
            name: (
                place,
                {
                    column: AggregateValues(
                        np.concatenate([c.computed[name][1][column].values for c in chunks]),
                        np.concatenate([c.computed[name][1][column].valid for c in chunks]),
                        result.distinct,
                    )
                    for column, result in columns.items()
                },
            )
            for name, (place, columns) in one.computed.items()
        },
    )


def _first_of_equal(chunk: AggregatedColumns, order: np.ndarray, names: list[str]) -> np.ndarray:
    """Return where, in this order, matches stand that are equal to none before."""
    keys = [chunk.end, chunk.start]
    for name in names:
        codes = pc.dictionary_encode(_texts(chunk.bound[name])).indices.to_numpy()
        keys.append(codes)
    for _, columns in chunk.computed.values():
        for result in columns.values():
            values = np.where(result.valid, result.values, 0)
            if values.dtype == np.float64:
                values = (values + 0.0).view(np.int64)
            keys += [values, result.valid]
    table = np.stack([np.asarray(key)[order].astype(np.int64) for key in keys], axis=1)
    _, first = np.unique(table, axis=0, return_index=True)
    kept: np.ndarray = np.sort(first)
    return kept


def _texts(lists: pa.ListArray) -> pa.Array:
    """Write lists of positions as bytes, so that equal ones can be found."""
    offsets = lists.offsets.to_numpy().astype(np.int64) * 8
    data = np.ascontiguousarray(lists.values.to_numpy().astype(np.int64))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)
