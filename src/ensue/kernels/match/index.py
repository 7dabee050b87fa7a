"""The index of configurations with registers: by all contents, and by one that is compared.

The first is a hash table with chains through the slots, and so is the second for equalities: a
chain holds all configurations of one state whose register has one content, which are the partners
of an event that must be equal to it; it can be left in the middle, so its links go both ways. For
other comparisons a group that has become large gets a search tree, and keeps it until it is empty
or indexed anew. Where all comparisons are equalities there are no trees (None): Numba leaves out
what is under `is not None` then, which spares a third of the compilation.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import FREE, NIL, Array, Tables
from ensue.kernels.match.layout import (
    BEGUN,
    BRANCH,
    FREE_GROUP,
    GROUPS,
    LIVE,
    OWN,
    SCANNED,
    Index,
    Slots,
    Trees,
)
from ensue.kernels.match.registers import hash_of, same, stirred
from ensue.kernels.match.treap import insert, remove


@helper
def find_group(slots: Slots, index: Index, key: int, state: int) -> int:
    """Return the group of a key and state, or NIL."""
    group: int = slots.heads[key]
    while group != NIL and index.state[group] != state:
        group = index.next[group]
    return group


@helper
def bucket_of(index: Index, group: int, registers: Array, row: int) -> int:
    """Return where configurations of a group with these contents are."""
    place: int = hash_of(group, registers, row) & (index.buckets.shape[0] - 1)
    return place


@helper
def partners_of(index: Index, group: int, content: int) -> int:
    """Return where configurations of a group with this content of one register are."""
    place: int = stirred(stirred(0, group), content) & (index.partners.shape[1] - 1)
    return place


@helper
def find_slot(slots: Slots, index: Index, group: int, registers: Array, row: int) -> int:
    """Return the configuration of a group with these contents, or NIL."""
    slot: int = index.buckets[bucket_of(index, group, registers, row)]
    while slot != NIL and not (
        index.group[slot] == group and same(slots.registers, slot, registers, row)
    ):
        slot = index.chain[slot]
    return slot


@subroutine
def link(
    tables: Tables,
    slots: Slots,
    index: Index,
    trees: Trees | None,
    key: int,
    slot: int,
    group: int,
) -> int:
    """Put a configuration into its group, a new one for NIL, and the index; return the group."""
    if group == NIL:
        group = index.counts[FREE_GROUP]
        if group != NIL:
            index.counts[FREE_GROUP] = index.next[group]
        else:
            group = index.counts[GROUPS]
            index.counts[GROUPS] = group + 1
        index.state[group] = slots.state[slot]
        index.key[group] = key
        index.first[group] = NIL
        index.size[group] = 0
        index.next[group] = slots.heads[key]
        slots.heads[key] = group
    index.counts[LIVE] += 1
    index.size[group] += 1
    first = index.first[group]
    if first != NIL:
        index.previous[first] = slot
    index.group[slot] = group
    index.previous[slot] = NIL
    slots.next[slot] = first
    index.first[group] = slot

    bucket = bucket_of(index, group, slots.registers, slot)
    index.chain[slot] = index.buckets[bucket]
    index.buckets[bucket] = slot
    for number in range(tables.indexes.shape[0]):
        if not tables.indexed[slots.state[slot], number]:
            continue
        if trees is not None and tables.ordered[number]:
            # One more, or all of them: a group that has no tree yet and is few no longer.
            prefix = tables.prefixes[number]
            register = tables.indexes[number]
            planted = trees.root[number, group] != NIL
            other = slot if planted or index.size[group] > index.counts[SCANNED] else NIL
            while other != NIL:
                trees.branches[other, BRANCH * number + OWN] = slots.root[other]
                trees.branches[other, BRANCH * number + BEGUN] = slots.start[other]
                insert(trees, prefix, register, number, group, other)
                other = NIL if planted else slots.next[other]
        if not tables.ordered[number]:
            content = slots.registers[slot, tables.indexes[number]]
            place = partners_of(index, group, content)
            other = index.partners[number, place]
            if other != NIL:
                index.before[other, number] = slot
            index.before[slot, number] = NIL
            index.after[slot, number] = other
            index.partners[number, place] = slot
    return group


@subroutine
def unlink(tables: Tables, slots: Slots, index: Index, trees: Trees | None, slot: int) -> None:
    """Take a configuration out of its group and the index; an empty group is freed."""
    index.counts[LIVE] -= 1
    group = index.group[slot]
    index.size[group] -= 1
    before = index.previous[slot]
    after = slots.next[slot]
    if before != NIL:
        slots.next[before] = after
    else:
        index.first[group] = after
    if after != NIL:
        index.previous[after] = before

    bucket = bucket_of(index, group, slots.registers, slot)
    other = index.buckets[bucket]
    if other == slot:
        index.buckets[bucket] = index.chain[slot]
    else:
        while index.chain[other] != slot:
            other = index.chain[other]
        index.chain[other] = index.chain[slot]
    for number in range(tables.indexes.shape[0]):
        if not tables.indexed[slots.state[slot], number]:
            continue
        if trees is not None and tables.ordered[number] and trees.root[number, group] != NIL:
            prefix = tables.prefixes[number]
            remove(trees, prefix, tables.indexes[number], number, group, slot)
        if not tables.ordered[number]:
            left = index.before[slot, number]
            right = index.after[slot, number]
            if left != NIL:
                index.after[left, number] = right
            else:
                content = slots.registers[slot, tables.indexes[number]]
                index.partners[number, partners_of(index, group, content)] = right
            if right != NIL:
                index.before[right, number] = left

    if index.first[group] == NIL:
        key = index.key[group]
        following = index.next[group]
        other = slots.heads[key]
        if other == group:
            slots.heads[key] = following
        else:
            while index.next[other] != group:
                other = index.next[other]
            index.next[other] = following
        index.next[group] = index.counts[FREE_GROUP]
        index.counts[FREE_GROUP] = group


@helper
def release(
    tables: Tables, slots: Slots, index: Index, trees: Trees | None, counters: Array, slot: int
) -> None:
    """Free the slot of a configuration."""
    unlink(tables, slots, index, trees, slot)
    slots.root[slot] = NIL
    slots.next[slot] = counters[FREE]
    counters[FREE] = slot
