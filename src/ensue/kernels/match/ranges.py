"""All configurations of a range of contents as one node, whatever their number.

Where a step forgets what the registers held, all configurations that it moves become one, and it is
enough to know the union of their nodes. So a search tree knows, for each of its slots, the node of
all that is in the subtree below it: a range of contents is the union of some subtrees and single
slots, about twice as many as the tree is deep.

Such nodes are made when a range first asks for them. Whatever changes below a slot (it comes or
goes, or gets other runs) makes those above it stale, so no change costs more than the way down.
What is stale has only stale slots above it. Nodes of subtrees are in no snapshot, and compaction
drops them.
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
from ensue.kernels.match.layout import NOTHING, STALE, Index, Moves, Slots, Trees
from ensue.kernels.match.treap import goes_before
from ensue.kernels.minmax import larger, smaller

NO_NODES, NO_ROOM = -3, -4
"""Instead of a number: the graph is full, or what a move needs is."""


@subroutine
def touch(tables: Tables, slots: Slots, index: Index, trees: Trees, slot: int) -> None:
    """Note that a configuration has got other runs."""
    group = index.group[slot]
    for number in range(tables.indexes.shape[0]):
        if tables.ordered[number] and tables.indexed[slots.state[slot], number]:
            other = trees.root[number, group]
            while other != NIL:
                trees.whole[other, number] = STALE
                if other == slot:
                    other = NIL
                elif goes_before(
                    trees, tables.prefixes[number], tables.indexes[number], slot, other
                ):
                    other = trees.lower[other, number]
                else:
                    other = trees.higher[other, number]


@subroutine
def whole_of(
    trees: Trees,
    slots: Slots,
    graph: Graph,
    counters: Array,
    number: int,
    top: int,
    floor: int,
    edge: int,
    stack: Array,
) -> int:
    """Return the node of all that is below a slot and not over; NOTHING where all is."""
    depth = 0
    if trees.whole[top, number] == STALE:
        stack[0] = top
        depth = 1
    while depth > 0:
        slot = stack[depth - 1]
        lower = trees.lower[slot, number]
        higher = trees.higher[slot, number]
        child = NIL
        if lower != NIL and trees.whole[lower, number] == STALE:
            child = lower
        elif higher != NIL and trees.whole[higher, number] == STALE:
            child = higher
        if child != NIL:
            if depth == stack.shape[0]:
                return NO_ROOM
            stack[depth] = child
            depth += 1
            continue
        if counters[NODES] + 2 > graph.label.shape[0]:
            return NO_NODES
        node = NOTHING
        start = slots.start[slot]
        if not is_over(graph, start, floor, edge):
            node = slots.root[slot]
        for side in range(2):
            child = lower if side == 0 else higher
            other = NOTHING
            if child != NIL:
                other = trees.whole[child, number]
            if other != NOTHING:
                begun = graph.start[other]
                if not is_over(graph, begun, floor, edge):
                    if node == NOTHING:
                        node = other
                        start = begun
                    else:
                        node = join(graph, counters, node, start, other, begun)
                        start = larger(start, begun)
        trees.whole[slot, number] = node
        depth -= 1
    found: int = trees.whole[top, number]
    return found


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
    slots: Slots,
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
            slot = trees.higher[slot, number] if where < 0 else trees.lower[slot, number]
    if slot == NIL:
        return count
    count = add_part(graph, moves, count, slots.root[slot], slots.start[slot], floor, edge)
    # Then down on either side: what hangs inwards is in the range as a whole.
    for side in range(2):
        down = side == 0
        other = trees.lower[slot, number] if down else trees.higher[slot, number]
        every = prefix == NIL and (low <= least if down else high == LARGEST)
        while other != NIL and count >= 0:
            where = place(trees, prefix, value, register, other, low, high)
            inside = where == 0
            outwards = down == inside
            if inside:
                inner = other
                if not every:
                    begun = slots.start[other]
                    count = add_part(graph, moves, count, slots.root[other], begun, floor, edge)
                    inner = trees.higher[other, number] if down else trees.lower[other, number]
                if inner != NIL and count >= 0:
                    node = whole_of(
                        trees, slots, graph, counters, number, inner, floor, edge, moves.order
                    )
                    if node >= 0:
                        begun = graph.start[node]
                        count = add_part(graph, moves, count, node, begun, floor, edge)
                    elif node != NOTHING:
                        count = node
            if every:
                other = NIL
            else:
                other = trees.lower[other, number] if outwards else trees.higher[other, number]
    return count


@helper
def least_content(trees: Trees, register: int, number: int, group: int) -> int:
    """Return the least content of a group."""
    slot = trees.root[number, group]
    while trees.lower[slot, number] != NIL:
        slot = trees.lower[slot, number]
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
    slots: Slots,
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
        node = whole_of(trees, slots, graph, counters, number, top, floor, edge, moves.order)
        if node >= 0:
            count = add_part(graph, moves, count, node, graph.start[node], floor, edge)
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
                slots,
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
