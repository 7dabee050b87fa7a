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


ENDLESS = {
    "kind": "matches",
    "query": "SELECT * FROM S WHERE ((A AS a)+ AGGREGATE Y[s = stddev(a.v)]) FILTER Y[s = 7.5]",
    "events": "type,v\n" + "A,1\n" * 60,
    "limits": {"matches": 10**15},
}
"""All subsets of 60 events are looked at."""


def test_a_worker_that_takes_too_long_is_ended_and_another_answers(worker: Worker) -> None:
    worker.bounds = Bounds(seconds=1)
    problem = worker.ask(ENDLESS)["problem"]
    assert problem["kind"] == "budget"
    assert "longer than 1 seconds" in problem["message"]
    worker.bounds = Bounds()
    assert worker.ask(QUICK)["count"] == 1


def test_what_a_newer_view_of_the_page_has_overtaken_is_given_up() -> None:
    worker = Worker(Bounds(seconds=3600), warm=False)
    found: list[dict[str, Any]] = []
    endless = {**ENDLESS, "page": "p", "serial": 1}
    thread = Thread(target=lambda: found.append(worker.ask(endless)))
    thread.start()
    newer = {**QUICK, "kind": "step", "query": "SELECT * FROM S WHERE A", "page": "p", "serial": 2}
    try:
        assert len(worker.ask(newer)["levels"][0]["moments"]) == 1
        thread.join()
        assert found == [{"overtaken": True}]
    finally:
        worker.close()


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
