"""The evaluation kernel of queries with conditions between events.

The same algorithm as in evaluate.py, on configurations with registers. For every event, the
groups of its key are visited, one for each state, and of a group that moves only those
configurations that some guard may let pass: where a step compares a value with a register, an
index knows them; else, and where they are few or nearly all of the group, all are looked at. What
they contribute to others is joined there, latest start first.

Waiting costs nothing: a step without variables back to its own state changes no register, because
those that a state does not need are empty there. So a configuration that no other step moves is
not touched. One that the window has passed is dropped when it is visited, or by compaction.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.layout import (
    CONSUME_ANY,
    CONSUME_PARTITION,
    CRAMPED,
    CROWDED,
    DONE,
    EMPTY,
    FLOOR,
    FOREVER,
    FULL,
    HITS,
    MISSING,
    NIL,
    NODES,
    SLOTS,
    STARTS,
    STAY,
    UNKNOWN,
    Input,
    Tables,
    Window,
)
from ensue.kernels.match.evaluate import (
    add_hit,
    add_node,
    add_runs,
    begin_run,
    join,
    take_slot,
)
from ensue.kernels.match.index import find_group, find_slot, link, partners_of, release
from ensue.kernels.match.layout import (
    LIVE,
    PARTS,
    Index,
    Lazy,
    Moves,
    State,
    Trees,
)
from ensue.kernels.match.lazy import (
    MISSING_STATE,
    NO_SPACE,
    bring_up,
    count_factors,
    extend,
    prepare,
)
from ensue.kernels.match.ranges import gather_due, gather_move, join_parts
from ensue.kernels.match.registers import allowed, put
from ensue.kernels.match.sorting import sort_by_start
from ensue.kernels.match.step_outcomes import ENDS, MOVES, WAITS, note, outcome_of
from ensue.kernels.match.subtrees import NO_NODES, touch
from ensue.kernels.match.treap import planted, search_for

INDEXING = -1


@helper
def short_of(index: Index, lack: int, event: int, capacity: int) -> tuple[int, int, int]:
    """Return why an event is given up for which there is no room."""
    if lack == NO_NODES:
        return CRAMPED, event, 3 * index.counts[LIVE]
    return FULL, event, 2 * capacity


@kernel
def correlate(
    tables: Tables,
    state: State,
    index: Index,
    trees: Trees | None,
    lazy: Lazy | None,
    moves: Moves,
    events: Input,
    window: Window,
    most: int,
    begin: int,
) -> tuple[int, int, int]:
    """Read events from `begin` on; return (why it stopped, at which event, in which state).

    It stops where there are more than `most` configurations. Without search trees it is compiled
    for equalities alone, and without lazy steps for queries that have none.

    Before the first event (INDEXING) it indexes the first slots instead, none of which is indexed
    yet; `events` then has their keys. That is no kernel of its own since it would take in again
    most of what this one has compiled.
    """
    graph = state.graph
    slots = state.slots
    counters = state.counters
    symbols = events.symbols
    keyed = events.keys.shape[0] > 0
    registers = slots.registers.shape[1]
    capacity = moves.slot.shape[0]
    if begin == INDEXING:
        for slot in range(events.keys.shape[0]):
            key = events.keys[slot]
            group = find_group(slots, index, key, slots.state[slot])
            link(tables, slots, index, trees, key, slot, group)
        return DONE, 0, 0
    for event in range(begin, symbols.shape[0]):
        symbol = symbols[event]
        if tables.inert[symbol]:
            continue
        key = events.keys[event] if keyed else 0
        if key < 0:
            continue
        if index.counts[LIVE] > most:
            return CROWDED, event, 0
        edge = events.clocks[event] - window.length if window.length >= 0 else FOREVER
        floor = counters[FLOOR]

        # First what moving and what ends, with nothing changed yet.
        opening = tables.cells[0, symbol]
        if opening == UNKNOWN:
            return MISSING, event, 0
        moving = 0
        ending = 0
        parts = 0
        steps = 0
        if lazy is not None and lazy.heads[key] != NIL:
            steps = prepare(
                tables, state, index, trees, lazy, key, symbol, events.values, event, floor, edge
            )
            if steps == NO_SPACE:
                return FULL, event, index.counts[LIVE] + lazy.counts[0]
            if steps <= MISSING_STATE:
                return MISSING, event, MISSING_STATE - steps
        if opening >= 0:
            for step in range(tables.rows[opening], tables.rows[opening + 1]):
                if moving == capacity:
                    return FULL, event, 2 * capacity
                for register in range(registers):
                    moves.registers[moving, register] = EMPTY
                if allowed(tables, step, moves.registers, moving, events.values, event):
                    moves.slot[moving] = NIL
                    moves.step[moving] = step
                    moving += 1
        group = slots.heads[key]
        while group != NIL:
            source = index.state[group]
            cell = tables.cells[source, symbol]
            if cell == UNKNOWN:
                return MISSING, event, source
            if cell == STAY:
                group = index.next[group]
                continue
            keeps = False
            begin_steps = tables.rows[cell] if cell >= 0 else 0
            end_steps = tables.rows[cell + 1] if cell >= 0 else 0
            for step in range(begin_steps, end_steps):
                if tables.labels[step] == 0 and tables.targets[step] == source:
                    keeps = True
                    if not tables.finals[step]:
                        continue
                if lazy is not None and tables.lazy[step]:
                    steps += 1
                    continue
                number = tables.access[step]
                hashed = number != NIL and not tables.ordered[number]
                found = NIL
                if trees is not None:
                    tree = planted(tables, index, trees, step, group)
                    if tree != NIL:
                        more = gather_move(
                            tables,
                            state,
                            trees,
                            moves,
                            lazy,
                            NIL,
                            group,
                            tree,
                            step,
                            events.values,
                            event,
                            floor,
                            edge,
                            moving,
                            parts,
                        )
                        if more < 0:
                            return short_of(index, more, event, capacity)
                        parts = moves.start[more - 1] if more > moving else parts
                        moving = more
                        continue
                    if number != NIL and not hashed and trees.root[number, group] != NIL:
                        found = search_for(
                            tables, index, trees, moves, group, step, events.values, event
                        )
                # What a search has found; else those with the event's own value and those in which
                # the register is empty; else all of the group.
                for turn in range(2 if hashed else 1):
                    register = 0
                    content = EMPTY
                    place = 0
                    if found != NIL:
                        slot = moves.spare[0] if found > 0 else NIL
                    elif not hashed:
                        slot = index.first[group]
                    else:
                        register = tables.indexes[number]
                        if turn == 0:
                            content = events.values[
                                event, tables.guards[tables.guard_rows[step], 2]
                            ]
                        slot = index.partners[number, partners_of(index, group, content)]
                    while slot != NIL:
                        if found != NIL:
                            place += 1
                            following = moves.spare[place] if place < found else NIL
                        else:
                            following = index.after[slot, number] if hashed else slots.next[slot]
                        if not hashed or (
                            slots.registers[slot, register] == content
                            and index.group[slot] == group
                        ):
                            outcome = outcome_of(
                                tables, state, step, slot, events.values, event, floor, edge
                            )
                            if outcome != WAITS:
                                if moving == capacity or ending == capacity:
                                    return FULL, event, 2 * capacity
                                note(moves, moving, ending, slot, step)
                                moving += outcome == MOVES
                                ending += outcome == ENDS
                        slot = following
            if not keeps:
                slot = index.first[group]
                while slot != NIL:
                    if ending == capacity:
                        return FULL, event, 2 * capacity
                    moves.dropped[ending] = slot
                    ending += 1
                    slot = slots.next[slot]
            group = index.next[group]
        if lazy is not None and trees is not None:
            more = gather_due(
                tables,
                state,
                index,
                trees,
                moves,
                lazy,
                key,
                symbol,
                events.values,
                event,
                floor,
                edge,
                moving,
                parts,
            )
            if more < 0:
                return short_of(index, more, event, capacity)
            parts = moves.start[more - 1] if more > moving else parts
            moving = more
        if moving == 0 and ending == 0 and steps == 0:
            continue
        arriving = 0
        for move in range(moving):
            arriving += tables.targets[moves.step[move]] != NIL
        # Lazy steps and configurations that are brought up to date: nodes and slots for them.
        factors = 0
        if lazy is not None:
            factors = (count_factors(lazy, key) + steps) * arriving
            if lazy.counts[0] + steps > lazy.root.shape[0]:
                return FULL, event, moving + factors + steps
        if (
            counters[NODES] + 3 * moving + parts + 2 * (factors + steps) + 3 > graph.label.shape[0]
            or counters[STARTS] + 2 > graph.start_clock.shape[0]
            or counters[SLOTS] + arriving + factors > slots.state.shape[0]
            or counters[HITS] + 1 > state.hits.end.shape[0]
        ):
            return FULL, event, moving + parts + factors + steps

        # Then the moves: what they make waits in `moves`.
        position = events.first_position + event
        if lazy is not None and steps > 0:
            extend(
                tables,
                state,
                index,
                lazy,
                key,
                symbol,
                events.values,
                event,
                position,
                events.clocks[event],
            )
        bottom = NIL
        for move in range(moving):
            slot = moves.slot[move]
            step = moves.step[move]
            target = tables.targets[step]
            label = tables.labels[step]
            if slot == NIL:
                if bottom == NIL:
                    bottom = begin_run(graph, counters, position, events.clocks[event])
                node = bottom
                start = counters[STARTS] - 1
                for register in range(registers):
                    moves.registers[move, register] = EMPTY
            elif trees is not None and slot == PARTS:
                last_part = moves.start[move]
                node = join_parts(graph, counters, moves, moves.node[move], last_part)
                start = moves.part_start[last_part - 1]
                for register in range(registers):
                    moves.registers[move, register] = EMPTY
            else:
                node = slots.root[slot]
                start = slots.start[slot]
                if label == 0 and target == slots.state[slot]:
                    target = NIL
                for register in range(registers):
                    moves.registers[move, register] = slots.registers[slot, register]
            if target != NIL:
                put(tables, step, moves.registers, move, events.values, event)
            if label != 0:
                node = add_node(graph, counters, label, node, NIL, position, start)
            moves.node[move] = node
            moves.start[move] = start
            moves.target[move] = target
        for i in range(ending):
            slot = moves.dropped[i]
            if slots.root[slot] != NIL:
                release(tables, slots, index, trees, counters, slot)

        # Earlier starts are joined first, so that later ones come to stand on the left.
        sort_by_start(moves.start, moves.order, moves.spare, moving)
        hit = NIL
        hit_start = 0
        group = NIL
        last = NIL
        for i in range(moving):
            move = moves.order[i]
            node = moves.node[move]
            start = moves.start[move]
            target = moves.target[move]
            if tables.finals[moves.step[move]]:
                if hit != NIL:
                    hit = join(graph, counters, hit, hit_start, node, start)
                else:
                    hit = node
                hit_start = start
            if target == NIL:
                continue
            if target != last:
                group = find_group(slots, index, key, target)
                last = target
            slot = NIL
            if group != NIL:
                slot = find_slot(slots, index, group, moves.registers, move)
            if slot != NIL:
                if lazy is not None and lazy.heads[key] != NIL:
                    bring_up(
                        tables, state, index, trees, lazy, key, slots.registers, slot, floor, edge
                    )
                add_runs(state, slot, node, start, floor, edge)
                if trees is not None:
                    touch(tables, slots, index, trees, slot)
            else:
                slot = take_slot(slots, counters, target, node, start)
                for register in range(registers):
                    slots.registers[slot, register] = moves.registers[move, register]
                if lazy is not None:
                    lazy.applied[slot] = counters[STARTS]
                group = link(tables, slots, index, trees, key, slot, group)

        if hit != NIL:
            add_hit(state.hits, counters, position, hit, edge, floor, key)
            if window.consume == CONSUME_ANY:
                counters[FLOOR] = counters[STARTS]
            elif window.consume == CONSUME_PARTITION:
                while slots.heads[key] != NIL:
                    slot = index.first[slots.heads[key]]
                    release(tables, slots, index, trees, counters, slot)
    return DONE, symbols.shape[0], 0
