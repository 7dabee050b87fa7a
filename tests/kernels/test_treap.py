"""Search trees of configurations against looking at all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Tables,
)
from ensue.kernels.match.index import link, unlink
from ensue.kernels.match.layout import Index, Slots, Trees, new_index, new_slots
from ensue.kernels.match.registers import allowed
from ensue.kernels.match.treap import search

SIGNS = [DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST]
CONTENTS = st.sampled_from([EMPTY, NULL, NULL + 1, -1, 0, 1, 2, LARGEST - 1, LARGEST])
NUMBERS = np.zeros(0, np.int32)
ROOM = 64


class Group(NamedTuple):
    """Configurations of one state with one register, which is indexed by its order."""

    tables: Tables
    slots: Slots
    index: Index
    trees: Trees

    def add(self, slot: int, content: int) -> None:
        self.slots.registers[slot, 0] = content
        known = int(self.slots.heads[0])
        link(self.tables, self.slots, self.index, self.trees, 0, slot, known)

    def drop(self, slot: int) -> None:
        unlink(self.tables, self.slots, self.index, self.trees, slot)

    def found(self, sign: int, value: int, most: int = ROOM) -> set[int] | None:
        """Search; None where there are more than `most`."""
        room = np.full(most + 1, NIL, np.int32)
        waiting = np.zeros(ROOM, np.int32)
        count = search(self.trees, 0, 0, 0, sign, value, most, room, waiting)
        assert len(set(room[:count])) == count
        return set(room[:count].tolist()) if count <= most else None

    def passed(self, sign: int, value: int, live: set[int]) -> set[int]:
        """Look at all."""
        tables = self.tables._replace(guards=np.array([[0, sign, 0]], np.int32))
        values = np.array([[value]], np.int64)
        return {slot for slot in live if allowed(tables, 0, self.slots.registers, slot, values, 0)}


def group(few: int, size: int = ROOM) -> Group:
    tables = Tables(
        *[NUMBERS] * 6,
        guard_rows=np.array([0, 1], np.int32),
        guards=NUMBERS.reshape(0, 3),
        actions=NUMBERS,
        access=NUMBERS,
        indexes=np.array([0], np.int32),
        ordered=np.array([True]),
        indexed=np.array([[True]]),
        prefixes=np.array([NIL], np.int32),
        merges=np.array([False]),
        lazy=np.array([False]),
        lazy_targets=np.array([NIL], np.int32),
        clips=np.array([NIL]),
    )
    slots, index = new_slots(size, 1, 1), new_index(size, 1, few, trees=True, targets=0)
    trees = Trees(slots.registers, index.partners, index.branches, index.due, 0)
    return Group(tables, slots, index, trees)


@given(
    few=st.sampled_from([0, 3]),
    changes=st.lists(st.tuples(st.integers(0, 15), CONTENTS), max_size=40),
    value=CONTENTS.filter(lambda value: value != EMPTY),
)
def test_search_finds_what_looking_at_all_finds(
    few: int, changes: list[tuple[int, int]], value: int
) -> None:
    some = group(few)
    live: set[int] = set()
    for slot, content in changes:
        if slot in live:
            some.drop(slot)
            live.remove(slot)
        else:
            some.add(slot, content)
            live.add(slot)
        if not live:
            assert some.index.partners[0, 0] == NIL
        elif len(live) > few:
            for sign in SIGNS:
                assert some.found(sign, value) == some.passed(sign, value, live)


def test_few_have_no_tree() -> None:
    some = group(few=3)
    for slot in range(3):
        some.add(slot, slot)
    assert some.index.partners[0, 0] == NIL
    some.add(3, 3)
    assert some.found(MORE, 2) == {0, 1}


def test_search_gives_up_where_there_are_many() -> None:
    some = group(few=0)
    for slot in range(20):
        some.add(slot, slot)
    assert some.found(MORE, 7, most=7) == set(range(7))
    assert some.found(MORE, 8, most=7) is None


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "mixed"])
def test_trees_stay_shallow_whatever_the_order(order: str) -> None:
    size = 1 << 12
    some = group(few=0, size=size)
    mixed = np.random.default_rng(1).permutation(size)
    contents = {
        "rising": np.arange(size),
        "falling": np.arange(size)[::-1],
        "equal": np.zeros(size, int),
        "mixed": mixed,
    }[order]
    for slot in range(size):
        some.add(slot, int(contents[slot]))
    depth, layer = 0, some.index.partners[0, :1]
    while len(layer):
        depth += 1
        below = some.index.branches[layer, :2].ravel()
        layer = below[below != NIL]
    assert depth <= 4 * 12


def test_an_equality_has_no_tree() -> None:
    some = group(few=0)
    hashed = some._replace(tables=some.tables._replace(ordered=np.array([False])))
    hashed.add(0, 5)
    assert hashed.passed(EQUAL, 5, {0}) == {0}
    assert (hashed.index.partners == 0).sum() == 1
