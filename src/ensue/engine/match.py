"""Matches: what a query found, as objects, rows and tables."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.engine.stream import Stream, column_at
from ensue.logic.build import SELECTED
from ensue.logic.reference import Answer, Found, Row

if TYPE_CHECKING:
    import pandas
    import polars

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the rows of a query's matches look like."""

    fingerprint: str
    variables: Mapping[str, tuple[Path, ...] | None]
    """Variables of stream events, and the attributes of interest (None: all)."""
    computed: Mapping[str, tuple[str, ...]]
    """Computed variables and their columns; under '' the computed columns of SELECT."""
    partition: tuple[Path, ...]
    totals: tuple[str, ...] | None
    """The columns of SELECT count(*) …, or None for a query that lists matches."""
    positions_only: bool


class Match:
    """A group of events that satisfies the query."""

    __slots__ = ("_found", "_of")

    def __init__(self, found: Found, of: Matches) -> None:
        self._found = found
        self._of = of

    @property
    def start(self) -> int:
        """The position where the match starts."""
        return self._found.match.start

    @property
    def end(self) -> int:
        """The position of the event that completed the match."""
        return self._found.match.end

    @property
    def bindings(self) -> dict[str, list[int]]:
        """The positions bound to each variable, in order."""
        if self._of.shape.positions_only:
            return {}
        found: dict[str, list[int]] = {}
        for name, position in sorted(self._found.match.bindings):
            found.setdefault(name, []).append(position)
        return found

    @property
    def positions(self) -> list[int]:
        """All positions bound to some variable, in order."""
        return sorted(self._found.match.support)

    @property
    def partition(self) -> dict[str, Any]:
        """The values of the partition attributes."""
        names = [".".join(path) for path in self._of.shape.partition]
        return dict(zip(names, self._found.key, strict=True))

    def events(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events bound to a variable (or to any), as dicts in order."""
        shape = self._of.shape
        if variable is None:
            return self._of.rows(self.positions, None)
        if variable not in shape.variables:
            known = ", ".join(shape.variables) or "none"
            raise KeyError(f"no variable '{variable}' in the matches; the variables are {known}")
        return self._of.rows(self._found.match.positions(variable), shape.variables[variable])

    def computed(self, variable: str | None = None) -> list[dict[str, Any]]:
        """Return the events that AGGREGATE bound to a variable; without one, SELECT's columns."""
        name = SELECTED if variable is None else variable
        if name not in self._of.shape.computed:
            known = ", ".join(filter(None, self._of.shape.computed)) or "none"
            raise KeyError(f"no computed variable '{name}'; the computed variables are {known}")
        found = [y for each, y in self._found.match.computed if each == name]
        return [dict(y.columns) for y in sorted(found, key=lambda y: (y.end, y.place))]

    @property
    def id(self) -> str:
        """A stable name for this match: equal for the same match however it was found."""
        return self._of.identify(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found.match)

    def __repr__(self) -> str:
        bound = "".join(f", {name}={positions}" for name, positions in self.bindings.items())
        return f"Match({self.start}..{self.end}{bound})"


@dataclass(frozen=True, slots=True)
class Total:
    """One row of SELECT count(*) …: the completing event's time, or the start of the interval."""

    time: Any
    partition: dict[str, Any]
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Matches:
    """All matches of a query on a stream, in the order of their ends."""

    shape: Shape
    stream: Stream = field(repr=False)
    answer: Answer = field(repr=False)

    @property
    def count(self) -> int:
        """How many matches (or rows of totals) there are."""
        found = self.answer.rows if self.shape.totals is not None else self.answer.matches
        return len(found)

    def __len__(self) -> int:
        if self.count > sys.maxsize:
            raise OverflowError("more matches than len() can say; use matches.count")
        return self.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[Any]:
        if self.shape.totals is not None:
            return (self._total(row) for row in self.answer.rows)
        return (Match(found, self) for found in self.answer.matches)

    def __getitem__(self, index: int) -> Any:
        if self.shape.totals is not None:
            return self._total(self.answer.rows[index])
        return Match(self.answer.matches[index], self)

    @property
    def late(self) -> pa.Table:
        """Events that came too late to take part."""
        return self.stream.late

    @property
    def stats(self) -> dict[str, int]:
        """How many events, matches and late events there were, and NULLs from arithmetic."""
        return {
            "events": self.stream.table.num_rows,
            "matches": self.count,
            "late": self.stream.late.num_rows,
            "nulls": self.answer.tally.nulls,
        }

    def _total(self, row: Row) -> Total:
        names = [".".join(path) for path in self.shape.partition]
        key = dict(zip(names, row.key, strict=True))
        return Total(self._times([row.time])[0].as_py(), key, dict(row.totals))

    # tables

    def to_arrow(self, *, events: bool = False) -> pa.Table:
        """Return one row a match: positions per variable, or with `events` their rows."""
        if self.shape.totals is not None:
            return self._totals_table()
        found = [each.match for each in self.answer.matches]
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            "start": pa.array([each.start for each in found], pa.int64()),
            "end": pa.array([each.end for each in found], pa.int64()),
        }
        columns["start_time"] = self._times_at(columns["start"])
        columns["end_time"] = self._times_at(columns["end"])
        if self.shape.positions_only:
            columns["positions"] = _lists([sorted(each.support) for each in found])
        else:
            for name, paths in self.shape.variables.items():
                lists = _lists([each.positions(name) for each in found])
                if events:
                    lists = self._structs(lists, paths)
                columns[_free(name, columns)] = lists
        for name in self.shape.computed:
            rows = [Match(each, self).computed(name) for each in self.answer.matches]
            if name == SELECTED:
                for column in self.shape.computed[name]:
                    values = [row[0][column] if row else None for row in rows]
                    columns[_free(column, columns)] = pa.array(values)
            else:
                columns[_free(name, columns)] = pa.array(rows)
        return pa.table(columns)

    def to_pandas(self, *, events: bool = False) -> pandas.DataFrame:
        """Return one row a match as a pandas frame."""
        return self.to_arrow(events=events).to_pandas()

    def to_polars(self, *, events: bool = False) -> polars.DataFrame:
        """Return one row a match as a polars frame."""
        import polars

        frame = polars.from_arrow(self.to_arrow(events=events))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _totals_table(self) -> pa.Table:
        rows = self.answer.rows
        columns: dict[str, Any] = {"time": self._times([row.time for row in rows])}
        for index, path in enumerate(self.shape.partition):
            columns[_free(".".join(path), columns)] = pa.array([row.key[index] for row in rows])
        for name in self.shape.totals or ():
            columns[_free(name, columns)] = pa.array([row.totals[name] for row in rows])
        return pa.table(columns)

    def _times_at(self, positions: pa.Array) -> pa.Array | pa.ChunkedArray:
        column = self.stream.time_column
        return positions if column is None else column.take(positions)

    def _times(self, times: Sequence[int]) -> pa.Array:
        """Give times, as they are counted inside, the type of the time column."""
        column = self.stream.time_column
        if column is None or pa.types.is_integer(column.type):
            return pa.array(times, pa.int64())
        return pa.array(times, pa.int64()).cast(pa.timestamp("ns")).cast(column.type, safe=False)

    def _structs(self, lists: pa.ListArray, paths: tuple[Path, ...] | None) -> pa.ListArray:
        rows = self._payload(paths).take(lists.values)
        return pa.ListArray.from_arrays(lists.offsets, rows.to_struct_array().combine_chunks())

    def _payload(self, paths: tuple[Path, ...] | None) -> pa.Table:
        table = self.stream.table
        if paths is None:
            return table
        return pa.table({".".join(path): column_at(table, path) for path in paths})

    def rows(
        self, positions: Sequence[int], paths: tuple[Path, ...] | None
    ) -> list[dict[str, Any]]:
        """Return rows of the stream as dicts."""
        taken: list[dict[str, Any]] = (
            self._payload(paths).take(pa.array(positions, pa.int64())).to_pylist()
        )
        return taken

    # identity

    def identify(self, found: Found) -> str:
        """Return the stable id of a match.

        It hashes the query's fingerprint, the partition key and, for every variable, the
        (time, tiebreak, ordinal among equal ones of the partition) of its events.
        """
        match = found.match
        names: dict[str, list[Any]] = {"": [self._name(match.start), self._name(match.end)]}
        for name, position in sorted(match.bindings):
            names.setdefault(f"${name}", []).append(self._name(position))
        computed = sorted(
            (name, y.place, self._name(y.end), [_plain(value) for _, value in y.columns])
            for name, y in match.computed
        )
        key = [_plain(value) for value in found.key]
        told = json.dumps([self.shape.fingerprint, key, names, computed], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def _name(self, position: int) -> tuple[int, Any, int]:
        return self._names[position]

    @cached_property
    def _names(self) -> list[tuple[int, Any, int]]:
        stream = self.stream
        ties: Sequence[Any] = [None] * stream.table.num_rows
        if stream.tiebreak_path is not None:
            ties = column_at(stream.table, stream.tiebreak_path).to_pylist()
        keys = [column_at(stream.table, path).to_pylist() for path in self.shape.partition]
        seen: dict[Any, int] = {}
        names: list[tuple[int, Any, int]] = []
        for position, (time, tie) in enumerate(zip(stream.times.tolist(), ties, strict=True)):
            own = (time, tie, *(key[position] for key in keys))
            ordinal = seen[own] = seen.get(own, -1) + 1
            names.append((time, _plain(tie), ordinal))
        return names

    def _repr_html_(self) -> str:
        table = self.to_arrow(events=False).slice(0, 20)
        head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in table.to_pylist()
        )
        more = f"<p>{self.count:,} matches" + (", the first 20" if self.count > 20 else "") + "</p>"
        return f"{more}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _lists(lists: list[list[int]]) -> pa.ListArray:
    lengths = np.array([0, *map(len, lists)])
    flat = pa.array([position for each in lists for position in each], pa.int64())
    return pa.ListArray.from_arrays(pa.array(np.cumsum(lengths), pa.int32()), flat)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Return a column name that is not taken yet."""
    while name in taken:
        name += "_"
    return name


def _plain(value: Any) -> Any:
    """Write a value so that JSON says the same everywhere."""
    if isinstance(value, Decimal):
        return str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
