"""Matches as events of a derived stream: CREATE STREAM D AS SELECT …"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.analysis.derived import DEADLINE, END_TIME, MATCH_ID, START_TIME
from ensue.logic.build import SELECTED
from ensue.plan.result_schema import Path
from ensue.predicates.arrow_values import arrow_type
from ensue.results.chunk import ResultChunk
from ensue.results.match_set import MatchColumns
from ensue.results.totals import partition_columns


class DerivedEvents(NamedTuple):
    """Matches as events, each with where it starts, where it ends and the time of its end."""

    table: pa.Table
    start: np.ndarray
    end: np.ndarray
    times: np.ndarray
    deadlines: np.ndarray | None
    """Where nothing must have followed: until when, as times are counted inside."""


def derived_events(chunks: Sequence[ResultChunk]) -> DerivedEvents:
    """Return the matches of some chunks, of which there is one at least, as events.

    They come in the order of matches: by deadlines and ends, of one end the latest start first.
    What is left is put in the order of ids, so that it depends on the matches alone. Rows of
    count(*) come in their order, one for each completing event.
    """
    if chunks[0].schema.totals is not None:
        return _counted(chunks)
    parts = [_events(chunk, found) for chunk in chunks for found in chunk.columns()]
    if not parts:
        empty = np.zeros(0, np.int64)
        names = chunks[0].schema.names
        lists = {name: pa.array([], pa.list_(pa.int64())) for name in names}
        parts = [_events(chunks[0], MatchColumns(empty, empty, lists, listed=list))]
    table = pa.concat_tables([each.table for each in parts], promote_options="permissive")
    start = np.concatenate([part.start for part in parts])
    end = np.concatenate([part.end for part in parts])
    times = np.concatenate([part.times for part in parts])
    known = [part.deadlines for part in parts if part.deadlines is not None]
    deadlines = np.concatenate(known) if known else None
    ids = np.array(table.column(MATCH_ID).to_pylist(), "U")
    order = np.lexsort((ids, -start, end, end if deadlines is None else deadlines))
    return DerivedEvents(
        table.take(pa.array(order)),
        start[order],
        end[order],
        times[order],
        None if deadlines is None else deadlines[order],
    )


def _counted(chunks: Sequence[ResultChunk]) -> DerivedEvents:
    """Return rows of count(*) as events."""
    full = [chunk for chunk in chunks if chunk] or chunks[:1]
    tables, ends, times = [], [], []
    for chunk in full:
        rows = chunk.summed if chunk else chunk.no_totals(chunk.schema.totals or {})
        assert rows.events is not None, "rows of intervals are no events"
        columns = nested({path: rows.partition[".".join(path)] for path in chunk.schema.partition})
        columns[END_TIME] = chunk.times(rows.time)
        tables.append(pa.table(columns | rows.values))
        ends.append(rows.events)
        times.append(rows.time)
    table = pa.concat_tables(tables, promote_options="permissive")
    end = np.concatenate(ends)
    return DerivedEvents(table, end, end, np.concatenate(times), None)


def _events(chunk: ResultChunk, found: MatchColumns) -> DerivedEvents:
    stream, schema = chunk.stream, chunk.schema
    keys = partition_columns(stream, schema.partition, found.end)
    columns = nested({path: keys[".".join(path)] for path in schema.partition})
    columns[START_TIME] = chunk.times_at(found.start)
    columns[END_TIME] = chunk.times_at(found.end)
    columns[MATCH_ID] = chunk.ids(found)
    deadlines = None
    if schema.has_deadlines:
        columns[DEADLINE] = chunk.deadlines_at(found.end)
        deadlines = found.end if chunk.deadlines is None else chunk.deadlines.at(found.end)
    columns.update(_computed(chunk, found))
    times = stream.times[stream.rows_at(found.end)] if len(found.end) else found.end
    return DerivedEvents(pa.table(columns), found.start, found.end, times, deadlines)


def _computed(chunk: ResultChunk, found: MatchColumns) -> Iterator[tuple[str, Any]]:
    """Give the computed columns of SELECT."""
    types = chunk.schema.computed.get(SELECTED)
    if types is None:
        return
    if found.computed is not None:
        made = found.computed[SELECTED].columns
        yield from ((name, made[name].arrow(kind)) for name, kind in types.items())
        return
    assert found.listed is not None
    rows = [chunk.schema.computed_rows(each.match, None) for each in found.listed()]
    for name, kind in types.items():
        yield name, pa.array([row[0][name] if row else None for row in rows], arrow_type(kind))


def nested(columns: dict[Path, Any]) -> dict[str, Any]:
    """Put columns with dotted names into structs."""
    found: dict[str, Any] = {}
    inside: dict[str, dict[Path, Any]] = {}
    for (name, *rest), values in columns.items():
        if rest:
            inside.setdefault(name, {})[tuple(rest)] = values
        else:
            found[name] = values
    for name, some in inside.items():
        fields = {
            field: values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            for field, values in nested(some).items()
        }
        found[name] = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return found
