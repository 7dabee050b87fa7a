"""Mutations of deadlines, each of which random queries with NOT FOLLOWED BY must notice.

The kernel is mutated in its text and run by Python; what calls it is mutated as it is.
"""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.engine.run import find_matches
from ensue.kernels.match import waiting
from ensue.operators import pending
from ensue.operators.absence import AbsenceOperator
from ensue.operators.pending import PendingMatches
from ensue.options import ReadOptions
from tests.equivalence.test_not_followed import by_definition, told
from tests.equivalence.test_sessions import table

pytestmark = pytest.mark.adequacy

Patch = pytest.MonkeyPatch
Row = dict[str, Any]

QUERIES, STREAMS, SEED = 16, 5, 31

PATTERNS = ("A", "A", "A ; B", "A+", "(A OR B)", "A : B")
FOLLOWERS = ("B", "B", "C", "A", "A ; B", "(B OR C)")
DEADLINES = ("0 [ts]", "1 [ts]", "2 [ts]", "4 [ts]", "1 EVENTS", "2 EVENTS", "4 EVENTS")
PARTITIONS = ("", "PARTITION BY [k]", "PARTITION BY [k]")
WINDOWS = ("", "", "WITHIN 3 EVENTS", "WITHIN 2 [ts]")


class Case(NamedTuple):
    """A query, a stream, how far time comes, and what is to be found in its order."""

    query: ensue.Query
    rows: list[Row]
    until: int | None
    expected: list[tuple[Any, ...]]


@cache
def suite() -> tuple[Case, ...]:
    """Random cases, always the same."""
    some = Random(SEED)
    return tuple(
        case(query, some) for query in [random_query(some) for _ in range(QUERIES)] * STREAMS
    )


def random_query(some: Random) -> ensue.Query:
    """A plain pattern that a plain one must not follow."""
    where = f"{some.choice(PATTERNS)} NOT FOLLOWED BY ({some.choice(FOLLOWERS)})"
    clauses = (some.choice(DEADLINES), some.choice(PARTITIONS), some.choice(WINDOWS))
    return ensue.compile(" ".join(("SELECT * FROM S WHERE", where, "WITHIN", *clauses)))


def case(query: ensue.Query, some: Random) -> Case:
    """A stream with much of what a query looks for, and with pauses."""
    time, rows = 0, list[Row]()
    for _ in range(some.randint(7, 11)):
        time += some.choice((0, 1, 1, 1, 2, 6))
        kind, key = some.choice("AAABBC"), some.choice("ppq")
        rows.append({"type": kind, "v": some.randint(0, 2), "w": 0.5, "k": key, "ts": time})
    late = some.choice((None, None, 0, 1, 5))
    until = None if late is None else time + late
    return Case(query, rows, until, told(by_definition(query, rows, until=until)))


def ordered(found: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what was found, and the order of its deadlines."""
    return Counter(found), [each[0] for each in found]


def in_pieces(case: Case) -> list[tuple[Any, ...]]:
    """Push events two at a time, resume after every push, and let time pass between."""
    session, found = case.query.open(time="ts"), []
    for at in range(0, len(case.rows), 2):
        some = case.rows[at : at + 2]
        found += told(session.push(table(some)))
        session = case.query.resume(session.snapshot())
        following = case.rows[at + 2 : at + 3]
        if following and following[0]["ts"] > some[-1]["ts"]:
            found += told(session.advance(following[0]["ts"]))
    return [*found, *told(session.finish(at=case.until))]


def agrees(case: Case) -> bool:
    """Tell whether a case comes out as defined: as a whole, gathered always, and in pieces."""
    options = ReadOptions(time="ts")
    gathered = find_matches(
        case.query, case.rows, options, positions_only=False, compact_always=True, until=case.until
    )
    whole = told(case.query.run(case.rows, time="ts", until=case.until))
    ways = (whole, told(gathered), in_pieces(case))
    return all(ordered(way) == ordered(case.expected) for way in ways)


def noticed() -> bool:
    """Tell whether some case comes out otherwise."""
    try:
        return not all(map(agrees, suite()))
    except (ensue.EnsueError, IndexError, KeyError, AssertionError, ValueError):
        return True


KERNEL = {
    "the deadline itself has passed": (
        "entries.clock[front] <= length",
        "entries.clock[front] < length",
    ),
    "time goes on a little further": (
        "entries.clock[front] <= length",
        "entries.clock[front] <= length + 1",
    ),
    "nothing refutes": ("entries.end[entry] < events.latest[event]", "entries.end[entry] < 0"),
    "what starts with the match refutes it": (
        "entries.end[entry] < events.latest[event]",
        "entries.end[entry] <= events.latest[event]",
    ),
    "one of a key is refuted, the others are not": (
        "while entry != NIL and entries.end[entry] < events.latest[event]",
        "if entry != NIL and entries.end[entry] < events.latest[event]",
    ),
    "what is refuted waits on": ("entries.verdict[entry] = REFUTED", "pass"),
    "the last event of a deadline comes too early": (
        "entries.clock[entry] >= length",
        "entries.clock[entry] >= length - 1",
    ),
    "the last event of a deadline is not enough": (
        "entries.clock[entry] >= length",
        "entries.clock[entry] > length",
    ),
    "events of all keys count": ("lists.seen[key] += 1", "lists.seen[:] += 1"),
    "keys share a list": ("key = events.keys[event]", "key = 0 * events.keys[event]"),
    "decided matches stay in the list": (
        "lists.head[entries.key[front]] = entries.next[front]",
        "pass",
    ),
    "a match takes the place of those that wait before it": (
        "entries.next[lists.tail[own]] = arriving",
        "lists.head[own] = arriving",
    ),
    "a match is refuted before it ends": (
        "entries.clock[arriving] = lists.seen[own] if counts == 1 else time",
        "entries.clock[arriving] = lists.seen[own] - 1 if counts == 1 else time - 1",
    ),
    "the order of deadlines is turned around": (
        "cursor[FRONT] = front",
        "decided.entry[:count] = decided.entry[:count][::-1].copy()\n    cursor[FRONT] = front",
    ),
}


def kernel_with(old: str, new: str) -> Callable[..., int]:
    """Return the kernel with another text, for Python."""
    source = inspect.getsource(inspect.unwrap(getattr(waiting.decide, "py_func", waiting.decide)))
    source = textwrap.dedent(source).replace("@kernel\n", "")
    assert old in source
    names = dict(vars(waiting))
    exec(source.replace(old, new), names)
    mutated: Callable[..., int] = names["decide"]
    return mutated


def deadlines_come_earlier_without_events(patch: Patch) -> None:
    advance = PendingMatches.advance
    patch.setattr(
        PendingMatches, "advance", lambda self, time, outcome: advance(self, time + 1, outcome)
    )


def time_without_events_does_not_pass(patch: Patch) -> None:
    patch.setattr(PendingMatches, "advance", lambda self, time, outcome: None)


def snapshots_forget_what_waits(patch: Patch) -> None:
    save = PendingMatches.save

    def later(self: PendingMatches, labels: Any) -> dict[str, Any]:
        self.entries.verdict[:] = waiting.REFUTED
        return save(self, labels)

    patch.setattr(PendingMatches, "save", later)


def snapshots_forget_counts(patch: Patch) -> None:
    save = PendingMatches.save
    patch.setattr(
        PendingMatches,
        "save",
        lambda self, labels: {**save(self, labels), "counts": np.zeros_like(self.lists.seen)},
    )


def resumed_lists_have_one_entry(patch: Patch) -> None:
    linked = pending._linked

    def shorter(key: np.ndarray, keys: int) -> Any:
        after, head, tail = linked(key, keys)
        return np.full_like(after, -1), head, tail

    patch.setattr(pending, "_linked", shorter)


def what_follows_is_seen_an_event_late(patch: Patch) -> None:
    latest = AbsenceOperator.latest_in

    def later(self: AbsenceOperator, first: int, count: int) -> np.ndarray:
        found = latest(self, first, count)
        return np.concatenate([np.full(1, -1), found[:-1]])

    patch.setattr(AbsenceOperator, "latest_in", later)


def resumed_deadlines_are_longer(patch: Patch) -> None:
    load = PendingMatches.load

    def earlier(self: PendingMatches, saved: Any, labels: Any) -> None:
        load(self, saved, labels)
        self.window = replace(self.window, size=self.window.size + 1)

    patch.setattr(PendingMatches, "load", earlier)


CALLERS = (
    deadlines_come_earlier_without_events,
    time_without_events_does_not_pass,
    snapshots_forget_what_waits,
    snapshots_forget_counts,
    resumed_lists_have_one_entry,
    what_follows_is_seen_an_event_late,
    resumed_deadlines_are_longer,
)


def test_nothing_is_noticed_without_a_mutation() -> None:
    assert not noticed()


@given(st.integers(0, 2**32))
def test_deadlines_eq_reference(seed: int) -> None:
    some = Random(seed)
    one = case(random_query(some), some)
    event(f"matches: {bool(one.expected)}")
    assert agrees(one)


@pytest.mark.parametrize("name", KERNEL)
def test_a_mutation_of_the_kernel_is_noticed(name: str, monkeypatch: Patch) -> None:
    suite()
    monkeypatch.setattr(pending, "decide", kernel_with(*KERNEL[name]))
    assert noticed()


@pytest.mark.parametrize("mutate", CALLERS, ids=lambda each: each.__name__)
def test_a_mutation_of_what_calls_it_is_noticed(
    mutate: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    suite()
    mutate(monkeypatch)
    assert noticed()
