"""Stop when asked to, with what was found so far written down.

Ctrl-C and the signal that services are stopped by come at any moment. While something is being
evaluated or written they are only noted, and heeded when it is whole; a second one does not wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ensue.cli.terminal import remark, remarks

_EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143}


class StopRequestError(Exception):
    """Somebody asked to stop; the exit code says who."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Stopper:
    """Heeds signals between steps."""

    def __init__(self) -> None:
        self._noted: int | None = None
        self._is_busy = False
        self._is_closing = False
        self.broke_off = False
        """Whether something was left half done."""

    def handle(self, number: int, _: Any) -> None:
        """Note a signal; stop at once when idle, or when it is not the first."""
        if self._is_closing:
            return
        again = self._noted is not None
        self._noted = _EXITS[signal.Signals(number)]
        if again or not self._is_busy:
            self.broke_off = self._is_busy
            raise StopRequestError(self._noted)
        if remarks().is_terminal:
            remark("stopping as soon as what is begun is done; press Ctrl-C again to stop at once")

    def closing(self) -> None:
        """Heed no more signals: what was found is put in its place, which takes a moment."""
        self._is_closing = True

    @contextmanager
    def step(self) -> Iterator[None]:
        """Do something that is to be whole before a signal is heeded."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
        if self._noted is not None:
            raise StopRequestError(self._noted)


@contextmanager
def stopper() -> Iterator[Stopper]:
    """Catch signals; outside of the main thread, where Python hands none over, catch nothing."""
    stopper = Stopper()
    if threading.current_thread() is not threading.main_thread():
        yield stopper
        return
    before = {each: signal.signal(each, stopper.handle) for each in _EXITS}
    try:
        yield stopper
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
