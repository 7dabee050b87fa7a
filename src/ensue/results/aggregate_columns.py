"""Matches as columns, with the aggregates that are computed for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.logic.clauses import Found
from ensue.logic.complex_event import ComplexEvent, Computed
from ensue.predicates.arrow_values import arrow_type, arrow_values


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


@dataclass(slots=True)
class AggregatedColumns:
    """Some matches with what is computed for them."""

    start: np.ndarray
    end: np.ndarray
    bound: dict[str, pa.ListArray]
    computed: dict[str, tuple[int, dict[str, AggregateValues]]]
    """By variable, the place of its AGGREGATE and the columns."""

    def taken(self, rows: np.ndarray) -> AggregatedColumns:
        """Choose some matches."""
        chosen = pa.array(rows)
        return AggregatedColumns(
            self.start[rows],
            self.end[rows],
            {name: lists.take(chosen) for name, lists in self.bound.items()},
            {
                name: (place, {column: each.taken(rows) for column, each in columns.items()})
                for name, (place, columns) in self.computed.items()
            },
        )

    def found(self, names: list[str]) -> list[Found]:
        """Give the matches one by one, bindings of these variables included."""
        lists = {name: self.bound[name].to_pylist() for name in names}
        plain = {
            name: (place, {column: each.plain() for column, each in columns.items()})
            for name, (place, columns) in self.computed.items()
        }
        found = []
        for row, (start, end) in enumerate(
            zip(self.start.tolist(), self.end.tolist(), strict=True)
        ):
            bindings = frozenset((name, at) for name, each in lists.items() for at in each[row])
            computed = frozenset(
                (
                    name,
                    Computed(place, end, tuple((c, values[row]) for c, values in columns.items())),
                )
                for name, (place, columns) in plain.items()
            )
            found.append(Found((), ComplexEvent(start, end, bindings, computed)))
        return found
