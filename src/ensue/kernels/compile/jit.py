"""How kernels are compiled: by Numba, once, kept on disk.

Numba notices edits of a kernel's own file only, not of helpers it inlined from others, and would
go on with the old code. So the cache lies in a folder named by a hash of all kernel sources.

The leaner pipeline of compiler.py stands on Numba's internals, so it is used with the versions of
Numba that it was tested with. With any other the same kernels go through Numba's own pipeline: it
gives the same results and takes several times as long, once.

`ENSUE_CACHE_DIR` says where that folder is made, `ENSUE_CHECK_BOUNDS=1` compiles with bounds
checks, `ENSUE_PLAIN_NUMBA=1` by Numba's own pipeline, and `NUMBA_DISABLE_JIT=1` runs the same code
as plain Python.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])

_config: Any = numba.config

CHECKED = bool(os.environ.get("ENSUE_CHECK_BOUNDS"))

_TESTED = ("0.68",)
"""The versions of Numba whose internals the leaner pipeline was tested with."""

LEAN = numba.__version__.startswith(_TESTED) and not os.environ.get("ENSUE_PLAIN_NUMBA")


def _cache_folder() -> Path:
    """Return the folder for compiled kernels, in a place that can be written to."""
    digest = hashlib.sha256(f"{numba.__version__} {CHECKED} {LEAN} {sys.version}".encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    chosen = os.environ.get("ENSUE_CACHE_DIR")
    roots = [Path(chosen)] if chosen else []
    roots.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ensue")
    for root in roots:
        try:
            (root / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(root / name, os.W_OK):
            return root / name
    return Path(tempfile.mkdtemp(prefix="ensue-"))


FOLDER = _cache_folder()


def kernel(function: _Function) -> _Function:
    """Compile a kernel at its first call, or load it from disk.

    It makes no arrays: all of them belong to the caller.
    """
    if _config.DISABLE_JIT:
        return function
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(FOLDER)
    try:
        return _compile(function, cache=True, nogil=True, **_pipeline())
    finally:
        _config.CACHE_DIR = before


def _pipeline() -> dict[str, Any]:
    """Return the options that choose how Numba compiles.

    The leaner pipeline does not count references to arrays (`_nrt`), which Numba else does
    whenever an array of a tuple is looked at.
    """
    if not LEAN:
        return {}
    from ensue.kernels.compile.compiler import LeanCompiler

    return {"pipeline_class": LeanCompiler, "no_cfunc_wrapper": True, "_nrt": False}


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
