"""Matches as tables: one row a match, or one row an event.

The columns come in the order of those on Spark: the query's name, the partition attributes,
start_time, end_time, deadline (of queries with NOT FOLLOWED BY) and match_id, then positions,
variables and computed columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.context import nearest
from ensue.analysis.types import Type
from ensue.errors import EnsueError
from ensue.logic.build import SELECTED
from ensue.plan.result_schema import Path, free_name
from ensue.predicates.arrow_values import arrow_type
from ensue.predicates.vectors import column_at
from ensue.results.match_set import ComputedLists, MatchColumns
from ensue.results.totals import EXACT_COUNTS, TotalRows, partition_columns

if TYPE_CHECKING:
    from ensue.results.chunk import ResultChunk

Values = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns a table of matches has."""

    events: bool = False
    """Whether variables have the rows of their events, instead of their positions."""
    long: bool = False
    """Whether every event of a match is a row."""
    without: frozenset[str] = frozenset()
    """Roles of columns to leave out."""
    columns: tuple[str, ...] | None = None
    """The names of those to keep; None: all."""


class Column(NamedTuple):
    """A column that is computed on demand."""

    role: str
    """partition, start_time, deadline, variable and so on: names may be taken, roles are not."""
    name: str
    values: Values


def table_of(chunk: ResultChunk, found: MatchColumns, layout: Layout) -> pa.Table:
    """Return some matches as a table."""
    columns = _named(_columns(chunk, found, layout.events), layout.without)
    if layout.long:
        return _chosen(_long(chunk, found, columns), layout)
    return _chosen({each.name: each.values for each in columns}, layout)


def totals_table(chunk: ResultChunk, found: TotalRows, layout: Layout) -> pa.Table:
    """Return rows of SELECT count(*) … as a table."""
    if layout.long:
        raise EnsueError("SELECT count(*) gives no events, so there is no row for each of them")
    columns = _query(chunk, len(found))
    for name, values in found.partition.items():
        columns.append(Column("partition", name, partial(_same, values)))
    columns.append(Column("time", "time", partial(chunk.times, found.time)))
    for name, values in found.values.items():
        made = pa.array(values, EXACT_COUNTS) if isinstance(values, list) else values
        columns.append(Column("computed", name, partial(_same, made)))
    return _chosen({each.name: each.values for each in _named(columns, layout.without)}, layout)


def _chosen(columns: dict[str, Values], layout: Layout) -> pa.Table:
    """Work out the columns that are asked for."""
    names = list(columns) if layout.columns is None else layout.columns
    for name in names:
        if name not in columns:
            near = nearest(name, columns)
            hint = f"did you mean '{near}'?" if near else f"they have {', '.join(columns)}"
            raise EnsueError(f"the matches have no column '{name}'; {hint}")
    return pa.table({name: columns[name]() for name in names})


def _named(columns: list[Column], without: Collection[str]) -> list[Column]:
    """Give columns that would have the same name different ones; leave some out."""
    named: dict[str, Column] = {}
    for each in columns:
        name = free_name(each.name, named)
        named[name] = each._replace(name=name)
    return [each for each in named.values() if each.role not in without]


def typed_times(times: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Give times, as they are counted inside, the type of a time column."""
    if not pa.types.is_temporal(kind):
        return pa.array(times, pa.int64())
    return pa.array(times, pa.int64()).cast(pa.timestamp("ns")).cast(kind, safe=False)


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts."""
    for index, column in enumerate(table.schema):
        # Python's datetimes have no nanoseconds; Arrow would return those of pandas, or fail.
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            coarse = table.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
            table = table.set_column(index, column.name, coarse)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


# one row a match


def _columns(chunk: ResultChunk, found: MatchColumns, events: bool) -> list[Column]:
    schema, count = chunk.schema, len(found.start)
    columns = _query(chunk, count)
    for path in schema.partition:
        columns.append(Column("partition", ".".join(path), partial(_keys, chunk, path, found.end)))
    columns += [
        Column("start_time", "start_time", lambda: chunk.times_at(found.start)),
        Column("end_time", "end_time", lambda: chunk.times_at(found.end)),
    ]
    if schema.has_deadlines:
        columns.append(Column("deadline", "deadline", lambda: chunk.deadlines_at(found.end)))
    columns += [
        Column("match_id", "match_id", lambda: chunk.ids(found)),
        Column("start", "start", lambda: pa.array(found.start)),
        Column("end", "end", lambda: pa.array(found.end)),
    ]
    if schema.positions_only:
        columns.append(Column("variable", "positions", lambda: found.bound[""]))
        return columns
    for name, paths in schema.variables.items():
        lists = found.bound[name]
        values = partial(chunk.structs, lists, paths) if events else partial(_same, lists)
        columns.append(Column("variable", name, values))
    return [*columns, *_computed(chunk, found)]


def _query(chunk: ResultChunk, count: int) -> list[Column]:
    name = chunk.schema.query
    return [] if name is None else [Column("query", "query", partial(pa.repeat, name, count))]


def _same(values: Any) -> Any:
    return values


def _keys(chunk: ResultChunk, path: Path, ends: np.ndarray) -> pa.ChunkedArray:
    return next(iter(partition_columns(chunk.stream, [path], ends).values()))


def _computed(chunk: ResultChunk, found: MatchColumns) -> Iterator[Column]:
    """Give computed events as lists of structs, and SELECT's columns as columns."""
    columns, count = found.computed, len(found.start)
    for name, types in chunk.schema.computed.items():
        if columns is None:
            assert found.listed is not None
            rows = [chunk.schema.computed_rows(each.match, name or None) for each in found.listed()]
        if name == SELECTED:
            for column, kind in types.items():
                if columns is None:
                    values = [row[0][column] if row else None for row in rows]
                    made = pa.array(values, arrow_type(kind))
                else:
                    made = columns[name].columns[column].arrow(kind)
                yield Column("computed", column, partial(_same, made))
        elif columns is None:
            kinds = [
                # Attributes that have had no value yet have no type.
                (
                    column,
                    arrow_type(kind) or pa.array(each[column] for r in rows for each in r).type,
                )
                for column, kind in types.items()
            ]
            made = pa.array(rows, pa.list_(pa.struct(kinds)))
            yield Column("computed", name, partial(_same, made))
        else:
            yield Column("computed", name, partial(_structs, columns.get(name), types, count))


def _structs(events: ComputedLists | None, types: Mapping[str, Type], count: int) -> pa.ListArray:
    """Return computed events as lists of structs, with NULL in columns of other AGGREGATEs."""
    if events is None:
        kinds = [(column, arrow_type(kind) or pa.null()) for column, kind in types.items()]
        return pa.array([[]] * count, pa.list_(pa.struct(kinds)))
    arrays = []
    for column, kind in types.items():
        known = events.columns.get(column)
        nothing = pa.nulls(len(events.end), arrow_type(kind) or pa.null())
        arrays.append(nothing if known is None else known.arrow(kind))
    structs = pa.StructArray.from_arrays(arrays, list(types))
    return pa.ListArray.from_arrays(pa.array(events.offsets.astype(np.int32)), structs)


# one row an event


class _Bound(NamedTuple):
    """Events of some matches in order, each with the variables that it is bound to."""

    match: np.ndarray
    position: np.ndarray
    variable: np.ndarray
    """Variables, those of one event together."""
    first: np.ndarray
    """Where the variables of each event begin."""


def _long(chunk: ResultChunk, found: MatchColumns, columns: list[Column]) -> dict[str, Values]:
    """Return the columns of a table with one row an event."""
    schema = chunk.schema
    if not schema.names:
        raise EnsueError("SELECT NONE shows no events, so there is no row for each of them")
    bound = _events(found, schema.names)
    of = pa.array(bound.match)
    named: dict[str, Values] = {}
    for each in columns:
        if each.role not in ("variable", "computed"):
            named[each.name] = partial(_repeated, each.values, of)
    named["position"] = lambda: pa.array(bound.position)
    if not schema.positions_only:
        named[free_name("variables", named)] = lambda: _variables(bound, schema.names)
    keys = {".".join(path) for path in schema.partition}
    for name, values in _attributes(chunk, bound).items():
        if name not in keys:
            named[free_name(name, named)] = values
    for each in columns:
        if each.role == "computed":
            named[free_name(each.name, named)] = partial(_repeated, each.values, of)
    return named


def _repeated(values: Values, of: pa.Array) -> Any:
    return values().take(of)


def _events(found: MatchColumns, names: list[str]) -> _Bound:
    matches, positions, variables = [], [], []
    for number, name in enumerate(names):
        lists = found.bound[name]
        offsets = lists.offsets.to_numpy()
        own = lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
        matches.append(np.repeat(np.arange(len(lists)), np.diff(offsets)))
        positions.append(own)
        variables.append(np.full(len(own), number))
    match, position = np.concatenate(matches), np.concatenate(positions)
    variable = np.concatenate(variables)
    order = np.lexsort((variable, position, match))
    match, position = match[order], position[order]
    opens = np.ones(len(match), bool)
    opens[1:] = (match[1:] != match[:-1]) | (position[1:] != position[:-1])
    first = np.flatnonzero(opens)
    return _Bound(match[first], position[first], variable[order], first)


def _variables(bound: _Bound, names: list[str]) -> pa.ListArray:
    offsets = np.append(bound.first, len(bound.variable)).astype(np.int32)
    variables = pa.array(names, pa.string()).take(pa.array(bound.variable))
    return pa.ListArray.from_arrays(pa.array(offsets), variables)


def _attributes(chunk: ResultChunk, bound: _Bound) -> dict[str, Values]:
    """Return the attributes of events, those of interest for one of their variables."""
    schema, table = chunk.schema, chunk.stream.table
    every = [(name,) for name in table.column_names]
    wanted = [
        every if schema.positions_only or schema.variables[name] is None else schema.variables[name]
        for name in schema.names
    ]
    rows = pa.array(chunk.stream.rows_at(bound.position))

    def attribute(path: Path) -> Any:
        values = column_at(table, path).take(rows)
        asked = np.array([path in (paths or ()) for paths in wanted])
        if asked.all() or not len(rows):
            return values
        shown = np.logical_or.reduceat(asked[bound.variable], bound.first)
        return pc.if_else(pa.array(shown), values, pa.scalar(None, values.type))

    paths = dict.fromkeys(path for some in wanted for path in some or ())
    return {".".join(path): partial(attribute, path) for path in paths}
