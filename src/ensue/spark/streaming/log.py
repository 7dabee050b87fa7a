"""The state of a bucket as Spark stores it: a log of chunks and a small head.

    head       version, watermark, the numbers of the first chunk and the next one
    chunk n    the events that a micro-batch brought, as one Arrow message
    snapshot   the operators and the waiting events before the first chunk, where they are needed

A micro-batch appends one chunk and rewrites the head, so what is written follows the new events
and not the window. The operators themselves are rebuilt by replaying the chunks, and are kept
alive in the worker between micro-batches under the head's version (see live.py). Spark may hand a
bucket to another worker with every micro-batch; the head names the last versions before its own, so
that a worker whose operators are a few micro-batches old replays only what they lack.

Invariant: the operators at the head's version are those that result from the snapshot, if there is
one, all chunks from the first on, and a release up to the head's watermark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ensue.errors import SnapshotError
from ensue.logic.build import to_formula
from ensue.plan.distribution import asks_start
from ensue.spark.program import Program
from ensue.spark.streaming.messages import decompressed
from ensue.state.container import pack, unpack

REMEMBERED_VERSIONS = 8
"""A worker whose operators are older than so many micro-batches rebuilds them."""

KIND = "log of a bucket"
"""What a head says that it is."""

SNAPSHOT, TEXTS = -1, -2
"""The numbers under which a snapshot, and the texts of the queries, are stored among the chunks."""

_LEAST_SNAPSHOT = 1 << 20
"""So many bytes of chunks are replayed rather than replaced by a snapshot."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is read first: enough to know whether a live operator is current."""

    identity: str
    """A hash of all that decides what the state means."""
    version: str
    """Drawn anew by every attempt, so that equal versions are the same state."""
    watermark: int
    """Milliseconds: how far the operators have come."""
    first: int
    following: int
    snapshot: int
    """The size of the snapshot; 0: there is none."""
    idle: tuple[int | None, ...] | None = None
    """What the clock of an idle stream knows, where there is one."""
    before: tuple[str, ...] = ()
    """The versions before this one, the last one first."""

    def encode(self) -> bytes:
        """Write the head as stable tags and values."""
        idle = {} if self.idle is None else {"idle": self.idle}
        return pack(
            {
                "kind": KIND,
                "identity": self.identity,
                "version": self.version,
                "watermark": self.watermark,
                "first": self.first,
                "next": self.following,
                "snapshot": self.snapshot,
                "before": self.before,
                **idle,
            }
        )


def decode_head(sections: Mapping[str, Any]) -> Head:
    """Read what `Head.encode` wrote."""
    return Head(
        sections["identity"],
        sections["version"],
        sections["watermark"],
        sections["first"],
        sections["next"],
        sections["snapshot"],
        sections.get("idle"),
        tuple(sections.get("before", ())),
    )


def read_sections(block: bytes) -> dict[str, Any]:
    """Read a block; SnapshotError where it is damaged."""
    sections = unpack(decompressed(block))
    if "kind" not in sections:
        raise SnapshotError("the checkpoint holds something else than the state of a stream")
    return sections


class Chunk(NamedTuple):
    """What is known of a stored chunk without reading it."""

    size: int
    latest: int
    """The time of its last event."""


@dataclass(slots=True)
class Log:
    """The chunks that the next micro-batches may need."""

    horizon: int | None
    """How far before the watermark an event may still matter; None: arbitrarily far."""
    first: int = 0
    chunks: deque[Chunk] = field(default_factory=deque)
    snapshot: int = 0
    is_partial: bool = False
    """Whether the operators know of events that are in no chunk: a snapshot is due."""

    @property
    def following(self) -> int:
        """The number of the next chunk."""
        return self.first + len(self.chunks)

    @property
    def nbytes(self) -> int:
        """How many bytes are stored."""
        return self.snapshot + sum(chunk.size for chunk in self.chunks)

    def append(self, chunk: Chunk) -> int:
        """Add a chunk and return its number."""
        self.chunks.append(chunk)
        return self.following - 1

    def drop(self, edge: int) -> list[int]:
        """Forget chunks that lie before all that may still matter; return their numbers."""
        return [] if self.horizon is None else self.drop_before(edge - self.horizon)

    def drop_before(self, time: int) -> list[int]:
        """Forget the first chunks as far as all their events lie before a time."""
        dropped: list[int] = []
        while self.chunks and self.chunks[0].latest < time:
            self.chunks.popleft()
            dropped.append(self.first)
            self.first += 1
        return dropped

    def truncate(self, first: int, snapshot: int) -> None:
        """Forget chunks before the first one that is stored, beside a snapshot of this size."""
        while self.chunks and self.first < first:
            self.chunks.popleft()
            self.first += 1
        self.first, self.snapshot = first, snapshot

    @property
    def wants_snapshot(self) -> bool:
        """Whether a snapshot pays: written after as many bytes of chunks as the last one had."""
        if self.is_partial or self.horizon is not None:
            return self.is_partial
        return pays(sum(chunk.size for chunk in self.chunks), self.snapshot)

    def replace_by_snapshot(self, size: int) -> list[int]:
        """Start again from a snapshot; return the numbers of the chunks it stands for."""
        dropped = list(range(self.first, self.following))
        self.first, self.snapshot, self.is_partial = self.following, size, False
        self.chunks.clear()
        return dropped


def pays(replayed: int, snapshot: int) -> bool:
    """Tell whether a new snapshot pays: bytes to be replayed against those of the last one."""
    return replayed > max(snapshot, _LEAST_SNAPSHOT)


def horizon(programs: tuple[Program, ...]) -> int | None:
    """Return how far before the watermark events may matter; None: without a bound in time.

    Replaying only the last events gives the same operators where a match has a window of time and
    nothing else reaches further back: not the first event of all, not what was consumed.
    """
    longest = 0
    for program in programs:
        # A derived event may have begun a window before one that it is part of.
        reach = 0
        for bound in (level.bound for level in program.levels):
            if bound.window is None or bound.window.kind == "events":
                return None
            if bound.consume != "NONE" or asks_start(to_formula(bound)):
                return None
            absence = bound.not_followed
            if absence is not None and absence.window.kind == "events":
                return None
            # What waits for its deadline began a window before.
            reach += 0 if absence is None else absence.window.size
            every = bound.every
            interval = 0 if every is None else max(every.length // every.unit, 1)
            reach += bound.window.size + interval
        longest = max(longest, reach)
    return longest
