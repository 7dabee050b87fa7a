"""Tables in memory: pyarrow, pandas, polars, and others with Arrow's C stream interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa

from ensue.errors import EventError
from ensue.io.columns import FixedColumns
from ensue.io.dicts import array_of
from ensue.io.places import Place


def read_table(events: Any, of_stream: str) -> FixedColumns | None:
    """Return the batches of a table, a batch, a reader or a frame; None for anything else."""
    frame = _frame_library(events)
    if frame == "pandas":
        events = _from_pandas(events, of_stream)
    elif frame == "polars":
        events = _from_polars(events)
    if isinstance(events, pa.Table):
        return FixedColumns(events.schema, events.to_batches(), events.num_rows)
    if isinstance(events, pa.RecordBatch):
        return FixedColumns(events.schema, [events], events.num_rows)
    if hasattr(events, "__arrow_c_stream__"):
        reader = _reader(events)
        return FixedColumns(reader.schema, reader)
    return None


def of_one_schema(
    batches: Iterable[object], schema: pa.Schema, where: str
) -> Iterator[pa.RecordBatch]:
    """Yield batches, checking that all have the schema of the first."""
    for number, batch in enumerate(batches):
        if not isinstance(batch, pa.RecordBatch):
            name = type(batch).__name__
            raise EventError(
                f"{where}: item {number} is a {name}, not a RecordBatch like the first"
            )
        if not batch.schema.equals(schema):
            changed = sorted({f"{f.name}: {f.type}" for f in (set(batch.schema) ^ set(schema))})
            raise EventError(
                f"{where}: batch {number} has other columns than the first ({', '.join(changed)}); "
                "cast all batches to one schema"
            )
        yield batch


def _frame_library(events: object) -> str | None:
    """Return the library of a data frame, without importing it."""
    for each in type(events).__mro__:
        library = each.__module__.partition(".")[0]
        if library in ("pandas", "polars") and each.__name__ in ("DataFrame", "LazyFrame"):
            return library
    return None


def _mixes_zones(frame: Any) -> bool:
    """Return whether a column mixes times with and without a zone, which Arrow reads as UTC."""
    from pandas.api.types import infer_dtype

    for at in range(len(frame.columns)):
        column = frame.iloc[:, at]
        if column.dtype == object and infer_dtype(column) == "datetime":
            times = [each for each in column if isinstance(each, datetime)]
            if len({each.tzinfo is None for each in times}) > 1:
                return True
    return False


def _from_pandas(frame: Any, of_stream: str) -> pa.Table:
    """Convert a frame without its index, columns of mixed objects by the rules of dicts."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) == len(names) and not _mixes_zones(frame):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            pass
    place = Place("row ", of_stream, range(len(frame)))
    columns = [
        array_of(list(frame.iloc[:, at]), pa.null(), place.within(name))
        for at, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=names)


def _from_polars(frame: Any) -> pa.Table:
    # Not __arrow_c_stream__, which gives string views: few Arrow functions support them.
    collected = frame.collect() if hasattr(frame, "collect") else frame
    table: pa.Table = collected.to_arrow()
    return table


def _reader(events: Any) -> pa.RecordBatchReader:
    if isinstance(events, pa.RecordBatchReader):
        return events
    try:
        return pa.RecordBatchReader.from_stream(events)
    except pa.ArrowException as error:
        name = type(events).__name__
        raise EventError(f"a {name} is not a table; put it into one, with a column name") from error
