"""What the matches so far mean for those to come, where only listing tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Progress(NamedTuple):
    """What has been consumed and completed."""

    consumed: Mapping[int, int]
    """Up to where everything is consumed, by key; 0 where keys do not matter."""
    completed: frozenset[int]
    """For SELECT FIRST, the starts that have completed a match."""

    def since(self, oldest: int) -> Progress:
        """Forget what is before the first event that partial matches may refer to."""
        return Progress(
            {key: end for key, end in self.consumed.items() if end >= oldest},
            frozenset(start for start in self.completed if start >= oldest),
        )

    def save(self) -> dict[str, Any]:
        """Write it as arrays."""
        return {
            "consumed": np.array(list(self.consumed.items()), np.int64).reshape(-1, 2),
            "completed": np.array(sorted(self.completed), np.int64),
        }

    @staticmethod
    def load(saved: Mapping[str, Any]) -> Progress:
        """Read what was saved, also before there was anything to save."""
        return Progress(
            {int(key): int(end) for key, end in saved.get("consumed", ())},
            frozenset(map(int, saved.get("completed", ()))),
        )


NO_PROGRESS = Progress({}, frozenset())
