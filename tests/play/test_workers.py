"""Workers answer, are ended when that takes too long, and answer again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from ensue.play.bounds import Bounds
from ensue.play.workers import Worker

QUICK = {"kind": "read", "query": "", "events": "type\nA\n"}


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(Bounds(), warm=False)
    yield made
    made.close()


def test_a_worker_that_takes_too_long_is_ended_and_another_answers(worker: Worker) -> None:
    worker.bounds = Bounds(seconds=0.001)
    slow = {"kind": "why", "query": "SELECT * FROM S WHERE A ; B ; C", "events": "type\nA\n"}
    problem = worker.ask(slow)["problem"]
    assert problem["kind"] == "budget"
    assert "0.001 seconds" in problem["message"]
    worker.bounds = Bounds()
    assert worker.ask(QUICK)["count"] == 1


def test_requests_that_newer_ones_overtake_are_not_evaluated(worker: Worker) -> None:
    found: dict[int, dict[str, Any]] = {}

    def ask(serial: int) -> None:
        found[serial] = worker.ask({**QUICK, "page": "p", "serial": serial})

    ask(2)
    ask(1)
    assert "count" in found[2]
    assert found[1] == {"overtaken": True}
    threads = [Thread(target=ask, args=(serial,)) for serial in range(3, 9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert "count" in found[8]


def test_memory_is_bounded() -> None:
    code = (
        "from ensue.play.memory import bound_memory\n"
        "bound_memory(200 << 20)\n"
        "bytearray(50 << 20)\n"
        "try:\n"
        "    bytearray(400 << 20)\n"
        "except MemoryError:\n"
        "    print('bounded')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "bounded\n"
