"""What a compiled query keeps from one run to the next.

Binding a query to columns and planning it takes longer than reading some thousand events, and both
depend on nothing but the columns and the options.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

_MOST = 8
"""The number of answers that are kept: a query is run on events of a few kinds."""

_Made = TypeVar("_Made")


@dataclass(slots=True)
class PlanCache:
    """The last answers of some functions of a query, by what they depend on.

    It is not copied or sent anywhere with the query: another process works out its own.
    """

    _made: dict[Hashable, Any] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __reduce__(self) -> tuple[type[PlanCache], tuple[()]]:
        return PlanCache, ()

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what `make` returns, which it did before for the same key."""
        with self._lock:
            found: _Made | None = self._made.pop(key, None)
            if found is not None:
                self._made[key] = found  # those used last stay longest
                return found
        made = make()
        with self._lock:
            while len(self._made) >= _MOST:
                del self._made[next(iter(self._made))]
            self._made[key] = made
        return made
