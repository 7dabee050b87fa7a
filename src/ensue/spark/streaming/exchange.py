"""What passes between the worker of a task and wherever the operators of its buckets are.

Workers of Spark come and go, so this says it in plain values: a worker that has its operators in a
server imports neither the engine nor its kernels.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark import cloudpickle

from ensue.spark.streaming.metrics import Counts

if TYPE_CHECKING:
    from ensue.spark.kernels import Shipped
    from ensue.spark.streaming.stepping import AnyBucket


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
    """What the sink and the state store get of a micro-batch."""

    rows: Sequence[bytes]
    """Arrow messages."""
    counts: Counts
    texts: Sequence[str]
    """What else the progress shows, beside the counts."""
    head: bytes
    written: Mapping[int, bytes]
    """New chunks by number, and new snapshots."""
    removed: Sequence[int]
    timers: frozenset[int]
    """Timers to set, in milliseconds, which are not set yet."""


class Store(Protocol):
    """Spark's state store, as far as operators read it."""

    def fetch(self, number: int) -> bytes:
        """Return a chunk by its number."""

    def timers(self) -> frozenset[int]:
        """Return when timers are set, in milliseconds."""


@dataclass(frozen=True)
class SealedBucket:
    """What happens to a bucket, as it travels to the workers: unread by those that need not."""

    identity: str
    """A hash of all that decides what the state means."""
    kernels: Shipped | None
    """Compiled kernels that came with the job."""
    pickled: bytes | None
    """The bucket without its kernels, as other processes than Spark's workers may have it."""
    given: AnyBucket | None
    """The bucket itself, where it has to stay in a worker."""

    @classmethod
    def of(cls, bucket: AnyBucket) -> SealedBucket:
        """Seal a bucket, on the driver."""
        kernels, bare = bucket.kernels, bucket.without_kernels()
        if bucket.is_portable:
            pickled: bytes = cloudpickle.dumps(bare)  # type: ignore[no-untyped-call]
            return cls(bucket.identity, kernels, pickled, None)
        return cls(bucket.identity, kernels, None, bare)

    def open(self) -> AnyBucket:
        """Return the bucket."""
        if self.pickled is None:
            assert self.given is not None
            return self.given
        bucket: AnyBucket = pickle.loads(self.pickled)
        return bucket
