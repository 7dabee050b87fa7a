"""Sessions and threads: one session is used by several, several are used at once."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

import ensue

THREADS, PUSHES, SIZE = 4, 25, 120
PAIRS = "SELECT * FROM S WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 9 EVENTS"
COUNTS = "SELECT count(*) AS n FROM S WHERE A ; B PARTITION BY [k]"


@pytest.fixture(autouse=True)
def switching_often() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def batch(thread: int, number: int) -> pa.RecordBatch:
    """Events of a thread: keys of its own, so that other threads do not matter to their matches."""
    first = number * SIZE
    return pa.RecordBatch.from_pydict(
        {
            "type": ["ABC"[n % 3] for n in range(first, first + SIZE)],
            "k": [f"{thread}/{n % 5}" for n in range(first, first + SIZE)],
            "n": list(range(first, first + SIZE)),
        }
    )


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Do something in all threads, begun at the same time."""
    begin = threading.Barrier(THREADS)

    def begun(thread: int) -> Any:
        begin.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begun, range(THREADS)))


def numbers(matches: ensue.Matches) -> list[tuple[Any, ...]]:
    """Name matches by what is in their events, whatever their positions."""
    table = matches.to_arrow(events=True)
    return [
        (a[0]["k"], a[0]["n"], b[0]["n"])
        for a, b in zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)
    ]


def expected() -> list[tuple[Any, ...]]:
    session = ensue.compile(PAIRS).open()
    found = []
    for thread in range(THREADS):
        for number in range(PUSHES):
            found += numbers(session.push(batch(thread, number)))
    return sorted(found)


def test_threads_that_push_into_one_session_lose_nothing() -> None:
    session = ensue.compile(PAIRS).open()

    def work(thread: int) -> list[tuple[Any, ...]]:
        # Matches are read after the turn is over, while other threads go on pushing.
        return [each for n in range(PUSHES) for each in numbers(session.push(batch(thread, n)))]

    found = [each for some in at_once(work) for each in some]
    assert session.stats["events"] == THREADS * PUSHES * SIZE
    assert session.stats["matches"] == len(found)
    assert sorted(found) == expected()


def test_whatever_threads_do_with_a_session_they_do_in_turns() -> None:
    rules = ensue.open({"pairs": PAIRS, "counts": COUNTS})
    found: list[tuple[Any, ...]] = []

    def work(thread: int) -> None:
        for number in range(PUSHES):
            found.extend(numbers(rules.push(batch(thread, number))["pairs"]))
            match thread:
                case 0:
                    assert rules.stats["events"] % SIZE == 0
                case 1:
                    assert rules.snapshot()
                case 2:
                    rules.add(f"more {number}", COUNTS)
                case 3:
                    rules.replace("counts", COUNTS)

    at_once(work)
    assert rules.stats["events"] == THREADS * PUSHES * SIZE
    assert len(rules.queries) == 2 + PUSHES
    assert sorted(found) == expected()


def test_sessions_in_threads_of_their_own_do_not_meet() -> None:
    query = ensue.compile(PAIRS)

    def work(thread: int) -> list[tuple[Any, ...]]:
        session = query.open()
        coded = (batch(thread, n) for n in range(PUSHES))
        return [each for one in coded for each in numbers(session.push(_coded(one)))]

    assert sorted(each for some in at_once(work) for each in some) == expected()


def _coded(events: pa.RecordBatch) -> pa.Table:
    """Give strings dictionaries, which are looked up in a place that all sessions share."""
    table = pa.table(events)
    for name in ("type", "k"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table.column(name).dictionary_encode())
    return table


def test_a_session_is_pushed_to_from_coroutines() -> None:
    session = ensue.compile(PAIRS).open()

    async def push(thread: int) -> int:
        found = 0
        for number in range(PUSHES):
            found += (await asyncio.to_thread(session.push, batch(thread, number))).count
        return found

    async def every() -> int:
        return sum(await asyncio.gather(*map(push, range(THREADS))))

    assert asyncio.run(every()) == len(expected())
    assert session.stats["events"] == THREADS * PUSHES * SIZE


@pytest.mark.parametrize("inner", ["push", "stats", "snapshot", "finish"])
def test_a_session_that_is_used_inside_its_own_push_says_so(inner: str) -> None:
    session = ensue.compile(PAIRS).open()

    def events() -> Iterator[dict[str, Any]]:
        yield {"type": "A", "k": "x"}
        used = getattr(session, inner)
        used({"type": "B", "k": "x"}) if inner == "push" else used()
        yield {"type": "B", "k": "x"}

    with pytest.raises(RuntimeError, match=f"'{inner}' of a session .* inside its own 'push'"):
        session.push(events())
    # Nothing was read, and the session goes on.
    assert session.push([{"type": "A", "k": "x"}, {"type": "B", "k": "x"}]).count == 1


def test_a_closed_session_takes_no_more_events() -> None:
    query = ensue.compile(PAIRS)
    with query.open() as session:
        session.push({"type": "A", "k": "x"})
    with pytest.raises(ensue.EventError, match="closed"):
        session.push({"type": "B", "k": "x"})
    assert session.stats["events"] == 1
    with query.resume(session.snapshot()) as again:
        assert again.push({"type": "B", "k": "x"}).count == 1
    with ensue.open({"pairs": query}) as rules:
        assert rules.push([])["pairs"].count == 0
    with pytest.raises(ensue.EventError, match="closed"):
        rules.finish()
