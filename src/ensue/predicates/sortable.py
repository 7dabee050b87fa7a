"""Doubles as 64-bit integers of the same order, for registers and for minima of runs."""

from __future__ import annotations

import numpy as np

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def to_sortable(values: np.ndarray) -> np.ndarray:
    """Return integers that compare as the doubles do; -0.0 comes right before 0.0.

    The bits of positive doubles have that order already; those of negative ones are reversed.

    >>> to_sortable(np.array([-1.0, 0.0])) < to_sortable(np.array([0.0, 1.0]))
    array([ True,  True])
    """
    bits = np.ascontiguousarray(values).view(np.int64)
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


def from_sortable(codes: np.ndarray) -> np.ndarray:
    """Return the doubles that `to_sortable` was given."""
    bits: np.ndarray = codes ^ ((codes >> 63) & _ALL_BUT_SIGN)
    return bits.view(np.float64)
