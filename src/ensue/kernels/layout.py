"""What all kernels share: constants, the types of arrays, tables, input, and the match graph.

Kernels take named tuples of arrays. The type of an array's elements stands in its declaration, and
`new_…` allocates them so; a kernel is compiled for these types and for no others.

The match graph ([CORE]'s timed enumerable compact set) is an arena of nodes, children before
parents, of five kinds:

- bottom: a run starts here (`label` 0);
- output: an event at `position` gets the variables of `label` (> 0), the rest is at `left`;
- union: both what is at `left` and what is at `right` (`label` -1);
- clip: of what is at `left`, the runs whose start has a clock of `position` or later (`label` -2);
- product: of what is at `right`, the runs whose start has the number `position` or a later one,
  each with all that is at `left` before it (`label` -3).

Below the right side of a product, starts are where a state was left (match/lazy.py), not where a
run of the query begins; such nodes are below no other. Before matches are listed, products are
multiplied out (graph/expand.py).

Every node knows the latest start below it, as an index into the table of starts, which are
numbered in the order of positions; of the children of a union, `left` has the later one. So the
matches of a node are found latest start first, and those before a window's edge are skipped
without being looked at. Between two outputs on a path there are at most as many unions on left
sides as the automaton has states, because runs that were merged can only part again by an output;
where a range of register contents moved as one (match/ranges.py), as many more as a search tree of
them is deep.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from ensue.automata import registers

Array = np.ndarray

Int8 = Annotated[np.ndarray, np.int8]
Int32 = Annotated[np.ndarray, np.int32]
Int64 = Annotated[np.ndarray, np.int64]
Float64 = Annotated[np.ndarray, np.float64]
Bool = Annotated[np.ndarray, np.bool_]
"""Arrays by the type of their elements."""

UNKNOWN, STAY, DEAD = -1, -2, -3
"""Cells of the table: not worked out yet, the state stays as it is, all runs in it end."""

UNION, CLIP, PRODUCT = -1, -2, -3

NIL = -1
"""The index that refers to nothing: the end of a list, no node, no slot, no state."""

FOREVER = -(2**63)
"""The window's edge when there is no window."""

NODES, STARTS, SLOTS, FREE, HITS, FLOOR, COUNTERS = range(7)
"""Places in the counters of a matching query: how many nodes, starts, slots and hits there are, the
first free slot, and the first start that is not consumed. They are in one array so that a kernel
can stop anywhere and go on later."""

DONE, MISSING, FULL, CROWDED, CRAMPED = range(5)
"""Why a kernel returned: all events read, a cell of the table is unknown, an array is full, there
are more configurations than allowed, there is no room for nodes of search trees."""

CONSUME_NONE, CONSUME_ANY, CONSUME_PARTITION = range(3)
"""What an event that completes a match consumes: nothing, everything, what its partition has."""

CONSUME = {"NONE": CONSUME_NONE, "ANY": CONSUME_ANY, "PARTITION": CONSUME_PARTITION}
"""By the words of CONSUME BY."""

MOST_BYTES = 4 << 30
"""The budget of the state of one query, by default."""

EMPTY, NULL = registers.EMPTY, registers.NULL
"""Contents of a register that nothing was put into, and of one that satisfies no condition."""

LARGEST = 2**63 - 1
"""The largest content of a register."""

EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST = range(6)
"""How a step compares a value of the event with a register."""

KEEP, CLEAR, PUT, PUT_LEAST, PUT_MOST, PUT_SAME = range(6)
"""What a step does to a register: with a value of the event, or none."""


class Tables(NamedTuple):
    """The deterministic automaton as far as it is known."""

    cells: Int32
    """[state, symbol]: UNKNOWN, STAY, DEAD or a row."""
    rows: Int32
    """Row r has the steps rows[r] to rows[r + 1]."""
    labels: Int32
    finals: Bool
    targets: Int32
    inert: Bool
    """[symbol]: no state moves and no run starts."""
    guard_rows: Int32
    """Step s has the guards guard_rows[s] to guard_rows[s + 1]."""
    guards: Int32
    """[guard]: a register, how to compare, a column of values."""
    actions: Int32
    """[step, register]: what to do, and with which column of values."""
    access: Int32
    """[step]: by which index it finds the configurations that its guards let pass, or NIL."""
    indexes: Int32
    """[index]: the register whose contents it knows."""
    ordered: Bool
    """[index]: whether it is a tree for each group, and not a hash table."""
    prefixes: Int32
    """[index]: the register by which its trees are sorted first, or NIL."""
    indexed: Bool
    """[state, index]: whether some step from the state uses the index."""
    merges: Bool
    """[step]: whether all configurations of a state that it moves become one, and a tree finds
    those that it moves: guards look at its register alone, and for equality at its prefix."""
    lazy: Bool
    """[step]: whether all configurations of a state take it alike, and wait too: it is applied to
    a configuration when somebody looks at it (match/lazy.py)."""
    lazy_targets: Int32
    """[state]: its number among those that lazy steps lead to, or NIL."""
    clips: Int64
    """[step]: how far before the event a run may have started, or -1: as far as it may else."""


class Input(NamedTuple):
    """A batch of events as the match kernels read it."""

    symbols: Int32
    clocks: Int64
    """What windows are measured on."""
    keys: Int32
    """The partition of each event, -1 for none; empty where there are no partitions."""
    values: Int64
    """[event, column]: what registers are compared with and filled from."""
    positions: Int64
    """The position of each event where some are left out, else empty."""
    first_position: int


class Window(NamedTuple):
    """How long runs live, and what an event that completes a match consumes."""

    length: int
    """On the clock; -1: there is no window."""
    consume: int


class Graph(NamedTuple):
    """The match graph."""

    label: Int32
    left: Int32
    right: Int32
    position: Int64
    start: Int32
    start_position: Int64
    start_clock: Int64


class Roots(NamedTuple):
    """Nodes below which something is looked for, with the window's edge and the first start."""

    node: Int32
    edge: Int64
    """The least clock of a start that is inside the window."""
    floor: Int32
    """The first start that was not consumed."""


class Hits(NamedTuple):
    """Events that completed matches: the node of them, and the window's edge then."""

    end: Int64
    root: Int32
    edge: Int64
    floor: Int32
    key: Int32

    @property
    def roots(self) -> Roots:
        """The nodes of the matches."""
        return Roots(self.root, self.edge, self.floor)


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


def new_hits(hits: int) -> Hits:
    """Allocate hits."""
    return Hits(
        np.zeros(hits, np.int64),
        np.zeros(hits, np.int32),
        np.zeros(hits, np.int64),
        np.zeros(hits, np.int32),
        np.zeros(hits, np.int32),
    )
