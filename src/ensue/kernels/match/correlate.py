"""The evaluation kernel of queries with conditions between events.

The same algorithm as in evaluate.py, on configurations with registers. For every event, the
groups of its key are visited, one for each state, and of a group that moves only those
configurations that some guard may let pass: where a step compares a value with a register, an
index knows them; else, and where they are few or nearly all of the group, all are looked at. What
they contribute to others is joined there, latest start first.

Waiting costs nothing: a step without variables back to its own state changes no register, because
those that a state does not need are empty there. So a configuration that no other step moves is
not touched. One that the window has passed is dropped when somebody looks at it, or by compaction.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, kernel, subroutine
from ensue.kernels.layout import (
    CONSUME_ANY,
    CONSUME_PARTITION,
    CROWDED,
    DONE,
    EMPTY,
    FLOOR,
    FOREVER,
    FREE,
    FULL,
    HITS,
    LIVE,
    MISSING,
    NODES,
    NOTHING,
    SLOTS,
    STARTS,
    STAY,
    UNKNOWN,
    Array,
    Graph,
    Hits,
    Index,
    Scratch,
    Slots,
    Tables,
)
from ensue.kernels.match.evaluate import (
    add_hit,
    add_node,
    add_runs,
    begin_run,
    is_over,
    join,
    take_slot,
)
from ensue.kernels.match.index import find_group, find_slot, link, partners_of, unlink
from ensue.kernels.match.registers import allowed, put
from ensue.kernels.match.treap import search, trees_of
from ensue.kernels.minmax import smaller

_SHARE = 8
"""Where more than one in so many would be found, a scan is better: it keeps the order of starts."""

WAITS, MOVES, ENDS = range(3)
"""What becomes of a configuration: a guard forbids the step, it is taken, all runs are over."""


@helper
def search_for(
    tables: Tables,
    slots: Slots,
    index: Index,
    scratch: Scratch,
    group: int,
    step: int,
    values: Array,
    event: int,
) -> int:
    """Write what the first guard of a step lets pass to `scratch.spare`; return how many that are.

    NOTHING means: so many that all of the group had better be looked at.
    """
    number = tables.access[step]
    guard = tables.guard_rows[step]
    most = smaller(index.size[group] // _SHARE + _SHARE, scratch.spare.shape[0] - 1)
    count = search(
        trees_of(slots, index),
        tables.indexes[number],
        number,
        group,
        tables.guards[guard, 1],
        values[event, tables.guards[guard, 2]],
        most,
        scratch.spare,
        scratch.order,
    )
    return count if count <= most else NOTHING


@helper
def fate_of(
    tables: Tables,
    graph: Graph,
    slots: Slots,
    step: int,
    slot: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
) -> int:
    """Tell what becomes of a configuration by a step."""
    fate = WAITS
    if allowed(tables, step, slots.registers, slot, values, event):
        fate = ENDS if is_over(graph, slots.start[slot], floor, edge) else MOVES
    return fate


@helper
def note(scratch: Scratch, moves: int, ending: int, slot: int, step: int) -> None:
    """Write down a configuration both as one that moves and one that ends; one of it will count."""
    scratch.slot[moves] = slot
    scratch.step[moves] = step
    scratch.dropped[ending] = slot


@helper
def release(tables: Tables, slots: Slots, index: Index, counters: Array, slot: int) -> None:
    """Free the slot of a configuration."""
    unlink(tables, slots, index, slot)
    slots.root[slot] = NOTHING
    slots.next[slot] = counters[FREE]
    counters[FREE] = slot


@helper
def end_of_run(start: Array, order: Array, begin: int, count: int) -> int:
    """Return where the sorted run that begins here ends."""
    end = begin + 1
    while end < count and start[order[end - 1]] <= start[order[end]]:
        end += 1
    return end


@subroutine
def sort_by_start(start: Array, order: Array, spare: Array, count: int) -> None:
    """Write the moves to `order`, the earliest start first, merging runs that are sorted.

    Lists have the latest configuration first, so reading them backwards makes long runs.
    """
    for i in range(count):
        order[i] = count - 1 - i
    merged = count < 2
    while not merged:
        merged = True
        begin = 0
        while begin < count:
            middle = end_of_run(start, order, begin, count)
            if middle == count:
                break
            end = end_of_run(start, order, middle, count)
            merged = merged and begin == 0 and end == count
            left, right = begin, middle
            for place in range(begin, end):
                if right == end or (left < middle and start[order[left]] <= start[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
            for i in range(begin, end):
                order[i] = spare[i]
            begin = end


@kernel
def correlate(
    tables: Tables,
    graph: Graph,
    slots: Slots,
    index: Index,
    counters: Array,
    hits: Hits,
    scratch: Scratch,
    most: int,
    symbols: Array,
    values: Array,
    clocks: Array,
    keys: Array,
    first_position: int,
    begin: int,
    window: int,
    consume: int,
) -> tuple[int, int, int]:
    """Read events from `begin` on; return (why it stopped, at which event, in which state)."""
    keyed = keys.shape[0] > 0
    registers = slots.registers.shape[1]
    room = scratch.slot.shape[0]
    for event in range(begin, symbols.shape[0]):
        symbol = symbols[event]
        if tables.inert[symbol]:
            continue
        key = keys[event] if keyed else 0
        if key < 0:
            continue
        if index.counts[LIVE] > most:
            return CROWDED, event, 0
        edge = clocks[event] - window if window >= 0 else FOREVER
        floor = counters[FLOOR]

        # First what moves and what ends, with nothing changed yet.
        opening = tables.cells[0, symbol]
        if opening == UNKNOWN:
            return MISSING, event, 0
        moves = 0
        ending = 0
        if opening >= 0:
            for step in range(tables.rows[opening], tables.rows[opening + 1]):
                if moves == room:
                    return FULL, event, 2 * room
                for register in range(registers):
                    scratch.registers[moves, register] = EMPTY
                if allowed(tables, step, scratch.registers, moves, values, event):
                    scratch.slot[moves] = NOTHING
                    scratch.step[moves] = step
                    moves += 1
        group = slots.heads[key]
        while group != NOTHING:
            state = index.state[group]
            cell = tables.cells[state, symbol]
            if cell == UNKNOWN:
                return MISSING, event, state
            if cell == STAY:
                group = index.next[group]
                continue
            keeps = False
            begin_steps = tables.rows[cell] if cell >= 0 else 0
            end_steps = tables.rows[cell + 1] if cell >= 0 else 0
            for step in range(begin_steps, end_steps):
                if tables.labels[step] == 0 and tables.targets[step] == state:
                    keeps = True
                    if not tables.finals[step]:
                        continue
                number = tables.access[step]
                hashed = number != NOTHING and not tables.ordered[number]
                if number != NOTHING and not hashed and index.partners[number, group] != NOTHING:
                    found = search_for(tables, slots, index, scratch, group, step, values, event)
                    if found != NOTHING:
                        for i in range(found):
                            slot = scratch.spare[i]
                            fate = fate_of(
                                tables, graph, slots, step, slot, values, event, floor, edge
                            )
                            if fate != WAITS:
                                if moves == room or ending == room:
                                    return FULL, event, 2 * room
                                note(scratch, moves, ending, slot, step)
                                moves += fate == MOVES
                                ending += fate == ENDS
                        continue
                # Those with the event's own value, and those in which the register is empty.
                for turn in range(2 if hashed else 1):
                    register = 0
                    content = EMPTY
                    if not hashed:
                        slot = index.first[group]
                    else:
                        register = tables.indexes[number]
                        if turn == 0:
                            content = values[event, tables.guards[tables.guard_rows[step], 2]]
                        slot = index.partners[number, partners_of(index, group, content)]
                    while slot != NOTHING:
                        following = index.after[slot, number] if hashed else slots.next[slot]
                        if not hashed or (
                            slots.registers[slot, register] == content
                            and index.group[slot] == group
                        ):
                            fate = fate_of(
                                tables, graph, slots, step, slot, values, event, floor, edge
                            )
                            if fate != WAITS:
                                if moves == room or ending == room:
                                    return FULL, event, 2 * room
                                note(scratch, moves, ending, slot, step)
                                moves += fate == MOVES
                                ending += fate == ENDS
                        slot = following
            if not keeps:
                slot = index.first[group]
                while slot != NOTHING:
                    if ending == room:
                        return FULL, event, 2 * room
                    scratch.dropped[ending] = slot
                    ending += 1
                    slot = slots.next[slot]
            group = index.next[group]
        if moves == 0 and ending == 0:
            continue
        arriving = 0
        for move in range(moves):
            arriving += tables.targets[scratch.step[move]] != NOTHING
        if (
            counters[NODES] + 3 * moves + 2 > graph.label.shape[0]
            or counters[STARTS] + 1 > graph.start_clock.shape[0]
            or counters[SLOTS] + arriving > slots.state.shape[0]
            or counters[HITS] + 1 > hits.end.shape[0]
        ):
            return FULL, event, moves

        # Then the moves: what they make waits in `scratch`.
        position = first_position + event
        bottom = NOTHING
        for move in range(moves):
            slot = scratch.slot[move]
            step = scratch.step[move]
            target = tables.targets[step]
            label = tables.labels[step]
            if slot == NOTHING:
                if bottom == NOTHING:
                    bottom = begin_run(graph, counters, position, clocks[event])
                node = bottom
                start = counters[STARTS] - 1
                for register in range(registers):
                    scratch.registers[move, register] = EMPTY
            else:
                node = slots.root[slot]
                start = slots.start[slot]
                if label == 0 and target == slots.state[slot]:
                    target = NOTHING
                for register in range(registers):
                    scratch.registers[move, register] = slots.registers[slot, register]
            if target != NOTHING:
                put(tables, step, scratch.registers, move, values, event)
            if label != 0:
                node = add_node(graph, counters, label, node, NOTHING, position, start)
            scratch.node[move] = node
            scratch.start[move] = start
            scratch.target[move] = target
        for i in range(ending):
            slot = scratch.dropped[i]
            if slots.root[slot] != NOTHING:
                release(tables, slots, index, counters, slot)

        # Earlier starts are joined first, so that later ones come to stand on the left.
        sort_by_start(scratch.start, scratch.order, scratch.spare, moves)
        hit = NOTHING
        hit_start = 0
        group = NOTHING
        last = NOTHING
        for i in range(moves):
            move = scratch.order[i]
            node = scratch.node[move]
            start = scratch.start[move]
            target = scratch.target[move]
            if tables.finals[scratch.step[move]]:
                if hit != NOTHING:
                    hit = join(graph, counters, hit, hit_start, node, start)
                else:
                    hit = node
                hit_start = start
            if target == NOTHING:
                continue
            if target != last:
                group = find_group(slots, index, key, target)
                last = target
            slot = NOTHING
            if group != NOTHING:
                slot = find_slot(slots, index, group, scratch.registers, move)
            if slot != NOTHING:
                add_runs(graph, slots, counters, slot, node, start, floor, edge)
            else:
                slot = take_slot(slots, counters, target, node, start)
                for register in range(registers):
                    slots.registers[slot, register] = scratch.registers[move, register]
                group = link(tables, slots, index, key, slot, group)

        if hit != NOTHING:
            add_hit(hits, counters, position, hit, edge, floor, key)
            if consume == CONSUME_ANY:
                counters[FLOOR] = counters[STARTS]
            elif consume == CONSUME_PARTITION:
                while slots.heads[key] != NOTHING:
                    release(tables, slots, index, counters, index.first[slots.heads[key]])
    return DONE, symbols.shape[0], 0
