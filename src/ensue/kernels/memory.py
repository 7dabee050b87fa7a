"""Memory for results, how arrays grow, and what kernels read.

A page that the system hands out for the first time costs far more than what is then written to
it. Arrow's pool keeps the pages of tables that are no longer needed, NumPy gives them back.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def read_only(array: np.ndarray) -> np.ndarray:
    """Return an array as one that cannot be written to.

    Arrow's arrays cannot and NumPy's can, which are two types to a kernel: it would be compiled
    for either.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def new_integers(count: int) -> np.ndarray:
    """Allocate room for whole numbers of 64 bits in Arrow's pool."""
    return np.frombuffer(pa.allocate_buffer(8 * count), np.int64)


def doubled(size: int, wanted: int) -> int:
    """Double a size until it is as large as wanted."""
    while size < wanted:
        size *= 2
    return size
