"""One micro-batch of one bucket: find or rebuild its operators, let them read, keep them alive.

This runs wherever operators are kept: in an operator server (see operator_server.py) or in the
worker of the task. What it needs of Spark's state store it asks for through `Store`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol

from ensue.spark.streaming.bucket import Fetch, Step
from ensue.spark.streaming.live import LiveStates


class Request(NamedTuple):
    """The micro-batch of a bucket as it comes from Spark."""

    query: str
    """The streaming query."""
    batch: int
    """The number of the micro-batch."""
    bucket: Hashable
    head: bytes | None
    """What the state store has of the bucket beside its chunks; None: nothing yet."""
    messages: Sequence[bytes]
    """The new events, as Arrow messages."""
    watermark: int
    control: Sequence[int | str | None]
    """The last value of each control column."""


class Reply(NamedTuple):
    """What the state store and the sink get of a micro-batch."""

    step: Step
    head: bytes
    timers: frozenset[int]
    """Timers to set, in milliseconds, which are not set yet."""


class Store(Protocol):
    """Spark's state store, as far as operators read it."""

    def fetch(self, number: int) -> bytes:
        """Return a chunk by its number."""

    def timers(self) -> frozenset[int]:
        """Return when timers are set, in milliseconds."""


class AnyState(Protocol):
    """The operators of a bucket."""

    @property
    def bucket(self) -> AnyBucket:
        """What they are of."""

    timers: frozenset[int] | None
    """When timers are set, in milliseconds; None: that is not known here."""

    def catch_up(self, block: bytes, fetch: Fetch) -> bool:
        """Become the state at a stored head; False: that cannot be told from this one."""

    @property
    def step(self) -> Callable[..., Step]:
        """Take in messages of events, a watermark, and the last value of each control column."""


class AnyBucket(Protocol):
    """What happens to a bucket, apart from Spark."""

    @property
    def identity(self) -> str:
        """A hash of all that decides what the state means."""

    def prepared(self) -> AnyBucket:
        """Take over what came with the job; return the bucket as other processes may have it."""

    @property
    def is_portable(self) -> bool:
        """Whether other processes than Spark's workers may have it."""

    def begin(self) -> AnyState:
        """Return the state before the first event."""

    def restore(self, block: bytes, fetch: Fetch) -> AnyState:
        """Rebuild the state from its head."""

    def versions(self, block: bytes) -> Sequence[str]:
        """Return the versions that a stored head can be reached from, its own first."""


def advance(live: LiveStates[AnyState], bucket: AnyBucket, request: Request, store: Store) -> Reply:
    """Take in the micro-batch of a bucket with live operators, or with rebuilt ones.

    The operators are kept under the new version before anything is stored. If that fails, the
    store never has the version, and nobody finds them.
    """
    state = _state(live, bucket, request.head, store.fetch)
    step = state.step(request.messages, request.watermark, *request.control)
    known = store.timers() if state.timers is None else state.timers
    wanted = frozenset(step.alarms)
    # What has expired by the next micro-batch is no longer set.
    state.timers = frozenset(each for each in known | wanted if each > step.head.watermark)
    live.put(step.head.version, state, request.query, request.bucket, request.batch)
    return Reply(step, step.head.encode(), wanted - known)


def _state(
    live: LiveStates[AnyState], bucket: AnyBucket, head: bytes | None, fetch: Fetch
) -> AnyState:
    if head is None:
        return bucket.begin()
    state = live.take(bucket.versions(head))
    mine = state is not None and state.bucket.identity == bucket.identity
    if state is not None and mine and state.catch_up(head, fetch):
        return state
    return bucket.restore(head, fetch)
