"""Rows of SELECT count(*), sum(x.a), …: for each completing event, or each interval of EVERY."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.bound import Interval
from ensue.analysis.types import Type
from ensue.kernels.count.runs import Counted
from ensue.kernels.count.weights import Weights, load_weights, save_weights
from ensue.logic.clauses import Row
from ensue.predicates.arrow_values import arrow_type, python_value
from ensue.predicates.vectors import column_at
from ensue.results.total_terms import MOST_INT64, Adder
from ensue.stream.batch import EventBatch

Path = tuple[str, ...]

EXACT_COUNTS = pa.decimal256(76, 0)


@dataclass(frozen=True)
class TotalRows:
    """Rows of totals: for each completing event, or each interval, and partition."""

    time: np.ndarray
    ended: np.ndarray
    """The time of an event that completed one of the matches."""
    partition: dict[str, Any]
    """Arrow's columns of the partition attributes."""
    values: dict[str, Any]
    """Arrow's arrays; exact counts are Python's integers."""
    events: np.ndarray | None = None
    """The positions of the completing events; None: the rows are those of intervals."""

    @classmethod
    def none(cls) -> TotalRows:
        """Return no rows."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), {}, {})

    def __len__(self) -> int:
        return len(self.time)

    def rows(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Give partition and totals of each row."""
        keys = {name: column.to_pylist() for name, column in self.partition.items()}
        totals = {
            name: each if isinstance(each, list) else each.to_pylist()
            for name, each in self.values.items()
        }
        for index in range(len(self)):
            yield (
                {name: values[index] for name, values in keys.items()},
                {name: values[index] for name, values in totals.items()},
            )


def partition_columns(stream: EventBatch, paths: Sequence[Path], positions: np.ndarray) -> Any:
    """Return the partition attributes of some events."""
    rows = pa.array(stream.rows_at(positions))
    return {".".join(path): column_at(stream.table, path).take(rows) for path in paths}


def summed_rows(
    rows: Sequence[Row],
    stream: EventBatch,
    paths: Sequence[Path],
    types: Mapping[str, Type],
    exact: Collection[str] = (),
) -> TotalRows:
    """Return rows that were found by definition as columns; exact ones as lists."""
    events = np.array([row.event for row in rows], np.int64)
    return TotalRows(
        np.array([row.time for row in rows], np.int64),
        stream.times[stream.rows_at(events)],
        partition_columns(stream, paths, events),
        {
            name: values if name in exact else pa.array(values, arrow_type(kind))
            for name, kind in types.items()
            for values in [[python_value(row.totals[name], kind) for row in rows]]
        },
        events,
    )


@dataclass(slots=True)
class TotalsAccumulator:
    """Makes rows of hits: one a hit, or with EVERY one for each interval and partition."""

    adder: Adder
    partition: tuple[Path, ...]
    every: Interval | None
    number: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The intervals of what waits for its interval to end, then keys, times and so on."""
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    ended: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    attributes: dict[str, Any] = field(default_factory=dict)
    weights: Weights | None = None

    def add(
        self,
        counted: list[Counted],
        stream: EventBatch,
        now: int,
        folded: Mapping[str, Any] | None = None,
    ) -> TotalRows:
        """Take in hits, whose events are there, and return the rows that are complete at a time.

        `folded` has the columns of the user's aggregates, where there are no intervals.
        """
        end = _joined([each.end for each in counted], np.int64)
        times = stream.times[stream.rows_at(end)]
        keys = partition_columns(stream, self.partition, end)
        weights = _joined_weights([each.weight for each in counted])
        if self.every is None:
            if weights is None:
                return TotalRows.none()
            return TotalRows(times, times, keys, self.adder.columns(weights, folded), end)
        if weights is not None:
            numbers = _intervals(times, self.every)
            numbered = _joined([each.key for each in counted], np.int32)
            self._gather(numbers, numbered, times, keys, weights)
        return self.advance(now)

    def advance(self, time: int) -> TotalRows:
        """Return the rows of the intervals that this time is beyond."""
        if self.every is None:
            return TotalRows.none()
        (now,) = _intervals(np.array([time], np.int64), self.every)
        return self._release(self.number < now)

    def finish(self) -> TotalRows:
        """Return the rows of the intervals that the end of the stream has cut off."""
        return self._release(np.ones(len(self.number), bool))

    def save(self) -> dict[str, Any]:
        """Save what waits."""
        if self.weights is None:
            return {"waiting": False}
        return {
            "waiting": True,
            "number": self.number,
            "keys": self.keys,
            "ended": self.ended,
            "attributes": pa.table({"": pa.nulls(len(self.number)), **self.attributes}),
            **save_weights(self.weights),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was saved."""
        if not saved["waiting"]:
            return
        self.number, self.keys, self.ended = saved["number"], saved["keys"], saved["ended"]
        table = saved["attributes"]
        self.attributes = {name: table.column(name) for name in table.column_names if name}
        self.weights = load_weights(saved)
        sizes = {len(each) for each in (self.number, self.keys, self.ended, table, *self.weights)}
        if len(sizes) > 1:
            raise ValueError("the rows of an interval are inconsistent")

    def _gather(
        self,
        numbers: np.ndarray,
        keys: np.ndarray,
        ended: np.ndarray,
        attributes: dict[str, Any],
        weights: Weights,
    ) -> None:
        """Add hits to what waits, one entry for each interval and key, the first ones first."""
        if self.weights is not None:
            numbers = np.concatenate([self.number, numbers])
            keys = np.concatenate([self.keys, keys])
            ended = np.concatenate([self.ended, ended])
            attributes = {
                name: _one_after_other(self.attributes[name], column)
                for name, column in attributes.items()
            }
            weights = Weights(
                *(np.concatenate(each) for each in zip(self.weights, weights, strict=True))
            )
        order = np.lexsort((keys, numbers))
        opens = np.ones(len(order), bool)
        opens[1:] = (np.diff(numbers[order]) != 0) | (np.diff(keys[order]) != 0)
        at = np.flatnonzero(opens)
        first = np.minimum.reduceat(order, at)
        back = np.argsort(first)
        chosen = first[back]
        merged = Weights(
            np.add.reduceat(weights.whole[order], at, axis=0),
            np.add.reduceat(weights.real[order], at, axis=0),
            np.minimum.reduceat(weights.least[order], at, axis=0),
        )
        self.number, self.keys, self.ended = numbers[chosen], keys[chosen], ended[chosen]
        self.attributes = {name: each.take(chosen) for name, each in attributes.items()}
        self.weights = Weights(*(each[back] for each in merged))

    def _release(self, done: np.ndarray) -> TotalRows:
        if self.weights is None or not done.any():
            return TotalRows.none()
        assert self.every is not None
        every = self.every
        times = [number * every.length // every.unit for number in self.number[done].tolist()]
        found = TotalRows(
            np.array(times, np.int64),
            self.ended[done],
            {name: each.filter(pa.array(done)) for name, each in self.attributes.items()},
            self.adder.columns(Weights(*(each[done] for each in self.weights))),
        )
        left = ~done
        self.number, self.keys, self.ended = self.number[left], self.keys[left], self.ended[left]
        self.attributes = {n: each.filter(pa.array(left)) for n, each in self.attributes.items()}
        self.weights = Weights(*(each[left] for each in self.weights)) if left.any() else None
        return found


def _intervals(times: np.ndarray, every: Interval) -> np.ndarray:
    """Return the number of the interval that each time lies in."""
    most = max(int(times.max(initial=0)), -int(times.min(initial=0)))
    if most * every.unit <= MOST_INT64:
        found: np.ndarray = times * every.unit // every.length
        return found
    return np.array([time * every.unit // every.length for time in times.tolist()], np.int64)


def _joined(arrays: list[np.ndarray], kind: Any) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, kind)


def _joined_weights(many: list[Weights]) -> Weights | None:
    if not many:
        return None
    return Weights(*(np.concatenate(each) for each in zip(*many, strict=True)))


def _one_after_other(before: Any, column: Any) -> pa.ChunkedArray:
    """Put columns together; the integers of one become doubles where the other has doubles."""
    tables = [pa.table({"": each}) for each in (before, column)]
    return pa.concat_tables(tables, promote_options="permissive").column(0)
