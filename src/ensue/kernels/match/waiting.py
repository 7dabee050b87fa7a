"""The kernel of deadlines: what follows in time, and when time has passed.

Completing events wait for their deadline in the order in which they came, and each is in the list
of its key. Something that must not follow refutes those of its key that ended before it started:
they are the first of the list, since a list is in the order of ends. A deadline in time is passed
by the next event that is later, of any key; deadlines follow each other as ends do. A deadline in
events is passed by the last of them, and is that of its key. Every entry is looked at a constant
number of times.
"""

from __future__ import annotations

from typing import NamedTuple

from ensue.kernels.compile.jit import kernel
from ensue.kernels.layout import NIL, Array, Int8, Int32, Int64

WAITS, REFUTED, DECIDED = range(3)
"""Verdicts on a completing event: none yet, something followed it in time, nothing did."""

FRONT, ARRIVED, TOTAL = range(3)
"""In the cursor: the first entry that may wait, how many have arrived, how many are there."""


class Entries(NamedTuple):
    """Completing events, in their order."""

    end: Int64
    clock: Int64
    """The time of the event, or its number within its key."""
    key: Int32
    next: Int32
    """The next entry of the key, or NIL."""
    verdict: Int8


class KeyLists(NamedTuple):
    """The entries that wait, by key."""

    head: Int32
    tail: Int32
    seen: Int64
    """How many events the key has had, where deadlines are in events."""


class Passing(NamedTuple):
    """Events as they pass."""

    times: Int64
    keys: Int32
    """The partition of each event, -1 for none; empty where there are no partitions."""
    latest: Int64
    """The latest start, up to each event, of what must not follow; empty where others decide."""
    first_position: int


class Decided(NamedTuple):
    """Entries that nothing has followed, in the order of their deadlines."""

    entry: Int32
    last: Int64
    """The position of the last event before the deadline was over."""


@kernel
def decide(
    entries: Entries,
    lists: KeyLists,
    cursor: Array,
    events: Passing,
    length: int,
    counts: int,
    begin: int,
    end: int,
    decided: Decided,
) -> int:
    """Let events pass; return how many entries are decided.

    Args:
        entries: those that wait, and those that these events complete.
        lists: the entries of each key.
        cursor: how far they have come.
        events: what passes.
        length: from an end to its deadline, in time or in events.
        counts: 1 where deadlines are in events.
        begin: the first event that passes.
        end: the event after the last.
        decided: room for all entries.
    """
    count = 0
    front = cursor[FRONT]
    arriving = cursor[ARRIVED]
    total = cursor[TOTAL]
    for event in range(begin, end):
        time = events.times[event]
        position = events.first_position + event
        while counts == 0 and front < arriving:
            if entries.verdict[front] == WAITS:
                if time - entries.clock[front] <= length:
                    break
                entries.verdict[front] = DECIDED
                lists.head[entries.key[front]] = entries.next[front]
                decided.entry[count] = front
                decided.last[count] = position - 1
                count += 1
            front += 1
        key = events.keys[event] if events.keys.shape[0] > 0 else 0
        if key >= 0:
            entry = lists.head[key]
            if events.latest.shape[0] > 0:
                while entry != NIL and entries.end[entry] < events.latest[event]:
                    entries.verdict[entry] = REFUTED
                    entry = entries.next[entry]
            if counts == 1:
                lists.seen[key] += 1
                while entry != NIL and lists.seen[key] - entries.clock[entry] >= length:
                    entries.verdict[entry] = DECIDED
                    decided.entry[count] = entry
                    decided.last[count] = position
                    count += 1
                    entry = entries.next[entry]
            lists.head[key] = entry
        while arriving < total and entries.end[arriving] == position:
            own = entries.key[arriving]
            entries.clock[arriving] = lists.seen[own] if counts == 1 else time
            if lists.head[own] == NIL:
                lists.head[own] = arriving
            else:
                entries.next[lists.tail[own]] = arriving
            lists.tail[own] = arriving
            arriving += 1
    cursor[FRONT] = front
    cursor[ARRIVED] = arriving
    return count
