"""The yardstick: what an event costs when next to nothing is done with it.

A plain loop runs a 16-state automaton over random bytes, one dependent lookup a byte. It tells how
fast this machine is at this moment, so that ratios mean the same on any machine.
"""

from __future__ import annotations

import time

import numba
import numpy as np


@numba.njit(cache=True)
def _run(table: np.ndarray, data: np.ndarray) -> int:
    state = 0
    for byte in data:
        state = table[state, byte]
    return state


class Yardstick:
    """The loop, ready to be run over as many bytes as there are events."""

    def __init__(self, events: int) -> None:
        self.events = events
        random = np.random.default_rng(0)
        self._table = random.integers(0, 16, (16, 256)).astype(np.int32)
        self._data = random.integers(0, 256, events).astype(np.uint8)
        _run(self._table, self._data[:10])

    def seconds(self) -> float:
        """Run the loop once."""
        before = time.perf_counter()
        _run(self._table, self._data)
        return time.perf_counter() - before
