"""The state of an evaluation as flat arrays.

The match graph (paper 002's timed enumerable compact set) is an arena of nodes, children before
parents, of three kinds:

- bottom: a run starts here (`label` 0);
- output: an event at `position` gets the variables of `label` (> 0), the rest is at `left`;
- union: both what is at `left` and what is at `right` (`label` -1).

Every node knows the latest start below it, as an index into the table of starts, which are
numbered in the order of positions; of the children of a union, `left` has the later one. So the
matches of a node are found latest start first, and those before a window's edge are skipped
without being looked at. Between two outputs on a path there are at most as many unions on left
sides as the automaton has states, because runs that were merged can only part again by an output.

A configuration is an automaton state, the contents of its registers, and the node of all runs
that are in this state with these contents. Those of one partition key form a linked list of
slots, so a million keys with few states each fit. Registers hold values of earlier events that a
later condition still needs; queries whose conditions are about one event have none.

With registers, a key may have very many configurations. Then its slots are in groups, one for
each state, and an index finds them by all of their contents, or by the one register that a step
compares: by a hash for an equality, else, where they are many, in a search tree. All of the index
follows from the slots and their keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray

UNKNOWN, STAY, DEAD = -1, -2, -3
"""Cells of the table: not worked out yet, the state stays as it is, all runs in it end."""

UNION = -1

NOTHING = -1

FOREVER = -(2**63)
"""The window's edge when there is no window."""

# Counters, in one array so that a kernel can stop anywhere and go on later.
NODES, STARTS, SLOTS, FREE, HITS, FLOOR, COUNTERS = range(7)
"""How many nodes, starts, slots and hits there are, the first free slot, and the first start
that is not consumed."""

DONE, MISSING, FULL, CROWDED = range(4)
"""Why a kernel returned: all events read, a cell of the table is unknown, an array is full, there
are more configurations than it was told to allow."""

CONSUME_NONE, CONSUME_ANY, CONSUME_PARTITION = range(3)
"""What an event that completes a match consumes: nothing, everything, what its partition has."""

CONSUME = {"NONE": CONSUME_NONE, "ANY": CONSUME_ANY, "PARTITION": CONSUME_PARTITION}
"""By the words of CONSUME BY."""

MOST_BYTES = 4 << 30
"""The budget of the state of one query, unless it is told otherwise."""

EMPTY = -(2**63)
"""The content of a register that nothing was put into; it satisfies every condition."""

NULL = EMPTY + 1
"""A value that is not there, and a register that satisfies no condition any more."""

MOST = 2**63 - 1
"""The largest content."""

EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST = range(6)
"""How a step compares a value of the event with a register."""

KEEP, CLEAR, PUT, PUT_LEAST, PUT_MOST, PUT_SAME = range(6)
"""What a step does to a register: with a value of the event, or none."""


class Tables(NamedTuple):
    """The deterministic automaton as far as it is known."""

    cells: np.ndarray
    """[state, symbol]: UNKNOWN, STAY, DEAD or a row."""
    rows: np.ndarray
    """Row r has the steps rows[r] to rows[r + 1]."""
    labels: np.ndarray
    finals: np.ndarray
    targets: np.ndarray
    inert: np.ndarray
    """[symbol]: no state moves and no run starts."""
    guard_rows: np.ndarray
    """Step s has the guards guard_rows[s] to guard_rows[s + 1]."""
    guards: np.ndarray
    """[guard]: a register, how to compare, a column of values."""
    actions: np.ndarray
    """[step, register]: what to do, and with which column of values."""
    access: np.ndarray
    """[step]: by which index it finds the configurations that its guards let pass, or NOTHING."""
    indexes: np.ndarray
    """[index]: the register whose contents it knows."""
    ordered: np.ndarray
    """[index]: whether it is a tree for each group, and not a hash table."""
    indexed: np.ndarray
    """[state, index]: whether some step from the state uses the index."""


class Graph(NamedTuple):
    """The match graph."""

    label: np.ndarray
    left: np.ndarray
    right: np.ndarray
    position: np.ndarray
    start: np.ndarray
    start_position: np.ndarray
    start_clock: np.ndarray


class Slots(NamedTuple):
    """The configurations: lists of slots by key, or with registers by group."""

    state: np.ndarray
    registers: np.ndarray
    """[slot, register]."""
    root: np.ndarray
    """With registers, NOTHING in slots that are free."""
    start: np.ndarray
    """The latest start below the root, so that nobody has to look into the graph for it."""
    next: np.ndarray
    heads: np.ndarray
    """[key]: the first slot, with registers the first group, or NOTHING."""


class Index(NamedTuple):
    """How configurations with registers are found."""

    group: np.ndarray
    """[slot]: the group, the slots of one key and state."""
    previous: np.ndarray
    """[slot]: the one before in its group."""
    state: np.ndarray
    key: np.ndarray
    first: np.ndarray
    """[group]: its first slot."""
    next: np.ndarray
    """[group]: the next group of the same key, or the next free one."""
    size: np.ndarray
    """[group]: how many slots it has."""
    counts: np.ndarray
    """How many groups there are, the first free one, how many slots are in use, and how many a
    group may have before it gets trees."""
    buckets: np.ndarray
    """[hash of group and contents]: the first slot there; a power of two of them."""
    chain: np.ndarray
    """[slot]: the next in its bucket."""
    partners: np.ndarray
    """[index, hash of group and content]: the first slot there; or [index, group]: the root."""
    before: np.ndarray
    after: np.ndarray
    """[slot, index]: its neighbours there, or its children."""


GROUPS, FREE_GROUP, LIVE, FEW = range(4)


class Scratch(NamedTuple):
    """What an event does to configurations with registers, before it is done."""

    slot: np.ndarray
    step: np.ndarray
    """[move]: a configuration, or NOTHING for a run that starts, and a step it takes."""
    target: np.ndarray
    node: np.ndarray
    start: np.ndarray
    registers: np.ndarray
    """[move]: the configuration after it, its target NOTHING where there is none."""
    order: np.ndarray
    spare: np.ndarray
    dropped: np.ndarray
    """Configurations that end."""


class Hits(NamedTuple):
    """Events that completed matches: the node of them, and the window's edge then."""

    end: np.ndarray
    root: np.ndarray
    edge: np.ndarray
    floor: np.ndarray
    key: np.ndarray


def new_graph(nodes: int, starts: int) -> Graph:
    """Allocate a match graph."""
    return Graph(
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int32),
        np.empty(starts, np.int64),
        np.empty(starts, np.int64),
    )


def new_slots(slots: int, keys: int, registers: int) -> Slots:
    """Allocate configurations."""
    return Slots(
        np.zeros(slots, np.int32),
        np.full((slots, registers), EMPTY, np.int64),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.int32),
        np.full(slots, NOTHING, np.int32),
        np.full(keys, NOTHING, np.int32),
    )


def new_index(slots: int, indexes: int, few: int) -> Index:
    """Allocate the index of configurations; their number is a power of two."""

    def nothing(*shape: int) -> np.ndarray:
        return np.full(shape, NOTHING, np.int32)

    return Index(
        nothing(slots),
        nothing(slots),
        nothing(slots),
        nothing(slots),
        nothing(slots),
        nothing(slots),
        nothing(slots),
        np.array([0, NOTHING, 0, few], np.int64),
        nothing(slots),
        nothing(slots),
        nothing(indexes, slots),
        nothing(slots, indexes),
        nothing(slots, indexes),
    )


def new_scratch(moves: int, registers: int) -> Scratch:
    """Allocate room for the moves of one event."""

    def zeros() -> np.ndarray:
        return np.zeros(moves, np.int32)

    return Scratch(
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        np.zeros((moves, registers), np.int64),
        zeros(),
        zeros(),
        zeros(),
    )


def new_hits(hits: int) -> Hits:
    """Allocate room for hits."""
    return Hits(
        np.zeros(hits, np.int64),
        np.zeros(hits, np.int32),
        np.zeros(hits, np.int64),
        np.zeros(hits, np.int32),
        np.zeros(hits, np.int32),
    )
