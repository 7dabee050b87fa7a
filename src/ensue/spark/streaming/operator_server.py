"""A process beside Spark's Python workers that keeps operators alive between micro-batches.

Spark hands a partition to any idle worker, so operators that live in a worker would be met again
only now and then, and replayed from the log otherwise. A server belongs to the workers of one
executor and to the partitions of one number (see operator_client.py), so that a partition finds its
operators however often it changes workers.

Nothing but speed depends on it. The state store has all that is needed to rebuild operators, and
operators are used only under the version that the store has (see live.py). A server that dies takes
its operators along; the next request starts another one, which rebuilds them.

The conversation of a connection, message by message:

    client                          server
    Request, identity        ──▶
                             ◀──    ("bucket",), if the identity is new
    the bucket, pickled      ──▶
                             ◀──    ("fetch", number) or ("timers",), any number of times
    the answer               ──▶
                             ◀──    Reply, or the exception that the operators raised

The server ends when the daemon of the workers has ended, or when nobody has asked for a while.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import OrderedDict
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from ensue.spark.streaming.exchange import Reply, Request, received, shipped
from ensue.spark.streaming.live import LiveStates
from ensue.spark.streaming.stepping import AnyBucket, AnyState, advance

_MOST_BUCKETS = 64
"""So many queries are known at most; one that is asked for again is sent again."""

_LOOKS_EVERY = 1.0
"""Seconds between two looks whether the server is still needed."""

_IDLE_SECONDS = 600.0
"""A server ends when nobody has asked for so long."""


class _RemoteStore:
    """Spark's state store, asked through the worker at the other end of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fetch(self, number: int) -> bytes:
        """Return a chunk by its number."""
        self._connection.send(("fetch", number))
        return self._connection.recv_bytes()

    def timers(self) -> frozenset[int]:
        """Return when timers are set."""
        self._connection.send(("timers",))
        found: frozenset[int] = self._connection.recv()
        return found


class OperatorServer:
    """Operators, and the queries they are of, for any number of connections."""

    def __init__(self) -> None:
        self.live: LiveStates[AnyState] = LiveStates()
        self.buckets: OrderedDict[str, AnyBucket] = OrderedDict()
        self.last_asked = time.monotonic()
        self._turn = threading.Lock()

    def serve(self, connection: Connection) -> None:
        """Answer the requests of one worker until it goes."""
        with connection:
            try:
                while True:
                    request, identity = connection.recv()
                    connection.send(self._answer(connection, request, identity))
                    self.last_asked = time.monotonic()
            except (EOFError, OSError):
                return  # the worker has gone, or Spark has ended its task

    def _answer(
        self, connection: Connection, request: Request, identity: str
    ) -> Reply | BaseException:
        try:
            # Tasks of other partitions are served by other processes, mostly.
            with self._turn:
                bucket = self._bucket(connection, identity)
                return advance(self.live, bucket, request, _RemoteStore(connection))
        except (EOFError, OSError):
            raise
        except Exception as error:
            return portable(error)

    def _bucket(self, connection: Connection, identity: str) -> AnyBucket:
        bucket = self.buckets.pop(identity, None)
        if bucket is None:
            connection.send(("bucket",))
            bucket = received(connection.recv_bytes())
        self.buckets[identity] = bucket
        while len(self.buckets) > _MOST_BUCKETS:
            self.buckets.popitem(last=False)
        return bucket


def portable(error: Exception) -> Exception:
    """Return an exception as another process can read it, with its traceback as a note."""
    import traceback

    error.add_note("".join(traceback.format_tb(error.__traceback__)).rstrip())
    try:
        received(shipped(error))
    except Exception:
        # The class of a user's library, say, which cannot be made from its arguments alone.
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def run(address: str, daemon: int) -> None:
    """Serve connections at a Unix socket as long as the daemon of the workers lives."""
    server = OperatorServer()
    with Listener(address, "AF_UNIX", backlog=64) as listener:
        threading.Thread(target=_watch, args=(server, address, daemon), daemon=True).start()
        # The client waits for this line.
        os.write(sys.stdout.fileno(), b"\n")
        while True:
            connection: Any = listener.accept()
            threading.Thread(target=server.serve, args=(connection,), daemon=True).start()


def _watch(server: OperatorServer, address: str, daemon: int) -> None:
    """End the process, whatever it is doing, when nobody needs it any more."""
    while _is_alive(daemon) and time.monotonic() - server.last_asked < _IDLE_SECONDS:
        time.sleep(_LOOKS_EVERY)
    Path(address).unlink(missing_ok=True)
    os._exit(0)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
