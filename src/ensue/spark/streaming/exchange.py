"""What passes between the worker of a task and wherever the operators of its buckets are.

Workers of Spark come and go, so this says it in plain values: a worker that has its operators in a
server imports neither the engine nor its kernels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pyspark.serializers import CloudPickleSerializer

from ensue.spark.streaming.metrics import Counts

if TYPE_CHECKING:
    from ensue.spark.kernels import Shipped
    from ensue.spark.streaming.stepping import AnyBucket


_SERIALIZER: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]


def shipped(value: object) -> bytes:
    """Write a value for another process, as Spark writes what it sends to its workers.

    Nothing of this is ever stored: what a checkpoint holds has tags of its own.
    """
    return bytes(_SERIALIZER.dumps(value))


def received(written: bytes) -> Any:
    """Read what another process of this executor, or the driver, has written."""
    return _SERIALIZER.loads(written)


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
            return cls(bucket.identity, kernels, shipped(bare), None)
        return cls(bucket.identity, kernels, None, bare)

    def open(self) -> AnyBucket:
        """Return the bucket."""
        if self.pickled is None:
            assert self.given is not None
            return self.given
        bucket: AnyBucket = received(self.pickled)
        return bucket
