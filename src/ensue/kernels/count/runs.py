"""The runs of a counting query: sparse vectors, kept by partition key.

A vector is a linked list of pairs: a state, and the weight of the runs that are in it. The nodes of
a key's lists are events or starts (see count.py), some with a vector of their own. Pairs and nodes
that nobody uses are in lists too, so nothing is allocated while events are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.count.weights import Values, Weights, new_weights, set_number
from ensue.kernels.layout import NOTHING, Array

PAIRS, FREE_PAIR, NODES, FREE_NODE, FOUND, EPOCH, COUNTERS = range(7)
"""How many pairs, nodes and hits there are, the first free ones, and how often all was consumed."""

NEED_PAIRS, NEED_NODES, NEED_SCRATCH = range(3)
"""What there is no room for."""

TOTAL, PARTIAL, ONE, OWN_PAIRS = range(4)
"""Pairs that the kernel keeps to itself: sums in progress, and the one run that may start."""


class Pairs(NamedTuple):
    """Entries of sparse vectors: a state, the weight of the runs in it, the next entry."""

    state: np.ndarray
    next: np.ndarray
    weight: Weights


class Nodes(NamedTuple):
    """Entries of the lists `front`, `rows` and `back` of a key."""

    number: np.ndarray
    """The symbol of an event; the state of a row at the flip."""
    clock: np.ndarray
    next: np.ndarray
    vector: np.ndarray
    """The pairs of a start or of a row."""
    values: Values
    """What an event of the back adds to the terms."""


class Runs(NamedTuple):
    """The runs of every key."""

    forward: np.ndarray
    rows: np.ndarray
    front: np.ndarray
    back: np.ndarray
    oldest: np.ndarray
    """The clock of the first start of the back."""
    newest: np.ndarray
    """The clock of the last start of all."""
    epoch: np.ndarray
    """Whether all was consumed since: counted as in the counters."""


class Counted(NamedTuple):
    """Events that completed matches, and the weight of all of those."""

    end: np.ndarray
    key: np.ndarray
    weight: Weights


class Scratch(NamedTuple):
    """Room to work in."""

    local: np.ndarray
    """[state]: its number among those that matter while the back is flipped, or NOTHING."""
    states: np.ndarray
    place: np.ndarray
    """Where the row of each of those begins."""
    symbols: np.ndarray
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
    lists = (np.full(keys, NOTHING, np.int32) for _ in range(4))
    clocks = (np.zeros(keys, np.int64) for _ in range(3))
    return Runs(*lists, *clocks)


def new_counted(count: int, like: Values, *, exact: bool) -> Counted:
    """Allocate room for hits."""
    return Counted(
        np.zeros(count, np.int64), np.zeros(count, np.int32), new_weights(count, like, exact=exact)
    )


@helper
def take_pair(pairs: Pairs, counters: Array, state: int, after: int) -> int:
    """Return a new pair without runs."""
    pair: int = counters[FREE_PAIR]
    if pair != NOTHING:
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
    if node != NOTHING:
        counters[FREE_NODE] = nodes.next[node]
    else:
        node = counters[NODES]
        counters[NODES] = node + 1
    nodes.number[node] = number
    nodes.clock[node] = clock
    nodes.next[node] = after
    nodes.vector[node] = NOTHING
    return node


@helper
def free_node(nodes: Nodes, counters: Array, node: int) -> None:
    """Give back a node."""
    nodes.next[node] = counters[FREE_NODE]
    counters[FREE_NODE] = node


@helper
def drop_pairs(pairs: Pairs, counters: Array, head: int) -> None:
    """Give back all pairs of a vector."""
    while head != NOTHING:
        after = pairs.next[head]
        pairs.next[head] = counters[FREE_PAIR]
        counters[FREE_PAIR] = head
        head = after


@subroutine
def drop_nodes(pairs: Pairs, nodes: Nodes, counters: Array, head: int) -> None:
    """Give back all nodes of a list, and their vectors."""
    while head != NOTHING:
        after = nodes.next[head]
        drop_pairs(pairs, counters, nodes.vector[head])
        free_node(nodes, counters, head)
        head = after


@subroutine
def clear(pairs: Pairs, nodes: Nodes, runs: Runs, counters: Array, key: int) -> None:
    """Forget all runs of a key."""
    drop_pairs(pairs, counters, runs.forward[key])
    runs.forward[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.rows[key])
    runs.rows[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.front[key])
    runs.front[key] = NOTHING
    drop_nodes(pairs, nodes, counters, runs.back[key])
    runs.back[key] = NOTHING
