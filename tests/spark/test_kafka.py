"""Kafka in and out on a real broker: a job that is killed loses nothing, and repeats by id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import ensue
from examples.kafka.broker import Broker
from examples.kafka.jars import UnreachableError
from examples.kafka.job import QUERY, connector
from examples.kafka.trades import generate, heartbeat, messages
from tests.spark.frames import local_ids
from tests.spark.test_failures import numbers

ROOT = Path(__file__).parents[2]
PATIENCE = 400.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        connector()
        ready = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    except UnreachableError as error:
        pytest.skip(f"the jars of Kafka are not in the cache, and there is {error}")
    with ready:
        yield ready


def job(broker: Broker, checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start the example's job, in a process group of its own."""
    with (broker.folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "examples.kafka.job", "--once", "--most", "1200", "--tasks", "4"]
            + ["--servers", broker.servers, "--checkpoint", str(checkpoint)],
            cwd=ROOT,
            env={**os.environ, "MASTER": "local[2]"},
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )


def bytes_in(broker: Broker, topic: str) -> int:
    """Return how much of a topic is in the broker's files."""
    return sum(each.stat().st_size for each in broker.folder.glob(f"topics/{topic}-*/*.log"))


def last(checkpoint: Path) -> int:
    """Return the last micro-batch that is committed; -1 where there is none."""
    commits = checkpoint / "commits"
    return max(numbers(commits), default=-1) if commits.exists() else -1


def killed_while_writing(broker: Broker, checkpoint: Path) -> bool:
    """Run the job, and kill it when alerts of a micro-batch are written that is not committed.

    Alerts of committed micro-batches were in the topic when the commit was seen; what has come
    since belongs to the next one. The answer is whether the job died before it could commit that.
    """
    running = job(broker, checkpoint)
    deadline = time.monotonic() + PATIENCE
    committed = last(checkpoint)
    seen = bytes_in(broker, "alerts")
    try:
        while committed < 0 or bytes_in(broker, "alerts") == seen:
            if running.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the job did not get so far: {broker.log()}")
            if last(checkpoint) > committed:
                committed = last(checkpoint)
                seen = bytes_in(broker, "alerts")
            time.sleep(0.005)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    return last(checkpoint) == committed


def test_a_job_that_is_killed_repeats_alerts_with_the_same_ids_and_loses_none(
    broker: Broker, tmp_path: Path
) -> None:
    table = generate(6000, rate=200)
    sent = messages(table)
    end = table["at"][-1].as_py() + timedelta(minutes=1)
    broker.write("trades", [*sent[:3000], ("MSFT", "no {JSON"), *sent[3000:], heartbeat(end)])
    checkpoint = tmp_path / "checkpoint"
    assert any(killed_while_writing(broker, checkpoint) for _ in range(3))
    again = job(broker, checkpoint)
    assert again.wait(PATIENCE) == 0, broker.log()
    expected = local_ids(ensue.run(QUERY, table, time="at", tiebreak="id"))
    assert len(expected) > 50
    assert max(expected.values()) == 1
    values = broker.read("alerts")
    found = Counter(json.loads(each)["match_id"] for each in values)
    assert set(found) == set(expected)
    # What was written before the crash and not committed is there twice, word for word.
    assert found.total() > expected.total()
    assert len(set(values)) == expected.total()
