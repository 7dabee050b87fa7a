"""Operators that outlive a micro-batch in their worker.

Each is kept under the version that the head of its bucket has in the state store. An operator is
used only if its version is exactly the head's, or one of the last before it that the head names;
then it catches up. Versions are drawn at random by every attempt, so one of an attempt that failed,
of another run or of an older checkpoint is never found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ensue.spark.streaming.log import REMEMBERED_VERSIONS

_State = TypeVar("_State")

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

    def take(self, versions: Iterable[str]) -> _State | None:
        """Return the operator of the first version that is here, and forget it: it will change."""
        for version in versions:
            entry = self._entries.pop(version, None)
            if entry is not None:
                return entry.state
        return None

    def put(self, version: str, state: _State, query: str, bucket: Hashable, batch: int) -> None:
        """Keep an operator under its new version, in place of older ones of its bucket.

        One that no head names any more is let go: its bucket has moved to another worker.
        """
        stale = [
            known
            for known, each in self._entries.items()
            if each.query == query
            and (each.bucket == bucket or each.batch <= batch - REMEMBERED_VERSIONS)
        ]
        for known in stale:
            del self._entries[known]
        self._entries[version] = _Entry(state, query, bucket, batch)
        while len(self._entries) > _MOST_OPERATORS:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
