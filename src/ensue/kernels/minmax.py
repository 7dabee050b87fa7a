"""The larger and the smaller of two numbers: Numba's own are functions, compiled for each type."""

from __future__ import annotations

from typing import Any

from ensue.kernels.compile.jit import helper


@helper
def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers."""
    if b > a:
        return b
    return a


@helper
def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers."""
    if b < a:
        return b
    return a
