"""The operators of a bucket of keys from micro-batch to micro-batch, apart from Spark."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import pyarrow as pa

from ensue.errors import SnapshotError
from ensue.options import ReadOptions
from ensue.spark.kernels import Shipped
from ensue.spark.order import sorted_rows
from ensue.spark.pipeline import Found, SortedPipeline
from ensue.spark.streaming.idle import IdleClock
from ensue.spark.streaming.late import edge_of, late_rows, moment_after, split_late
from ensue.spark.streaming.log import (
    KIND,
    REMEMBERED_VERSIONS,
    SNAPSHOT,
    TEXTS,
    Chunk,
    Head,
    Log,
    decode_head,
    horizon,
    read_sections,
)
from ensue.spark.streaming.messages import compressed, message_of, table_of
from ensue.spark.streaming.metrics import Counts
from ensue.spark.worker import Task
from ensue.state.container import below, pack, part
from ensue.stream.waiting import AFTER_ALL_TIMES, BEFORE_ALL_TIMES, WaitingEvents

_KIND = "bucket of queries"
"""What a snapshot says that it is."""

DEFAULT_BUCKETS = 16
"""Not the number of cores or tasks, which may be another one after a restart."""

Fetch = Callable[[int], bytes]
"""Reads a chunk from the store by its number."""


@dataclass(frozen=True)
class Bucket:
    """What happens to one bucket of keys, apart from Spark."""

    task: Task
    millisecond: tuple[int, int]
    late: str | None = None
    """The column for events that come too late, where they are wanted."""
    count: int = DEFAULT_BUCKETS
    """Into how many buckets keys are hashed: another number puts keys elsewhere."""
    idle_timeout: int | None = None
    """After so many milliseconds without later events the watermark moves by processing time."""

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""
        queries = [
            (each.name, each.query.fingerprint, each.positions_only, _described(each.options))
            for each in self.task.programs
        ]
        columns = self.task.programs[0].columns.to_string(show_schema_metadata=False)
        every = f"{queries} {columns} {self.task.given} {self.late is None}"
        if self.count != DEFAULT_BUCKETS:
            every += f" {self.count}"
        return hashlib.sha256(every.encode()).hexdigest()

    @property
    def is_portable(self) -> bool:
        """Whether other processes than Spark's workers may have it.

        Functions of the user may need what Spark has brought to its workers only.
        """
        queries = [each.query for each in self.task.programs]
        return not any(query.functions or query.aggregates for query in queries)

    @property
    def kernels(self) -> Shipped | None:
        """Compiled kernels that came with the job."""
        return self.task.kernels

    def without_kernels(self) -> Bucket:
        """Return the bucket for processes that have taken them over, or do not need them."""
        return replace(self, task=replace(self.task, kernels=None))

    @cached_property
    def horizon(self) -> int | None:
        """How far before the watermark events may still matter; None: without a bound."""
        return horizon(self.task.programs)

    def begin(self) -> State:
        """Return the state before the first event."""
        timeout = self.idle_timeout
        idle = None if timeout is None else IdleClock(timeout)
        return State(self, self.task.open(), Log(self.horizon), idle)

    def restore(self, block: bytes, fetch: Fetch) -> State:
        """Rebuild the state from its head, or from the whole block of the first release.

        Chunks, and a snapshot where there is one, are fetched by their numbers.
        """
        sections = read_sections(block)
        if sections["kind"] == KIND:
            return self._replayed(decode_head(sections), fetch)
        self._check(sections, _KIND)
        state = self._loaded(sections)
        state.log.is_partial = True
        return state

    def versions(self, block: bytes) -> Sequence[str]:
        """Return the versions that a stored head can be reached from, its own first.

        The first release had none.
        """
        sections = read_sections(block)
        if sections["kind"] != KIND:
            return ()
        head = decode_head(sections)
        return head.version, *head.before

    def _check(self, sections: Mapping[str, Any], kind: str) -> None:
        if sections["kind"] != kind:
            raise SnapshotError("the checkpoint holds something else than the state of a stream")
        self._check_identity(sections["identity"], lambda: sections["texts"])

    def _check_identity(self, identity: str, texts: Callable[[], Iterable[str]]) -> None:
        """Refuse the state of other queries."""
        if identity != self.identity:
            made = "; ".join(texts())
            raise SnapshotError(
                "the checkpoint was made by another query, other options, other columns or another "
                "number of tasks=, and partial matches of one query mean nothing to another: "
                "start the stream with a new checkpointLocation, or go back to what it was made "
                f"with: {made}"
            )

    def _loaded(self, sections: Mapping[str, Any]) -> State:
        state = self.begin()
        state.pipeline.load(part(sections, "lane"))
        if sections["waits"]:
            state.waiting.add(*state.pipeline.read(sections["pending"]))
        return state

    def _replayed(self, head: Head, fetch: Fetch) -> State:
        """Build the operators anew: snapshot, then all chunks, then a release."""
        self._check_identity(head.identity, lambda: read_sections(fetch(TEXTS))["texts"])
        state = self.begin()
        if head.snapshot:
            sections = read_sections(fetch(SNAPSHOT))
            self._check(sections, _KIND)
            state = self._loaded(sections)
        state.log.first, state.is_new = head.first, False
        state.replay(head, fetch)
        return state

    def edge(self, watermark: int) -> int:
        """Return a watermark in milliseconds as the engine counts time; 0: there is none yet."""
        return edge_of(watermark, self.millisecond)

    def moment(self, time: int) -> int:
        """Return the first watermark, in milliseconds, that lies beyond a time."""
        return moment_after(time, self.millisecond)


class AnyHead(Protocol):
    """What is stored of a bucket beside its chunks."""

    @property
    def version(self) -> str:
        """Drawn anew by every attempt."""

    @property
    def watermark(self) -> int:
        """How far the operators have come, in milliseconds."""

    def encode(self) -> bytes:
        """Write it."""


class Step(NamedTuple):
    """What a micro-batch gives, and what it changes in the store."""

    rows: list[bytes]
    """Arrow messages."""
    counts: Counts
    head: AnyHead
    written: Mapping[int, bytes]
    """New chunks by number, and a new snapshot."""
    removed: Sequence[int]
    alarms: Sequence[int]
    """When, in milliseconds of the watermark, there is something to do."""
    texts: Sequence[str] = ()
    """What else the progress shows, beside the counts."""


@dataclass
class State:
    """The operators of a bucket, and the events that wait for the watermark."""

    bucket: Bucket
    pipeline: SortedPipeline
    log: Log
    idle: IdleClock | None = None
    waiting: WaitingEvents = field(default_factory=WaitingEvents)
    is_new: bool = True
    """Whether nothing is stored yet."""
    versions: tuple[str, ...] = ()
    """The last versions of this state, the current one first."""
    timers: frozenset[int] | None = None
    """When a timer is set, in milliseconds; None: that is not known here."""

    def catch_up(self, block: bytes, fetch: Fetch) -> bool:
        """Become the state at a stored head, unless chunks that came since are gone already."""
        head = decode_head(read_sections(block))
        if self.versions[:1] != (head.version,):
            if self.log.following < head.first:
                return False
            self.replay(head, fetch)
        return True

    def replay(self, head: Head, fetch: Fetch) -> None:
        """Read the chunks up to the head that this state has not read, then release."""
        if self.idle is not None and head.idle is not None:
            self.idle.load(head.idle)
        for number in range(self.log.following, head.following):
            message = fetch(number)
            batch, times = self.pipeline.read(table_of(message))
            self.log.append(Chunk(len(message), int(times.max())))
            self.waiting.add(batch, times)
        self.log.truncate(head.first, head.snapshot)
        # What this completes was given when the chunks were new, so it is not listed.
        self.release(head.watermark)
        self.versions, self.timers = (head.version, *head.before), None

    def step(self, messages: Iterable[bytes], watermark: int, tick: int | None = None) -> Step:
        """Take in the events of a micro-batch; return the rows and what is to be stored.

        The `tick` tells the time of day to a clock of idle streams.
        """
        if self.idle is not None:
            watermark = self.idle.advance(watermark, tick)
        edge = self.bucket.edge(watermark)
        new = split_late(messages, edge, lambda table: self.pipeline.read(table)[1])
        written: dict[int, bytes] = {}
        if self.is_new:
            texts = tuple(str(each.query) for each in self.bucket.task.programs)
            written[TEXTS] = pack({"kind": "texts", "texts": texts})
            self.is_new = False
        if new.kept:
            batch, times = self.pipeline.read(pa.concat_tables(new.kept).combine_chunks())
            chunk = Chunk(len(new.message), int(times.max()))
            written[self.log.append(chunk)] = new.message
            self.waiting.add(batch, times)
        nulls, matches = self.pipeline.nulls, Counter[str]()
        shown = late_rows(new.late, self.bucket.late, self.bucket.task.schema)
        found = [message_of(table) for table in shown]
        for table in self.bucket.task.rows(self.release(watermark)):
            if table.num_rows:
                found.append(message_of(table))
                matches[self.bucket.task.query_of(table)] += table.num_rows
        removed = self.log.drop(edge)
        if self.log.wants_snapshot:
            snapshot = compressed(self.block())
            removed += self.log.replace_by_snapshot(len(snapshot))
            written[SNAPSHOT] = snapshot
        # A chunk may come and go at once.
        gone = {number for number in removed if written.pop(number, None) is not None}
        before = self.versions[: REMEMBERED_VERSIONS - 1]
        self.versions = (uuid4().hex, *before)
        head = Head(
            self.bucket.identity,
            self.versions[0],
            watermark,
            self.log.first,
            self.log.following,
            self.log.snapshot,
            None if self.idle is None else self.idle.save(),
            before,
        )
        counts = Counts(
            events=sum(table.num_rows for table in new.kept),
            late=sum(table.num_rows for table in new.late),
            nulls=self.pipeline.nulls - nulls,
            state=self.log.nbytes,
            matches=tuple(matches[each.name] for each in self.bucket.task.programs),
        )
        return Step(
            found,
            counts,
            head,
            written,
            [number for number in removed if number not in gone],
            self.alarms(watermark),
        )

    def release(self, watermark: int) -> Found:
        """Let the operators read what the watermark has passed; give what that completes."""
        edge = self.bucket.edge(watermark)
        found = self._push(edge)
        later: Found = self.pipeline.advance(edge) if edge > BEFORE_ALL_TIMES else iter(())
        return chain(found, later)

    def _push(self, edge: int) -> Found:
        arrived = self.waiting.release(edge)
        if arrived is None:
            return iter(())
        rows = sorted_rows(arrived.batch.table, self.bucket.task.order)
        return self.pipeline.push_batch(arrived.batch.take(rows), arrived.times[rows])

    def rest(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when no more events come."""
        found = chain(self._push(AFTER_ALL_TIMES), self.pipeline.finish())
        return self.bucket.task.rows(found)

    def alarms(self, watermark: int) -> list[int]:
        """Return when, in milliseconds of the watermark, there is something to do."""
        earliest = self.waiting.earliest
        times = [] if earliest is None else [earliest]
        times += self.pipeline.due_times()
        return [max(self.bucket.moment(time), watermark + 1) for time in times]

    def block(self) -> bytes:
        """Write a snapshot: the operators and the events that wait."""
        sections: dict[str, Any] = {
            "kind": _KIND,
            "identity": self.bucket.identity,
            "texts": tuple(str(each.query) for each in self.bucket.task.programs),
            "waits": bool(self.waiting),
        }
        waiting = self.waiting.everything()
        if waiting is not None:
            sections["pending"] = waiting.batch.table.combine_chunks()
        return pack(sections | below("lane", self.pipeline.save()))


def _described(options: ReadOptions) -> str:
    """Write options as checkpoints name them, whatever the class is called today."""
    return (
        f"Options(type={options.type!r}, time={options.time!r}, time_unit={options.time_unit!r}, "
        f"tiebreak={options.tiebreak!r}, lateness={options.lateness!r})"
    )
