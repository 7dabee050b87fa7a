"""Rows of a stream as sections of a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.plan.result_schema import Numbering
from ensue.state.container import below, part
from ensue.stream.batch import NAMES, EventBatch
from ensue.stream.casts import as_held
from ensue.stream.ties import load_ties

_TYPE, _STREAM = "type", "stream"


def save_table(table: pa.Table) -> dict[str, Any]:
    """Save a table; large dictionaries of which few values are used are left out."""
    columns = [_plain(table.column(name)) for name in table.column_names]
    plain = pa.Table.from_arrays(columns, names=table.column_names).unify_dictionaries()
    return {"table": plain, "columns": table.schema.remove_metadata().empty_table()}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return column
    distinct = sum(len(chunk.dictionary) for chunk in column.chunks)
    return column.cast(column.type.value_type) if distinct > len(column) // 2 else column


def load_table(saved: Mapping[str, Any]) -> pa.Table:
    """Read a table that was saved."""
    table, columns = saved["table"], saved["columns"].schema
    if table.column_names != columns.names:
        raise ValueError("a table has other columns than it should have")
    arrays = [as_held(table.column(field.name), field.type) for field in columns]
    return pa.Table.from_arrays(arrays, schema=columns)


def save_rows(stream: EventBatch) -> dict[str, Any]:
    """Save rows with all that is known of each."""
    extra = {_TYPE: _plain(stream.types)}
    if stream.streams is not None:
        extra[_STREAM] = stream.streams.cast(pa.string())
    saved = {
        **save_table(stream.table),
        "extra": pa.table(extra).unify_dictionaries(),
        "times": stream.times.astype(np.int64, copy=False),
        "first": stream.first,
        "tiebreak": stream.tiebreak_path,
        "numberings": tuple(tuple(each) for each in stream.ordinals),
    }
    if stream.ties is not None:
        saved |= below("ties", stream.ties.save())
    if stream.positions is not None:
        saved["positions"] = stream.positions
    for number, known in enumerate(stream.ordinals.values()):
        saved[f"ordinals/{number}"] = known
    return saved


def load_rows(saved: Mapping[str, Any], time_path: tuple[str, ...] | None) -> EventBatch:
    """Read rows that were saved; ValueError where they cannot be."""
    extra, times = saved["extra"], saved["times"]
    positions = saved.get("positions")
    # Blocks of version 1 number all events of the stream.
    numberings = saved.get("numberings") or [(each,) for each in saved.get("partitions", ())]
    ordinals = {
        Numbering(*each): saved[f"ordinals/{number}"] for number, each in enumerate(numberings)
    }
    table = load_table(saved)
    per_row = [extra.column(_TYPE), *ordinals.values()]
    per_row += [] if positions is None else [positions]
    if any(len(each) != len(times) for each in per_row) or (
        table.num_columns and table.num_rows != len(times)
    ):
        raise ValueError("some rows are missing")
    streams = None
    if _STREAM in extra.column_names:
        streams = as_held(extra.column(_STREAM), NAMES)
    return EventBatch(
        table,
        extra.column(_TYPE),
        streams,
        times,
        time_path,
        saved["tiebreak"],
        saved["first"],
        positions,
        ordinals,
        load_ties(part(saved, "ties")),
    )
