"""The index of configurations is made anew: after compaction, growth, and for new comparisons."""

from __future__ import annotations

import numpy as np

from ensue.kernels.layout import COUNTERS, NIL, Array, Input, Tables, Window, new_graph, new_hits
from ensue.kernels.match.correlate import INDEXING, correlate
from ensue.kernels.match.layout import (
    FREE_GROUP,
    GROUPS,
    LIVE,
    Index,
    Lazy,
    Slots,
    State,
    Trees,
    new_moves,
)
from ensue.kernels.memory import read_only


def rebuild(
    tables: Tables,
    slots: Slots,
    index: Index,
    trees: Trees | None,
    lazy: Lazy | None,
    keys: Array,
) -> None:
    """Index the first slots anew; `keys` has the key of each, those of a key together."""
    slots.heads[:] = NIL
    index.buckets[:] = NIL
    index.partners[:] = NIL
    index.counts[GROUPS] = 0
    index.counts[FREE_GROUP] = NIL
    index.counts[LIVE] = 0
    if not len(keys):
        return
    registers = slots.registers.shape[1]
    none = read_only(np.zeros(0, np.int64))
    values = read_only(np.zeros((0, registers), np.int64))
    symbols = read_only(np.zeros(0, np.int32))
    whose = read_only(keys.astype(np.int32))
    state = State(new_graph(0, 0), slots, new_hits(0), np.zeros(COUNTERS, np.int64))
    events = Input(symbols, none, whose, values, none, 0)
    found_by = index, trees, lazy, new_moves(0, registers)
    correlate(tables, state, *found_by, events, Window(-1, 0), 0, INDEXING)
