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
    NULL,
    Array,
    Graph,
    Tables,
)
from ensue.kernels.match.due import add_part
from ensue.kernels.match.evaluate import join
from ensue.kernels.match.index import find_group
from ensue.kernels.match.layout import (
    BRANCH,
    HIGHER,
    LOWER,
    OWN,
    PARTS,
    SIDE,
    WHOLE,
    Index,
    Lazy,
    Moves,
    State,
    Trees,
)
from ensue.kernels.match.subtrees import NO_ROOM
from ensue.kernels.match.treap import planted
from ensue.kernels.minmax import larger, smaller


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
    lazy: Lazy | None,
    factor: int,
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
    count = add_part(
        trees, graph, counters, moves, lazy, factor, number, slot, OWN, floor, edge, count
    )
    # Then down on either side: what hangs inwards is in the range as a whole.
    for side in range(2):
        down = side == 0
        other = trees.branches[slot, BRANCH * number + (LOWER if down else HIGHER)]
        every = prefix == NIL and (low <= least if down else high == LARGEST)
        while other != NIL and count >= 0:
            where = place(trees, prefix, value, register, other, low, high)
            inside = where == 0
            outwards = down == inside
            # All of it; or the slot, and what is higher; or the slot with what is lower.
            higher = trees.branches[other, BRANCH * number + HIGHER]
            for turn in range(2):
                part = other
                kind = WHOLE
                if turn == 0 and not every:
                    kind = OWN if down else SIDE
                elif turn == 1:
                    part = higher if down and not every else NIL
                if inside and part != NIL and count >= 0:
                    count = add_part(
                        trees,
                        graph,
                        counters,
                        moves,
                        lazy,
                        factor,
                        number,
                        part,
                        kind,
                        floor,
                        edge,
                        count,
                    )
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


@subroutine
def gather_parts(
    tables: Tables,
    trees: Trees,
    graph: Graph,
    counters: Array,
    moves: Moves,
    lazy: Lazy | None,
    factor: int,
    group: int,
    number: int,
    step: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
    count: int,
) -> int:
    """Append the nodes of all configurations of a group that a step moves, or what is due to them.

    A factor, or NIL, says which: from the state of the group, and the step is one of its target.
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
        return add_part(
            trees, graph, counters, moves, lazy, factor, number, top, WHOLE, floor, edge, count
        )
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
                lazy,
                factor,
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
def gather_move(
    tables: Tables,
    state: State,
    trees: Trees,
    moves: Moves,
    lazy: Lazy | None,
    factor: int,
    group: int,
    number: int,
    step: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
    moving: int,
    parts: int,
) -> int:
    """Note all configurations of a group that a step moves as one move, or what is due to them.

    Return how many moves there are then; the last knows how many parts. Or NO_NODES, or NO_ROOM.
    """
    found = gather_parts(
        tables,
        trees,
        state.graph,
        state.counters,
        moves,
        lazy,
        factor,
        group,
        number,
        step,
        values,
        event,
        floor,
        edge,
        parts,
    )
    if found < 0:
        return found
    if found == parts:
        return moving
    if moving == moves.slot.shape[0]:
        return NO_ROOM
    moves.slot[moving] = PARTS
    moves.step[moving] = step
    moves.node[moving] = parts
    moves.start[moving] = found
    return moving + 1


@subroutine
def gather_due(
    tables: Tables,
    state: State,
    index: Index,
    trees: Trees,
    moves: Moves,
    lazy: Lazy,
    key: int,
    symbol: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
    moving: int,
    parts: int,
) -> int:
    """Note what lazy steps owe to ranges of configurations that an event asks for, as moves.

    Return how many moves there are then; the last knows how many parts. Or NO_NODES, or NO_ROOM.
    """
    count = moving
    known = parts
    factor = lazy.heads[key]
    while factor != NIL and count >= 0:
        source = lazy.state[factor]
        cell = tables.cells[source, symbol]
        group = find_group(state.slots, index, key, lazy.origin[factor])
        begin = tables.rows[cell] if cell >= 0 and group != NIL else 0
        end = tables.rows[cell + 1] if cell >= 0 and group != NIL else 0
        for step in range(begin, end):
            stays = tables.labels[step] == 0 and tables.targets[step] == source
            if count < 0 or stays or tables.lazy[step]:
                continue
            tree = planted(tables, index, trees, step, group)
            if tree == NIL:
                continue
            found = gather_move(
                tables,
                state,
                trees,
                moves,
                lazy,
                factor,
                group,
                tree,
                step,
                values,
                event,
                floor,
                edge,
                count,
                known,
            )
            if found > count:
                known = moves.start[found - 1]
            count = found
        factor = lazy.next[factor]
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
