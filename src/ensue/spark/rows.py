"""Matches as rows: what a piece of an answer becomes in a DataFrame."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.analysis.types import Type
from ensue.engine.convert import arrow_type
from ensue.engine.findings import Columns
from ensue.engine.piece import Piece, plain
from ensue.engine.stream import column_at
from ensue.logic.build import SELECTED
from ensue.spark.program import Program, arrow_type_at

EVENTS = "events"
"""The column with all events of a match when variables are forgotten."""


def schema_of(program: Program) -> pa.Schema:
    """Return the columns of a query's rows: partition attributes first, then what was found."""
    shape, columns = program.shape, program.columns
    fields: dict[str, pa.DataType] = {}

    def add(name: str, kind: pa.DataType) -> None:
        while name in fields:
            name += "_"
        fields[name] = kind

    for path in shape.partition:
        add(".".join(path), arrow_type_at(columns, path))
    time = arrow_type_at(columns, program.time)
    if shape.totals is not None:
        add("time", pa.int64() if pa.types.is_integer(time) else time)
        for name, kind in shape.totals.items():
            add(name, _written(kind))
        return pa.schema(list(fields.items()))
    add("start_time", time)
    add("end_time", time)
    add("match_id", pa.string())
    for name, paths in shape.variables.items():
        members = [(".".join(path), arrow_type_at(columns, path)) for path in paths or ()]
        add(name or EVENTS, pa.list_(pa.struct(members)))
    for name, types in shape.computed.items():
        members = [(column, _written(kind)) for column, kind in types.items()]
        if name == SELECTED:
            for column, written in members:
                add(column, written)
        else:
            add(name, pa.list_(pa.struct(members)))
    return pa.schema(list(fields.items()))


def _written(kind: Type) -> pa.DataType:
    """Return the type of a computed column; what nobody knows has no values but NULL."""
    return arrow_type(kind) or pa.string()


def tables(piece: Piece, schema: pa.Schema, begin: int | None = None) -> Iterator[pa.Table]:
    """Give the rows of a piece; with `begin` only of matches that end at that time or later."""
    if piece.shape.totals is not None:
        yield from _totals(piece, schema, begin)
        return
    namer = Namer(piece)
    for found, table in piece.parts(events=True):
        late = None
        if begin is not None:
            late = piece.stream.times[found.end - piece.stream.first] >= begin
            if not late.any():
                continue
        columns = [_keys(piece, path, found.end) for path in piece.shape.partition]
        if piece.shape.computed:
            ids = [piece.identify(each) for each in piece.findings]
        else:
            ids = namer.ids(found)
        columns += [table.column("start_time"), table.column("end_time"), pa.array(ids)]
        if piece.shape.positions_only:
            columns.append(piece.structs(found.bound[""], piece.shape.variables[""]))
        else:
            columns += table.columns[4:]
        rows = _cast(columns, schema)
        yield rows if late is None or late.all() else rows.filter(pa.array(late))


def _totals(piece: Piece, schema: pa.Schema, begin: int | None) -> Iterator[pa.Table]:
    if not len(piece.totals):
        return
    (table,) = piece.tables(events=True)
    keys = len(piece.shape.partition)
    rows = _cast(
        [*table.columns[1 : keys + 1], table.column(0), *table.columns[keys + 1 :]], schema
    )
    if begin is not None:
        rows = rows.filter(pa.array(piece.summed.ended >= begin))
    yield rows


def _keys(piece: Piece, path: tuple[str, ...], ends: np.ndarray) -> pa.ChunkedArray:
    return column_at(piece.stream.table, path).take(pa.array(ends - piece.stream.first))


def _cast(columns: Sequence[Any], schema: pa.Schema) -> pa.Table:
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


@dataclass(slots=True)
class Namer:
    """Works out the ids of matches, many at a time; the same as Match.id gives one by one."""

    piece: Piece
    _names: dict[int, str] = field(default_factory=dict)
    _ties: Any = None
    _keys: Any = None

    def ids(self, found: Columns) -> list[str]:
        """Return the ids of some matches."""
        piece = self.piece
        starts, ends = found.start.tolist(), found.end.tolist()
        names = sorted((f"${name}", lists) for name, lists in found.bound.items())
        bound = [
            (json.dumps(name), lists.offsets.to_pylist(), lists.values.to_pylist())
            for name, lists in names
        ]
        prefix = json.dumps(piece.shape.fingerprint)
        keys = zip(
            *(self._key_texts(path, found.end) for path in piece.shape.partition), strict=True
        )
        heads = [", ".join(key) for key in keys] if piece.shape.partition else [""] * len(ends)
        name = self._name
        ids = []
        for at, (start, end, head) in enumerate(zip(starts, ends, heads, strict=True)):
            told = [f'"": [{name(start)}, {name(end)}]']
            for variable, offsets, positions in bound:
                low, high = offsets[at], offsets[at + 1]
                if low < high:
                    told.append(f"{variable}: [{', '.join(map(name, positions[low:high]))}]")
            text = f"[{prefix}, [{head}], {{{', '.join(told)}}}, []]"
            ids.append(hashlib.sha256(text.encode()).hexdigest()[:32])
        return ids

    def _key_texts(self, path: tuple[str, ...], ends: np.ndarray) -> list[str]:
        values = _keys(self.piece, path, ends).to_pylist()
        return [json.dumps(plain(value)) for value in values]

    def _name(self, position: int) -> str:
        """Write (time, tiebreak, ordinal among equal ones of the partition) of an event."""
        known = self._names.get(position)
        if known is None:
            stream = self.piece.stream
            row = position - stream.first
            tie = self._tie(row)
            known = json.dumps((int(stream.times[row]), plain(tie), self._ordinal(row, tie)))
            self._names[position] = known
        return known

    def _tie(self, row: int) -> Any:
        stream = self.piece.stream
        if stream.tiebreak_path is None:
            return None
        if self._ties is None:
            self._ties = column_at(stream.table, stream.tiebreak_path)
        return self._ties[row].as_py()

    def _ordinal(self, row: int, tie: Any) -> int:
        times = self.piece.stream.times
        before = row
        while before > 0 and times[before - 1] == times[row]:
            before -= 1
        if before == row:
            return 0
        if self._keys is None:
            self._keys = [
                column_at(self.piece.stream.table, path) for path in self.piece.shape.partition
            ]
        own = [key[row].as_py() for key in self._keys]
        return sum(
            self._tie(each) == tie and [key[each].as_py() for key in self._keys] == own
            for each in range(before, row)
        )
