"""Prefetching: iterate in a background thread while earlier items are processed."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

_Item = TypeVar("_Item")

_POLL_SECONDS = 0.1
"""How often a blocked thread checks whether the consumer has stopped."""


def prefetch(items: Iterator[_Item], most: int = 2) -> Iterator[_Item]:
    """Iterate in another thread, up to `most` items ahead of the consumer.

    >>> list(prefetch(iter(range(5))))
    [0, 1, 2, 3, 4]
    """
    queue: Queue[tuple[_Item] | BaseException | None] = Queue(most)
    stopped = Event()

    def put(item: tuple[_Item] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                queue.put(item, timeout=_POLL_SECONDS)
                return
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put((item,))
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:  # raised in the consumer's thread
            put(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while (found := queue.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                queue.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
        thread.join()
