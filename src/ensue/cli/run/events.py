"""The events that `ensue run` reads: files of one stream or of several, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, NamedTuple, cast

import pyarrow as pa

from ensue.cli.inputs import STDIN
from ensue.cli.terminal import remark
from ensue.engine.binding import bind_to
from ensue.engine.query import Query
from ensue.engine.text_options import text_options
from ensue.errors import EventError
from ensue.io.columns import Locate, Position, ReadBatch, Reader, TextOptions
from ensue.io.events import EventSource, of_reader
from ensue.io.files import COMPRESSED
from ensue.io.follow import Wait
from ensue.io.prefetch import prefetch
from ensue.io.readers import files_of, open_files, open_pipe
from ensue.io.rejected import Rejected
from ensue.messages import Message, Option
from ensue.options import ReadOptions, with_settings
from ensue.plan.columns import columns_read
from ensue.plan.mode import ExecutionMode
from ensue.plan.physical import make_plan
from ensue.plan.result_schema import result_schema
from ensue.predicates.vectors import column_at
from ensue.stream.batch import path_of
from ensue.stream.conform import Conformer

_MOST_ROWS = 1 << 20
"""So many rows are pushed at once where several threads evaluate them."""


class Step(NamedTuple):
    """Some events to push."""

    events: object
    """None: none of them could be read."""
    rows: int
    position: Position
    """Where reading goes on after them, for every stream."""
    fraction: float | None
    """How much of the input has been read with them, where that is known."""
    rejected: tuple[Rejected, ...] = ()
    """What could not be read before them."""
    locate: Locate | None = None


class Needs(NamedTuple):
    """What a query needs of the events."""

    columns: Collection[str] | None
    """The columns that are read; None: all of them."""
    time: tuple[str, ...] | None
    """The column with the time."""


class Events:
    """The events of a run, open: their columns are known, and nothing else is read yet."""

    def __init__(
        self,
        paths: Mapping[str, Sequence[str]],
        queries: Collection[Query],
        read: ReadOptions,
        start: Position | None = None,
        wait: Wait | None = None,
        *,
        collect: bool = False,
    ) -> None:
        self._wait, self._collect = wait, collect
        self._pipe = any(STDIN in files for files in paths.values())
        self.files = {} if self._pipe else {name: _files(each) for name, each in paths.items()}
        options = _text_options(queries, read, collect=collect)
        self._start = start or {}
        self._readers: dict[str, Reader] = {}
        for name in paths:
            if self._pipe:
                live = wait is not None
                self._readers[name] = open_pipe(_standard_input(), options, live=live)
            else:
                self._readers[name] = open_files(
                    self.files[name], options, self._start.get(name), wait, remark
                )
        self._rows = [reader.rows for reader in self._readers.values()]

    def needs(
        self, queries: Collection[Query], options: ReadOptions, positions_only: bool, shown: bool
    ) -> Needs:
        """Bind queries to all columns, and return what they need of them."""
        every = [self._needs(each, options, positions_only, shown) for each in queries]
        columns: set[str] = set()
        for needs in every:
            if needs.columns is None:
                return Needs(None, every[0].time)
            columns.update(needs.columns)
        return Needs(columns, every[0].time)

    def _needs(self, query: Query, given: ReadOptions, positions_only: bool, shown: bool) -> Needs:
        options = with_settings(given, query.settings)
        conformer = Conformer(query.streams, options, query.schema)
        conformer.text = text_options([query], options)
        nothing = {name: _source(each, []) for name, each in self._readers.items()}
        loaded = conformer.read(nothing.get("", nothing)).batch
        if not loaded.table.num_columns:
            return Needs(None, None)
        bound = bind_to(query, loaded, options)
        if len(self._readers) > 1 and bound.clock.column is None:
            raise EventError(
                Message("merging several streams needs a time column: pass ", Option("time"))
            )
        if options.tiebreak is not None and loaded.closed:
            path_of(options.tiebreak, loaded.table, "tiebreak")
        schema = result_schema(bound, query.fingerprint, positions_only) if shown else None
        plan = make_plan(bound, ExecutionMode(positions_only))
        names = columns_read(plan, options, schema)
        if names is not None:
            names |= {options.type, options.type.partition(".")[0]}
        return Needs(names, bound.clock.column)

    def sources(self) -> dict[str, EventSource]:
        """Return all events, by the names of streams; those of the only stream under ''."""
        return {name: of_reader(reader) for name, reader in self._readers.items()}

    def steps(self, needs: Needs, threads: int = 1) -> Iterator[Step]:
        """Read the events, of several streams those first that lie behind in time.

        With several threads, much of a file is read at once.
        """
        read_batches = {
            name: self._read_batches(reader, needs) for name, reader in self._readers.items()
        }
        position = dict(self._start)
        read = 0
        alone = len(self._readers) == 1 and not (self._pipe or self._wait or self._collect)
        most = _MOST_ROWS if threads > 1 and alone else 0
        for name, some in _gathered(_merged(read_batches, needs), most):
            last, rows = some[-1], sum(each.batch.num_rows for each in some)
            read += rows
            position = {**position, name: last.position}
            batches = [each.batch for each in some]
            source = _source(self._readers[name], batches) if rows else None
            yield Step(
                {name: source} if name and source else source,
                rows,
                position,
                self._fraction(read, last.position),
                last.rejected,
                last.locate,
            )
        if not read and not self._start:
            # Of no events at all, the query still wants to see the columns.
            nothing = {name: _source(each, []) for name, each in self._readers.items()}
            yield Step(nothing.get("", nothing), 0, position, None)

    def _read_batches(self, reader: Reader, needs: Needs) -> Iterator[ReadBatch]:
        read_batches = reader.read_batches(needs.columns)
        # What comes through a pipe, or grows, is waited for, and that must be left at any time.
        return read_batches if self._pipe or self._wait else prefetch(read_batches)

    def _fraction(self, read: int, position: Position) -> float | None:
        if None not in self._rows:
            total = sum(each or 0 for each in self._rows)
            return read / total if total and not self._start else None
        files = next(iter(self.files.values()), [])
        offset = position.get("bytes")
        if offset is None or len(files) != 1 or files[0].suffix.lower() in COMPRESSED:
            return None
        return min(float(offset) / max(files[0].stat().st_size, 1), 1.0)


def _text_options(queries: Collection[Query], read: ReadOptions, *, collect: bool) -> TextOptions:
    """Say how texts are read that all queries share, who have to agree on that."""
    first, *others = queries
    known = text_options([first], with_settings(read, first.settings), collect=collect)
    for query in others:
        own = text_options([query], with_settings(read, query.settings), collect=collect)
        for name, kind in own.types.items():
            if known.types.get(name, kind) != kind:
                raise EventError(
                    f"{query.source.name} declares '{name}' as {kind}, and another rule as "
                    f"{known.types[name]}; give it one type, or run them one by one"
                )
        together = replace(
            known,
            types={**known.types, **own.types},
            used=None if known.used is None or own.used is None else known.used | own.used,
            strings=known.strings | own.strings,
            times=known.times | own.times,
        )
        shared = (own.collect, own.time_format, own.nulls, own.delimiter)
        if shared != (known.collect, known.time_format, known.nulls, known.delimiter):
            raise EventError(
                f"{query.source.name} says otherwise than another rule how lines of the events "
                "are read; let them agree, or run them one by one"
            )
        known = together
    return known


def _files(paths: Sequence[str]) -> list[Path]:
    return [file for path in paths for file in files_of(Path(path))]


def _standard_input() -> IO[bytes]:
    """Return standard input without a buffer, which would wait until it is full."""
    return cast(IO[bytes], getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))


def _source(reader: Reader, batches: Sequence[pa.RecordBatch]) -> EventSource:
    schema = batches[0].schema if batches else reader.schema
    return EventSource(schema, iter(batches), reader.closed)


def _gathered(
    read: Iterator[tuple[str, ReadBatch]], most: int
) -> Iterator[tuple[str, list[ReadBatch]]]:
    """Put batches of a stream together, twice as many rows each time, up to `most`."""
    some: list[ReadBatch] = []
    rows = wanted = 0
    name = ""
    for name, each in read:
        if some and each.batch.schema != some[0].batch.schema:
            yield name, some
            some, rows = [], 0
        some.append(each)
        rows += each.batch.num_rows
        if rows >= wanted:
            wanted = min(2 * rows, most)
            yield name, some
            some, rows = [], 0
    if some:
        yield name, some


def _merged(
    read_batches: dict[str, Iterator[ReadBatch]], needs: Needs
) -> Iterator[tuple[str, ReadBatch]]:
    """Read every stream, always the one whose last event is the earliest."""
    if len(read_batches) == 1:
        for name, only in read_batches.items():
            for each in only:
                yield name, each
        return
    reached: dict[str, object] = dict.fromkeys(read_batches)
    while reached:
        name = min(reached, key=lambda each: _order(reached[each]))
        read = next(read_batches[name], None)
        if read is None:
            del reached[name]
            continue
        yield name, read
        if needs.time is not None and read.batch.num_rows:
            table = pa.Table.from_batches([read.batch])
            reached[name] = column_at(table, needs.time)[-1].as_py()


def _order(time: object) -> tuple[bool, float]:
    """Order times, and no time before all of them."""
    if time is None:
        return False, 0.0
    if isinstance(time, int | float):
        return True, time
    return True, cast(float, pa.scalar(time, pa.timestamp("us")).value)


def by_stream(paths: Mapping[str, Sequence[str]], query: Query) -> Mapping[str, Sequence[str]]:
    """Check that every stream of FROM has files, and no other; a single one needs no name."""
    if "" in paths:
        return paths
    sources = query.streams
    for name in sources:
        if name not in paths:
            raise EventError(f"the stream '{name}' has no events; FROM has {', '.join(sources)}")
    for name in paths:
        if name not in sources:
            listed = ", ".join(sources)
            raise EventError(f"the stream '{name}' is not among the streams of FROM: {listed}")
    return {"": paths[sources[0]]} if len(sources) == 1 else paths
