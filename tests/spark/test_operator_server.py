"""Operators in a process of their own: the same answers, whoever asks and whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path

import pytest

from ensue.errors import EventError
from ensue.spark.streaming import operator_client
from ensue.spark.streaming.bucket import Bucket
from ensue.spark.streaming.exchange import Reply, Request, SealedBucket
from ensue.spark.streaming.messages import message_of
from ensue.spark.streaming.operator_client import ask, connected
from ensue.spark.streaming.operator_server import OperatorServer
from tests.spark.test_bucket import CONSUMED, PLAIN, Stored, bucket, events
from tests.waiting import wait_until

BATCHES = 8


class Store(Stored):
    """A state store that counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched = 0
        self.listed = 0

    def taken(self, reply: Reply) -> list[bytes]:
        self.keep(reply.head, reply.written, reply.removed)
        return list(reply.rows)

    def fetch(self, number: int) -> bytes:
        self.fetched += 1
        return self.chunks[number]

    def timers(self) -> frozenset[int]:
        self.listed += 1
        return frozenset()


def request(batch: int, store: Store) -> Request:
    messages = [message_of(events(batch))]
    return Request("query", batch, 0, store.head, messages, 1000 + 10 * batch, (None,))


def sealed(text: str) -> SealedBucket:
    return SealedBucket.of(bucket(text))


def expected(made: Bucket) -> list[list[bytes]]:
    """Return the rows of each micro-batch as operators give them that are never moved."""
    state = made.begin()
    return [
        list(state.step([message_of(events(batch))], 1000 + 10 * batch).rows)
        for batch in range(BATCHES)
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets, and the end of all servers that were started."""
    # The path of a Unix socket has to be short.
    short = Path(f"/tmp/ensue-test-{os.getpid()}")
    short.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(short))
    monkeypatch.setattr(operator_client, "STARTED", [])
    yield short
    for process in operator_client.STARTED:
        process.kill()
        process.wait()
    subprocess.run(["rm", "-r", str(short)], check=True)


@pytest.mark.parametrize("text", [PLAIN, CONSUMED])
def test_a_server_gives_what_operators_in_the_worker_give(text: str) -> None:
    server, store = OperatorServer(), Store()
    for batch, rows in enumerate(expected(bucket(text))):
        # Another worker with each micro-batch.
        ours, theirs = Pipe()
        serving = threading.Thread(target=server.serve, args=(theirs,))
        serving.start()
        with ours:
            assert store.taken(ask(ours, sealed(text), request(batch, store), store)) == rows
        serving.join()
    assert (store.fetched, store.listed) == (0, 1)


def test_what_operators_raise_comes_to_the_worker_and_the_server_goes_on() -> None:
    server, store = OperatorServer(), Store()
    ours, theirs = Pipe()
    threading.Thread(target=server.serve, args=(theirs,), daemon=True).start()
    with ours:
        broken = message_of(events(0).slice(0, 1).set_column(6, "ts", [[None]]))
        first = request(0, store)._replace(messages=[broken])
        with pytest.raises(EventError, match="the time 'ts' of an event is NULL") as raised:
            ask(ours, sealed(PLAIN), first, store)
        assert "bucket.py" in raised.value.__notes__[0]
        assert store.taken(ask(ours, sealed(PLAIN), request(0, store), store)) == []


def test_a_server_that_is_killed_is_replaced_and_nothing_is_lost(home: Path) -> None:
    store = Store()
    for batch, rows in enumerate(expected(bucket(PLAIN))):
        with connected(0) as connection:
            assert store.taken(ask(connection, sealed(PLAIN), request(batch, store), store)) == rows
        if batch == 3:
            operator_client.STARTED[0].kill()
            operator_client.STARTED[0].wait()
    assert len(operator_client.STARTED) == 2
    # The window is two to three micro-batches long.
    assert 0 < store.fetched < 5


def test_workers_of_one_executor_share_a_server_and_others_may_not_write_to_its_folder(
    home: Path,
) -> None:
    with connected(1), connected(1), connected(2):
        pass
    assert len(operator_client.STARTED) == 2
    (folder,) = home.iterdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="written to by others"):
        connected(1)


def test_a_server_ends_with_the_daemon_of_its_workers(home: Path) -> None:
    daemon = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
    server = subprocess.Popen(
        [sys.executable, "-c", operator_client.PROGRAM, str(home / "0"), str(daemon.pid)],
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    with server.stdout:
        assert server.stdout.readline() == b"\n"
        assert server.poll() is None
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        assert daemon.stdin is not None
        daemon.stdin.close()
        wait_until(lambda: server.poll() is not None, "the server has ended")
    assert not (home / "0").exists()
