"""Sets of whole numbers as sorted arrays.

`numpy.unique` puts integers into a hash table and sorts what it finds (NumPy 2.3 and later); on the
hundreds of thousands of positions of a window that takes twenty times as long as to sort them all.
"""

from __future__ import annotations

import numpy as np


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the different values of an array of any shape, ascending.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def union(*sets: np.ndarray) -> np.ndarray:
    """Return the values that any of some arrays has, ascending.

    >>> union(np.array([3, 1]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    return distinct(np.concatenate(sets))
