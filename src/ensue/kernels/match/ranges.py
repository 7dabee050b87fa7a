"""All configurations of a range of contents as one node, whatever their number.

Where a step forgets what the registers held, all configurations that it moves become one, and it is
enough to know the union of their nodes. So a search tree knows, for each of its slots, the node of
all that is in the subtree below it: a range of contents is the union of some subtrees and single
slots, about twice as many as the tree is deep.

How such nodes are made and kept is in subtrees.py.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import (
    AT_LEAST,
    AT_MOST,
    DIFFERENT,
    EMPTY,
    EQUAL,
    LARGEST,
    LESS,
    MORE,
    NIL,
    NODES,
    NULL,
    Array,
    Graph,
    Tables,
)
from ensue.kernels.match.evaluate import is_over, join
from ensue.kernels.match.layout import (
    BEGUN,
    BRANCH,
    HIGHER,
    LOWER,
    NOTHING,
    OWN,
    SIDE,
    SIDE_SINCE,
    SINCE,
    STALE,
    Index,
    Moves,
    Trees,
)
from ensue.kernels.match.subtrees import NO_NODES, NO_ROOM, sum_up, whole_of
from ensue.kernels.minmax import larger, smaller


@helper
def add_part(
    graph: Graph, moves: Moves, count: int, node: int, start: int, floor: int, edge: int
) -> int:
    """Append a node to what a move consists of, unless all of it is over."""
    if is_over(graph, start, floor, edge):
        return count
    if count == moves.part.shape[0]:
        return NO_ROOM
    moves.part[count] = node
    moves.part_start[count] = start
    return count + 1


@helper
def place(
    trees: Trees, prefix: int, value: int, register: int, slot: int, low: int, high: int
) -> int:
    """Tell whether a slot stands before a range of contents (-1), in it (0), or behind it (1)."""
    content = trees.contents[slot, register]
    where = 0
    if content < low:
        where = -1
    elif content > high:
        where = 1
    if prefix != NIL and trees.contents[slot, prefix] != value:
        where = -1 if trees.contents[slot, prefix] < value else 1
    return where


@subroutine
def add_parts(
    trees: Trees,
    graph: Graph,
    counters: Array,
    moves: Moves,
    prefix: int,
    value: int,
    register: int,
    number: int,
    group: int,
    low: int,
    high: int,
    least: int,
    floor: int,
    edge: int,
    count: int,
) -> int:
    """Append all with contents from `low` to `high`, few nodes; return how many there are then.

    Where there is a prefix, its content is `value`. `least` is the least content of the group.
    """
    slot = trees.root[number, group]
    where = 1
    while slot != NIL and where != 0:
        where = place(trees, prefix, value, register, slot, low, high)
        if where != 0:
            slot = (
                trees.branches[slot, BRANCH * number + HIGHER]
                if where < 0
                else trees.branches[slot, BRANCH * number + LOWER]
            )
    if slot == NIL:
        return count
    begun = trees.branches[slot, BRANCH * number + BEGUN]
    own = trees.branches[slot, BRANCH * number + OWN]
    count = add_part(graph, moves, count, own, begun, floor, edge)
    # Then down on either side: what hangs inwards is in the range as a whole.
    for side in range(2):
        down = side == 0
        other = trees.branches[slot, BRANCH * number + (LOWER if down else HIGHER)]
        every = prefix == NIL and (low <= least if down else high == LARGEST)
        while other != NIL and count >= 0:
            where = place(trees, prefix, value, register, other, low, high)
            inside = where == 0
            outwards = down == inside
            if inside:
                # All of it; or the slot and what is higher; or the slot with what is lower.
                inner = other
                if not every:
                    inner = trees.branches[other, BRANCH * number + (HIGHER if down else LOWER)]
                    if down:
                        own = trees.branches[other, BRANCH * number + OWN]
                        begun = trees.branches[other, BRANCH * number + BEGUN]
                        count = add_part(graph, moves, count, own, begun, floor, edge)
                node = NOTHING
                whole = every or down or trees.branches[other, BRANCH * number + SIDE] == STALE
                if inner != NIL and whole and count >= 0:
                    node = whole_of(trees, graph, counters, number, inner, floor, edge, moves.order)
                    if node >= 0 and (every or down):
                        begun = trees.branches[inner, BRANCH * number + SINCE]
                        count = add_part(graph, moves, count, node, begun, floor, edge)
                    elif node < NOTHING:
                        count = node
                if count >= 0 and not (every or down):
                    if whole:
                        if counters[NODES] + 1 > graph.label.shape[0]:
                            return NO_NODES
                        sum_up(trees, graph, counters, number, other, 0, floor, edge)
                    node = trees.branches[other, BRANCH * number + SIDE]
                    if node != NOTHING:
                        begun = trees.branches[other, BRANCH * number + SIDE_SINCE]
                        count = add_part(graph, moves, count, node, begun, floor, edge)
            if every:
                other = NIL
            else:
                other = trees.branches[other, BRANCH * number + (LOWER if outwards else HIGHER)]
    return count


@helper
def least_content(trees: Trees, register: int, number: int, group: int) -> int:
    """Return the least content of a group."""
    slot = trees.root[number, group]
    while trees.branches[slot, BRANCH * number + LOWER] != NIL:
        slot = trees.branches[slot, BRANCH * number + LOWER]
    content: int = trees.contents[slot, register]
    return content


@helper
def planted(tables: Tables, index: Index, trees: Trees, step: int, group: int) -> int:
    """Return the tree of a group in which a step finds what it moves as few nodes, or NIL."""
    found = NIL
    if tables.merges[step]:
        own = tables.access[step]
        for number in range(tables.indexes.shape[0]):
            # Numba compiles a function of its own for a comparison with a tuple.
            if (
                (own == NIL or own == number)  # noqa: SIM109
                and tables.ordered[number]
                and tables.indexed[index.state[group], number]
                and trees.root[number, group] != NIL
            ):
                found = number
    return found


@subroutine
def gather_parts(
    tables: Tables,
    trees: Trees,
    graph: Graph,
    counters: Array,
    moves: Moves,
    group: int,
    number: int,
    step: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
    count: int,
) -> int:
    """Append the nodes of all configurations of a group that a step moves.

    All guards of the step that look at registers look at the one whose tree it is, and for equality
    at the one that it is sorted by first.
    """
    register = tables.indexes[number]
    prefix = tables.prefixes[number]
    equal = NULL
    low = NULL + 1
    high = LARGEST
    hole = EMPTY
    guarded = False
    for guard in range(tables.guard_rows[step], tables.guard_rows[step + 1]):
        sign = tables.guards[guard, 1]
        value = values[event, tables.guards[guard, 2]]
        if tables.guards[guard, 0] == NIL:
            if value != 1:
                return count
            continue
        guarded = True
        if sign == EQUAL:
            equal = value
        elif value == NULL:
            high = NULL
        elif sign == MORE:
            high = smaller(high, value - 1)
        elif sign == AT_LEAST:
            high = smaller(high, value)
        elif sign == AT_MOST:
            low = larger(low, value)
        elif sign == LESS:
            low = larger(low, value + 1) if value < LARGEST else LARGEST
            high = high if value < LARGEST else NULL
        elif sign == DIFFERENT:
            hole = value
    if not guarded:
        top = trees.root[number, group]
        node = whole_of(trees, graph, counters, number, top, floor, edge, moves.order)
        if node >= 0:
            begun = trees.branches[top, BRANCH * number + SINCE]
            count = add_part(graph, moves, count, node, begun, floor, edge)
        elif node != NOTHING:
            count = node
        return count
    least = EMPTY
    if prefix == NIL:
        least = least_content(trees, register, number, group)
    for turn in range(3):
        # Empty registers, those below the hole, and those above it.
        first = EMPTY
        last = EMPTY
        if turn == 1:
            first = low
            last = high if hole == EMPTY else smaller(high, hole - 1)
        elif turn == 2:
            first = low if hole == EMPTY else larger(low, smaller(hole, LARGEST - 1) + 1)
            last = high if EMPTY < hole < LARGEST else NULL
        if not (first <= last and last >= least):
            continue
        # Those whose prefix is empty, and those whose prefix is equal.
        for kind in range(1 if prefix == NIL or equal == NULL else 2):
            if count < 0:
                return count
            value = EMPTY if kind == 0 else equal
            count = add_parts(
                trees,
                graph,
                counters,
                moves,
                prefix,
                value,
                register,
                number,
                group,
                first,
                last,
                least,
                floor,
                edge,
                count,
            )
    return count


@subroutine
def join_parts(graph: Graph, counters: Array, moves: Moves, begin: int, end: int) -> int:
    """Return the union of some nodes, the earliest start joined first."""
    part = moves.part
    starts = moves.part_start
    for i in range(begin + 1, end):
        node = part[i]
        start = starts[i]
        j = i - 1
        while j >= begin and starts[j] > start:
            part[j + 1] = part[j]
            starts[j + 1] = starts[j]
            j -= 1
        part[j + 1] = node
        starts[j + 1] = start
    joined: int = part[begin]
    for i in range(begin + 1, end):
        joined = join(graph, counters, joined, starts[i - 1], part[i], starts[i])
    return joined
