"""Numba's own functions are loaded once, and not looked for again with each that is new.

Numba looks through all of its modules hundreds of times while it loads them, and then whenever a
kernel calls something for the first time: that extensions could have been imported meanwhile is of
no use to a kernel. What our own intrinsics bring stands in the first of its registries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numba.core.runtime
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

_runtime: Any = numba.core.runtime
_cache: Any = FunctionCache
_MORE = "load_additional_registries"


@contextmanager
def all_loaded(*contexts: Any) -> Iterator[None]:
    """Let Numba take for granted that all is loaded, in its own contexts and some others."""
    every = cpu_target.target_context, cpu_target.typing_context, *contexts
    changed = []
    for each in every:
        if _MORE not in vars(each):
            changed.append(each)
            setattr(each, _MORE, partial(_load_first, each))
    try:
        yield
    finally:
        for each in changed:
            delattr(each, _MORE)


def _load_first(context: Any) -> None:
    """Take over what is new in the first registry of a context."""
    context.install_registry(next(iter(context._registries)))


@cache
def load_all() -> None:
    """Load what it takes to compile."""
    target, typing = cpu_target.target_context, cpu_target.typing_context
    target.load_additional_registries()
    typing.load_additional_registries()
    with all_loaded():
        target.refresh()


class KernelCache(_cache):  # type: ignore[misc]
    """Where a kernel is kept on disk: machine code is loaded without what would compile it."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load machine code, or None."""
        _runtime.rtsys.initialize(context)
        loaded: Any = super()
        with loaded._guard_against_spurious_io_errors():
            return loaded._load_overload(signature, context)
