"""Functions of the user, compiled by Numba with what calls them; nothing is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba


@lru_cache(maxsize=256)
def compiled_by_numba(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function at its first call; one that is compiled already stays as it is."""
    config: Any = numba.config
    if config.DISABLE_JIT or hasattr(function, "py_func"):
        return function
    jit: Any = numba.njit(error_model="numpy", nogil=True)
    compiled: Callable[..., Any] = jit(function)
    return compiled
