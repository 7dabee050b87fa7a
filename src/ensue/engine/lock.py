"""One operation of a session at a time, whichever thread asks for it.

A session changes as a whole: two pushes at once would interleave their changes. So every public
operation takes the session's turn first and waits while another thread has it. The kernels and
Arrow release the GIL, so sessions of their own still run in parallel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class OperationLock:
    """A lock that is never taken twice by one thread: that is an error, not a deadlock."""

    __slots__ = ("_lock", "_operation", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._operation = ""

    def acquire(self, operation: str) -> None:
        """Wait for the turn; RuntimeError where this very thread has it already."""
        me = threading.get_ident()
        if self._owner == me:
            raise RuntimeError(
                f"'{operation}' of a session was asked for inside its own '{self._operation}', by "
                "code that this one calls, such as an iterator of events; do it after that call "
                "has returned, or in another session"
            )
        self._lock.acquire()
        self._owner, self._operation = me, operation

    def release(self) -> None:
        """Let the next one have the turn."""
        self._owner = None
        self._lock.release()


class TakesTurns(Protocol):
    """What has operations of which only one goes on at a time."""

    _turn: OperationLock


_S = TypeVar("_S", bound=TakesTurns)


def exclusive(
    operation: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_S, _P], _R]:
    """Let a method wait until no other operation of its object goes on."""
    name = operation.__name__

    @wraps(operation)
    def taken(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        self._turn.acquire(name)
        try:
            return operation(self, *args, **kwargs)
        finally:
            self._turn.release()

    return taken
