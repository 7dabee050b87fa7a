"""How many matches a session has found, counted without holding up its pushes.

Counting the matches of an event walks the partial matches in its window, so dense ones are left
until somebody reads the number. Some are kept until then; of older ones that nobody has listed,
each event that completed any counts as one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ensue.results.chunk import ResultChunk
from ensue.results.match_set import MatchSet

_QUICK = 1 << 14
"""What takes up to so many steps is counted at once."""

_MOST_BYTES = 1 << 26
_MOST = 256
"""So much is kept to be counted later."""


@dataclass(slots=True)
class MatchCount:
    """The number of matches of a query."""

    known: int = 0
    _later: deque[MatchSet] = field(default_factory=deque)
    _bytes: int = 0

    def add(self, pieces: Iterable[ResultChunk]) -> None:
        """Take in what a step completed."""
        for piece in pieces:
            if not piece:
                continue
            if piece.shape.totals is not None or piece.findings.effort <= _QUICK:
                self.known += piece.count
                continue
            self._later.append(piece.findings)
            self._bytes += piece.findings.nbytes
            while self._bytes > _MOST_BYTES or len(self._later) > _MOST:
                oldest = self._later.popleft()
                self._bytes -= oldest.nbytes
                self.known += oldest.least

    @property
    def total(self) -> int:
        """The number of matches so far."""
        self.known += sum(each.count for each in self._later)
        self._later.clear()
        self._bytes = 0
        return self.known
