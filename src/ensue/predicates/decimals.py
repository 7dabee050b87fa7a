"""Columns of decimals: as whole numbers of their smallest unit, and as the doubles next to them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from ensue.automata.registers import NULL
from ensue.predicates.vectors import Numbers, UnsupportedError, nulls, vector_of

ARITHMETIC = frozenset({"+", "-", "*", "/"})
"""What computes with decimals as doubles."""

_LARGEST_EXACT = 2**53
_LARGEST_POWER = 22
"""Powers of ten up to this one are doubles, so that a quotient by them is rounded only once."""


def scaled(column: pa.ChunkedArray, scale: int) -> np.ndarray:
    """Return numbers times a power of ten, which must be whole and fit into 64 bits.

    >>> from decimal import Decimal
    >>> scaled(pa.chunked_array([[Decimal("1.5"), Decimal("-20.0")]]), 2)
    array([  150, -2000])
    """
    if not pa.types.is_decimal(column.type) and not pa.types.is_integer(column.type):
        raise UnsupportedError("other numbers among decimals")
    try:
        whole = column.cast(pa.decimal128(38, scale)).combine_chunks()
    except pa.ArrowInvalid:
        raise UnsupportedError("decimals with more digits than the first ones had") from None
    words = np.frombuffer(whole.buffers()[1], np.int64)[2 * whole.offset :].reshape(-1, 2)
    low, high = words[: len(whole), 0], words[: len(whole), 1]
    valid = whole.is_valid().to_numpy(zero_copy_only=False)
    if ((high != low >> 63) | (low <= NULL))[valid].any():
        raise UnsupportedError("decimals of more than 64 bits")
    return np.where(valid, low, NULL)


def doubles_of(column: pa.ChunkedArray | None, length: int) -> Numbers:
    """Return the double next to each decimal, as float(Decimal) does; NULLs where there is none.

    >>> from decimal import Decimal
    >>> doubles_of(pa.chunked_array([[Decimal("0.10"), None]]), 2).values[0]
    np.float64(0.1)
    """
    if column is None:
        return nulls(length)
    if not pa.types.is_decimal(column.type):
        found = vector_of(column)
        if not isinstance(found, Numbers):
            raise UnsupportedError("something else among decimals")
        return found
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    scale = column.type.scale
    if 0 <= scale <= _LARGEST_POWER:
        try:
            whole = np.where(valid, scaled(column, scale), 0)
        except UnsupportedError:
            whole = None
        if whole is not None and (np.abs(whole) <= _LARGEST_EXACT).all():
            return Numbers(whole / 10.0**scale, valid)
    values = [float(Decimal(0) if each is None else each) for each in column.to_pylist()]
    return Numbers(np.array(values, np.float64), valid)
