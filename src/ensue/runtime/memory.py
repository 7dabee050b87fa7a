"""Memory for results.

A page that the system hands out for the first time costs far more than what is then written to
it. Arrow's pool keeps the pages of tables that are no longer needed, NumPy gives them back.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def new_integers(count: int) -> np.ndarray:
    """Allocate room for whole numbers of 64 bits in Arrow's pool."""
    return np.frombuffer(pa.allocate_buffer(8 * count), np.int64)
