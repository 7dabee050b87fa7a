"""The configurations of a matching query: where they are kept, indexed and moved together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ensue.kernels.graph.arena import Arena
from ensue.kernels.layout import FREE, NIL, SLOTS, Roots
from ensue.kernels.match.factors import (
    FIRST_FACTORS,
    Factors,
    compact_with_factors,
    grown_factors,
    put_factors,
)
from ensue.kernels.match.layout import (
    LIVE,
    Index,
    Lazy,
    Slots,
    Trees,
    new_index,
    new_lazy,
    new_slots,
)
from ensue.kernels.match.rebuild import rebuild
from ensue.kernels.memory import doubled
from ensue.kernels.sets import distinct
from ensue.kernels.tables import Table

SCAN_LIMIT = 64
"""Up to so many configurations of one state are looked at one by one; more get a search tree."""

SHARED_FROM = 512
"""From so many configurations on steps are lazy where there are search trees: that takes a kernel
which few queries need, and longer to compile."""

_FIRST_SLOTS = 64


@dataclass(slots=True)
class Configurations:
    """Slots and, where there are registers, their index; the counters belong to the driver."""

    table: Table
    registers: int
    """How many registers a configuration has."""
    counters: np.ndarray
    slots: Slots = field(init=False)
    index: Index = field(init=False)
    lazy: Lazy | None = None
    """What waits to be applied; None where no step is lazy."""

    def __post_init__(self) -> None:
        self.slots = new_slots(_FIRST_SLOTS, 1, self.registers)
        self.index = self._new_index(_FIRST_SLOTS)

    @property
    def trees(self) -> Trees | None:
        """The search trees; None where all conditions are equalities."""
        if not any(self.table.ordered):
            return None
        slots, index = self.slots, self.index
        targets = len(self.table.lazy_targets)
        return Trees(slots.registers, index.partners, index.branches, index.due, targets)

    def _new_index(self, slots: int) -> Index:
        table = self.table
        trees, targets = any(table.ordered), len(table.lazy_targets)
        return new_index(slots, len(table.indexes), SCAN_LIMIT, trees=trees, targets=targets)

    @property
    def count(self) -> int:
        """How many configurations with registers there are."""
        return int(self.index.counts[LIVE])

    def used(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots in use and their keys, those of one key together."""
        if not self.counters[SLOTS]:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if not self.registers:
            return _listed(self.slots)
        used = np.flatnonzero(self.slots.root[: self.counters[SLOTS]] != NIL)
        keys = self.index.key[self.index.group[used]]
        order = np.argsort(keys, kind="stable")
        return used[order], keys[order]

    def grow_keys(self, keys: int) -> None:
        """Make room for so many partition keys."""
        heads = self.slots.heads
        if keys > len(heads):
            grown = np.full(doubled(len(heads), keys), NIL, np.int32)
            grown[: len(heads)] = heads
            self.slots = self.slots._replace(heads=grown)
        if self.lazy is not None:
            self.lazy = grown_factors(self.lazy, 0, len(self.slots.heads), 0)

    def grow_factors(self, more: int) -> None:
        """Make room for some more factors."""
        if self.lazy is not None:
            self.lazy = grown_factors(self.lazy, int(self.lazy.counts[0]) + more, 0, 0)

    @property
    def wants_to_wait(self) -> bool:
        """Whether steps had better be lazy from now on."""
        if self.lazy is not None or not self.table.common:
            return False
        return self.trees is None or self.count >= SHARED_FROM

    def can_wait(self) -> bool:
        """Prepare for lazy steps; False where they are impossible, because of search trees."""
        if self.lazy is None and (self.trees is None or self.table.common):
            self.lazy = new_lazy(FIRST_FACTORS, len(self.slots.heads), len(self.slots.state))
        return self.lazy is not None

    def wait_again(self, factors: Factors, applied: np.ndarray) -> None:
        """Let steps wait that did when the configurations, which are the first, were saved."""
        assert self.lazy is not None
        self.grow_keys(int(factors.key.max(initial=0)) + 1)
        self.grow_factors(len(factors.key))
        self.lazy.applied[: len(applied)] = applied
        put_factors(self.lazy, factors, self.table.arrays(1).lazy_targets)

    def keep(self, arena: Arena, roots: Roots, used: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Keep of a graph what the slots in use need; return where their roots are then."""
        targets = self.table.arrays(1).lazy_targets
        return compact_with_factors(arena, self.lazy, targets, self.slots, roots, used, keys)

    def grow(self, wanted: int, starts: np.ndarray) -> None:
        """Make room for so many slots; `starts` has the latest start of each node."""
        used, keys = self.used() if self.registers else (None, None)
        grown = new_slots(doubled(len(self.slots.state), wanted), 1, self.registers)
        for name in ("state", "registers", "root", "start", "next"):
            old = getattr(self.slots, name)
            getattr(grown, name)[: len(old)] = old
        self.slots = grown._replace(heads=self.slots.heads)
        if self.lazy is not None:
            self.lazy = grown_factors(self.lazy, 0, 0, len(grown.state))
        if used is not None and keys is not None:
            self.index = self._new_index(len(grown.state))
            self.relink(used, self.slots.root[used], keys, starts)

    def reindex(self, starts: np.ndarray) -> None:
        """Close the gaps between configurations with registers, and index them anew."""
        used, keys = self.used()
        self.relink(used, self.slots.root[used], keys, starts)

    def relink(
        self, used: np.ndarray, roots: np.ndarray, keys: np.ndarray, starts: np.ndarray
    ) -> None:
        """Write configurations with new roots into the first slots, key by key."""
        slots, count = self.slots, len(used)
        if not self.registers and not count and not self.counters[SLOTS]:
            return
        slots.state[:count] = slots.state[used]
        slots.registers[:count] = slots.registers[used]
        slots.root[:count] = roots
        slots.start[:count] = starts[roots]
        if self.lazy is not None:
            self.lazy.applied[:count] = self.lazy.applied[used]
        self.counters[SLOTS] = count
        self.counters[FREE] = NIL
        if self.registers:
            slots.root[count:] = NIL
            rebuild(self.table.arrays(1), slots, self.index, self.trees, self.lazy, keys)
            return
        slots.heads[:] = NIL
        same = np.zeros(count, bool)
        same[:-1] = keys[1:] == keys[:-1]
        slots.next[:count] = np.where(same, np.arange(1, count + 1), NIL)
        opens = np.ones(count, bool)
        opens[1:] = keys[1:] != keys[:-1]
        slots.heads[keys[opens]] = np.flatnonzero(opens)

    def contents(self) -> np.ndarray:
        """Return all values that registers hold."""
        used, _ = self.used()
        return distinct(self.slots.registers[used])

    def keys(self) -> np.ndarray:
        """Return the keys that have a configuration."""
        return np.flatnonzero(self.slots.heads != NIL)

    def most_diverse(self) -> str:
        """Return the condition whose register has the most different contents."""
        contents = self.slots.registers[: self.count]
        different = [len(distinct(contents[:, each])) for each in range(self.registers)]
        register = self.table.registers[int(np.argmax(different))]
        return self.table.determined.compiled.plan.text_of(register)


_FEW_LISTS = 8
"""So few lists are followed one by one, more of them all at once."""


def _listed(slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Return all slots in the lists of keys, and their keys, those of one key together."""
    keys = np.flatnonzero(slots.heads != NIL)
    layer = slots.heads[keys]
    found, owners = [layer], [keys]
    while len(layer) > _FEW_LISTS:
        after = slots.next[layer]
        more = after != NIL
        layer, keys = after[more], keys[more]
        found.append(layer)
        owners.append(keys)
    for first, key in zip(layer.tolist(), keys.tolist(), strict=True):
        chain, slot = [], int(slots.next[first])
        while slot != NIL:
            chain.append(slot)
            slot = int(slots.next[slot])
        found.append(np.array(chain, layer.dtype))
        owners.append(np.full(len(chain), key, keys.dtype))
    every, owner = np.concatenate(found), np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return every[order], owner[order]
