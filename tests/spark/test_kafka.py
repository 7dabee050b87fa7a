"""Kafka in and out on a real broker: a job that is killed loses nothing, and repeats by id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

import ensue
from examples.kafka.broker import Broker
from examples.kafka.jars import UnreachableError
from examples.kafka.job import QUERY, connector
from examples.kafka.trades import generate, heartbeat, messages
from tests.spark.frames import local_ids
from tests.spark.patience import TOO_SLOW, TRIES
from tests.spark.processes import ROOT, environment
from tests.spark.test_failures import numbers
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.pipelines


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        connector()
        ready = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    except UnreachableError as error:
        pytest.skip(f"the jars of Kafka are not in the cache, and there is {error}")
    with ready:
        yield ready


@contextmanager
def job(broker: Broker, checkpoint: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The example's job and its JVM, which do not outlive the block."""
    with log.open("wb") as errors:
        running = subprocess.Popen(
            [
                *[sys.executable, "-m", "examples.kafka.job", "--once", "--most", "2000"],
                *["--tasks", "2", "--servers", broker.servers, "--checkpoint", str(checkpoint)],
            ],
            cwd=ROOT,
            env=environment(MASTER="local[1]"),
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def bytes_in(broker: Broker, topic: str) -> int:
    """Return how much of a topic is in the broker's files."""
    return sum(each.stat().st_size for each in broker.folder.glob(f"topics/{topic}-*/*.log"))


def last(checkpoint: Path) -> int:
    """Return the last micro-batch that is committed; -1 where there is none."""
    commits = checkpoint / "commits"
    return max(numbers(commits), default=-1) if commits.exists() else -1


def killed_while_writing(broker: Broker, checkpoint: Path, log: Path) -> bool:
    """Run the job, and kill it when alerts of a micro-batch are written that is not committed.

    Alerts of committed micro-batches were in the topic when the commit was seen; what has come
    since belongs to the next one. The answer is whether the job died before it could commit that.
    """
    committed, seen = last(checkpoint), bytes_in(broker, "alerts")

    def wrote_ahead() -> bool:
        nonlocal committed, seen
        if last(checkpoint) > committed:
            committed, seen = last(checkpoint), bytes_in(broker, "alerts")
        return committed >= 0 and seen < bytes_in(broker, "alerts")

    with job(broker, checkpoint, log) as running:
        wait_until(lambda: wrote_ahead() or running.poll() is not None, "alerts are written")
        ended = running.poll()
    if ended is not None:
        too_slow(log, ended)
        return False
    return last(checkpoint) == committed


def too_slow(log: Path, ended: int) -> None:
    """Accept that a job ended because Spark gave up on a worker, and for no other reason."""
    told = log.read_text(encoding="utf-8")
    assert TOO_SLOW in told, f"the job ended with {ended}: {told[-4000:]}"


def drain(broker: Broker, checkpoint: Path, log: Path) -> None:
    """Run the job to the end of the topic."""
    for _ in range(TRIES):
        with job(broker, checkpoint, log) as running:
            ended = running.wait(PATIENCE)
        if ended == 0:
            return
        too_slow(log, ended)
    pytest.fail(f"in {TRIES} tries no Python worker started in time")


def test_a_job_that_is_killed_repeats_alerts_with_the_same_ids_and_loses_none(
    broker: Broker, tmp_path: Path
) -> None:
    table = generate(6000, rate=200)
    sent = messages(table)
    end = table["at"][-1].as_py() + timedelta(minutes=1)
    broker.write("trades", [*sent[:3000], ("MSFT", "no {JSON"), *sent[3000:], heartbeat(end)])
    checkpoint, log = tmp_path / "checkpoint", tmp_path / "log"
    assert any(killed_while_writing(broker, checkpoint, log) for _ in range(TRIES))
    drain(broker, checkpoint, log)
    expected = local_ids(ensue.run(QUERY, table, time="at", tiebreak="id"))
    assert len(expected) > 50
    assert max(expected.values()) == 1
    values = broker.read("alerts")
    found = Counter(json.loads(each)["match_id"] for each in values)
    assert set(found) == set(expected)
    # What was written before the crash and not committed is there twice, word for word.
    assert found.total() > expected.total()
    assert len(set(values)) == expected.total()
