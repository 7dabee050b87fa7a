"""One micro-batch of one bucket: find or rebuild its operators, let them read, keep them alive.

This runs wherever operators are kept: in an operator server (see operator_server.py) or in the
worker of the task. What it needs of Spark's state store it asks for through `Store`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ensue.spark.kernels import Shipped
from ensue.spark.streaming.bucket import Fetch, Step
from ensue.spark.streaming.exchange import Reply, Request, Store
from ensue.spark.streaming.live import LiveStates


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

    @property
    def kernels(self) -> Shipped | None:
        """Compiled kernels that came with the job."""

    def without_kernels(self) -> AnyBucket:
        """Return the bucket for processes that have taken them over, or do not need them."""

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
    return Reply(
        step.rows,
        step.counts,
        step.texts,
        step.head.encode(),
        step.written,
        step.removed,
        wanted - known,
    )


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
