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
from ensue.engine.ordinals import ordinals
from ensue.engine.piece import Piece, plain
from ensue.engine.stream import column_at
from ensue.logic.build import SELECTED
from ensue.spark.program import Program, arrow_type_at

EVENTS = "events"
"""The column with all events of a match when variables are forgotten."""


def schema_of(program: Program) -> pa.Schema:
    """Return the columns of a query's rows: partition attributes first, then what was found.

    Names that differ in their case alone are one name to Spark.
    """
    shape, columns = program.shape, program.columns
    fields: dict[str, pa.DataType] = {}
    taken: set[str] = set()

    def add(name: str, kind: pa.DataType) -> None:
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
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
            late = piece.stream.times[piece.stream.rows_at(found.end)] >= begin
            if not late.any():
                continue
        columns = [_keys(piece, path, found.end) for path in piece.shape.partition]
        if piece.shape.computed:
            assert found.listed is not None
            ids = [piece.identify(each) for each in found.listed()]
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
    return column_at(piece.stream.table, path).take(pa.array(piece.stream.rows_at(ends)))


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

    def ids(self, found: Columns) -> list[str]:
        """Return the ids of some matches."""
        shape = self.piece.shape
        self._learn([found.start, found.end, *map(_positions, found.bound.values())])
        named = self._names.__getitem__
        bound = [
            (json.dumps(f"${name}"), lists.offsets.to_pylist(), _positions(lists).tolist())
            for name, lists in sorted(found.bound.items())
        ]
        keys = [
            [json.dumps(plain(value)) for value in _keys(self.piece, path, found.end).to_pylist()]
            for path in shape.partition
        ]
        heads = [", ".join(key) for key in zip(*keys, strict=True)] or [""] * len(found.end)
        prefix = json.dumps(shape.fingerprint)
        ids = []
        every = zip(found.start.tolist(), found.end.tolist(), heads, strict=True)
        for at, (start, end, head) in enumerate(every):
            told = [f'"": [{named(start)}, {named(end)}]']
            for variable, offsets, positions in bound:
                low, high = offsets[at], offsets[at + 1]
                if low < high:
                    told.append(f"{variable}: [{', '.join(map(named, positions[low:high]))}]")
            text = f"[{prefix}, [{head}], {{{', '.join(told)}}}, []]"
            ids.append(hashlib.sha256(text.encode()).hexdigest()[:32])
        return ids

    def _learn(self, positions: list[np.ndarray]) -> None:
        """Write (time, tiebreak, ordinal among equal ones of the partition) of events."""
        every = np.unique(np.concatenate(positions)).tolist()
        new = np.array([each for each in every if each not in self._names], np.int64)
        stream = self.piece.stream
        rows = stream.rows_at(new)
        ties: Sequence[Any] = [None] * len(rows)
        if stream.tiebreak_path is not None:
            ties = column_at(stream.table, stream.tiebreak_path).take(pa.array(rows)).to_pylist()
        numbers = ordinals(stream, rows, self.piece.shape.numbering).tolist()
        told = zip(stream.times[rows].tolist(), map(plain, ties), numbers, strict=True)
        self._names.update(zip(new.tolist(), map(json.dumps, told), strict=True))


def _positions(lists: pa.ListArray) -> np.ndarray:
    positions: np.ndarray = lists.values.to_numpy(zero_copy_only=False)
    return positions
