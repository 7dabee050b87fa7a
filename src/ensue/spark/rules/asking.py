"""How the process that reads Spark's sources asks the process that called `recognize`.

Spark asks a source for its latest offset in a Python process of its own, which has no session and
none of the caller's variables. So it asks the caller, over a local socket: there the table is read
and the function is called. Both run on the machine of the driver. A random key keeps others out,
and texts are all that is exchanged.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from threading import Thread

_FOUND, _FAILED = b"+", b"-"


@dataclass(slots=True)
class _Server:
    """Answers questions by number, each with a text."""

    listener: Listener
    key: bytes
    answers: list[Callable[[], str]] = field(default_factory=list)

    def serve(self) -> None:
        """Let one thread talk to each process that comes."""
        while True:
            try:
                connection = self.listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):
                continue
            Thread(target=self._talk, args=[connection], daemon=True).start()

    def _talk(self, connection: Connection) -> None:
        while True:
            try:
                number = int(connection.recv_bytes())
            except (EOFError, OSError):
                return
            try:
                answer = _FOUND + self.answers[number]().encode()
            except Exception as error:
                # The other process raises it where Spark sees it.
                answer = _FAILED + str(error).encode()
            connection.send_bytes(answer)


@cache
def _server() -> _Server:
    key = secrets.token_bytes(32)
    server = _Server(Listener(("localhost", 0), authkey=key), key)
    Thread(target=server.serve, daemon=True, name="ensue-rules").start()
    return server


@dataclass(slots=True)
class Question:
    """Asks from another process on this machine for what a function returns here."""

    address: tuple[str, int]
    key: bytes
    number: int
    _connection: Connection | None = None

    def __call__(self) -> str:
        """Ask."""
        try:
            if self._connection is None:
                self._connection = Client(self.address, authkey=self.key)
            self._connection.send_bytes(b"%d" % self.number)
            answer = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise RuntimeError(
                f"the process that called recognize(rules=) does not answer: {error}"
            ) from error
        if answer[:1] == _FAILED:
            raise RuntimeError(answer[1:].decode())
        return answer[1:].decode()


def question(answer: Callable[[], str]) -> Question:
    """Let other processes on this machine ask for what a function returns, while this one lives."""
    server = _server()
    server.answers.append(answer)
    host, port = server.listener.address
    return Question((host, port), server.key, len(server.answers) - 1)
