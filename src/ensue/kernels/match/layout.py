"""The state of a matching query: configurations, and how those with registers are found.

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

from ensue.kernels.layout import EMPTY, NIL, Array, Graph, Hits, Int32, Int64


class Slots(NamedTuple):
    """The configurations: lists of slots by key, or with registers by group."""

    state: Int32
    registers: Int64
    """[slot, register]."""
    root: Int32
    """With registers, NIL in slots that are free."""
    start: Int32
    """The latest start below the root, kept here to spare a look into the graph."""
    next: Int32
    heads: Int32
    """[key]: the first slot, with registers the first group, or NIL."""


class State(NamedTuple):
    """What a kernel changes while it reads events."""

    graph: Graph
    slots: Slots
    hits: Hits
    counters: Int64


class Index(NamedTuple):
    """How configurations with registers are found."""

    group: Int32
    """[slot]: the group, the slots of one key and state."""
    previous: Int32
    """[slot]: the one before in its group."""
    state: Int32
    key: Int32
    first: Int32
    """[group]: its first slot."""
    next: Int32
    """[group]: the next group of the same key, or the next free one."""
    size: Int32
    """[group]: how many slots it has."""
    counts: Int64
    """How many groups there are, the first free one, how many slots are in use, and up to how many
    slots of a group are scanned: larger ones get trees."""
    buckets: Int32
    """[hash of group and contents]: the first slot there; a power of two of them."""
    chain: Int32
    """[slot]: the next in its bucket."""
    partners: Int32
    """[index, hash of group and content]: the first slot there; or [index, group]: the root."""
    before: Int32
    after: Int32
    """[slot, index]: its neighbours there."""
    branches: Int32
    """[slot, places of each index]: its branches in search trees (see Trees)."""
    due: Int32
    """[slot, places of each index and lazy target]: what lazy steps owe (see Trees)."""


class Trees(NamedTuple):
    """The search trees among the indexes (treap.py): arrays of the slots and of the index."""

    contents: Int64
    """[slot, register]."""
    root: Int32
    """[index, group]."""
    branches: Int32
    """[slot, places of each index]: the children, the slot's own node, and what is below
    (ranges.py): side by side, since a tree is larger than any cache."""
    due: Int32
    """[slot, places of each index and target of lazy steps]: what they owe to the configurations
    below (due.py)."""
    targets: int
    """How many states lazy steps lead to."""


LOWER, HIGHER, WHOLE, SINCE, OWN, BEGUN, SIDE, SIDE_SINCE, BRANCH = range(9)
"""Places in a branch: the children; the node of all below, and its latest start; the node of the
slot, and its latest start; the node of the slot with all that is lower, and its latest start. And
how many places there are."""

ALL_DUE, LOWER_DUE, OWN_DUE, DUE = 0, 2, 4, 6
"""Places of a slot for a target: what is due below it, and the first start of a path that is not
in it yet; the same of the slot with all that is lower, and of the slot alone. And how many places
there are."""


class Lazy(NamedTuple):
    """Steps that all configurations of a state take alike, and that wait to be applied (lazy.py).

    A factor is a key, an origin and a state: the node of all paths from the origin to the state.
    """

    heads: Int32
    """[key]: its first factor, or NIL."""
    next: Int32
    """[factor]: the next one of the same key."""
    key: Int32
    origin: Int32
    state: Int32
    root: Int32
    """[factor]: its node, with starts where the origin was left."""
    target: Int32
    """[factor]: the number of its state among those that lazy steps lead to."""
    slot: Int32
    made: Int32
    """[factor]: while a configuration is brought up to date, its slot and what it contributes."""
    applied: Int32
    """[slot]: the first start of a path that is not applied to it yet."""
    counts: Int64
    """How many factors there are."""


Lazy.passed_whole = True  # type: ignore[attr-defined]  # see compile/flatten.py

STALE, NOTHING = -1, -2
"""Instead of a node of all below a slot: it is not known, or all runs there are over."""

GROUPS, FREE_GROUP, LIVE, SCANNED = range(4)
"""Places in `Index.counts`."""


class Pending(NamedTuple):
    """What an event does to configurations without registers, before it is done."""

    target: Int32
    node: Int32
    start: Int32
    """[contribution]: a state, the node that is to be joined there, and its latest start."""
    mover: Int32
    """The slots that move."""
    order: Int32
    scratch: Int32
    """The contributions by their starts, where they are many."""
    place: Int32
    """[state]: NIL, and while many contributions are added the slot of the state."""


class Moves(NamedTuple):
    """What an event does to configurations with registers, before it is done."""

    slot: Int32
    step: Int32
    """[move]: a configuration, or NIL for a run that starts, and a step it takes."""
    target: Int32
    node: Int32
    start: Int32
    registers: Int64
    """[move]: the configuration after it, its target NIL where there is none."""
    order: Int32
    spare: Int32
    dropped: Int32
    """Configurations that end."""
    part: Int32
    part_start: Int32
    """Nodes of configurations that move as one: the move has PARTS for its slot, and until it is
    done the first of them for its node, and for its start where they end."""


PARTS = -2
"""Instead of the slot that moves: many do, as one."""


def new_slots(slots: int, keys: int, registers: int) -> Slots:
    """Allocate configurations."""
    return Slots(
        np.zeros(slots, np.int32),
        np.full((slots, registers), EMPTY, np.int64),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.int32),
        np.full(slots, NIL, np.int32),
        np.full(keys, NIL, np.int32),
    )


def new_index(slots: int, indexes: int, scan_limit: int, *, trees: bool, targets: int) -> Index:
    """Allocate the index of configurations; their number is a power of two.

    `targets` is how many states lazy steps lead to.
    """

    def nil(*shape: int) -> Array:
        return np.full(shape, NIL, np.int32)

    return Index(
        nil(slots),
        nil(slots),
        nil(slots),
        nil(slots),
        nil(slots),
        nil(slots),
        nil(slots),
        np.array([0, NIL, 0, scan_limit], np.int64),
        nil(slots),
        nil(slots),
        nil(indexes, slots),
        nil(slots, indexes),
        nil(slots, indexes),
        nil(slots if trees else 1, BRANCH * indexes),
        nil(slots if trees and targets else 1, DUE * indexes * targets),
    )


def new_lazy(factors: int, keys: int, slots: int) -> Lazy:
    """Allocate factors."""

    def nil(size: int) -> Array:
        return np.full(size, NIL, np.int32)

    return Lazy(
        nil(keys),
        nil(factors),
        nil(factors),
        nil(factors),
        nil(factors),
        nil(factors),
        nil(factors),
        nil(factors),
        nil(factors),
        np.zeros(slots, np.int32),
        np.zeros(1, np.int64),
    )


def new_pending(contributions: int, states: int) -> Pending:
    """Allocate room for what one event does without registers."""

    def zeros() -> Array:
        return np.zeros(contributions, np.int32)

    place = np.full(states, NIL, np.int32)
    return Pending(zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), place)


def new_moves(moves: int, registers: int) -> Moves:
    """Allocate room for the moves of one event."""

    def zeros() -> Array:
        return np.zeros(moves, np.int32)

    return Moves(
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        np.zeros((moves, registers), np.int64),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
    )
