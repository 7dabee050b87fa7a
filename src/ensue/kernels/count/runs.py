"""The runs of a counting query: sparse vectors, kept by partition key.

A vector is a linked list of pairs: a state, and the weight of the runs that are in it. The nodes of
a key's lists are events or starts (see count.py), some with a vector of their own. Pairs and nodes
that are not in use are in lists too, so nothing is allocated while events are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.count.weights import Values, Weights, new_weights, set_number
from ensue.kernels.layout import NIL, Array, Bool, Int32, Int64

PAIRS, FREE_PAIR, NODES, FREE_NODE, FOUND, EPOCH, COUNTERS = range(7)
"""How many pairs, nodes and hits there are, the first free ones, and how often all was consumed."""

NEED_PAIRS, NEED_NODES, NEED_SCRATCH = range(3)
"""Which arrays are full."""

TOTAL, PARTIAL, ONE, OWN_PAIRS = range(4)
"""Pairs that the kernel keeps to itself: sums in progress, and the one run that may start."""


class Pairs(NamedTuple):
    """Entries of sparse vectors: a state, the weight of the runs in it, the next entry."""

    state: Int32
    next: Int32
    weight: Weights


class Nodes(NamedTuple):
    """Entries of the lists `front`, `rows` and `back` of a key."""

    number: Int32
    """The symbol of an event; the state of a row at the flip."""
    clock: Int64
    next: Int32
    vector: Int32
    """The pairs of a start or of a row."""
    values: Values
    """What an event of the back adds to the terms."""


class Runs(NamedTuple):
    """The runs of every key."""

    forward: Int32
    rows: Int32
    front: Int32
    back: Int32
    oldest: Int64
    """The clock of the first start of the back."""
    newest: Int64
    """The clock of the last start of all."""
    epoch: Int64
    """Whether all was consumed since: counted as in the counters."""


class State(NamedTuple):
    """What the kernel changes while it reads events."""

    pairs: Pairs
    nodes: Nodes
    runs: Runs
    counters: Int64


class Input(NamedTuple):
    """A batch of events as the counting kernel reads it."""

    symbols: Int32
    clocks: Int64
    keys: Int32
    """The partition of each event, -1 for none; empty where there are no partitions."""
    values: Values
    """What each event adds to the terms."""
    first_position: int


class Counted(NamedTuple):
    """Events that completed matches, and the weight of all of those."""

    end: Int64
    key: Int32
    weight: Weights


class Scratch(NamedTuple):
    """What the flip needs to work in."""

    local: Int32
    """[state]: its number among those that matter while the back is flipped, or NIL."""
    states: Int32
    place: Int64
    """Where the row of each of those begins."""
    symbols: Bool
    """[symbol]: whether it is among those of the back."""
    weight: Weights


def new_pairs(count: int, like: Values, *, exact: bool) -> Pairs:
    """Allocate pairs."""
    return Pairs(
        np.zeros(count, np.int32), np.zeros(count, np.int32), new_weights(count, like, exact=exact)
    )


def new_nodes(count: int, like: Values, *, exact: bool) -> Nodes:
    """Allocate nodes."""
    return Nodes(
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        Values(*new_weights(count, like, exact=exact)),
    )


def new_runs(keys: int) -> Runs:
    """Allocate the runs of some keys."""
    lists = (np.full(keys, NIL, np.int32) for _ in range(4))
    clocks = (np.zeros(keys, np.int64) for _ in range(3))
    return Runs(*lists, *clocks)


def new_counted(count: int, like: Values, *, exact: bool) -> Counted:
    """Allocate hits."""
    return Counted(
        np.zeros(count, np.int64), np.zeros(count, np.int32), new_weights(count, like, exact=exact)
    )


@helper
def take_pair(pairs: Pairs, counters: Array, state: int, after: int) -> int:
    """Return a new pair without runs."""
    pair: int = counters[FREE_PAIR]
    if pair != NIL:
        counters[FREE_PAIR] = pairs.next[pair]
    else:
        pair = counters[PAIRS]
        counters[PAIRS] = pair + 1
    pairs.state[pair] = state
    pairs.next[pair] = after
    set_number(pairs.weight, pair, 0)
    return pair


@helper
def take_node(nodes: Nodes, counters: Array, number: int, clock: int, after: int) -> int:
    """Return a new node."""
    node: int = counters[FREE_NODE]
    if node != NIL:
        counters[FREE_NODE] = nodes.next[node]
    else:
        node = counters[NODES]
        counters[NODES] = node + 1
    nodes.number[node] = number
    nodes.clock[node] = clock
    nodes.next[node] = after
    nodes.vector[node] = NIL
    return node


@helper
def free_node(nodes: Nodes, counters: Array, node: int) -> None:
    """Give back a node."""
    nodes.next[node] = counters[FREE_NODE]
    counters[FREE_NODE] = node


@helper
def drop_pairs(pairs: Pairs, counters: Array, head: int) -> None:
    """Give back all pairs of a vector."""
    while head != NIL:
        after = pairs.next[head]
        pairs.next[head] = counters[FREE_PAIR]
        counters[FREE_PAIR] = head
        head = after


@subroutine
def drop_nodes(pairs: Pairs, nodes: Nodes, counters: Array, head: int) -> None:
    """Give back all nodes of a list, and their vectors."""
    while head != NIL:
        after = nodes.next[head]
        drop_pairs(pairs, counters, nodes.vector[head])
        free_node(nodes, counters, head)
        head = after


@subroutine
def clear(state: State, key: int) -> None:
    """Forget all runs of a key."""
    pairs = state.pairs
    nodes = state.nodes
    runs = state.runs
    counters = state.counters
    drop_pairs(pairs, counters, runs.forward[key])
    runs.forward[key] = NIL
    drop_nodes(pairs, nodes, counters, runs.rows[key])
    runs.rows[key] = NIL
    drop_nodes(pairs, nodes, counters, runs.front[key])
    runs.front[key] = NIL
    drop_nodes(pairs, nodes, counters, runs.back[key])
    runs.back[key] = NIL
