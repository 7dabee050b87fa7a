"""How kernels are compiled: by Numba, once, kept on disk (cache.py).

The leaner pipeline of compiler.py stands on Numba's internals, so it is used with the versions of
Numba that it was tested with. With any other the same kernels go through Numba's own pipeline: it
gives the same results and takes several times as long, once.

`ENSUE_CACHE_DIR` says where they are kept, `ENSUE_CHECK_BOUNDS=1` compiles with bounds
checks, `ENSUE_PLAIN_NUMBA=1` by Numba's own pipeline, and `NUMBA_DISABLE_JIT=1` runs the same code
as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numba

from ensue.kernels.compile.cache import CHECKED, LEAN, settings

_Function = TypeVar("_Function", bound=Callable[..., Any])

_config: Any = numba.config


def kernel(function: _Function) -> _Function:
    """Compile a kernel at its first call, or load it from disk.

    It makes no arrays: all of them belong to the caller.
    """
    if _config.DISABLE_JIT:
        return function
    chosen = settings()
    before = {name: getattr(_config, name) for name in chosen}
    _set(chosen)
    try:
        compiled: Any = _compile(function, cache=True, nogil=True, **_pipeline())
        if LEAN:
            from ensue.kernels.compile.loading import KernelCache

            compiled._cache = KernelCache(function)
        made: _Function = compiled
        return made
    finally:
        _set(before)


def _set(chosen: Mapping[str, Any]) -> None:
    for name, value in chosen.items():
        setattr(_config, name, value)


def _pipeline() -> dict[str, Any]:
    """Return the options that choose how Numba compiles.

    The leaner pipeline does not count references to arrays (`_nrt`), which Numba else does
    whenever an array of a tuple is looked at.
    """
    if not LEAN:
        return {}
    from ensue.kernels.compile.compiler import LeanCompiler

    return {"pipeline_class": LeanCompiler, "no_cfunc_wrapper": True, "_nrt": False}


def direct(compiled: _Function) -> _Function:
    """Return a kernel that is compiled for one signature, called without a look at types.

    Numba compares the types of all arrays at every call, which takes three times as long as to
    take them apart. Here only sizes are looked at: what is passed must be as the layout declares.
    """
    if _config.DISABLE_JIT or CHECKED or not LEAN:
        return compiled
    call: Any = _Direct(compiled)
    return call  # type: ignore[no-any-return]


class _Direct:
    """A kernel whose machine code is called as soon as there is some."""

    __slots__ = ("_code", "_kernel")

    def __init__(self, compiled: Any) -> None:
        self._kernel = compiled
        self._code: Callable[..., Any] | None = None

    def __call__(self, *given: Any) -> Any:
        code = self._code
        if code is not None:
            return code(*given)
        found = self._kernel(*given)
        (made,) = self._kernel.overloads.values()
        self._code = made.entry_point
        return found


def subroutine(function: _Function) -> _Function:
    """Compile a function that kernels call, and do not take in."""
    return kernel(function)


def helper(function: _Function) -> _Function:
    """Compile a small function into the kernels that call it."""
    return function if _config.DISABLE_JIT else _compile(function, inline="always")


def _compile(function: _Function, **options: Any) -> _Function:
    jit: Any = numba.njit
    compiled: _Function = jit(boundscheck=CHECKED, error_model="numpy", **options)(function)
    return compiled
