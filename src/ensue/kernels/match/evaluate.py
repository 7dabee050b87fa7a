"""The evaluation kernel: [CORE]'s Algorithm 1 on flat arrays.

For every event, the states of its key that move on its symbol are visited; what they contribute
to other states is joined there, latest start first. An event is applied as a whole or not at
all: before anything changes, the kernel makes sure that it knows all cells and has room, else it
returns and is called again from the same event. The work per event depends on the number of
active states alone. Queries with registers have a kernel of their own (correlate.py).
"""

from __future__ import annotations

from ensue.kernels.compile.jit import direct, helper, kernel
from ensue.kernels.layout import (
    CLIP,
    CONSUME_ANY,
    CONSUME_PARTITION,
    DONE,
    FLOOR,
    FOREVER,
    FREE,
    FULL,
    HITS,
    MISSING,
    NIL,
    NODES,
    SLOTS,
    STARTS,
    STAY,
    UNION,
    UNKNOWN,
    Array,
    Graph,
    Hits,
    Input,
    Tables,
    Window,
)
from ensue.kernels.match.layout import (
    Pending,
    Slots,
    State,
)
from ensue.kernels.minmax import larger, smaller

MANY = 16
"""From so many contributions of one event on, they are sorted by merging and their states found in
a table: the time of an event then follows their number, and not its square."""


@helper
def add_node(
    graph: Graph, counters: Array, label: int, left: int, right: int, position: int, start: int
) -> int:
    """Append a node and return its number."""
    node: int = counters[NODES]
    counters[NODES] = node + 1
    graph.label[node] = label
    graph.left[node] = left
    graph.right[node] = right
    graph.position[node] = position
    graph.start[node] = start
    return node


@helper
def join(graph: Graph, counters: Array, a: int, start_a: int, b: int, start_b: int) -> int:
    """Return the union of two nodes, given their starts: the later one comes to stand left."""
    if start_a < start_b:
        return add_node(graph, counters, UNION, b, a, 0, start_b)
    return add_node(graph, counters, UNION, a, b, 0, start_a)


@helper
def begin_run(graph: Graph, counters: Array, position: int, clock: int) -> int:
    """Let runs start at an event, and return their node."""
    start = counters[STARTS]
    counters[STARTS] = start + 1
    graph.start_position[start] = position
    graph.start_clock[start] = clock
    return add_node(graph, counters, 0, NIL, NIL, 0, start)


@helper
def is_over(graph: Graph, start: int, floor: int, edge: int) -> bool:
    """Tell whether all runs up to a start were consumed, or have left the window."""
    return start < floor or graph.start_clock[start] < edge


@helper
def add_runs(state: State, slot: int, node: int, start: int, floor: int, edge: int) -> None:
    """Add the runs of a node to a configuration, in place of those that are over."""
    slots = state.slots
    before = slots.start[slot]
    if is_over(state.graph, before, floor, edge):
        slots.root[slot] = node
        slots.start[slot] = start
    else:
        joined = join(state.graph, state.counters, slots.root[slot], before, node, start)
        slots.root[slot] = joined
        slots.start[slot] = larger(before, start)


@helper
def take_slot(slots: Slots, counters: Array, state: int, node: int, start: int) -> int:
    """Make a configuration in a free slot; it is in no list yet."""
    slot: int = counters[FREE]
    if slot != NIL:
        counters[FREE] = slots.next[slot]
    else:
        slot = counters[SLOTS]
        counters[SLOTS] = slot + 1
    slots.state[slot] = state
    slots.root[slot] = node
    slots.start[slot] = start
    return slot


@helper
def add_hit(
    hits: Hits, counters: Array, position: int, root: int, edge: int, floor: int, key: int
) -> None:
    """Write down that an event completed matches."""
    number = counters[HITS]
    counters[HITS] = number + 1
    hits.end[number] = position
    hits.root[number] = root
    hits.edge[number] = edge
    hits.floor[number] = floor
    hits.key[number] = key


@helper
def sort_by_start(pending: Pending, count: int) -> None:
    """Put numbers of contributions into `order`, by ascending start; equal ones stay in order."""
    order = pending.order
    other = pending.scratch
    for i in range(count):
        order[i] = i
    width = 1
    while width < count:
        begin = 0
        while begin < count:
            middle = smaller(begin + width, count)
            end = smaller(begin + 2 * width, count)
            left = begin
            right = middle
            for i in range(begin, end):
                take_left = left < middle
                if take_left and right < end:
                    take_left = pending.start[order[left]] <= pending.start[order[right]]
                if take_left:
                    other[i] = order[left]
                    left += 1
                else:
                    other[i] = order[right]
                    right += 1
            begin = end
        for i in range(count):
            order[i] = other[i]
        width *= 2


@helper
def add_many(state: State, pending: Pending, count: int, key: int, floor: int, edge: int) -> None:
    """Add sorted contributions to their states, which are found in `place`, all NIL else."""
    slots = state.slots
    counters = state.counters
    place = pending.place
    slot = slots.heads[key]
    while slot != NIL:
        place[slots.state[slot]] = slot
        slot = slots.next[slot]
    for i in range(count):
        number = pending.order[i]
        target = pending.target[number]
        node = pending.node[number]
        start = pending.start[number]
        slot = place[target]
        if slot != NIL:
            add_runs(state, slot, node, start, floor, edge)
        else:
            slot = take_slot(slots, counters, target, node, start)
            slots.next[slot] = slots.heads[key]
            slots.heads[key] = slot
            place[target] = slot
    slot = slots.heads[key]
    while slot != NIL:
        place[slots.state[slot]] = NIL
        slot = slots.next[slot]


@kernel
def evaluate(
    tables: Tables, state: State, pending: Pending, events: Input, window: Window, begin: int
) -> tuple[int, int, int]:
    """Read events from `begin` on; return (why it stopped, at which event, in which state)."""
    graph = state.graph
    slots = state.slots
    counters = state.counters
    symbols = events.symbols
    keyed = events.keys.shape[0] > 0
    scattered = events.positions.shape[0] > 0
    for event in range(begin, symbols.shape[0]):
        symbol = symbols[event]
        if tables.inert[symbol]:
            continue
        key = events.keys[event] if keyed else 0
        if key < 0:
            continue
        edge = events.clocks[event] - window.length if window.length >= 0 else FOREVER
        floor = counters[FLOOR]

        # First what could stop us: unknown cells, and how much room the event needs.
        opening = tables.cells[0, symbol]
        if opening == UNKNOWN:
            return MISSING, event, 0
        steps = 0
        movers = 0
        if opening >= 0:
            steps += tables.rows[opening + 1] - tables.rows[opening]
        # With very many keys it takes time to look where one has its configurations.
        slot = slots.heads[key] if counters[SLOTS] > 0 else NIL
        while slot != NIL:
            cell = tables.cells[slots.state[slot], symbol]
            if cell != STAY:
                if cell == UNKNOWN:
                    return MISSING, event, slots.state[slot]
                if movers == pending.mover.shape[0]:
                    return FULL, event, movers + 1
                pending.mover[movers] = slot
                movers += 1
                if cell >= 0:
                    steps += tables.rows[cell + 1] - tables.rows[cell]
            slot = slots.next[slot]
        if steps == 0 and movers == 0:
            continue
        if (
            counters[NODES] + 4 * steps + 2 > graph.label.shape[0]
            or counters[STARTS] + 1 > graph.start_clock.shape[0]
            or counters[SLOTS] + steps > slots.state.shape[0]
            or counters[HITS] + 1 > state.hits.end.shape[0]
            or steps >= pending.mover.shape[0]
        ):
            return FULL, event, steps

        # Then the moves. What goes to another state waits in `pending`.
        position = events.positions[event] if scattered else events.first_position + event
        waiting = 0
        hit = NIL
        hit_start = 0
        if opening >= 0:
            start = counters[STARTS]
            bottom = begin_run(graph, counters, position, events.clocks[event])
            for step in range(tables.rows[opening], tables.rows[opening + 1]):
                node = bottom
                label = tables.labels[step]
                if label != 0:
                    node = add_node(graph, counters, label, bottom, NIL, position, start)
                if tables.finals[step]:
                    if hit != NIL:
                        hit = join(graph, counters, hit, hit_start, node, start)
                    else:
                        hit = node
                    hit_start = larger(hit_start, start)
                if tables.targets[step] != NIL:
                    pending.target[waiting] = tables.targets[step]
                    pending.node[waiting] = node
                    pending.start[waiting] = start
                    waiting += 1
        left_over = False
        for mover in range(movers):
            slot = pending.mover[mover]
            source = slots.state[slot]
            cell = tables.cells[source, symbol]
            root = slots.root[slot]
            start = slots.start[slot]
            stays = False
            if cell >= 0 and not is_over(graph, start, floor, edge):
                for step in range(tables.rows[cell], tables.rows[cell + 1]):
                    node = root
                    label = tables.labels[step]
                    clip = tables.clips[step]
                    if clip >= 0:
                        # A window that began with the run ends here.
                        least = events.clocks[event] - clip
                        if graph.start_clock[start] < least:
                            continue
                        node = add_node(graph, counters, CLIP, root, NIL, least, start)
                    if label != 0:
                        node = add_node(graph, counters, label, node, NIL, position, start)
                    if tables.finals[step]:
                        if hit != NIL:
                            hit = join(graph, counters, hit, hit_start, node, start)
                        else:
                            hit = node
                        hit_start = larger(hit_start, start)
                    target = tables.targets[step]
                    if label == 0 and target == source:
                        stays = True
                    elif target != NIL:
                        pending.target[waiting] = target
                        pending.node[waiting] = node
                        pending.start[waiting] = start
                        waiting += 1
            if not stays:
                slots.root[slot] = NIL
                left_over = True
        if left_over:
            before = NIL
            slot = slots.heads[key]
            while slot != NIL:
                after = slots.next[slot]
                if slots.root[slot] != NIL:
                    before = slot
                else:
                    if before == NIL:
                        slots.heads[key] = after
                    else:
                        slots.next[before] = after
                    slots.next[slot] = counters[FREE]
                    counters[FREE] = slot
                slot = after

        # Earlier starts are joined first, so that later ones come to stand on the left.
        if waiting > MANY and pending.place.shape[0] >= tables.cells.shape[0]:
            sort_by_start(pending, waiting)
            add_many(state, pending, waiting, key, floor, edge)
            waiting = 0
        for i in range(1, waiting):
            target = pending.target[i]
            node = pending.node[i]
            start = pending.start[i]
            j = i - 1
            while j >= 0 and pending.start[j] > start:
                pending.target[j + 1] = pending.target[j]
                pending.node[j + 1] = pending.node[j]
                pending.start[j + 1] = pending.start[j]
                j -= 1
            pending.target[j + 1] = target
            pending.node[j + 1] = node
            pending.start[j + 1] = start
        for i in range(waiting):
            target = pending.target[i]
            node = pending.node[i]
            start = pending.start[i]
            slot = slots.heads[key]
            while slot != NIL and slots.state[slot] != target:
                slot = slots.next[slot]
            if slot != NIL:
                add_runs(state, slot, node, start, floor, edge)
            else:
                slot = take_slot(slots, counters, target, node, start)
                slots.next[slot] = slots.heads[key]
                slots.heads[key] = slot

        if hit != NIL:
            add_hit(state.hits, counters, position, hit, edge, floor, key)
            if window.consume == CONSUME_ANY:
                counters[FLOOR] = counters[STARTS]
            elif window.consume == CONSUME_PARTITION:
                slot = slots.heads[key]
                slots.heads[key] = NIL
                while slot != NIL:
                    after = slots.next[slot]
                    slots.next[slot] = counters[FREE]
                    counters[FREE] = slot
                    slot = after
    return DONE, symbols.shape[0], 0


read_events = direct(evaluate)
"""The same, as the driver calls it."""


@kernel
def carry_latest(keys: Array, latest: Array, found: Array) -> None:
    """Replace what was found at each event by the largest of its key so far."""
    for event in range(found.shape[0]):
        key = keys[event] if keys.shape[0] > 0 else 0
        if key >= 0:
            latest[key] = larger(latest[key], found[event])
            found[event] = latest[key]


@kernel
def count_ordinals(keys: Array, counts: Array, ordinals: Array) -> None:
    """Give each event its number within its key, going on from `counts`."""
    for event in range(keys.shape[0]):
        key = keys[event]
        if key >= 0:
            ordinals[event] = counts[key]
            counts[key] += 1
