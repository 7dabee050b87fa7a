"""The state of a bucket of keys between micro-batches, apart from Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ensue.engine.block import below, pack, part, unpack
from ensue.engine.feed import LEAST
from ensue.engine.stream import times_of
from ensue.errors import SnapshotError
from ensue.options import ReadOptions
from ensue.spark.lane import Lane, check_times
from ensue.spark.order import in_order
from ensue.spark.program import Program
from ensue.spark.worker import Task

_KIND = "bucket of queries"
"""What a block says that it is."""


@dataclass(frozen=True)
class Bucket:
    """What happens to one bucket of keys, apart from Spark."""

    task: Task
    millisecond: tuple[int, int]
    late: str | None = None
    """The column for events that come too late, where they are wanted."""

    @property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""
        told = [
            (each.name, each.query.fingerprint, each.positions_only, _described(each.options))
            for each in self.task.programs
        ]
        columns = self.task.programs[0].columns.to_string(show_schema_metadata=False)
        every = f"{told} {columns} {self.task.given} {self.late is None}"
        return hashlib.sha256(every.encode()).hexdigest()

    def open(self, block: bytes | None) -> State:
        """Go on from a block, or begin."""
        lane = self.task.open()
        if block is None:
            return State(self, lane, None)
        saved = unpack(block)
        if saved.get("kind") != _KIND:
            raise SnapshotError("the checkpoint holds something else than the state of a stream")
        if saved["identity"] != self.identity:
            texts = "; ".join(saved["texts"])
            raise SnapshotError(
                "the checkpoint was made by another query, other options or other columns, and "
                "partial matches of one query mean nothing to another: start the stream with a "
                f"new checkpointLocation, or go back to what it was made with: {texts}"
            )
        lane.load(part(saved, "lane"))
        return State(self, lane, saved["pending"] if saved["waits"] else None)

    def edge(self, watermark: int) -> int:
        """Return a watermark in milliseconds as the engine counts time; 0: there is none yet."""
        if watermark <= 0:
            return LEAST
        length, parts = self.millisecond
        return watermark * length // parts

    def moment(self, time: int) -> int:
        """Return the first watermark, in milliseconds, that lies beyond a time."""
        length, parts = self.millisecond
        return time * parts // length + 1


@dataclass
class State:
    """The events of a bucket that wait, and its queries."""

    bucket: Bucket
    lane: Lane
    pending: pa.Table | None

    @property
    def program(self) -> Program:
        """Any of the programs: they agree on time and order."""
        return self.bucket.task.programs[0]

    def add(self, tables: list[pa.Table], watermark: int) -> list[pa.Table]:
        """Let events wait, and return those that came too late for that."""
        edge = self.bucket.edge(watermark)
        kept, late = [] if self.pending is None else [self.pending], []
        for table in tables:
            check_times(table, self.program.time)
            on_time = times_of(table, self.program.time) >= edge
            if on_time.all():
                kept.append(table)
            else:
                kept.append(table.filter(pa.array(on_time)))
                late.append(table.filter(pa.array(~on_time)))
        kept = [each for each in kept if each.num_rows]
        self.pending = pa.concat_tables(kept).combine_chunks() if kept else None
        return late

    def late_rows(self, late: list[pa.Table]) -> Iterator[pa.Table]:
        """Give events that came too late as rows, where they are wanted."""
        name, schema = self.bucket.late, self.bucket.task.schema
        for table in () if name is None else late:
            fields = list(schema.field(name).type)
            arrays = [table.column(each.name).combine_chunks().cast(each.type) for each in fields]
            events = pa.StructArray.from_arrays(arrays, fields=fields)
            yield pa.Table.from_arrays(
                [
                    events if each.name == name else pa.nulls(table.num_rows, each.type)
                    for each in schema
                ],
                schema=schema,
            )

    def release(self, watermark: int) -> Iterator[pa.Table]:
        """Give the rows that are certain now that time has come so far."""
        edge = self.bucket.edge(watermark)
        ready = None
        if self.pending is not None:
            ripe = times_of(self.pending, self.program.time) < edge
            if ripe.any():
                ready = in_order(self.pending.filter(pa.array(ripe)), self.bucket.task.order)
                rest = self.pending.filter(pa.array(~ripe))
                self.pending = rest.combine_chunks() if rest.num_rows else None
        if ready is not None:
            yield from self.bucket.task.rows(self.lane.push(ready))
        if edge > LEAST:
            yield from self.bucket.task.rows(self.lane.advance(edge))

    def rest(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when no more events come."""
        if self.pending is not None:
            ready = in_order(self.pending, self.bucket.task.order)
            yield from self.bucket.task.rows(self.lane.push(ready))
        yield from self.bucket.task.rows(self.lane.finish())

    def alarms(self, watermark: int) -> list[int]:
        """Return when, in milliseconds of the watermark, there is something to do."""
        times = (
            [] if self.pending is None else [int(times_of(self.pending, self.program.time).min())]
        )
        times += self.lane.interval_ends()
        return [max(self.bucket.moment(time), watermark + 1) for time in times]

    def block(self) -> bytes:
        """Write all of it down."""
        sections: dict[str, Any] = {
            "kind": _KIND,
            "identity": self.bucket.identity,
            "texts": tuple(str(each.query) for each in self.bucket.task.programs),
            "waits": self.pending is not None,
        }
        if self.pending is not None:
            sections["pending"] = self.pending
        return pack(sections | below("lane", self.lane.save()))


def _described(options: ReadOptions) -> str:
    """Write options as checkpoints name them, whatever the class is called today."""
    return (
        f"Options(type={options.type!r}, time={options.time!r}, time_unit={options.time_unit!r}, "
        f"tiebreak={options.tiebreak!r}, lateness={options.lateness!r})"
    )
