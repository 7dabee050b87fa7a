"""Do the next thing while the last one is being looked at."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

_Item = TypeVar("_Item")

_SHORT = 0.1
"""After so many seconds, a thread looks whether anybody still listens."""


def ahead(items: Iterator[_Item], most: int = 2) -> Iterator[_Item]:
    """Iterate in another thread, up to so many items ahead.

    >>> list(ahead(iter(range(5))))
    [0, 1, 2, 3, 4]
    """
    queue: Queue[tuple[_Item] | BaseException | None] = Queue(most)
    stopped = Event()

    def hand_over(item: tuple[_Item] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                queue.put(item, timeout=_SHORT)
                return
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                hand_over((item,))
                if stopped.is_set():
                    return
            hand_over(None)
        except BaseException as error:  # raised where the items are asked for
            hand_over(error)

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
                queue.get(timeout=_SHORT)
            except Empty:
                continue
        thread.join()
