"""Operators that outlive a micro-batch in their worker.

Each is kept under the version that the head of its bucket has in the state store. An operator is
used only if its version is exactly the head's: versions are drawn at random by every attempt, so
one of an attempt that failed, of another run or of an older checkpoint is never found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_State = TypeVar("_State")

_IDLE_BATCHES = 3
"""An operator that so many micro-batches of its query have not asked for is let go: its bucket
has moved to another worker."""

_MOST_OPERATORS = 1024
"""So many operators are kept at most."""


@dataclass(slots=True)
class _Entry(Generic[_State]):
    state: _State
    query: str
    bucket: Hashable
    batch: int


@dataclass(slots=True)
class LiveStates(Generic[_State]):
    """A cache of operators by version."""

    _entries: OrderedDict[str, _Entry[_State]] = field(default_factory=OrderedDict)

    def take(self, version: str) -> _State | None:
        """Return the operator of a version, which is about to change, and forget it."""
        entry = self._entries.pop(version, None)
        return None if entry is None else entry.state

    def put(self, version: str, state: _State, query: str, bucket: Hashable, batch: int) -> None:
        """Keep an operator under its new version, in place of older ones of its bucket."""
        stale = [
            known
            for known, each in self._entries.items()
            if each.query == query
            and (each.bucket == bucket or each.batch <= batch - _IDLE_BATCHES)
        ]
        for known in stale:
            del self._entries[known]
        self._entries[version] = _Entry(state, query, bucket, batch)
        while len(self._entries) > _MOST_OPERATORS:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
