"""Steps that all configurations of a state take alike, in a time that does not follow their number.

In `A ; B ; C` with a.k = c.k, B compares nothing and keeps what was remembered. So it is not
applied to each configuration. A factor, the node of all paths from one state to another, gets one
more output, and what a configuration of the first state contributes to one of the second with the
same contents is a product: all that it has, then each path of the factor that began after it was
brought up to date the last time. A configuration is brought up to date with all others of its key
that have the same contents,

- when an event looks it up, or one that may have come from it by such steps;
- before it gets other runs, which the paths so far are not for;
- when an event ends its state.

Each time that makes two nodes for each factor at most, so the nodes follow the events and not the
configurations. Bringing up to date changes how runs are written down and not which there are, so it
does not matter if an event is given up afterwards, and read again. The starts of factors are
numbered with those of runs: a configuration that was made at an event has the numbers before it.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import (
    EMPTY,
    NIL,
    NODES,
    PRODUCT,
    SLOTS,
    STARTS,
    STAY,
    UNKNOWN,
    Array,
    Tables,
)
from ensue.kernels.match.evaluate import add_node, begin_run, is_over, join, take_slot
from ensue.kernels.match.index import find_group, find_slot, link, partners_of
from ensue.kernels.match.layout import Index, Lazy, State, Trees
from ensue.kernels.match.subtrees import touch
from ensue.kernels.match.treap import planted
from ensue.kernels.minmax import larger

NO_SPACE, MISSING_STATE = -1, -2
"""Instead of a number: an array is full; from there down, a state whose cell is not known."""


@helper
def count_factors(lazy: Lazy, key: int) -> int:
    """Return how many factors a key has."""
    count = 0
    factor = lazy.heads[key]
    while factor != NIL:
        count += 1
        factor = lazy.next[factor]
    return count


@subroutine
def bring_up(
    tables: Tables,
    state: State,
    index: Index,
    trees: Trees | None,
    lazy: Lazy,
    key: int,
    registers: Array,
    row: int,
    floor: int,
    edge: int,
) -> None:
    """Apply what waits to all configurations of a key that have the contents in a row.

    All contributions are made before any is added. There is room for two nodes and a slot for
    each factor.
    """
    graph = state.graph
    slots = state.slots
    counters = state.counters
    waits = False
    factor = lazy.heads[key]
    while factor != NIL:
        lazy.made[factor] = NIL
        slot = NIL
        group = find_group(slots, index, key, lazy.origin[factor])
        if group != NIL:
            slot = find_slot(slots, index, group, registers, row)
        lazy.slot[factor] = slot
        if slot != NIL:
            root = lazy.root[factor]
            first = lazy.applied[slot]
            start = slots.start[slot]
            if graph.start[root] >= first:
                waits = True
                if not is_over(graph, start, floor, edge):
                    lazy.made[factor] = add_node(
                        graph, counters, PRODUCT, slots.root[slot], root, first, start
                    )
        factor = lazy.next[factor]
    if not waits:
        return
    factor = lazy.heads[key]
    while factor != NIL:
        slot = lazy.slot[factor]
        if slot != NIL:
            lazy.applied[slot] = counters[STARTS]
            if trees is not None:
                touch(tables, slots, index, trees, slot)
        factor = lazy.next[factor]
    factor = lazy.heads[key]
    while factor != NIL:
        node = lazy.made[factor]
        if node != NIL:
            start = graph.start[node]
            slot = NIL
            group = find_group(slots, index, key, lazy.state[factor])
            if group != NIL:
                slot = find_slot(slots, index, group, registers, row)
            if slot == NIL:
                slot = take_slot(slots, counters, lazy.state[factor], node, start)
                for register in range(registers.shape[1]):
                    slots.registers[slot, register] = registers[row, register]
                lazy.applied[slot] = counters[STARTS]
                link(tables, slots, index, trees, key, slot, group)
            elif is_over(graph, slots.start[slot], floor, edge):
                slots.root[slot] = node
                slots.start[slot] = start
                if trees is not None:
                    touch(tables, slots, index, trees, slot)
            else:
                # Of equal starts the newest stands left: its first match is found at once.
                before = slots.start[slot]
                slots.root[slot] = join(graph, counters, node, start, slots.root[slot], before)
                slots.start[slot] = larger(start, before)
                if trees is not None:
                    touch(tables, slots, index, trees, slot)
        factor = lazy.next[factor]


@subroutine
def bring_up_some(
    tables: Tables,
    state: State,
    index: Index,
    trees: Trees | None,
    lazy: Lazy,
    key: int,
    origin: int,
    number: int,
    content: int,
    factors: int,
    floor: int,
    edge: int,
) -> int:
    """Bring up to date the configurations of an origin that have a content, without an index all.

    `factors` is how many the key has. Return 0, or NO_SPACE where there is no room.
    """
    graph = state.graph
    slots = state.slots
    counters = state.counters
    group = find_group(slots, index, key, origin)
    if group == NIL:
        return 0
    # Arguments stay as they are: kernels are compiled on that assumption.
    used = NIL
    register = 0
    if number != NIL and tables.indexed[origin, number]:
        used = number
        register = tables.indexes[number]
        slot = index.partners[number, partners_of(index, group, content)]
    else:
        slot = index.first[group]
    while slot != NIL:
        following = slots.next[slot] if used == NIL else index.after[slot, used]
        if used == NIL or (
            slots.registers[slot, register] == content and index.group[slot] == group
        ):
            if (
                counters[NODES] + 2 * factors > graph.label.shape[0]
                or counters[SLOTS] + factors > slots.state.shape[0]
            ):
                return NO_SPACE
            bring_up(tables, state, index, trees, lazy, key, slots.registers, slot, floor, edge)
        slot = following
    return 0


@helper
def holds_alone(tables: Tables, step: int, values: Array, event: int) -> bool:
    """Tell whether an event satisfies the guards of a step that look at no register."""
    failed = 0
    for guard in range(tables.guard_rows[step], tables.guard_rows[step + 1]):
        if tables.guards[guard, 0] == NIL:
            failed += values[event, tables.guards[guard, 2]] != 1
    return failed == 0


@subroutine
def prepare(
    tables: Tables,
    state: State,
    index: Index,
    trees: Trees | None,
    lazy: Lazy,
    key: int,
    symbol: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
) -> int:
    """Bring up to date what an event is about to look at, but not ranges of a search tree.

    Return how many steps it takes from states of factors that are lazy themselves; or NO_SPACE; or
    MISSING_STATE less a state.
    """
    factors = count_factors(lazy, key)
    slots = state.slots
    steps = 0
    factor = lazy.heads[key]
    while factor != NIL:
        origin = lazy.origin[factor]
        for side in range(2):
            source = origin if side == 0 else lazy.state[factor]
            cell = tables.cells[source, symbol]
            if cell == UNKNOWN:
                missing: int = MISSING_STATE - source
                return missing
            if cell == STAY:
                continue
            # An event that ends the source looks at all.
            all_of_them = True
            begin = tables.rows[cell] if cell >= 0 else 0
            end = tables.rows[cell + 1] if cell >= 0 else 0
            for step in range(begin, end):
                if tables.labels[step] == 0 and tables.targets[step] == source:
                    all_of_them = side == 1 and tables.finals[step]
            for step in range(begin, end + 1):
                number = NIL
                turns = 1
                if step == end:
                    if not all_of_them:
                        continue
                else:
                    if side == 0 or (tables.labels[step] == 0 and tables.targets[step] == source):
                        continue
                    if not holds_alone(tables, step, values, event):
                        continue
                    if tables.lazy[step]:
                        steps += 1
                        continue
                    number = tables.access[step]
                    in_tree = False
                    if trees is not None and tables.merges[step]:
                        group = find_group(slots, index, key, origin)
                        in_tree = group != NIL and planted(tables, index, trees, step, group) != NIL
                    if in_tree:
                        continue
                    if number == NIL or tables.ordered[number]:
                        all_of_them = True
                        continue
                    turns = 2
                for turn in range(turns):
                    content = EMPTY
                    if turn == 1:
                        content = values[event, tables.guards[tables.guard_rows[step], 2]]
                    if bring_up_some(
                        tables,
                        state,
                        index,
                        trees,
                        lazy,
                        key,
                        origin,
                        number,
                        content,
                        factors,
                        floor,
                        edge,
                    ):
                        return NO_SPACE
        factor = lazy.next[factor]
    return steps


@helper
def note_paths(lazy: Lazy, place: int, origin: int, state: int, node: int) -> int:
    """Write down behind all factors what comes to one of them; return the next place."""
    lazy.origin[place] = origin
    lazy.state[place] = state
    lazy.root[place] = node
    return place + 1


@subroutine
def extend(
    tables: Tables,
    state: State,
    index: Index,
    lazy: Lazy,
    key: int,
    symbol: int,
    values: Array,
    event: int,
    position: int,
    clock: int,
) -> None:
    """Let an event take the lazy steps of all states of a key; there is room for them."""
    graph = state.graph
    slots = state.slots
    counters = state.counters
    known = lazy.counts[0]
    place = known
    factor = lazy.heads[key]
    while factor != NIL:
        cell = tables.cells[lazy.state[factor], symbol]
        if cell >= 0:
            for step in range(tables.rows[cell], tables.rows[cell + 1]):
                if tables.lazy[step] and holds_alone(tables, step, values, event):
                    root = lazy.root[factor]
                    start = graph.start[root]
                    label = tables.labels[step]
                    node = add_node(graph, counters, label, root, NIL, position, start)
                    target = tables.targets[step]
                    place = note_paths(lazy, place, lazy.origin[factor], target, node)
        factor = lazy.next[factor]
    bottom = NIL
    group = slots.heads[key]
    while group != NIL:
        source = index.state[group]
        cell = tables.cells[source, symbol]
        if cell >= 0:
            for step in range(tables.rows[cell], tables.rows[cell + 1]):
                if tables.lazy[step] and holds_alone(tables, step, values, event):
                    if bottom == NIL:
                        bottom = begin_run(graph, counters, position, clock)
                    start = counters[STARTS] - 1
                    label = tables.labels[step]
                    node = add_node(graph, counters, label, bottom, NIL, position, start)
                    place = note_paths(lazy, place, source, tables.targets[step], node)
        group = index.next[group]

    for each in range(known, place):
        origin = lazy.origin[each]
        source = lazy.state[each]
        node = lazy.root[each]
        factor = lazy.heads[key]
        while factor != NIL and not (
            lazy.origin[factor] == origin and lazy.state[factor] == source
        ):
            factor = lazy.next[factor]
        if factor != NIL:
            root = lazy.root[factor]
            lazy.root[factor] = join(
                graph, counters, node, graph.start[node], root, graph.start[root]
            )
        else:
            factor = lazy.counts[0]
            lazy.counts[0] = factor + 1
            lazy.key[factor] = key
            lazy.origin[factor] = origin
            lazy.state[factor] = source
            lazy.root[factor] = node
            lazy.target[factor] = tables.lazy_targets[source]
            lazy.next[factor] = lazy.heads[key]
            lazy.heads[key] = factor
