"""Where the operators of a task are: in the operator server of its partition, or in this worker.

The servers of an executor are found in a folder that is named by the daemon of its Python workers,
which all of them have as parent. There is one server a core, started when the first task needs it;
partition p goes to server p modulo cores, so that tasks that run side by side rarely meet in one.

A worker keeps operators itself where there can be no server: on systems without Unix sockets or
without a daemon of workers, where processes may not be started, for queries with functions of the
user, which may need what Spark has brought to its workers only, and where
ENSUE_OPERATOR_SERVERS=0 says so.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext

from ensue.spark.streaming.exchange import Reply, Request, SealedBucket, Store

if TYPE_CHECKING:
    from ensue.spark.streaming.live import LiveStates
    from ensue.spark.streaming.stepping import AnyState

SWITCH = "ENSUE_OPERATOR_SERVERS"
"""An environment variable of the executors: 0 keeps operators in the workers."""

_LOG = logging.getLogger("ensue.spark")

STARTED: list[subprocess.Popen[bytes]] = []
"""The servers that this worker has started."""

PROGRAM = (
    "import sys; from ensue.spark.streaming.operator_server import run; "
    "run(sys.argv[1], int(sys.argv[2]))"
)

_TRIES = 2
"""A server that has died is started again once."""


class Operators:
    """The operators of the buckets of one task."""

    def __init__(self, sealed: SealedBucket) -> None:
        self._sealed = sealed
        self._served = sealed.pickled is not None and os.environ.get(SWITCH) != "0"
        self._connection: Connection | None = None
        self._ready = False

    @cached_property
    def _here(self) -> Callable[[Request, Store], Reply]:
        """Take in a micro-batch in this worker."""
        from ensue.spark.streaming import stepping

        bucket = self._sealed.open()
        return lambda request, store: stepping.advance(_live(), bucket, request, store)

    def advance(self, request: Request, store: Store) -> Reply:
        """Take in the micro-batch of a bucket."""
        if not self._ready and self._sealed.kernels is not None:
            self._sealed.kernels.adopt()
        self._ready = True
        for _ in range(_TRIES if self._served else 0):
            try:
                self._connection = self._connection or connected(_number())
                return ask(self._connection, self._sealed, request, store)
            except (EOFError, OSError) as error:
                # Nothing is stored yet, so that whoever is asked next begins where this one did.
                self.close()
                _LOG.info("the operator server is gone (%s)", error)
        self._served = False
        return self._here(request, store)

    def close(self) -> None:
        """Let the connection go; the operators stay."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@cache
def _live() -> LiveStates[AnyState]:
    """Return the operators that are alive in this worker."""
    from ensue.spark.streaming.live import LiveStates

    return LiveStates()


def ask(connection: Connection, sealed: SealedBucket, request: Request, store: Store) -> Reply:
    """Have a server take in the micro-batch of a bucket; raise what its operators raise."""
    connection.send((request, sealed.identity))
    while True:
        answer = connection.recv()
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, BaseException):
            raise answer
        match answer:
            case ("bucket",):
                assert sealed.pickled is not None
                connection.send_bytes(sealed.pickled)
            case ("fetch", number):
                connection.send_bytes(store.fetch(number))
            case ("timers",):
                connection.send(store.timers())


def _number() -> int:
    """Return the number of the server that has the operators of this task's partition."""
    context = TaskContext.get()
    assert context is not None
    cores = context.getLocalProperty("resource.executor.cores")
    return context.partitionId() % (int(cores) if cores else os.cpu_count() or 1)


def connected(number: int) -> Connection:
    """Connect to a server of this executor; start it where there is none."""
    folder = _folder()
    address = str(folder / str(number))
    with _locked(folder / f"{number}.lock"):
        try:
            return _client(address)
        except (ConnectionRefusedError, FileNotFoundError):
            _start(address)
            return _client(address)


def _client(address: str) -> Connection:
    return Client(address, "AF_UNIX")


def _folder() -> Path:
    """Return the folder of this executor's servers, which is nobody else's to write to."""
    folder = Path(tempfile.gettempdir(), f"ensue-operators-{os.getuid()}-{os.getppid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} can be written to by others")
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one worker at a time look for a server and start it."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start(address: str) -> None:
    """Start a server and wait until it listens."""
    Path(address).unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address, str(os.getppid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # Modules that Spark has brought to the workers are found there too.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    STARTED.append(process)
    assert process.stdout is not None
    with process.stdout:
        if process.stdout.readline() != b"\n":
            raise OSError(f"the operator server ended with {process.wait()}")
