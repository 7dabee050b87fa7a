"""Stop a run by a signal, with the matches found so far written.

SIGINT (Ctrl-C) and SIGTERM come at any moment. During a step, which evaluates and writes a batch,
they are deferred to its end, so that outputs are whole; a second one stops at once.
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
    """A signal asked to stop; the exit code says which."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Stopper:
    """Defers signals to the end of a step."""

    def __init__(self) -> None:
        self._deferred: int | None = None
        self._is_busy = False
        self._is_closing = False
        self.broke_off = False
        """Whether a step was left half done."""

    def handle(self, number: int, _: Any) -> None:
        """Defer a signal; stop at once between steps, or when it is not the first."""
        if self._is_closing:
            return
        again = self._deferred is not None
        self._deferred = _EXITS[signal.Signals(number)]
        if again or not self._is_busy:
            self.broke_off = self._is_busy
            raise StopRequestError(self._deferred)
        if remarks().is_terminal:
            remark("stopping as soon as what is begun is done; press Ctrl-C again to stop at once")

    def closing(self) -> None:
        """Ignore further signals: outputs are put in their places, which takes a moment."""
        self._is_closing = True

    @contextmanager
    def step(self) -> Iterator[None]:
        """Do something that a first signal does not interrupt."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
        if self._deferred is not None:
            raise StopRequestError(self._deferred)


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
